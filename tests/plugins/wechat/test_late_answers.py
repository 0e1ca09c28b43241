"""Answers that come after their push, in a whole line: in parts and in order, within quotas and windows, once."""

import asyncio

import pytest
from aiohttp import web

from core.store import Store
from tests.doubles.agent import context
from tests.fakes.scripting import Exchange, Respond, cut_after_accepting, delay
from tests.fakes.wechat import FakeWechat, errcode
from tests.plugins.wechat.account import ANN, BOB, SCALE, account
from tests.plugins.wechat.test_passive import taking
from tests.plugins.wechat.test_shown_files import drawing, picture
from tests.waiting import until

SEND = "message/custom/send"


@pytest.mark.case("WX-11")
@pytest.mark.case("WX-09")
@pytest.mark.case("SRC-05")
@pytest.mark.case("SRC-17")
async def test_a_long_answer_comes_in_order_each_part_within_the_bytes(platform: FakeWechat, store: Store) -> None:
    text = "汉字" * 1400
    release = asyncio.Event()
    async with account(platform, store, taking(6)) as there:
        platform.script.add(SEND, delay(release), after=1)
        await there.pushes.says(ANN, text)
        await platform.until_shown(ANN, 2)  # the second is shown, and not yet acknowledged
        assert platform.calls[SEND] == 2
        release.set()
        shown = await platform.until_shown(ANN, 5)
        assert "".join(shown) == text
        assert max(len(each.encode()) for each in shown) <= 2048


@pytest.mark.case("SRC-13")
@pytest.mark.case("WX-11")
@pytest.mark.case("DEL-02")
async def test_the_part_that_failed_is_repeated_alone(platform: FakeWechat, store: Store) -> None:
    text = "汉字" * 700
    async with account(platform, store, taking(6)) as there:
        platform.script.add(SEND, errcode(-1), after=1)
        await there.pushes.says(ANN, text)
        shown = await platform.until_shown(ANN, 3)
        assert "".join(shown) == text
        assert await there.outcomes(4) == ["delivered", "queued", "delivered", "delivered"]


@pytest.mark.case("WX-15")
async def test_past_the_quota_the_rest_waits_and_is_handed_over_with_the_next_message(
    platform: FakeWechat, store: Store
) -> None:
    text = "".join(f"<{n:06}>" for n in range(1700))  # seven parts
    async with account(platform, store, taking(6, 6)) as there:
        await there.pushes.says(ANN, text)
        await platform.until_shown(ANN, 5)
        assert (await there.outcomes(6))[-1] == "waiting_for_user"
        assert there.reasons()[-1].startswith("window_closed: quota (45047)")
        await there.pushes.says(ANN, "more")
        shown = await platform.until_shown(ANN, 7)
        assert "".join(each.removeprefix("(To your earlier question)\n") for each in shown[:7]) == text.upper()


async def test_what_the_day_s_calls_do_not_suffice_for_rides_on_the_next_push(
    platform: FakeWechat, store: Store
) -> None:
    """A push's own response is no call: the person who writes sees answers before midnight too."""
    async with account(platform, store, taking(6, 0.1, 0.1)) as there:
        platform.script.add(SEND, errcode(45009), times=None)
        await there.pushes.says(ANN, "hello")
        assert await there.outcomes(1) == ["queued"]
        assert (await there.pushes.says(ANN, "and?")).reply == "(To your earlier question)\nHELLO"
        assert await there.outcomes(3) == ["queued", "presumed", "queued"]
        assert (await there.pushes.says(ANN, "more?")).reply == "(To your earlier question)\nAND?"


@pytest.mark.case("WX-15")
@pytest.mark.case("F25")
async def test_past_48_hours_an_answer_waits_with_its_reason_and_is_not_tried_again(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, taking(6, 0.1)) as there:
        pushing = await there.asks("hello")
        platform.people[ANN].wrote -= 49 * 3600
        await pushing
        assert await there.outcomes(1) == ["waiting_for_user"]
        assert there.reasons()[0].startswith("window_closed: window_closed (45015)")
        assert (await there.pushes.says(ANN, "and?")).reply == "(To your earlier question)\nHELLO"
        assert await platform.until_shown(ANN, 2) == ["(To your earlier question)\nHELLO", "AND?"]
        assert platform.calls[SEND] == 2


async def test_whoever_left_gets_nothing_and_nobody_tries_again(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(8)) as there:
        await there.pushes.says(ANN, "hello")
        await there.pushes.event(ANN, "unsubscribe", EventKey="")
        assert await there.outcomes(1) == ["dead"]
        assert platform.calls[SEND] == 1


async def test_an_answer_after_a_mere_event_is_not_said_to_be_of_an_earlier_question(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, taking(8)) as there:
        await there.pushes.says(ANN, "hello")
        await there.pushes.event(ANN, "VIEW", EventKey="https://example.com/")
        assert await platform.until_shown(ANN, 1) == ["HELLO"]


