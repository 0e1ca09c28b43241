"""What agents and operators do beside a chat: push, change a card, reply to a task, wait for a sign-in."""

import asyncio

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import artifact, completed, working
from tests.fakes.agent_push import FORMS, TOKENS, post, pushed
from tests.fakes.agent_scripts import working_until
from tests.fakes.scripting import http_status
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess

CHAT = 7


async def pushing_task(agent: ScriptedAgent, telegram: FakeTelegram, gateway: GatewayProcess) -> dict[str, str]:
    """A task that works on, whose agent answers no question about it; where it may push."""
    agent.streaming, agent.pushes = False, True
    agent.behave(working_until(asyncio.Event()))
    agent.fault("GetTask", respond=http_status(500), times=None)
    await gateway.start()
    telegram.user_says(CHAT, "a long piece of work, please")
    await agent.wait_for_state("WORKING")
    await gateway.event("task.unreachable")
    [config] = agent.push_configs.values()
    gateway.private.add(config["token"])
    return config


@pytest.mark.case("A2A-25")
@pytest.mark.parametrize(("form", "by"), list(zip(FORMS, [*TOKENS, TOKENS[0]], strict=True)))
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_pushed_result_arrives_once_and_after_a_restart_too(
    form: str, by: str, is_restarted: bool, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    config = await pushing_task(agent, telegram, gateway)
    known = agent.only_task
    if is_restarted:
        await gateway.restart()
    for event in (artifact("the result"), completed()):
        known.apply(event)
    assert {await post(config, pushed(known, form=form), by=by) for _ in range(3)} <= {200, 404}
    await telegram.wait_for_text(CHAT, "the result")
    await gateway.at_rest()
    assert telegram.texts(CHAT) == ["the result"]
    [listed] = await gateway.items("tasks")
    said = (await gateway.api(f"tasks/{listed['id']}"))["inbox"]
    assert said[-1]["road"] == "push"
    await agent.wait_for_calls("DeleteTaskPushNotificationConfig")
    assert await post(config, pushed(known), by=by) == 404


@pytest.mark.case("T35")
@pytest.mark.case("T36")
@pytest.mark.case("T37")
async def test_a_forged_push_changes_nothing(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    config = await pushing_task(agent, telegram, gateway)
    known = agent.only_task
    body = pushed(known, completed("forged"))
    before = await gateway.summary()
    assert await post({**config, "token": "guessed"}, body) == 401
    assert await post(config, body, url=config["url"] + "x") == 404
    foreign = {"task": {**known.wire(), "id": "task-of-another"}}
    assert await post(config, foreign) == 404
    assert await post(config, pushed(known, working("truly"))) == 200
    await gateway.event("ingress.refused", path="/a2a/push/{id}", outcome="foreign_task")
    assert (await gateway.summary())["tasks"] == before["tasks"]
    assert telegram.texts(CHAT) == []
