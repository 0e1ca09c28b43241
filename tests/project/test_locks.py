"""The locks name exact versions and hashes and no place to download from, and keep to what the project promises."""

import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"
LOCKS = sorted(REQUIREMENTS.glob("*.txt"), key=lambda lock: lock.name)
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^\s;]+)(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?P<more> \\)?")


def pins(lock: str) -> dict[str, str]:
    """Every distribution of the lock with its version."""
    lines = (REQUIREMENTS / lock).read_text().splitlines()
    return {match["name"]: match["version"] for match in map(PIN.fullmatch, lines) if match}


def project() -> dict[str, Any]:
    loaded: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return loaded


def unlocked_lines(text: str) -> list[str]:
    """The lines that are neither a pin followed by hashes nor one of those hashes; none in a sound lock."""
    wrong, hashes_expected = [], False
    for line in text.splitlines():
        found = HASH.fullmatch(line) if hashes_expected else None
        if not (found or (not hashes_expected and PIN.fullmatch(line))):
            wrong.append(line)
        hashes_expected = bool(found["more"]) if found else True
    return wrong


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_holds_pins_and_hashes_and_no_address(lock: Path) -> None:
    assert unlocked_lines(lock.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "--extra-" + "index-url https://packages.example.com/simple",
        "thing @ https://packages.example.com/thing-1.0-py3-none-any.whl \\",
        "thing==1.0",
        "thing>=1.0 \\",
    ],
)
def test_an_address_an_option_or_a_pin_without_hashes_is_found(line: str) -> None:
    sound = "other==2.0 \\\n    --hash=sha256:" + "0" * 64
    assert unlocked_lines(sound) == []
    assert unlocked_lines(f"{sound}\n{line}") == [line]


@pytest.mark.parametrize("packages", sorted(REQUIREMENTS.glob("peer-*/")), ids=lambda folder: folder.name)
def test_a_lock_of_javascript_packages_holds_what_is_asked_for_with_hashes_and_no_address(packages: Path) -> None:
    asked = json.loads((packages / "package.json").read_text())["dependencies"]
    locked = json.loads((packages / "package-lock.json").read_text())["packages"]
    found = {path.removeprefix("node_modules/"): package for path, package in locked.items() if path}
    assert [path for path, package in found.items() if "resolved" in package] == []
    assert [path for path, package in found.items() if not package["integrity"].startswith("sha512-")] == []
    assert {name: found[name]["version"] for name in asked} == asked


def test_the_tests_run_on_the_versions_that_people_run() -> None:
    assert pins("run.txt").items() <= pins("dev.txt").items()


def test_the_locks_satisfy_what_the_project_asks_for() -> None:
    asked = {"run.txt": project()["dependencies"], "dev.txt": project()["optional-dependencies"]["dev"]}
    for lock, requirements in asked.items():
        locked = pins(lock)
        for requirement in map(Requirement, requirements):
            assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


def test_the_official_sdk_never_enters_the_environment_of_the_gateway() -> None:
    assert "a2a-sdk" not in pins("run.txt").keys() | pins("dev.txt").keys()
    assert "a2a-sdk" in pins("peer-a2a-sdk.txt")


FLOORS: dict[str, dict[str, Any]] = tomllib.loads((REQUIREMENTS / "floors.toml").read_text())


@pytest.mark.parametrize("name", FLOORS)
def test_no_version_with_a_known_vulnerability_is_locked_or_installed(name: str) -> None:
    floor = Version(FLOORS[name]["floor"])
    assert Version(pins("dev.txt")[name]) >= floor, FLOORS[name]["advisories"]
    assert Version(version(name)) >= floor, FLOORS[name]["advisories"]
