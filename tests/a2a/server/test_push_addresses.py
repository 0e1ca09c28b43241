"""Which addresses may be told of a task's changes: refused where they are set, in every form and by every road."""

from typing import Any

import pytest

from tests.a2a.server.addresses import INNER
from tests.a2a.server.site import Answer, Site, message, message_03, serving


async def refusals(site: Site, config: dict[str, Any], old: dict[str, Any]) -> list[Answer]:
    """Of a config that is set or sent along, by every binding of both versions; `old` is the same in words of 0.3."""
    task = (await site.send("ask"))["task"]["id"]
    calls = len(site.tasks.sent)
    inline = {**message("echo x"), "configuration": {"taskPushNotificationConfig": config}}
    old_inline = {**message_03("echo x"), "configuration": {"pushNotificationConfig": old}}
    proto = {"message": inline["message"], "configuration": {"pushNotification": old}}
    answers = [
        await site.rpc("CreateTaskPushNotificationConfig", {"taskId": task, **config}),
        await site.rpc("SendMessage", inline),
        await site.rpc("SendStreamingMessage", inline),
        await site.rest("POST", f"/tasks/{task}/pushNotificationConfigs", config),
        await site.rest("POST", "/message:send", inline),
        await site.rest("POST", "/message:stream", inline),
        await site.rpc_03("tasks/pushNotificationConfig/set", {"taskId": task, "pushNotificationConfig": old}),
        await site.rpc_03("message/send", old_inline),
        await site.rest("POST", f"/v1/tasks/{task}/pushNotificationConfigs", {"config": old}, version=None),
        await site.rest("POST", "/v1/message:send", proto, version=None),
    ]
    assert len(site.tasks.sent) == calls
    assert (await site.rpc("ListTaskPushNotificationConfigs", {"taskId": task})).said["result"] == {"configs": []}
    return answers


def check(answers: list[Answer], field: str) -> None:
    for answer in answers:
        is_rpc = "jsonrpc" in answer.said
        assert (answer.status, answer.said["error"]["code"]) == ((200, -32602) if is_rpc else (400, 400))
        assert [found.rpartition("Config.")[2] for found in answer.fields] == [field]


@pytest.mark.case("T29")
@pytest.mark.case("A2A-24")
@pytest.mark.parametrize("url", INNER)
async def test_an_inner_address_is_refused_at_set_and_inline_in_every_spelling(site: Site, url: str) -> None:
    check(await refusals(site, {"url": url}, {"url": url}), "url")


EVIL = "x\r\nHost: evil"


@pytest.mark.case("T91")
@pytest.mark.parametrize(
    ("config", "old", "field"),
    [
        ({"token": EVIL}, {"token": EVIL}, "token"),
        ({"token": "x\u0000"}, {"token": "x\u0000"}, "token"),
        ({"token": "ключ"}, {"token": "ключ"}, "token"),
        (
            {"authentication": {"scheme": "Bearer", "credentials": EVIL}},
            {"authentication": {"schemes": ["Bearer"], "credentials": EVIL}},
            "authentication.credentials",
        ),
        (
            {"authentication": {"scheme": f"Bearer {EVIL}"}},
            {"authentication": {"schemes": [f"Bearer {EVIL}"]}},
            "authentication.scheme",
        ),
    ],
)
async def test_what_would_begin_another_header_is_refused_in_every_spelling(
    site: Site, config: dict[str, Any], old: dict[str, Any], field: str
) -> None:
    url = {"url": "https://example.com"}
    check(await refusals(site, {**url, **config}, {**url, **old}), field)


@pytest.mark.parametrize("authentication", [{"scheme": ""}, {"credentials": "x"}])
async def test_credentials_without_a_scheme_are_refused(site: Site, authentication: dict[str, str]) -> None:
    config = {"taskId": "t", "url": "https://example.com", "authentication": authentication}
    assert (await site.rpc("CreateTaskPushNotificationConfig", config)).fields == ["authentication.scheme"]


async def test_the_operator_may_allow_private_ranges_and_never_metadata() -> None:
    async with serving(allow_push_private=True) as site:
        task = (await site.send("ask"))["task"]["id"]
        for url, is_taken in (("http://127.0.0.1:8000/", True), ("http://169.254.169.254/", False)):
            answer = await site.rpc("CreateTaskPushNotificationConfig", {"taskId": task, "url": url})
            assert ("result" in answer.said) is is_taken
