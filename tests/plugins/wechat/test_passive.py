"""Passive replies: the answer rides on the push that asked for it, on a later request for it, or goes another way."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.agent import Ask, TaskEvent, TaskState
from core.notices import sentence
from core.parts import text_of
from core.session import Bounds
from core.store import Store
from gateway.store.sqlite import SqliteStore
from plugins.wechat.passive import Pace
from tests.doubles.agent import FakeAgent, Parked, context, task, task_id
from tests.doubles.clock import ManualClock
from tests.fakes.scripting import delay
from tests.fakes.wechat import FakeWechat, errcode, open_id
from tests.plugins.wechat.account import ANN, BOB, SCALE, account
from tests.waiting import until

PATIENCE = 5 * SCALE  # seconds that the scaled platform waits; whoever answers later is not heard


class Takes:
    """An agent that needs so many of the platform's seconds (the scaled ones) for an answer."""

    def __init__(self, *seconds: float) -> None:
        self._left = list(seconds)

    async def __call__(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await asyncio.sleep(self._left.pop(0) * PATIENCE / 5)
        yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper())


def taking(*seconds: float) -> FakeAgent:
    return FakeAgent(Takes(*seconds))


async def test_a_quick_answer_rides_on_its_push_and_is_presumed(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply) == ([200], "HELLO")
        assert await there.outcomes(1) == ["presumed"]
        assert platform.calls["message/custom/send"] == 0


@pytest.mark.parametrize("created", ["", "-1", "soon", "٣", "9" * 30, "9" * 5000])
async def test_a_message_whose_time_is_none_is_answered_as_any_other(
    platform: FakeWechat, store: Store, created: str
) -> None:
    async with account(platform, store) as there:
        assert (await there.pushes.says(ANN, "hello", CreateTime=created)).reply == "HELLO"


@pytest.mark.case("WX-01")
@pytest.mark.case("T10")
async def test_three_requests_for_one_message_are_one_task_each_answered_in_time(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, taking(12)) as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        platform.wrote(ANN)
        requests = [await there.pushes.request(message) for _ in range(3)]
        assert [each.status for each in requests] == [200, 200, 200]
        assert len(there.agent.asks) == 1
        assert requests[0].body == requests[1].body == "success"


@pytest.mark.case("WX-02")
@pytest.mark.case("F25")
async def test_a_late_answer_is_sent_once_where_the_account_may_send(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(20)) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply) == ([200], None)
        assert await platform.until_shown(ANN, 1) == ["HELLO"]
        assert await there.outcomes(1) == ["delivered"]
        assert there.roads() == ["service"]


@pytest.mark.case("WX-02")
async def test_a_late_answer_waits_for_the_next_message_where_the_account_may_not_send(
    platform: FakeWechat, store: Store
) -> None:
    agent = taking(20, 20)
    async with account(platform, store, agent, customer_service=False) as there:
        push = await there.pushes.says(ANN, "hello")
        assert push.statuses == [None, None, 200]
        assert push.reply == "I am still working on it. Send me anything to see the answer."
        assert await there.outcomes(1) == ["waiting_for_user"]
        assert "customer_service is false" in there.reasons()[0]
    async with account(platform, store, agent, customer_service=False) as there:
        push = await there.pushes.says(ANN, "and?")
        assert push.reply == "(To your earlier question)\nHELLO"
        assert len(push.requests) == 1


async def test_what_waited_and_the_answer_to_what_fetched_it_are_one_reply(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(20, 0.1), customer_service=False) as there:
        await there.pushes.says(ANN, "one")
        assert await there.outcomes(1) == ["waiting_for_user"]
        push = await there.pushes.says(ANN, "two")
        assert push.reply == "(To your earlier question)\nONE\n\nTWO"
        assert await there.outcomes(3) == ["waiting_for_user", "presumed", "presumed"]


@pytest.mark.case("WX-05")
async def test_an_answer_between_two_requests_is_given_to_the_next(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(6), customer_service=False) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply) == ([None, 200], "HELLO")
        assert await there.outcomes(1) == ["presumed"]


