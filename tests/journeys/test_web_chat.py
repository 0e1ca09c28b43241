"""What `make run` gives a person: the page, a streamed answer, a question back, and a restart that nobody notices."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys.browser import Page
from tests.journeys.process import GatewayProcess, admitted, look

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

PACE = 0.3  # seconds from one number to the next, in place of the demo's one
NUMBERS = " ".join(str(number) for number in range(1, 11))


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    """The built-in configuration, with a quicker concierge."""
    async with GatewayProcess(tmp_path / "demo") as process:
        process.env["FRONTDESK_AGENTS__CONCIERGE__OPTIONS"] = f"{{ pace = {PACE} }}"
        await process.start()
        process.token = (process.folder / ".frontdesk" / "operator-token").read_text().strip()
        process.private |= {process.token, "book a table", "count to"}
        yield process
        assert await process.stop() == 0
    process.check_log()


@pytest.fixture
async def page(demo: GatewayProcess, tmp_path: Path) -> AsyncIterator[Page]:
    opened = await Page.open(f"{demo.base}/chat/", tmp_path / "profile")
    yield opened
    complaints = await opened.complaints()
    await opened.close()
    assert not complaints


async def test_a_person_gets_a_streamed_answer_and_answers_a_question_back(page: Page) -> None:
    await page.say("hello")
    unfinished = await page.previews("I am")
    (answer,) = await page.shows("stop me with /cancel")
    assert answer.startswith(unfinished.rpartition(" ")[0])
    assert await page.preview() == ""
    await page.say("please book a table")
    await page.shows("For which day?")
    await page.say("Tuesday")
    await page.shows("Your table is booked for Tuesday")
    assert await page.entries("own") == ["hello", "please book a table", "Tuesday"]


async def test_a_running_count_is_shown_by_status_and_stopped_by_cancel(page: Page, demo: GatewayProcess) -> None:
    await page.say("count to 200")
    await page.previews("1 2 3")
    await page.say("/status")
    await page.shows("count to 200")
    await page.say("/cancel")
    shown = await page.shows("Cancelled.")
    assert (shown[-2].startswith("1 2 3"), shown[-1]) == (True, "Cancelled.")
    assert await page.preview() == ""
    await page.reload()
    assert await page.shows("Cancelled.") == shown
    await demo.at_rest()
    assert (await demo.summary())["turns"]["cancelled"] == 1


async def test_a_kill_and_restart_in_a_count_costs_nothing_and_doubles_nothing(
    page: Page, demo: GatewayProcess
) -> None:
    await page.say("count to 10")
    await page.previews("1 2 3")
    await demo.kill()
    await page.is_in_state("lost")
    await demo.start()
    await page.is_in_state("open")
    entries = await page.shows(NUMBERS)
    assert (entries, await page.entries("own")) == ([NUMBERS], ["count to 10"])
    assert await page.preview() == ""


async def test_what_is_written_while_the_gateway_is_off_is_sent_when_it_is_back(
    page: Page, demo: GatewayProcess
) -> None:
    await demo.kill()
    await page.is_in_state("lost")
    await page.say("written while it was off")
    await demo.start()
    await page.shows("I am the concierge")
    await demo.at_rest()
    assert admitted(await demo.summary()) == 1
    assert await page.entries("own") == ["written while it was off"]


async def test_a_reload_shows_what_was_said_and_what_is_still_being_made(page: Page) -> None:
    await page.say("hello")
    await page.shows("I am the concierge")
    await page.say("count to 10")
    await page.previews("1 2")
    await page.reload()
    await page.shows(NUMBERS)
    own, theirs = await page.entries("own"), await page.entries()
    assert own == ["hello", "count to 10"]
    assert [len(theirs), theirs[1]] == [2, NUMBERS]


@pytest.mark.case("T97")
async def test_two_visitors_do_not_see_each_other(page: Page, demo: GatewayProcess, tmp_path: Path) -> None:
    await page.say("a word of the first visitor")
    await page.shows("I am the concierge")
    other = await Page.open(f"{demo.base}/chat/", tmp_path / "other", language="zh-CN")
    try:
        assert await other.entries("own") == await other.entries() == []
        await other.say("/help")
        await other.shows("我能听懂什么")
    finally:
        await other.close()
    assert len(await page.entries("own")) == 1


@pytest.mark.case("T54")
async def test_markup_in_what_is_said_stays_text(page: Page, demo: GatewayProcess) -> None:
    attack = '<img src=x onerror="document.title=1"><script>document.title=2</script> [a](javascript:alert(1))'
    await page.say("book a table")
    await page.shows("For which day?")
    await page.say(attack)
    entries = await page.shows("Your table is booked for")
    assert '<img src=x onerror="document.title=1">' in entries[-1]
    assert await page.title() == "Frontdesk"
    assert await page.links() == []
    await look(lambda: _rests(demo), what="the gateway to rest")


async def _rests(demo: GatewayProcess) -> bool:
    return not (await demo.summary())["turns"].get("running")