@pytest.mark.case("DEL-23")
async def test_two_accounts_in_one_process_are_two_conversations(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as one, account(platform, store, name="other") as other:
        for each in (one, other, one, other):
            assert (await each.pushes.says(ANN, "hello")).reply == "HELLO"
        (first, second), (third, fourth) = one.agent.asks, other.agent.asks
        assert (second.context_id, fourth.context_id) == (context(first), context(third))
        assert second.context_id != fourth.context_id


@pytest.mark.case("DEL-01")
async def test_an_answer_whose_fate_nobody_knows_is_not_said_again(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(6), options={"on_unknown": "skip"}) as there:
        platform.script.add(SEND, cut_after_accepting())
        await there.pushes.says(ANN, "hello")
        assert await there.outcomes(1) == ["unknown"]
        assert there.shown() == ["HELLO"]


# ---------------------------------------------------------------------------------------------- no permission (48001)

TYPING = "message/custom/typing"
LATER = "I am still working on it. Send me anything to see the answer."


@pytest.mark.parametrize("seconds", [4.5, 7])
async def test_that_the_account_may_not_send_comes_out_during_a_push_and_its_answer_rides_on_the_next_request(
    platform: FakeWechat, store: Store, seconds: float
) -> None:
    """By the typing state, as soon as an answer takes a moment; the answer may come between two requests."""
    platform.may_send = False
    async with account(platform, store, taking(seconds)) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply) == ([None, 200], "HELLO")
        assert await there.outcomes(1) == ["presumed"]
        assert platform.calls[SEND] == 0


async def test_a_push_during_which_that_comes_out_says_in_the_end_that_the_answer_comes_later(
    platform: FakeWechat, store: Store
) -> None:
    platform.may_send = False
    async with account(platform, store, taking(25, 0.1)) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply) == ([None, None, 200], LATER)
        assert await there.outcomes(1) == ["waiting_for_user"]
        assert (await there.pushes.says(ANN, "and?")).reply == "(To your earlier question)\nHELLO\n\nAND?"


async def test_that_it_may_not_send_comes_out_by_somebody_elses_answer_while_a_push_is_open(
    platform: FakeWechat, store: Store
) -> None:
    platform.may_send = False
    platform.script.add(TYPING, errcode(0, "ok"), times=None)
    async with account(platform, store, taking(7, 0.1)) as there:
        pushing = await there.asks("hello")
        await there.pushes.says(BOB, "汉字" * 700)
        push = await pushing
        assert (push.statuses, push.reply) == ([None, 200], "HELLO")


@pytest.mark.parametrize("seconds", [0.1, 3])
async def test_a_picture_whose_refusal_tells_of_it_is_named_in_the_push_that_asked_for_it(
    platform: FakeWechat, store: Store, seconds: float
) -> None:
    platform.may_send = False
    platform.script.add(TYPING, errcode(0, "ok"), times=None)
    async with account(platform, store, drawing(picture(), after=seconds * SCALE)) as there:
        push = await there.pushes.says(ANN, "draw")
        assert push.reply == "📎 chart.png (cannot be shown here / 此处无法显示)"
        assert await there.outcomes(2) == ["queued", "presumed"]
        assert platform.calls[SEND] == 1


async def test_an_earlier_answer_whose_refusal_tells_of_it_and_the_answer_to_the_open_push_are_one_reply(
    platform: FakeWechat, store: Store
) -> None:
    release = asyncio.Event()
    platform.script.add(TYPING, errcode(0, "ok"), times=None)
    platform.script.add(SEND, refusing(release, 48001))
    async with account(platform, store, taking(24, 2), reply_within=4.5) as there:
        there.pushes.patience = 5.0  # the platform's own, so that a second try falls into the same request
        await there.pushes.says(ANN, "one")
        await platform.changes.until(lambda: platform.calls[SEND] == 1, what="the answer's call")
        second = await there.asks("two")
        await until(lambda: len(there.agent.asks) == 2)
        release.set()
        assert (await second).reply == "(To your earlier question)\nONE\n\nTWO"
        assert await there.outcomes(3) == ["queued", "presumed", "presumed"]


@pytest.mark.parametrize("code", [45009, 45011, 40164])
async def test_what_is_put_off_while_a_push_is_open_rides_on_that_push(
    platform: FakeWechat, store: Store, code: int
) -> None:
    release = asyncio.Event()
    platform.script.add(TYPING, errcode(0, "ok"), times=None)
    platform.script.add(SEND, refusing(release, code))
    async with account(platform, store, taking(24, 2), reply_within=4.5) as there:
        there.pushes.patience = 5.0
        await there.pushes.says(ANN, "one")
        await platform.changes.until(lambda: platform.calls[SEND] == 1, what="the answer's call")
        second = await there.asks("two")
        await until(lambda: len(there.agent.asks) == 2)
        release.set()
        assert (await second).reply == "(To your earlier question)\nONE"
        assert await there.outcomes(3) == ["queued", "presumed", "delivered"]


def refusing(release: asyncio.Event, code: int) -> Respond:
    """With this code, and not before the event."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await release.wait()
        return await errcode(code)(exchange)

    return respond
