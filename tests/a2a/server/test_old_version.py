"""A2A 0.3, over JSON-RPC and over HTTP+JSON, as its own words are."""

from typing import Any

import pytest

from tests.a2a.server.site import Site, message, message_03, serving

HOOK = {"url": "https://example.com/hook", "authentication": {"schemes": ["Bearer"], "credentials": "c"}}


async def test_who_says_no_version_speaks_0_3(site: Site) -> None:
    for headers in ({}, {"A2A-Version": ""}, {"A2A-Version": "0.3"}, {"A2A-Version": "0.3.0"}):
        answer = await site.rpc_03("message/send", message_03("echo hello"), headers=headers)
        task = answer.said["result"]
        assert (task["kind"], task["status"]["state"]) == ("task", "completed")
        assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": "hello"}]
        assert task["history"][0]["kind"] == "message"
        assert task["history"][0]["role"] == "user"


async def test_a_bare_answer_is_a_bare_message(site: Site) -> None:
    said = (await site.rpc_03("message/send", message_03("bare"))).said["result"]
    assert (said["kind"], said["role"]) == ("message", "agent")
    assert said["parts"] == [{"kind": "text", "text": "a bare answer"}]


async def test_blocking_is_the_opposite_of_returning_at_once(site: Site) -> None:
    for blocking in (True, False):
        await site.rpc_03("message/send", {**message_03("echo x"), "configuration": {"blocking": blocking}})
        sent = site.tasks.sent[-1][1]
        assert (sent.waits, sent.patience) == (blocking, None)


@pytest.mark.parametrize("configuration", [{}, {"configuration": {}}, {"configuration": {"blocking": None}}])
async def test_who_does_not_say_blocking_waits_for_a_while_only(configuration: dict[str, Any]) -> None:
    async with serving(limits={"wait_03": 2.5}) as site:
        await site.rpc_03("message/send", {**message_03("echo x"), **configuration})
        await site.rpc("SendMessage", message("echo x"))
        assert [(sent.waits, sent.patience) for _, sent in site.tasks.sent] == [(True, 2.5), (True, None)]


async def test_tasks_are_read_cancelled_and_missed(site: Site) -> None:
    asked = (await site.rpc_03("message/send", message_03("ask"))).said["result"]
    assert asked["status"]["state"] == "input-required"
    read = (await site.rpc_03("tasks/get", {"id": asked["id"], "historyLength": 0})).said["result"]
    assert (read["id"], "history" in read) == (asked["id"], False)
    assert (await site.rpc_03("tasks/cancel", {"id": asked["id"]})).said["result"]["status"]["state"] == "canceled"
    assert (await site.rpc_03("tasks/cancel", {"id": asked["id"]})).code == -32002
    assert (await site.rpc_03("tasks/get", {"id": "nobody"})).code == -32001


async def test_a_stream_tells_kinds_and_says_which_event_is_the_last(site: Site) -> None:
    async with site.rpc_stream("message/stream", message_03("many 2"), version=None) as stream:
        events = [frame["result"] for frame in await stream.rest()]
    assert [event["kind"] for event in events] == ["task", "status-update", *["artifact-update"] * 2, "status-update"]
    assert [event["final"] for event in events if event["kind"] == "status-update"] == [False, True]
    assert [event["append"] for event in events if event["kind"] == "artifact-update"] == [False, True]


async def test_a_question_ends_a_stream(site: Site) -> None:
    async with site.rpc_stream("message/stream", message_03("ask"), version=None) as stream:
        last = (await stream.rest())[-1]["result"]
    assert (last["status"]["state"], last["final"]) == ("input-required", True)


async def test_a_running_task_is_subscribed_to_again(site: Site) -> None:
    task = await site.start("hold")
    async with site.rpc_stream("tasks/resubscribe", {"id": task["id"]}, version=None) as stream:
        assert (await stream.next())["result"]["kind"] == "task"
        site.tasks.released.set()
        assert (await stream.rest())[-1]["result"]["status"]["state"] == "completed"


async def test_the_push_config_of_a_task_is_set_read_listed_and_dropped(site: Site) -> None:
    task = (await site.rpc_03("message/send", message_03("ask"))).said["result"]["id"]
    set_ = {"taskId": task, "pushNotificationConfig": HOOK}
    for _ in range(2):  # without an id it is the task's one config
        made = (await site.rpc_03("tasks/pushNotificationConfig/set", set_)).said["result"]
    assert made == {"taskId": task, "pushNotificationConfig": {**HOOK, "id": task}}
    assert (await site.rpc_03("tasks/pushNotificationConfig/get", {"id": task})).said["result"] == made
    assert [config.protocol for config in await site.tasks.pushes(site.tasks.sent[0][0], task)] == ["0.3"]
    assert (await site.rpc_03("tasks/pushNotificationConfig/list", {"id": task})).said["result"] == [made]
    by_id = {"id": task, "pushNotificationConfigId": task}
    assert (await site.rpc_03("tasks/pushNotificationConfig/delete", by_id)).said["result"] is None
    assert (await site.rpc_03("tasks/pushNotificationConfig/list", {"id": task})).said["result"] == []


