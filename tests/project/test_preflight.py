"""The start refuses an environment that would hand it another package in place of its own, and says so in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from gateway.preflight import NAMES, conflicts, preflight, require_python, sentence

ROOT = Path(__file__).resolve().parents[2]


def test_a_name_that_the_official_sdk_owns_too_is_a_conflict() -> None:
    assert conflicts({"a2a": ["frontdesk", "a2a-sdk"], "aiohttp": ["aiohttp"]}) == {"a2a": ("a2a-sdk",)}


def test_frontdesk_owning_its_names_is_no_conflict_however_its_name_is_spelt() -> None:
    assert conflicts({name: ["Frontdesk", "frontdesk"] for name in NAMES}) == {}


def test_an_editable_install_which_owns_no_names_is_no_conflict() -> None:
    assert conflicts({"aiohttp": ["aiohttp"], "tests": ["elsewhere"]}) == {}


def test_the_sentence_names_each_package_its_owner_and_the_remedy() -> None:
    words = sentence({"a2a": ("a2a-sdk",), "config": ("config", "settings")})
    assert "'a2a' (from a2a-sdk)" in words
    assert "'config' (from config and settings)" in words
    assert "environment of its own" in words


def test_this_environment_passes() -> None:
    preflight()


def test_an_old_python_is_named_with_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        require_python((3, 10))
    assert refusal.value.code == 2
    assert "Python 3.11 or newer is needed and this is 3.10" in capsys.readouterr().err


def test_a_foreign_distribution_on_the_path_ends_the_start_with_one_sentence_and_2(tmp_path: Path) -> None:
    metadata, package = tmp_path / "a2a_sdk-1.3.0.dist-info", tmp_path / "a2a"
    metadata.mkdir()
    package.mkdir()
    (package / "__init__.py").touch()  # from 3.13 on a file that is listed and not there does not count
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: a2a-sdk\nVersion: 1.3.0\n")
    (metadata / "RECORD").write_text("a2a/__init__.py,,\n")
    start = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; sys.path.append({str(tmp_path)!r})"
    program = f"{start}; from gateway.preflight import preflight; preflight()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "'a2a' (from a2a-sdk)" in ended.stderr


def test_preflight_needs_nothing_but_the_standard_library() -> None:
    program = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; from gateway.preflight import preflight; preflight()"
    ended = subprocess.run([sys.executable, "-S", "-E", "-c", program], capture_output=True, timeout=30, check=False)
    assert ended.returncode == 0, ended.stderr
