"""The process asks for as many open files as it may need, and lets in as many connections as it got files for."""

import subprocess
import sys

import pytest

from gateway.open_files import ENOUGH, connections

MOST = 4096
ASKS = "from gateway.open_files import raise_limit; print(raise_limit())"


@pytest.mark.parametrize(
    ("limits", "files"),
    [("ulimit -S -n 256", ENOUGH), ("ulimit -n 300", 300), ("ulimit -S -n 128; ulimit -H -n 4000", 4000)],
)
def test_as_many_files_may_be_open_as_are_enough_or_as_the_hard_limit_lets(limits: str, files: int) -> None:
    command = ["/bin/sh", "-c", f'{limits}; exec "$@"', "sh", sys.executable, "-c", ASKS]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)

    assert int(asked.stdout) == files


def test_a_higher_limit_than_is_needed_is_left_alone() -> None:
    look = "resource.getrlimit(resource.RLIMIT_NOFILE)"
    program = f"import resource; before = {look}; {ASKS}; assert {look} == before"
    command = ["/bin/sh", "-c", f'ulimit -S -n {ENOUGH + 1}; exec "$@"', "sh", sys.executable, "-c", program]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)

    assert int(asked.stdout) == ENOUGH + 1


@pytest.mark.parametrize(("files", "most"), [(ENOUGH, MOST), (ENOUGH * 2, MOST), (6000, 3000), (1024, 512), (128, 64)])
def test_where_files_are_few_half_of_them_are_kept_for_the_gateways_own_work(files: int, most: int) -> None:
    assert connections(files, MOST) == most