async def test_a_push_config_without_an_id_is_called_default_too(site: Site) -> None:
    task = (await site.rpc_03("message/send", message_03("ask"))).said["result"]["id"]
    set_ = {"taskId": task, "pushNotificationConfig": HOOK}
    made = (await site.rpc_03("tasks/pushNotificationConfig/set", set_)).said["result"]
    by_id = {"id": task, "pushNotificationConfigId": "default"}
    assert (await site.rpc_03("tasks/pushNotificationConfig/get", by_id)).said["result"] == made
    configs = f"/tasks/{task}/pushNotificationConfigs"
    read = (await old_rest(site, "GET", f"{configs}/default")).said
    assert read["pushNotificationConfig"] == made["pushNotificationConfig"]
    assert (await site.rpc_03("tasks/pushNotificationConfig/delete", by_id)).said["result"] is None
    assert (await site.rpc_03("tasks/pushNotificationConfig/get", by_id)).code == -32001


async def test_a_push_config_that_is_called_default_is_the_one_that_default_means(site: Site) -> None:
    task = (await site.rpc_03("message/send", message_03("ask"))).said["result"]["id"]
    for hook in (HOOK, {**HOOK, "id": "default"}):
        set_ = {"taskId": task, "pushNotificationConfig": hook}
        await site.rpc_03("tasks/pushNotificationConfig/set", set_)
    by_id = {"id": task, "pushNotificationConfigId": "default"}
    found = (await site.rpc_03("tasks/pushNotificationConfig/get", by_id)).said["result"]
    assert found["pushNotificationConfig"]["id"] == "default"
    await site.rpc_03("tasks/pushNotificationConfig/delete", by_id)
    left = (await site.rpc_03("tasks/pushNotificationConfig/list", {"id": task})).said["result"]
    assert [each["pushNotificationConfig"]["id"] for each in left] == [task]


async def test_who_names_no_push_config_gets_one_of_the_task_s_but_drops_none(site: Site) -> None:
    task = (await site.rpc_03("message/send", message_03("ask"))).said["result"]["id"]
    set_ = {"taskId": task, "pushNotificationConfig": {**HOOK, "id": "mine"}}
    made = (await site.rpc_03("tasks/pushNotificationConfig/set", set_)).said["result"]
    assert (await site.rpc_03("tasks/pushNotificationConfig/get", {"id": task})).said["result"] == made
    await site.rpc_03("tasks/pushNotificationConfig/delete", {"id": task})
    assert (await site.rpc_03("tasks/pushNotificationConfig/list", {"id": task})).said["result"] == [made]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tasks/resubscribe", {"id": "nobody"}, -32001),
        ("tasks/resubscribe", {}, -32602),
        ("tasks/resubscribe", [], -32602),
        ("message/stream", {}, -32602),
        ("message/stream", message_03("x", taskId="nobody"), -32001),
    ],
)
async def test_a_refused_stream_is_a_stream_with_the_refusal_in_it(
    site: Site, method: str, params: Any, code: int
) -> None:
    async with site.rpc_stream(method, params, version=None) as stream:
        (refusal,) = await stream.rest()
    assert (stream.answer.status, refusal["id"], refusal["error"]["code"]) == (200, 7, code)
    assert site.told.seen[-1][1]["outcome"] in ("TASK_NOT_FOUND", "INVALID_PARAMS")


async def test_too_many_streams_are_told_by_http() -> None:
    hold = message_03("hold")
    async with serving(limits={"streams": 1}) as site, site.rpc_stream("message/stream", hold, version=None) as stream:
        await stream.next()
        crowded = await site.rpc_03("message/stream", hold)
    assert (crowded.status, "Retry-After" in crowded.headers, crowded.code) == (503, True, -32000)


async def test_files_and_data_are_read_and_written(site: Site) -> None:
    parts = [
        {"kind": "file", "file": {"bytes": "AAEC", "name": "a.bin", "mimeType": "application/octet-stream"}},
        {"kind": "file", "file": {"uri": "https://example.com/a", "name": "a", "mimeType": "image/png"}},
        {"kind": "data", "data": {"a": 1}},
    ]
    said = message_03("x", parts=parts)
    assert (await site.rpc_03("message/send", said)).said["result"]["artifacts"][0]["parts"] == parts


