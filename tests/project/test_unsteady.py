"""What is tried twice, and that it is named: a small suite of its own, run as `make test` runs the real one."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

CONFTEST = """
from tests import unsteady

def pytest_collection_modifyitems(config, items):
    unsteady.mark(items, times=config.getoption("reruns"))

def pytest_terminal_summary(terminalreporter):
    unsteady.tell(terminalreporter)
"""
SUITE = """
import asyncio
from pathlib import Path

import pytest
from selenium.common.exceptions import TimeoutException

from tests.waiting import within


def is_first(name):
    file = Path(__file__).with_name(name)
    was_there = file.exists()
    file.touch()
    return not was_there


async def test_a_wait():
    if is_first("wait"):
        async with within(0.01, what="the bus"):
            await asyncio.Event().wait()


@pytest.fixture
async def slow():
    if is_first("fixture"):
        raise TimeoutError("the fixture's bus")


async def test_a_fixture(slow):
    pass


def test_a_browser():
    if is_first("browser"):
        raise TimeoutException("no such page yet")


async def test_a_wait_that_is_always_in_vain():
    raise TimeoutError("never")


def test_a_value():
    assert not is_first("value"), "TimeoutError: this is none"


def test_a_value_that_is_wrong_after_a_wait():
    try:
        raise TimeoutError
    except TimeoutError:
        assert not is_first("after")


def test_an_error():
    if is_first("error"):
        raise KeyError("TimeoutError")


@pytest.fixture
async def slow_end():
    yield
    if is_first("end"):
        raise TimeoutError("the end's bus")


async def test_a_value_before_a_wait_in_its_end(slow_end):
    assert not is_first("before")
"""
TRIED = {"a_wait", "a_fixture", "a_browser", "a_wait_that_is_always_in_vain"}
FAILED = {
    "a_wait_that_is_always_in_vain",
    "a_value",
    "a_value_that_is_wrong_after_a_wait",
    "an_error",
    "a_value_before_a_wait_in_its_end",
}


def test_a_wait_that_ran_out_is_tried_once_more_and_named_and_a_wrong_value_is_not(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)
    ours = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    as_in_make_test = ["-n", "2", "--dist", "worksteal", "--reruns", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *ours, *as_in_make_test, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert set(re.findall(r"^UNSTEADY \S+::test_(\w+) ", done.stdout, re.MULTILINE)) == TRIED, done.stdout
    assert set(re.findall(r"^FAILED \S+::test_(\w+)", done.stdout, re.MULTILINE)) == FAILED, done.stdout
    assert "unsteady: 4 tried again because a wait ran out" in done.stdout
    assert "test_a_wait (call): TimeoutError: waited 0.01 s in vain for the bus" in done.stdout
    assert (done.returncode, done.stderr) == (1, "")
