"""What is made of what was measured: CPU time, medians of alternated rounds, gates, tables, and the page they go to."""

import math
import os
import sys
import time
from dataclasses import dataclass

import pytest

from benchmarks.cost import cpu_seconds, peak_mb, resident_mb
from benchmarks.document import BEGIN, END, PAGE, filled
from benchmarks.gates import Gate
from benchmarks.kill import inversions
from benchmarks.line import Shown
from benchmarks.rounds import alternate, median
from benchmarks.tables import Table, figure


@dataclass(frozen=True, slots=True)
class Sample:
    rate: float
    errors: float


def test_the_cpu_time_of_a_process_is_what_the_process_itself_sees() -> None:
    before = time.process_time()
    seen = cpu_seconds(os.getpid())
    assert before <= seen <= time.process_time()


def test_memory_at_its_peak_is_at_least_what_is_resident() -> None:
    assert 1 < resident_mb(os.getpid()) <= peak_mb(os.getpid())


def test_the_cost_of_a_process_that_is_gone_is_an_error() -> None:
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitpid(child, 0)
    with pytest.raises(OSError):
        cpu_seconds(child)


async def test_rounds_alternate_the_order_of_the_programs() -> None:
    order: list[str] = []

    async def measure(name: str) -> int:
        order.append(name)
        return len(order)

    assert await alternate(("a", "b"), 3, measure) == [[1, 4, 5], [2, 3, 6]]
    assert "".join(order) == "abbaab"


def test_the_median_is_of_each_figure_by_itself() -> None:
    rounds = [Sample(1.0, 9.0), Sample(5.0, 7.0), Sample(3.0, math.nan)]
    assert median(rounds) == Sample(3.0, 8.0)


@pytest.mark.parametrize(
    ("gate", "holds"),
    [
        (Gate("rate", 0.6, "at least", 0.6), True),
        (Gate("rate", 0.59, "at least", 0.6), False),
        (Gate("cpu", 1.8, "at most", 1.8), True),
        (Gate("cpu", 1.81, "at most", 1.8), False),
        (Gate("status", 503, "exactly", 503), True),
        (Gate("status", 200, "exactly", 503), False),
        (Gate("unmeasured", math.nan, "at most", 1.0), False),
    ],
)
def test_a_gate_holds_at_its_bound_and_on_its_side(gate: Gate, holds: bool) -> None:
    assert gate.holds is holds
    assert str(gate).startswith("holds" if holds else "FAILS")


def test_a_table_is_aligned_in_the_terminal_and_a_table_in_a_document() -> None:
    table = Table("Title", ("Program", "rate"), (("a", figure(1234.5)), ("longer", figure(math.nan))))
    assert table.as_text().splitlines() == [
        "Title",
        "  Program   rate",
        "  -------  -----",
        "  a        1,234",
        "  longer       -",
    ]
    assert table.as_markdown().splitlines()[2:] == [
        "| Program | rate |",
        "|---|---:|",
        "| a | 1,234 |",
        "| longer | - |",
    ]


def test_an_inversion_is_a_message_shown_after_a_later_one_of_its_chat() -> None:
    shown = {number: Shown(1, 0.0, chat) for number, chat in ((0, 1), (3, 2), (2, 1), (1, 2), (4, 1))}
    assert inversions(shown) == 1


def test_the_tables_of_a_run_replace_those_of_the_last_one() -> None:
    once = filled(f"before\n{BEGIN}\nold\n{END}\nafter\n", "new")
    assert "old" not in once
    assert filled(once, "new") == once
    assert (once[:7], once[-7:]) == ("before\n", "\nafter\n")


def test_a_page_without_its_marks_is_left_alone() -> None:
    with pytest.raises(ValueError, match="the page needs one"):
        filled("before\nafter\n", "new")


def test_the_page_of_this_project_can_be_filled() -> None:
    assert "figures" in filled(PAGE.read_text(), "figures")