async def test_data_that_is_no_object_is_wrapped_as_the_sdk_does(site: Site) -> None:
    parts = [{"data": [1, 2]}]
    task = (await site.rpc("SendMessage", message("x", parts=parts))).said["result"]["task"]
    old = (await site.rpc_03("tasks/get", {"id": task["id"]})).said["result"]["artifacts"][0]["parts"]
    assert old == [{"kind": "data", "data": {"value": [1, 2]}, "metadata": {"data_part_compat": True}}]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "message"),
        ({"message": "hello"}, "message"),
        ({"message": {"parts": "invalid"}}, "message.messageId"),
        (message_03("x", parts=[{"kind": "text"}]), "message.parts[0]"),
        (message_03("x", parts=[{"kind": "file", "file": "x"}]), "message.parts[0]"),
        (message_03("x", parts=[{"kind": "text", "text": "x", "metadata": [1]}]), "message.parts[0].metadata"),
        (message_03("x", parts=[{"kind": "data", "data": {}, "metadata": "x"}]), "message.parts[0].metadata"),
        (message_03("x", role="agent"), "message.role"),
        ({**message_03("x"), "configuration": "none"}, "configuration"),
        ({**message_03("x"), "configuration": {"historyLength": -1}}, "configuration.historyLength"),
    ],
)
async def test_wrong_parameters_are_refused(site: Site, params: Any, field: str) -> None:
    answer = await site.rpc_03("message/send", params)
    assert (answer.code, answer.fields[0]) == (-32602, field)


async def test_the_old_error_for_an_agent_without_an_extended_card(site: Site) -> None:
    assert (await site.rpc_03("agent/getAuthenticatedExtendedCard")).code == -32007


# ---------------------------------------------------------------------------------------------- HTTP+JSON


async def old_rest(site: Site, method: str, path: str, body: Any = None) -> Any:
    return await site.rest(method, f"/v1{path}", body, version=None)


def proto(text: str) -> dict[str, Any]:
    return {"message": {"messageId": f"m-{text}", "role": "ROLE_USER", "content": [{"text": text}]}}


async def test_http_json_is_spelled_as_its_proto_file_is(site: Site) -> None:
    sent = (
        await old_rest(site, "POST", "/message:send", {**proto("echo hello"), "configuration": {"blocking": True}})
    ).said
    assert sent["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert sent["task"]["artifacts"][0]["parts"] == [{"text": "hello"}]
    assert sent["task"]["history"][0]["content"] == [{"text": "echo hello"}]


async def test_http_json_takes_the_names_of_the_proto_file(site: Site) -> None:
    file = {"file": {"file_with_bytes": "AAEC", "mime_type": "application/octet-stream", "name": "a.bin"}}
    said = {"message_id": "m1", "role": "ROLE_USER", "content": [file, {"data": {"data": {"snake_case": 1}}}]}
    body = {"request": said, "configuration": {"blocking": True, "history_length": 0}}
    task = (await old_rest(site, "POST", "/message:send", body)).said["task"]
    first, second = task["artifacts"][0]["parts"]
    assert first["file"]["fileWithBytes"] == "AAEC"
    assert second == {"data": {"data": {"snake_case": 1}}}
    assert "history" not in task


async def test_absent_is_false_in_http_json(site: Site) -> None:
    await old_rest(site, "POST", "/message:send", proto("echo x"))
    assert site.tasks.sent[-1][1].waits is False


async def test_a_task_of_http_json_is_read_cancelled_and_its_pushes_told(site: Site) -> None:
    task = (await old_rest(site, "POST", "/message:send", proto("hold"))).said["task"]["id"]
    configs = f"/tasks/{task}/pushNotificationConfigs"
    body = {"config": {"push_notification_config": {"id": "p1", **HOOK}}}
    made = (await old_rest(site, "POST", configs, body)).said
    assert made == {"name": f"tasks/{task}/pushNotificationConfigs/p1", "pushNotificationConfig": {**HOOK, "id": "p1"}}
    assert (await old_rest(site, "GET", f"{configs}/p1")).said == made
    assert (await old_rest(site, "GET", configs)).said == {"configs": [made]}
    assert (await old_rest(site, "DELETE", f"{configs}/p1")).status == 200
    canceled = (await old_rest(site, "POST", f"/tasks/{task}:cancel")).said
    assert canceled["status"]["state"] == "TASK_STATE_CANCELLED"
    assert (await old_rest(site, "GET", f"/tasks/{task}")).said == canceled


async def test_events_of_http_json_are_members_of_an_object(site: Site) -> None:
    async with site.stream("POST", "/v1/message:stream", proto("echo hello"), version=None) as stream:
        events = await stream.rest()
    assert [next(iter(event)) for event in events] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert events[-1]["statusUpdate"]["final"] is True


async def test_errors_of_http_json_are_told_by_their_type_too(site: Site) -> None:
    answer = await old_rest(site, "GET", "/tasks/nobody")
    assert (answer.status, answer.said["type"], answer.said["message"]) == (404, "TaskNotFoundError", "task not found")


async def test_tasks_are_not_listed_in_0_3(site: Site) -> None:
    assert (await old_rest(site, "GET", "/tasks")).reason == "UNSUPPORTED_OPERATION"