@pytest.mark.case("WX-03")
async def test_a_message_of_the_accounts_own_accord_needs_no_push(platform: FakeWechat, store: Store) -> None:
    """What is queued while nobody waits is sent, not dropped for want of a push."""
    async with account(platform, store, taking(6)) as there:
        await there.pushes.says(ANN, "你好")
        assert await platform.until_shown(ANN, 1) == ["你好"]
        assert platform.calls["message/custom/send"] == 1


@pytest.mark.case("SRC-04")
async def test_a_second_question_while_the_first_is_open_is_queued_and_answered(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, taking(7, 0.1)) as there:
        first = await there.asks("one")
        await there.pushes.says(ANN, "two")
        await first
        shown = await platform.until_shown(ANN, 2)
        assert {text.rpartition("\n")[2] for text in shown} == {"ONE", "TWO"}


async def test_a_stored_answer_is_given_again_after_a_restart(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        first = await there.pushes.request(message)
    async with account(platform, store) as there:
        second = await there.pushes.request(message)
        assert there.pushes.reply_in(first.body) == there.pushes.reply_in(second.body) == "HELLO"
        assert len(there.agent.asks) == 0


@pytest.mark.case("WX-08")
@pytest.mark.parametrize("may_send", [True, False])
async def test_a_message_that_comes_again_a_day_and_a_restart_later_is_dropped(
    platform: FakeWechat, tmp_path: Path, may_send: bool
) -> None:
    """It is acknowledged at once: nobody waits, neither for an answer nor for the words that there will be one."""
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        async with account(platform, store, customer_service=may_send) as there:
            message = there.pushes.message(ANN, "text", Content="hello", MsgId=77)
            await there.pushes.request(message)
    tomorrow = time.time() + 26 * 3600
    async with SqliteStore(tmp_path / "desk.db", clock=ManualClock(tomorrow)) as store:
        await store.hold()
        await store.prune(tomorrow)
        async with account(platform, store, customer_service=may_send) as there:
            push = await there.pushes.push(message)
            assert (push.statuses, push.reply) == ([200], None)
            assert there.agent.asks == []


@pytest.mark.case("WX-02")
async def test_after_a_restart_between_two_requests_the_next_one_fetches_what_waits(
    platform: FakeWechat, store: Store
) -> None:
    """The answer came while nobody asked and no process knew that somebody would."""
    agent = taking(3600)
    patient: dict[str, Any] = {"customer_service": False, "reply_within": 4.5}
    async with account(platform, store, agent, **patient) as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        assert (await there.pushes.request(message)).status is None
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "HELLO")
    async with account(platform, store, agent, **patient) as there:
        assert await there.outcomes(1) == ["waiting_for_user"]
        there.pushes.patience = 30.0
        second, third = await there.pushes.request(message), await there.pushes.request(message)
        assert there.pushes.reply_in(second.body) == there.pushes.reply_in(third.body) == "HELLO"
        assert await there.outcomes(2) == ["waiting_for_user", "presumed"]
        assert len(agent.asks) == 1


@pytest.mark.case("WX-02")
async def test_after_a_restart_past_the_last_request_the_next_message_fetches_what_waits(
    platform: FakeWechat, store: Store
) -> None:
    agent = taking(3600, 3600)
    async with account(platform, store, agent, customer_service=False) as there:
        await there.pushes.request(there.pushes.message(ANN, "text", Content="hello"))
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "HELLO")
    async with account(platform, store, agent, customer_service=False) as there:
        assert await there.outcomes(1) == ["waiting_for_user"]
        push = await there.pushes.says(ANN, "and?")
        assert push.reply == "(To your earlier question)\nHELLO"


