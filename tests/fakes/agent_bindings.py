"""The four ways in which the scripted agent is asked and answers: JSON-RPC and HTTP+JSON, of 1.0 and of 0.3.

Whatever the binding, the agent itself hears the methods and words of 1.0 and answers in them.
"""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.fakes.agent_old import METHODS, OldWords
from tests.fakes.agent_rpc import ERRORS, RpcCall, RpcError, details

# code -> HTTP status (A2A 1.0.1, section 5.4)
_STATUS = {-32001: 404, -32603: 500}
_JSON_FIELDS = ("pageSize", "historyLength", "includeArtifacts")  # of a query, that are no text


class JsonRpc:
    name = "JSONRPC/1.0"
    version = "1.0"

    def read(self, request: web.Request, body: Mapping[str, Any]) -> RpcCall:
        params = body.get("params") or {}
        if not isinstance(params, dict):
            raise RpcError(-32602)
        method = str(body["method"])
        return RpcCall(method, params, request.headers, body.get("id"), request.path, request.method, self, body)

    def result(self, call: RpcCall, body: Any) -> web.Response:
        return self.verbatim(call, self._spelled(call, body))

    def verbatim(self, call: RpcCall, body: Any) -> web.Response:
        return web.json_response({"jsonrpc": "2.0", "id": call.request_id, "result": body})

    def frame(self, call: RpcCall, body: Any) -> bytes:
        """The whole envelope travels in each."""
        return _sse({"jsonrpc": "2.0", "id": call.request_id, "result": self._spelled(call, body)})

    def error(self, call: RpcCall, error: RpcError) -> web.Response:
        told: dict[str, Any] = {"code": error.code, "message": error.message}
        if self.version == "1.0":
            told["data"] = details(error.code)
        return web.json_response({"jsonrpc": "2.0", "id": call.request_id, "error": told})

    def _spelled(self, call: RpcCall, body: Any) -> Any:
        return body


class OldJsonRpc(JsonRpc):
    name = "JSONRPC/0.3"
    version = "0.3"
    words = OldWords(proto=False)

    def read(self, request: web.Request, body: Mapping[str, Any]) -> RpcCall:
        method = METHODS.get(str(body["method"]), "")
        params = self.words.params(body.get("params") or {})
        return RpcCall(method, params, request.headers, body.get("id"), request.path, request.method, self, body)

    def _spelled(self, call: RpcCall, body: Any) -> Any:
        return _old_answer(self.words, call, body)


class Rest:
    name = "HTTP+JSON/1.0"
    version = "1.0"
    prefix = ""
    media_type = "application/a2a+json"

    def routes(self) -> list[tuple[str, str, str]]:
        """HTTP method, path below the interface's URL, and the method of 1.0."""
        found = [
            ("POST", "/message:send", "SendMessage"),
            ("POST", "/message:stream", "SendStreamingMessage"),
            ("POST", "/tasks/{id}:cancel", "CancelTask"),
            ("GET", "/tasks/{id}:subscribe", "SubscribeToTask"),
            ("POST", "/tasks/{id}:subscribe", "SubscribeToTask"),
            ("GET", "/tasks/{id}", "GetTask"),
            ("GET", "/tasks", "ListTasks"),
            ("POST", "/tasks/{taskId}/pushNotificationConfigs", "CreateTaskPushNotificationConfig"),
            ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", "DeleteTaskPushNotificationConfig"),
            ("GET", "/card" if self.prefix else "/extendedAgentCard", "GetExtendedAgentCard"),
        ]
        return [(verb, self.prefix + path, method) for verb, path, method in found]

    async def read(self, request: web.Request, method: str) -> RpcCall:
        body = await request.json() if request.can_read_body else {}
        query = {name: json.loads(value) if name in _JSON_FIELDS else value for name, value in request.query.items()}
        params = {**self._params(body), **query, **request.match_info}
        return RpcCall(method, params, request.headers, None, request.path, request.method, self, body)

    def _params(self, body: dict[str, Any]) -> dict[str, Any]:
        return body

    def result(self, call: RpcCall, body: Any) -> web.Response:
        return self.verbatim(call, self._spelled(call, body))

    def verbatim(self, call: RpcCall, body: Any) -> web.Response:
        return web.json_response(body, content_type=self.media_type)

    def frame(self, call: RpcCall, body: Any) -> bytes:
        return _sse(self._spelled(call, body))

    def error(self, call: RpcCall, error: RpcError) -> web.Response:
        status = _STATUS.get(error.code, 400)
        told = {
            "code": status,
            "status": "SAID_IN_GRPC_WORDS",
            "message": error.message,
            "details": details(error.code),
        }
        return web.json_response({"error": told}, status=status)

    def _spelled(self, call: RpcCall, body: Any) -> Any:
        return body


class OldRest(Rest):
    name = "HTTP+JSON/0.3"
    version = "0.3"
    prefix = "/v1"
    media_type = "application/json"
    words = OldWords(proto=True)

    def _params(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.words.params(body)

    def _spelled(self, call: RpcCall, body: Any) -> Any:
        return _old_answer(self.words, call, body)

    def error(self, call: RpcCall, error: RpcError) -> web.Response:
        """As SDKs before 1.0 write it: the message alone."""
        known = ERRORS.get(error.code, ("",))[0]
        return web.json_response({"message": error.message or known}, status=_STATUS.get(error.code, 400))


JSON_RPC, OLD_JSON_RPC = JsonRpc(), OldJsonRpc()
RESTS = (Rest(), OldRest())
NAMES = tuple(binding.name for binding in (JSON_RPC, RESTS[0], OLD_JSON_RPC, RESTS[1]))


async def read_json_rpc(request: web.Request) -> RpcCall:
    """A method of either version, told by its name; raises RpcError for what is no JSON-RPC 2.0 request."""
    try:
        body = await request.json()
    except ValueError:
        raise RpcError(-32700) from None
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise RpcError(-32600)
    return (OLD_JSON_RPC if "/" in body["method"] else JSON_RPC).read(request, body)


def _old_answer(words: OldWords, call: RpcCall, body: Any) -> Any:
    if call.method == "GetExtendedAgentCard":
        return body
    if "PushNotification" in call.method:
        return {"taskId": call.params.get("taskId"), "pushNotificationConfig": body}
    return words.task(body) if call.method in ("GetTask", "CancelTask") else words.response(body)


def _sse(body: Any) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"
