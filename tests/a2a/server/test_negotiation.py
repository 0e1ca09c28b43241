"""Versions and extensions: what a call is made with."""

import pytest

from tests.a2a.server.site import Site, message, message_03, serving

EXTENSION = "https://example.com/ext/v1"


@pytest.mark.parametrize("version", ["1.0", "1.0.1", " 1.0 "])
async def test_major_and_minor_alone_count(site: Site, version: str) -> None:
    assert (await site.rpc("SendMessage", message("echo x"), version=version)).said["result"]


@pytest.mark.parametrize("version", ["1.1", "1.7", "2.0", "0.2", "99.0", "1", "banana", "1.0; x"])
async def test_another_version_is_refused_in_both_bindings(site: Site, version: str) -> None:
    by_rpc = await site.rpc("SendMessage", message("echo x"), version=version)
    assert (by_rpc.status, by_rpc.code, by_rpc.reason) == (200, -32009, "VERSION_NOT_SUPPORTED")
    assert by_rpc.said["error"]["data"][0]["metadata"] == {"supportedVersions": "1.0, 0.3"}
    by_rest = await site.rest("POST", "/message:send", message("echo x"), version=version)
    assert (by_rest.status, by_rest.reason) == (400, "VERSION_NOT_SUPPORTED")
    assert site.tasks.sent == []


async def test_the_version_may_stand_in_the_query_and_the_header_holds(site: Site) -> None:
    url = f"{site.url}/message:send?A2A-Version=1.0"
    assert (await site.ask("POST", url, body=message("echo x"), version=None)).said["task"]
    assert (await site.ask("POST", url, body=message("echo x"), version="99.0")).reason == "VERSION_NOT_SUPPORTED"


async def test_a_method_of_the_other_version_is_unknown_and_the_remedy_is_said(site: Site) -> None:
    new = await site.rpc("SendMessage", message("echo x"), version=None)
    assert (new.code, "send A2A-Version: 1.0" in new.said["error"]["message"]) == (-32601, True)
    old = await site.rpc("message/send", message_03("echo x"), version="1.0")
    assert (old.code, "send A2A-Version: 0.3" in old.said["error"]["message"]) == (-32601, True)


async def test_a_path_of_the_other_version_is_refused_and_the_remedy_is_said(site: Site) -> None:
    new = await site.rest("GET", "/tasks", version=None)
    assert (new.reason, "send A2A-Version: 1.0" in new.said["error"]["message"]) == ("VERSION_NOT_SUPPORTED", True)
    old = await site.rest("GET", "/v1/tasks/x", version="1.0")
    assert (old.reason, "leave A2A-Version out" in old.said["error"]["message"]) == ("VERSION_NOT_SUPPORTED", True)


async def test_extensions_that_are_offered_are_activated_and_named_in_the_answer() -> None:
    async with serving(extensions=[{"uri": EXTENSION}, {"uri": "urn:other"}]) as site:
        headers = {"A2A-Extensions": f"urn:unknown, {EXTENSION}"}
        answer = await site.rpc("SendMessage", message("echo x"), headers=headers)
        assert answer.headers["A2A-Extensions"] == EXTENSION
        assert site.tasks.sent[-1][1].extensions == (EXTENSION,)
        old = await site.rpc_03("message/send", message_03("echo x"), headers={"X-A2A-Extensions": EXTENSION})
        assert old.headers["X-A2A-Extensions"] == EXTENSION
        async with site.rpc_stream("SendStreamingMessage", message("echo x"), **headers) as stream:
            assert stream.answer.headers["A2A-Extensions"] == EXTENSION


async def test_a_caller_that_does_not_name_a_required_extension_is_refused() -> None:
    async with serving(extensions=[{"uri": EXTENSION, "required": True}]) as site:
        by_rpc = await site.rpc("SendMessage", message("echo x"))
        assert (by_rpc.code, by_rpc.reason) == (-32008, "EXTENSION_SUPPORT_REQUIRED")
        by_rest = await site.rest("POST", "/message:send", message("echo x"))
        assert (by_rest.status, by_rest.reason) == (400, "EXTENSION_SUPPORT_REQUIRED")
        named = await site.rpc("SendMessage", message("echo x"), headers={"A2A-Extensions": EXTENSION})
        assert named.said["result"]["task"]


async def test_extensions_that_nobody_offers_are_ignored(site: Site) -> None:
    answer = await site.rpc("SendMessage", message("echo x"), headers={"A2A-Extensions": EXTENSION})
    assert answer.said["result"]
    assert "A2A-Extensions" not in answer.headers


async def test_what_is_switched_off_is_not_served() -> None:
    async with serving(streaming=False, push=False) as site:
        for method, params, code in (
            ("SendStreamingMessage", message("echo x"), -32004),
            ("SubscribeToTask", {"id": "x"}, -32004),
            ("CreateTaskPushNotificationConfig", {"taskId": "t", "url": "https://example.com"}, -32003),
            ("ListTaskPushNotificationConfigs", {"taskId": "t"}, -32003),
        ):
            assert (await site.rpc(method, params)).code == code
        inline = {**message("echo x"), "configuration": {"taskPushNotificationConfig": {"url": "https://example.com"}}}
        assert (await site.rpc("SendMessage", inline)).code == -32003


async def test_a_stream_that_is_not_served_is_refused_with_json_though_events_were_asked_for() -> None:
    events = {"Accept": "text/event-stream"}
    async with serving(streaming=False) as site:
        by_rest = await site.rest("POST", "/message:stream", message("echo x"), headers=events)
        by_rpc = await site.rpc("SendStreamingMessage", message("echo x"), headers=events)
        for answer, status in ((by_rest, 400), (by_rpc, 200)):
            told = (answer.status, answer.headers["Content-Type"], answer.reason)
            assert told == (status, "application/json", "UNSUPPORTED_OPERATION")
        assert by_rpc.code == -32004


async def test_a_file_of_a_type_that_the_card_does_not_list_is_refused() -> None:
    async with serving(cards={"desk": {"input_modes": ["text/plain", "image/*"]}}) as site:
        for media_type, is_taken in (("image/png", True), ("IMAGE/PNG; x=y", True), ("application/zip", False)):
            part = {"raw": "AAEC", "mediaType": media_type}
            answer = await site.rpc("SendMessage", message("x", parts=[part]))
            assert ("result" in answer.said) is is_taken
        assert answer.reason == "CONTENT_TYPE_NOT_SUPPORTED"