@pytest.mark.case("WX-05")
async def test_a_message_whose_earlier_requests_nobody_saw_is_told_by_its_last_that_the_answer_comes_later(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, taking(3600), customer_service=False) as there:
        message = there.pushes.message(ANN, "text", Content="hello", age=3 * PATIENCE)
        last = await there.pushes.request(message)
        assert there.pushes.reply_in(last.body) == "I am still working on it. Send me anything to see the answer."


@pytest.mark.parametrize(
    ("created", "asked", "seconds"),
    [(1000, 1000, 0), (1000, 1001, 0), (1000, 1006, 5), (1000, 9000, 10), (1006, 1000, 0), (None, 1000, 0)],
)
def test_a_message_was_asked_about_as_long_as_the_platforms_whole_seconds_are_sure_of_and_may_be_asked_about_once_more(
    created: int | None, asked: int, seconds: float
) -> None:
    assert Pace(4.5).age(created, asked) == seconds


@pytest.mark.parametrize("created", ["", "-5", "soon", "99999999999999999999"])
async def test_a_message_without_a_time_that_can_be_believed_is_a_new_one(
    platform: FakeWechat, store: Store, created: str
) -> None:
    async with account(platform, store, taking(3600), customer_service=False) as there:
        message = there.pushes.message(ANN, "text", Content="hello") | {"CreateTime": created}
        assert (await there.pushes.request(message)).status is None


async def test_commands_are_answered_in_their_push(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, language="zh") as there:
        push = await there.pushes.says(ANN, "/状态")
        assert push.reply == "目前没有进行中的任务。"


@pytest.mark.parametrize("bounds", [Bounds(max_queued=1), Bounds(max_queued_per_owner=1)])
async def test_a_push_that_comes_again_is_answered_though_there_is_no_room_for_more(
    platform: FakeWechat, store: Store, bounds: Bounds
) -> None:
    """Whoever were told to send it again would have asked twice."""
    async with account(platform, store, taking(6), customer_service=False, options={"bounds": bounds}) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply, len(there.agent.asks)) == ([None, 200], "HELLO", 1)
        there.agent.script = Takes(0.1)
        assert (await there.pushes.says(ANN, "there is room again")).reply == "THERE IS ROOM AGAIN"


async def test_the_language_of_the_accounts_own_words_changes_while_it_runs(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(3600), options={"bounds": Bounds(max_queued=1)}) as there:
        await there.pushes.says(ANN, "one")
        there.desk.language = "zh"
        assert (await there.pushes.says(BOB, "two")).reply == sentence("busy", "zh")
    async with account(platform, store, taking(3600), customer_service=False) as there:
        there.desk.language = "zh"
        assert (await there.pushes.says(BOB, "three")).reply == sentence("answer_later", "zh")


@pytest.mark.case("SRC-07")
async def test_a_slow_api_holds_up_nobody_else(platform: FakeWechat, store: Store) -> None:
    release, crowd = asyncio.Event(), [open_id(f"p{number}") for number in range(20)]
    async with account(platform, store, taking(*[26] * len(crowd)), reply_within=4.5) as there:
        there.pushes.patience = 5.0  # the platform's own, so that a busy machine is no reason to be late
        platform.script.add("message/custom/send", delay(release), times=None)
        await asyncio.gather(*(there.pushes.says(person, "slow") for person in crowd))
        await platform.changes.until(lambda: platform.calls["message/custom/send"] == len(crowd))
        there.agent.script = Takes(0.1)
        assert (await there.pushes.says(BOB, "quick")).reply == "QUICK"
        assert await there.outcomes(1) == ["presumed"]  # the crowd's are under way
        release.set()
        assert Counter(await there.outcomes(21)) == Counter(presumed=1, delivered=20)


