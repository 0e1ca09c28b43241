"""On a machine that lacks something, one line names it and its remedy."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program(folder: Path, name: str, script: str = "exit 0") -> None:
    """A command of the machine under test, in place of the real one."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def find_python(path: Path) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(ROOT / "scripts" / "find-python")]
    return subprocess.run(command, env={"PATH": str(path)}, capture_output=True, text=True, timeout=30, check=False)


def test_a_python_that_is_new_enough_and_has_venv_is_taken(tmp_path: Path) -> None:
    program(tmp_path, "git")
    program(tmp_path, "python3", "exit 1")
    program(tmp_path, "python3.12")
    assert find_python(tmp_path).stdout == "python3.12\n"


@pytest.mark.parametrize(
    ("commands", "named", "remedy"),
    [
        ({"python3": "exit 0"}, "git is missing", "apt-get install git"),
        ({"git": "exit 0"}, "Python 3.11 or newer is missing", "apt-get install python3"),
        ({"git": "exit 0", "python3": "exit 1"}, "Python 3.11 or newer is missing", "apt-get install python3"),
        (
            {"git": "exit 0", "python3": 'case "$2" in *ensurepip*) exit 1 ;; esac'},
            "python3 has no venv",
            "apt-get install python3-venv",
        ),
    ],
    ids=["no-git", "no-python", "old-python", "no-venv"],
)
def test_what_is_missing_is_named_in_one_line_with_its_remedy(
    tmp_path: Path, commands: dict[str, str], named: str, remedy: str
) -> None:
    for name, script in commands.items():
        program(tmp_path, name, script)
    ended = find_python(tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert named in ended.stderr
    assert remedy in ended.stderr
