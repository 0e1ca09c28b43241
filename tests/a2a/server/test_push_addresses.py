"""Which addresses may be told of a task's changes: refused where they are set, in every form and by every road."""

from typing import Any

import pytest

from tests.a2a.server.site import Site, message, message_03, serving

INNER = [
    "http://127.0.0.1:22",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://0.0.0.0/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::]/",
    "http://localhost/",
    "http://localhost./",
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.1/",
    "https://user@example.com/",
    "https://example.com\\@127.0.0.1/",
    "http://①②⑦.⓪.⓪.①/",
    "file:///etc/hostname",
    "gopher://example.com/",
    "unix:/run/x.sock",
    "not a url",
    "https://example.com/\r\nHost: evil",
]


@pytest.mark.case("T29")
@pytest.mark.case("A2A-24")
@pytest.mark.parametrize("url", INNER)
async def test_an_inner_address_is_refused_at_set_and_inline_in_both_versions(site: Site, url: str) -> None:
    task = (await site.send("ask"))["task"]["id"]
    calls = len(site.tasks.sent)
    at_set = await site.rpc("CreateTaskPushNotificationConfig", {"taskId": task, "url": url})
    assert (at_set.code, at_set.fields) == (-32602, ["url"])
    inline = {**message("echo x"), "configuration": {"taskPushNotificationConfig": {"url": url}}}
    assert (await site.rpc("SendMessage", inline)).fields == ["configuration.taskPushNotificationConfig.url"]
    old = {"taskId": task, "pushNotificationConfig": {"url": url}}
    assert (await site.rpc_03("tasks/pushNotificationConfig/set", old)).code == -32602
    old_inline = {**message_03("echo x"), "configuration": {"pushNotificationConfig": {"url": url}}}
    assert (await site.rpc_03("message/send", old_inline)).code == -32602
    by_rest = await site.rest("POST", f"/tasks/{task}/pushNotificationConfigs", {"url": url})
    assert by_rest.status == 400
    assert (await site.rest("POST", "/message:stream", inline)).status == 400
    assert len(site.tasks.sent) == calls
    assert (await site.rpc("ListTaskPushNotificationConfigs", {"taskId": task})).said["result"] == {"configs": []}


@pytest.mark.case("T91")
@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"token": "x\r\nHost: evil"}, "token"),
        ({"token": "x\u0000"}, "token"),
        ({"token": "ключ"}, "token"),
        ({"authentication": {"scheme": "Bearer", "credentials": "x\r\nHost: evil"}}, "authentication.credentials"),
        ({"authentication": {"scheme": "Bearer x\r\nHost: evil"}}, "authentication.scheme"),
        ({"authentication": {"scheme": ""}}, "authentication.scheme"),
        ({"authentication": {"credentials": "x"}}, "authentication.scheme"),
    ],
)
async def test_what_would_begin_another_header_is_refused(site: Site, config: dict[str, Any], field: str) -> None:
    answer = await site.rpc("CreateTaskPushNotificationConfig", {"taskId": "t", "url": "https://example.com", **config})
    assert (answer.code, answer.fields) == (-32602, [field])


async def test_the_operator_may_allow_private_ranges_and_never_metadata() -> None:
    async with serving(allow_push_private=True) as site:
        task = (await site.send("ask"))["task"]["id"]
        for url, is_taken in (("http://127.0.0.1:8000/", True), ("http://169.254.169.254/", False)):
            answer = await site.rpc("CreateTaskPushNotificationConfig", {"taskId": task, "url": url})
            assert ("result" in answer.said) is is_taken