@pytest.mark.case("DEL-11")
@pytest.mark.case("DEL-09")
async def test_where_an_account_collects_what_is_written_while_an_answer_is_made_is_one_turn_in_its_order(
    platform: FakeWechat, store: Store
) -> None:
    parked = Parked()
    async with account(platform, store, FakeAgent(parked), options={"collect": 0.05}) as there:
        pushing = [await there.asks("work")]
        for number in range(3):
            pushing.append(asyncio.ensure_future(there.pushes.says(ANN, f"<{number}>")))
            await until(lambda n=number: len(there.desk.events.of("envelope.admitted")) == n + 2)  # type: ignore[misc]
        parked.released.set()
        await asyncio.gather(*pushing)
        shown = await platform.until_shown(ANN, 2)
        assert [text.splitlines()[-1] for text in shown] == ["WORK", "<0><1><2>"]
        assert [text_of(ask.parts) for ask in there.agent.asks] == ["work", "<0><1><2>"]


@pytest.mark.case("DEL-12")
async def test_commands_overtake_the_work_they_ask_about(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(3600)) as there:
        assert (await there.pushes.says(ANN, "work")).reply is None
        assert "work — agent" in str((await there.pushes.says(ANN, "/status")).reply)
        assert (await there.pushes.says(ANN, "/取消")).reply == "I am asking the agent to stop."
        await until(lambda: len(there.agent.cancels) == 1)


@pytest.mark.case("DEL-14")
@pytest.mark.case("DEL-15")
async def test_all_of_an_answer_goes_to_whoever_asked_whoever_writes_meanwhile(
    platform: FakeWechat, store: Store
) -> None:
    text = "汉字" * 900
    async with account(platform, store, taking(7, 0.1)) as there:
        await there.pushes.says(ANN, text)
        assert (await there.pushes.says(BOB, "quick")).reply == "QUICK"
        assert "".join(await platform.until_shown(ANN, 3)) == text
        assert there.shown(BOB) == ["QUICK"]


@pytest.mark.case("DEL-15")
async def test_what_is_left_of_an_answer_to_somebody_who_cannot_be_found_is_dead_and_nobody_elses(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, taking(7, 7)) as there:
        platform.script.add("message/custom/send", errcode(40003, "invalid openid"), chat=ANN, after=1)
        await asyncio.gather(there.pushes.says(ANN, "汉字" * 900), there.pushes.says(BOB, "quick"))
        assert "dead" in await there.outcomes(3)
        await platform.until_shown(BOB, 1)
        assert (len(there.shown(ANN)), there.shown(BOB)) == (1, ["QUICK"])
        assert [reason for reason in there.reasons() if "40003" in reason]


@pytest.mark.case("DEL-15")
@pytest.mark.parametrize("sender", [{}, {"FromUserName": ""}, {"FromUserName": "  "}])
async def test_a_push_without_its_sender_is_kept_and_answered_nowhere(
    platform: FakeWechat, store: Store, sender: dict[str, str]
) -> None:
    async with account(platform, store, mode="plain") as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        del message["FromUserName"]
        answer = await there.pushes.request({**message, **sender})
        assert (answer.status, answer.body) == (200, "success")
        assert [each["reason"] for each in there.desk.events.of("envelope.admitted")] == ["unreadable"]
        assert (there.agent.asks, platform.bodies[1:]) == ([], [])


@pytest.mark.case("DEL-20")
async def test_two_people_have_two_contexts(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        for person in (ANN, BOB, ANN, BOB):
            assert (await there.pushes.says(person, "hello")).reply == "HELLO"
        first, second, third, fourth = there.agent.asks
        assert (third.context_id, fourth.context_id) == (context(first), context(second))
        assert third.context_id != fourth.context_id


async def test_words_that_would_end_their_cdata_stay_words(platform: FakeWechat, store: Store) -> None:
    words = "evil]]><MsgType><![CDATA[image]]></MsgType>"
    async with account(platform, store) as there:
        push = await there.pushes.says(ANN, words)
        assert push.reply == words.upper()


async def test_when_the_gateway_is_full_the_person_is_told_in_the_push(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, taking(20), options={"bounds": Bounds(max_queued=1)}) as there:
        await there.pushes.says(ANN, "one")
        push = await there.pushes.says(BOB, "two")
        assert push.reply == "I cannot take more at the moment; please send that again in a little while."
