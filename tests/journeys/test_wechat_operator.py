"""An Official Account whose operator acts while people write to it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.fakes.agent_events import Event, artifact, completed, working
from tests.fakes.agent_scripts import AgentScript, Call, echo
from tests.fakes.scripting import Exchange, Respond
from tests.fakes.wechat import errcode, open_id
from tests.journeys.setting_wechat import Line, official_account

ANN, BOB = open_id("ann"), open_id("bob")
KEY = "caller-secret-0123456789"
SEND = "message/custom/send"


def answering(may_answer: asyncio.Event, *, to: str = "") -> AgentScript:
    """What is asked is answered once it may be; where `to` is given, only that waits."""

    async def script(call: Call) -> AsyncIterator[Event]:
        yield working()
        if to in ("", call.text):
            await may_answer.wait()
        yield artifact(f"answer: {call.text}", last=True)
        yield completed()

    return script


@pytest.mark.case("SRC-19")
async def test_whoever_is_taken_off_the_list_is_not_heard_from_the_next_message_on(tmp_path: Path) -> None:
    async with official_account(tmp_path / "desk", echo, access={"allow": [ANN, BOB]}) as line:
        await line.gateway.start()
        await both_say(line, "hello", shown=(1, 1))

        line.gateway.configure("plugins.desk", access={"allow": [BOB]})
        reread = await line.gateway.reread()

        assert (reread["changed"], reread["needs_restart"]) == (["plugins.desk.access"], [])
        await both_say(line, "again", shown=(1, 2))
        assert line.platform.people[ANN].texts == ["echo: hello"]
        assert await line.gateway.event("envelope.admitted", outcome="refused", reason="not_allowed")
        assert sum(line.agent.message_counts.values()) == 3


async def both_say(line: Line, text: str, *, shown: tuple[int, int]) -> None:
    """Ann and Bob write; returns when that many messages were shown to them."""
    for person, count in zip((ANN, BOB), shown, strict=True):
        await line.pushes.says(person, text)
        await line.platform.until_shown(person, count)


@pytest.mark.case("DEL-08")
async def test_what_is_written_while_the_configuration_is_reread_is_answered_in_its_order(tmp_path: Path) -> None:
    async with official_account(tmp_path / "desk", echo) as line:
        await line.gateway.start()
        for number in range(10):
            line.gateway.configure("agents.remote", resubmit=("same_message_id", "never")[number % 2])
            async with asyncio.TaskGroup() as both:
                both.create_task(line.gateway.reread())
                both.create_task(line.pushes.says(ANN, f"message {number}"))
        shown = await line.platform.until_shown(ANN, 10)
        # One that was overtaken by the next message has a line before it that says so.
        assert [text.splitlines()[-1] for text in shown] == [f"echo: message {number}" for number in range(10)]


@pytest.mark.case("DEL-26")
async def test_an_answer_to_somebody_who_left_is_shown_as_dead_until_it_is_sent_again_or_given_up(
    tmp_path: Path,
) -> None:
    may_answer = asyncio.Event()
    async with official_account(tmp_path / "desk", answering(may_answer), reply_within=1.0) as line:
        await line.gateway.start()
        for person in (ANN, BOB):
            await line.pushes.says(person, "hello")
            await line.pushes.event(person, "unsubscribe", EventKey="")
        may_answer.set()
        await line.gateway.event("delivery.attempted", outcome="dead", n=2)

        dead = {delivery["chat"]: delivery["id"] for delivery in await line.gateway.items("deliveries?state=dead")}
        assert Counter((await line.gateway.summary())["deliveries"]) == Counter(dead=2)
        assert 'frontdesk_deliveries_total{outcome="dead"} 2.0' in await metrics(line)

        line.platform.people[ANN].follows = True
        line.platform.wrote(ANN)
        assert await line.gateway.say(f"deliveries/{dead[ANN]}:retry", {}) == 200
        assert (await line.platform.until_shown(ANN, 1))[0].removeprefix("(again) ") == "answer: hello"
        await line.gateway.until_delivered()
        assert await line.gateway.say(f"deliveries/{dead[ANN]}:retry", {}) == 409
        assert await line.gateway.say(f"deliveries/{dead[BOB]}:discard", {}) == 200
        assert Counter((await line.gateway.summary())["deliveries"]) == Counter(delivered=1, discarded=1)
        assert len(line.platform.people[ANN].texts) == 1


@pytest.mark.case("DEL-18")
async def test_a_push_that_was_acknowledged_and_whose_answer_failed_leads_to_the_failure_and_its_cause(
    tmp_path: Path,
) -> None:
    """From the accepted message to its turn, to its delivery; and the same after it was sent again in vain."""
    may_answer, may_refuse = asyncio.Event(), asyncio.Event()
    async with official_account(tmp_path / "desk", answering(may_answer), reply_within=1.0) as line:
        line.platform.script.add(SEND, errcode(43004, "require subscribe"))
        line.platform.script.add(SEND, refusing_once(may_refuse, 43004), times=None)
        await line.gateway.start()
        assert (await line.pushes.says(ANN, "hello")).statuses == [200]
        accepted = await line.gateway.event("envelope.admitted", outcome="accepted")
        may_answer.set()
        await line.gateway.event("delivery.attempted", outcome="dead")

        turn = (await line.gateway.api(f"envelopes/{accepted['envelope']}"))["turn"]
        (dead,) = [each for each in await line.gateway.items("deliveries") if each["turn"] == turn]
        assert await failure_of(line, dead["id"]) == ("dead", 1)
        assert Counter((await line.gateway.summary())["deliveries"]) == Counter(dead=1)

        told = await line.gateway.api(f"deliveries/{dead['id']}:retry", "POST")
        assert told["state"] in ("queued", "attempting")
        may_refuse.set()
        await line.gateway.event("delivery.attempted", outcome="dead", n=2)
        assert await failure_of(line, dead["id"]) == ("dead", 2)
        (session,) = await line.gateway.items("sessions")
        timeline = (await line.gateway.api(f"sessions/{session['ref']}"))["timeline"]
        assert [each["state"] for each in timeline if each["what"].startswith("delivery")] == ["dead"]
        assert Counter((await line.gateway.summary())["deliveries"]) == Counter(dead=1)
        assert line.platform.people[ANN].texts == []


def refusing_once(may_refuse: asyncio.Event, code: int) -> Respond:
    """With this code, and not before the event."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await may_refuse.wait()
        return await errcode(code)(exchange)

    return respond


