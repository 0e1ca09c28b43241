"""A wait that ran out on a busy machine is tried once more and named; a wrong value never is.

`make test` asks for it by `--reruns 1`; without that option nothing is tried twice. What is named at the end of a run
has a cause, which is looked for: it is a fault that shows seldom.
"""

import pytest
from _pytest.terminal import TerminalReporter
from selenium.common.exceptions import WebDriverException

IN_VAIN = (TimeoutError, WebDriverException)  # the browser's driver waits too
WRONG = (AssertionError, pytest.fail.Exception)  # also where it was found while a wait that ran out was handled


def mark(items: list[pytest.Item], *, times: int) -> None:
    """Have each tried so many times more when it fails by nothing but a wait."""
    again = pytest.mark.flaky(reruns=times, only_rerun=[*IN_VAIN], rerun_except=[*WRONG])
    for item in items:
        item.add_marker(again)


def tell(terminal: TerminalReporter) -> None:
    """Name those that were tried again, with the reason, whatever came of it."""
    tried = terminal.getreports("rerun")
    if not tried:
        return
    terminal.write_sep("!", f"unsteady: {len(tried)} tried again because a wait ran out", red=True, bold=True)
    for report in tried:
        terminal.write_line(f"UNSTEADY {report.nodeid} ({report.when}): {_reason(report)}", red=True)


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    words = crash.message if crash is not None else str(report.longrepr)
    return str(words).strip().partition("\n")[0] or "no reason given"
