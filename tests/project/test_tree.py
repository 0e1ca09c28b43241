"""The tree is whole and speaks of itself alone: packaging and code agree, and no file names one machine's folders."""

import re
import subprocess
import tomllib
from pathlib import Path

from gateway.preflight import NAMES

ROOT = Path(__file__).resolve().parents[2]
# Folders of one person's or one runner's machine, at the start of an absolute path.
MACHINE_PATH = re.compile(r"(?:^|[\s\"'=(`,\[])(/(?:work|home|root|farm|Users|builds)/[^\s\"'`)]*)", re.MULTILINE)


def files_of_the_project() -> list[Path]:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not in_a_working_folder(path.relative_to(ROOT))]


def in_a_working_folder(path: Path) -> bool:
    """Whether tools keep it and not the project: environments and caches stand in hidden folders, all but .ci."""
    folders = set(path.parts[:-1])
    return "__pycache__" in folders or any(name.startswith(".") for name in folders - {".ci"})


def machine_paths(text: str) -> list[str]:
    return MACHINE_PATH.findall(text)


def test_no_file_names_a_folder_of_one_machine() -> None:
    files = files_of_the_project()
    assert ROOT / "pyproject.toml" in files
    found = {str(file.relative_to(ROOT)): machine_paths(file.read_text(errors="replace")) for file in files}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_a_machine_path_is_found_and_a_url_or_a_system_path_is_not() -> None:
    assert machine_paths("see " + "/home" + "/ann/frontdesk.toml") == ["/home" + "/ann/frontdesk.toml"]
    assert machine_paths("https://example.com/home/page and /usr/bin/chromium and /var/lib/frontdesk") == []


def test_what_is_packaged_is_what_preflight_guards_and_the_contracts_cover() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert set(tool["hatch"]["build"]["targets"]["wheel"]["packages"]) == set(NAMES)
    assert set(NAMES) <= set(tool["importlinter"]["root_packages"])
    assert all((ROOT / name / "__init__.py").is_file() for name in NAMES)
