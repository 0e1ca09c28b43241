"""What every test shares: the markers, and an environment that is the same on every machine.

A test that needs a browser or a peer is skipped where that is missing, with the remedy as the reason; in CI nothing is
skipped, so that a missing install step fails instead of hiding.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter

from gateway.open_files import raise_limit
from tests import unsteady

ROOT = Path(__file__).resolve().parent.parent
BROWSER = (Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver"))
MARKERS = (
    "case(id): the acceptance case that the test shows, such as TG-05",
    "peer(name): needs the real peer in .peers/<name>, such as a2a-sdk; without a name, every peer",
    "browser: drives the web chat in Debian's Chromium",
)

# A deadline by the clock would test the machine; the falsifying example is what a reader needs.
hypothesis.settings.register_profile("frontdesk", deadline=None, print_blob=True)
hypothesis.settings.load_profile("frontdesk")


def pytest_configure(config: pytest.Config) -> None:
    raise_limit()  # for the journeys that open a thousand connections
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if times := config.getoption("reruns"):
        unsteady.mark(items, times=times)
    if os.environ.get("CI") == "true":
        return
    for item in items:
        reason = missing_browser(item) or missing_peer(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    unsteady.tell(terminalreporter)


def missing_browser(item: pytest.Item) -> str | None:
    """Why the item cannot have its browser, with the remedy; None when it can or needs none."""
    if item.get_closest_marker("browser") is None or all(program.exists() for program in BROWSER):
        return None
    return "no Chromium: apt-get install chromium chromium-driver"


def missing_peer(item: pytest.Item) -> str | None:
    """Why the item cannot have its peer, with the remedy; None when it can or needs none.

    A peer that nobody can make is a mistake in the test, which a skip would hide.
    """
    marker = item.get_closest_marker("peer")
    if marker is None:
        return None
    known = tuple(lock.stem.removeprefix("peer-") for lock in ROOT.glob("requirements/peer-*.txt"))
    names = marker.args or known
    if unknown := [name for name in names if name not in known]:
        raise pytest.UsageError(f"{item.nodeid} needs the peer {unknown[0]}; known are {', '.join(sorted(known))}")
    absent = [name for name in names if not (ROOT / ".peers" / name / ".ready").exists()]
    return f"no peer {', '.join(absent)}: make peers" if absent else None


@pytest.fixture(scope="session", autouse=True)
def _same_environment_everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No setting of the developer's shell reaches a gateway under test, and programs have a private run-time folder."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("FRONTDESK_")]:
            environment.delenv(name)
        runtime = tmp_path_factory.mktemp("runtime")
        runtime.chmod(0o700)
        environment.setenv("XDG_RUNTIME_DIR", str(runtime))
        yield
