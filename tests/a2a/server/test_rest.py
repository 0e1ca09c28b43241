"""HTTP+JSON of 1.0: the same operations by path, query and body."""

from typing import Any

import pytest
from yarl import URL

from a2a.server.port import Overloaded
from tests.a2a.server.site import AGENT, Site, message, words


async def test_every_operation_has_its_path(site: Site) -> None:
    asked = (await site.rest("POST", "/message:send", message("ask"))).said["task"]
    read = (await site.rest("GET", f"/tasks/{asked['id']}?historyLength=0")).said
    assert (read["id"], "history" in read) == (asked["id"], False)
    listed = (await site.rest("GET", f"/tasks?contextId={asked['contextId']}&pageSize=5&includeArtifacts=true")).said
    assert ([task["id"] for task in listed["tasks"]], listed["pageSize"]) == ([asked["id"]], 5)
    configs = f"/tasks/{asked['id']}/pushNotificationConfigs"
    made = (await site.rest("POST", configs, {"url": "https://example.com/hook"})).said
    assert made["taskId"] == asked["id"]
    assert (await site.rest("GET", f"{configs}/{made['id']}")).said == made
    assert (await site.rest("GET", configs)).said == {"configs": [made]}
    assert (await site.rest("DELETE", f"{configs}/{made['id']}")).said == {}
    assert (await site.rest("DELETE", f"{configs}/{made['id']}")).status == 200
    canceled = (await site.rest("POST", f"/tasks/{asked['id']}:cancel")).said
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"


async def test_the_path_of_the_tenant_is_that_of_the_agent_itself(site: Site) -> None:
    sent = (await site.rest("POST", f"/{AGENT}/message:send", message("echo hello"))).said["task"]
    assert words(sent) == "hello"
    assert (await site.rest("POST", "/somebody/message:send", message("echo hello"))).status == 404


@pytest.mark.parametrize("tenant", [AGENT, "", None])
async def test_the_field_of_the_tenant_may_name_the_agent(site: Site, tenant: str | None) -> None:
    assert (await site.rpc("SendMessage", {"tenant": tenant, **message("echo hello")})).said["result"]["task"]


async def test_another_tenant_is_refused(site: Site) -> None:
    answer = await site.rpc("SendMessage", {"tenant": "acme", **message("echo hello")})
    assert (answer.code, answer.fields) == (-32602, ["tenant"])


@pytest.mark.parametrize("media_type", ["application/json", "application/a2a+json"])
async def test_answers_have_the_media_type_of_the_request(site: Site, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    sent = await site.rest("POST", "/message:send", message("echo hello"), headers=headers)
    refused = await site.rest("POST", "/message:send", {}, headers=headers)
    assert [answer.headers["Content-Type"] for answer in (sent, refused)] == [media_type, media_type]
    read = await site.rest("GET", f"/tasks/{sent.said['task']['id']}", headers={"Accept": media_type})
    assert read.headers["Content-Type"] == media_type


@pytest.mark.case("T21")
async def test_another_media_type_is_refused_before_the_body_is_parsed(site: Site) -> None:
    answer = await site.ask("POST", f"{site.url}/message:send", raw=b"not json", headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.reason) == (415, "CONTENT_TYPE_NOT_SUPPORTED")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "grpc", "reason"),
    [
        ("GET", "/tasks/nobody", None, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        ("POST", "/tasks/nobody:cancel", None, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        ("GET", "/tasks/nobody:subscribe", None, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        ("POST", "/message:send", {}, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("POST", "/message:send", [], 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("GET", "/tasks?pageSize=0", None, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("GET", "/tasks?pageSize=many", None, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("GET", "/tasks?includeArtifacts=maybe", None, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("GET", "/extendedAgentCard", None, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    ],
)
async def test_a_refusal_is_an_error_body_with_its_reason(
    site: Site, method: str, path: str, body: Any, status: int, grpc: str, reason: str
) -> None:
    answer = await site.rest(method, path, body)
    error = answer.said["error"]
    assert (answer.status, error["code"], error["status"], answer.reason) == (status, status, grpc, reason)
    assert error["details"][0]["domain"] == "a2a-protocol.org"
    assert answer.headers["Content-Type"] == "application/json"


async def test_a_task_that_has_ended_cannot_be_cancelled(site: Site) -> None:
    task = (await site.rest("POST", "/message:send", message("echo x"))).said["task"]
    answer = await site.rest("POST", f"/tasks/{task['id']}:cancel")
    assert (answer.status, answer.reason) == (409, "TASK_NOT_CANCELABLE")


async def test_the_names_of_the_proto_file_are_taken_as_well(site: Site) -> None:
    body = {"message": {"message_id": "m1", "role": "ROLE_USER", "parts": [{"text": "echo x"}]}}
    assert (await site.rest("POST", "/message:send", body)).said["task"]


@pytest.mark.case("T90")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/message:send", 405),
        ("DELETE", "/tasks/x", 405),
        ("POST", "//message:send", 404),
        ("GET", "/tasks/x/y", 404),
        ("GET", "/%74asks", 404),
    ],
)
async def test_other_methods_and_paths_are_not_served(site: Site, method: str, path: str, status: int) -> None:
    async with site.http.request(method, URL(site.url + path, encoded=True), headers={"A2A-Version": "1.0"}) as answer:
        assert answer.status == status


@pytest.mark.parametrize("path", ["", "/", "/message:send", "/v1/message:send", "/message:stream"])
async def test_under_a_name_that_no_agent_is_served_by_it_is_said_in_the_protocols_words(site: Site, path: str) -> None:
    url = site.url.replace(f"/{AGENT}", "/nosuch")
    answer = await site.ask("POST", url + path, body=message("echo x"))
    error = answer.said["error"]
    assert (answer.status, error["message"]) == (404, "no agent is served under this name")
    assert error["code"] == (404 if len(path) > 1 else -32601)
    assert AGENT not in str(answer.said)


async def test_a_card_under_a_name_that_no_agent_is_served_by_is_said_to_be_of_nobody(site: Site) -> None:
    url = site.url.replace(f"/{AGENT}", "/nosuch")
    answer = await site.ask("GET", f"{url}/.well-known/agent-card.json")
    assert (answer.status, answer.said["error"]["status"]) == (404, "NOT_FOUND")


async def test_who_comes_when_there_is_too_much_to_do_is_told_when_to_come_again(site: Site) -> None:
    site.tasks.error = Overloaded("too much to do", retry_after=2.0)
    answer = await site.rest("GET", "/tasks/x")
    assert (answer.status, answer.headers["Retry-After"], answer.said["error"]["status"]) == (503, "2", "UNAVAILABLE")


@pytest.mark.case("T74")
@pytest.mark.parametrize(
    ("hops", "is_taken"),
    [(0, True), (7, True), (7.0, True), ("9", True), (True, True), (-3, True), (8, False), (1e9, False)],
)
async def test_a_message_that_went_through_too_many_gateways_is_refused(site: Site, hops: Any, is_taken: bool) -> None:
    said = message("echo x", metadata={"frontdesk/hops": hops})
    answer = await site.rest("POST", "/message:send", said)
    assert (answer.status == 200) is is_taken
    if not is_taken:
        assert (answer.reason, answer.fields) == ("INVALID_PARAMS", ["message.metadata"])
        assert "they may be in a loop" in answer.said["error"]["message"]
        assert site.told.seen[-1][1]["outcome"] == "LOOP"
