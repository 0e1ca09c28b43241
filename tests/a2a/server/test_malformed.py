"""What no agent should send, by every facade: an error in the protocol's words, and never one of the server's own."""

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import pytest

from a2a.server.operation import METHODS, METHODS_03
from tests.a2a.server.site import Site, message, message_03

VERSIONS = pytest.mark.parametrize("version", ["1.0", None], ids=["1.0", "0.3"])
REFUSALS = {-32600, -32601, -32602, -32001, -32002, -32003, -32004, -32005, -32007}  # none of them the server's failure

CONFIGS = "/tasks/nobody/pushNotificationConfigs"
RESOURCES = (
    *(("POST", f"/{path}") for path in ("message:send", "message:stream", "tasks/nobody:cancel")),
    *((method, "/tasks/nobody:subscribe") for method in ("GET", "POST")),
    *(("GET", path) for path in ("/tasks", "/tasks/nobody", CONFIGS, f"{CONFIGS}/p1")),
    *(("POST", CONFIGS), ("DELETE", f"{CONFIGS}/p1")),
)

said, said_03 = message("x")["message"], message_03("x")["message"]


def any_of(*values: Any) -> Iterable[Any]:
    return values


ODD: list[Any] = [
    *([], [{}], "x", 5, None, True, {}, {"": ""}),
    *({"id": odd} for odd in any_of({}, [1], None, True, 0, -1, 1e300, "", "x" * 5000, "../../x", "a\u0000b")),
    *({"taskId": odd, "id": odd, "pushNotificationConfigId": odd} for odd in any_of({}, [], 7, "\u202e", "p1")),
    *({"message": odd} for odd in any_of([], "x", 5, None, {}, {"parts": {}}, {"parts": [[]]}, {"parts": [None]})),
    *(
        {"message": {**said, "parts": [odd]}}
        for odd in any_of([], "x", {"text": {}}, {"raw": 5}, {"url": []}, {"kind": []})
    ),
    *({"message": {**said_03, "parts": [{"kind": odd, odd: odd}]}} for odd in any_of("text", "file", "data", "\ufffd")),
    *({"message": {**each, "metadata": 5, "extensions": {}, "referenceTaskIds": 1}} for each in (said, said_03)),
    *(
        {"message": said, "configuration": odd}
        for odd in any_of([], 5, {"historyLength": "many"}, {"historyLength": -1})
    ),
    *({"message": said_03, "configuration": {"blocking": odd}} for odd in any_of([], "x", {})),
    *({"taskId": "t", "url": odd, "token": odd, "authentication": odd} for odd in any_of({}, [], 5, "x")),
    *({"taskId": "t", "pushNotificationConfig": odd} for odd in any_of({}, [], 5, {"url": {}, "authentication": []})),
    *(
        {"pageSize": odd, "pageToken": odd, "status": odd, "contextId": odd}
        for odd in any_of({}, [], -1, 10**6, "\ud7ff")
    ),
]


@pytest.mark.case("T59")
@VERSIONS
@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ([{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}], -32600),
        ([{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {}}] * 2, -32600),
        ([], -32600),
        ("GetTask", -32600),
        (5, -32600),
        (None, -32600),
        ({"id": 1, "method": "GetTask"}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "GetTask"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "GetTask"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "GetTask"}, -32600),
        ({"jsonrpc": "2.0", "id": 10**40, "method": "GetTask"}, -32600),
        *(
            ({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "x"}}, -32601)
            for method in ("admin/shutdown", "__init__", "rpc.discover", "system.listMethods", "tasks/delete", "", "/")
        ),
    ],
)
async def test_what_is_no_request_is_a_json_rpc_error(
    site: Site, version: str | None, request_: Any, code: int
) -> None:
    answer = await site.ask("POST", site.url, raw=json.dumps(request_).encode(), version=version)
    assert (answer.status, answer.code, answer.said["jsonrpc"]) == (200, code, "2.0")
    assert site.tasks.sent == []


@pytest.mark.case("T59")
@VERSIONS
async def test_whatever_the_parameters_are_a_method_says_what_is_wrong_with_them(
    site: Site, version: str | None
) -> None:
    refused = 0
    for method in METHODS if version else METHODS_03:
        for params in ODD:
            answer = await site.rpc(method, params, version=version)
            assert answer.status == 200, (method, params)
            first = event_of(answer.said) if isinstance(answer.said, str) else answer.said
            assert ("error" in first) != ("result" in first), (method, params)
            if "error" in first:
                refused += 1
                assert first["error"]["code"] in REFUSALS, (method, params)
    assert refused > 6 * len(ODD)


def event_of(stream: str) -> Any:
    """The first of it: where that is a refusal, it is all."""
    return json.loads(stream.split("\n\n")[0].removeprefix("data: "))


@pytest.mark.case("T59")
@VERSIONS
async def test_whatever_the_body_or_the_query_is_a_resource_says_what_is_wrong_with_it(
    site: Site, version: str | None
) -> None:
    prefix, refused = "" if version else "/v1", 0
    for method, path in RESOURCES:
        where = prefix + path
        for params in ODD:
            if method == "POST":
                answer = await site.rest(method, where, params, version=version)
            else:
                query = params if isinstance(params, dict) else {"pageSize": params, "historyLength": params}
                answer = await site.rest(method, where + "?" + urlencode(query), version=version)
            assert answer.status < 500, (method, path, params)
            if answer.status >= 400:
                refused += 1
                assert answer.said.get("error") or answer.said.get("message"), (method, path, params)
    assert refused > 6 * len(ODD)


@pytest.mark.case("T59")
@pytest.mark.parametrize("path", ["/admin", "/shutdown", "/v1/admin", "/tasks/x:delete", "/agents", "/v1/tasks:purge"])
async def test_there_are_no_other_resources(site: Site, path: str) -> None:
    for method, body in (("GET", None), ("POST", {}), ("DELETE", None)):
        assert (await site.rest(method, path, body)).status in (404, 405)