async def failure_of(line: Line, delivery: str) -> tuple[str, int]:
    """Its state and how often it was tried, each try with the platform's code and what that means."""
    found = await line.gateway.api(f"deliveries/{delivery}")
    for reason in (found["reason"], *(each["reason"] for each in found["tries"])):
        assert "not_followed (43004): the person does not follow the account" in reason
    return found["state"], len(found["tries"])


@pytest.mark.case("DEL-22")
async def test_what_another_agent_asks_shows_up_in_no_chat_and_moves_nobodys_address(tmp_path: Path) -> None:
    """Also where it names a person's session, or writes while the person waits for an answer."""
    may_answer = asyncio.Event()
    async with official_account(tmp_path / "desk", answering(may_answer, to="slow"), reply_within=1.0) as line:
        callers = [{"name": "partner", "key": KEY}]
        line.gateway.configure("plugins.partners", kind="a2a", agent="remote", callers=callers)
        line.gateway.private.add(KEY)
        await line.gateway.start()
        await line.pushes.says(ANN, "slow")
        (session,) = await line.gateway.items("sessions")

        task = await called(line, "partner", session["ref"])
        assert "answer: partner" in str(task["artifacts"])
        may_answer.set()

        assert await line.platform.until_shown(ANN, 1) == ["answer: slow"]
        await line.gateway.at_rest()
        assert list(line.platform.people) == [ANN]
        assert len({task.wire()["contextId"] for task in line.agent.tasks}) == 2


async def called(line: Line, text: str, context: str) -> dict[str, Any]:
    """The task of another agent's blocking call, which names this context."""
    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}], "contextId": context}
    headers = {"X-API-Key": KEY, "A2A-Version": "1.0"}
    url = f"{line.gateway.base}/a2a/remote/message:send"
    async with line.gateway.http.post(url, json={"message": message}, headers=headers) as answer:
        answer.raise_for_status()
        task: dict[str, Any] = (await answer.json(content_type=None))["task"]
        return task


async def metrics(line: Line) -> str:
    async with line.gateway.http.get(f"{line.gateway.base}/metrics") as answer:
        return await answer.text()
