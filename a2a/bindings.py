"""How a verb becomes an HTTP request and how its answer is read: the four ways of A2A that the gateway speaks.

A binding is a transport (JSON-RPC, HTTP+JSON) in one version of the protocol. Calls are made in the words of 1.0 and
answers come back in them, whichever binding carried them; what a version lacks or says otherwise is turned here. gRPC
is not spoken: its connections would go past the guarded client.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import quote, urlencode

import orjson

from a2a import wire, wire_03
from a2a.card_wire import Card
from a2a.wire import Verb
from core.values import value

R = TypeVar("R")

Params = Mapping[str, Any]  # of a request, in the words of 1.0
Form = Mapping[str, Callable[[bytes], R]]  # how one kind of answer is read, by protocol version; raises ValueError

EVENT: Form[wire.StreamResponse] = {
    "1.0": wire.reader(wire.StreamResponse),
    "0.3": wire_03.reader(wire.StreamResponse, wire_03.event),
}
TASK: Form[wire.Task] = {"1.0": wire.reader(wire.Task), "0.3": wire_03.reader(wire.Task, wire_03.task)}
LIST: Form[wire.TaskList] = {"1.0": wire.reader(wire.TaskList)}  # 0.3 has no listing
PUSH_CONFIG: Form[wire.PushConfig] = dict.fromkeys(("1.0", "0.3"), wire.reader(wire.PushConfig))
CARD: Form[Card] = dict.fromkeys(("1.0", "0.3"), Card.model_validate_json)

_ANSWER, _ERROR_BODY = wire.reader(wire.Answer), wire.reader(wire.ErrorBody)


@value(frozen=True, slots=True)
class HttpRequest:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    other_method: str = ""  # to be tried where `method` is answered 405


class Binding(Protocol):
    """One way of asking; the same object for all calls to an agent."""

    @property
    def name(self) -> str:
        """As operators write it in `interfaces`, and what a task is pinned to: `JSONRPC/1.0`."""
        ...

    @property
    def joins_with_snapshot(self) -> bool:
        """Whether a subscription begins with the whole task (1.0, section 3.1.6; 0.3 does not promise it)."""
        ...

    def offers(self, verb: Verb) -> bool: ...

    def request(self, url: str, tenant: str, verb: Verb, params: Params, request_id: str) -> HttpRequest:
        """`tenant` is the interface's, "" for none. Raises TypeError and ValueError for what cannot be written."""
        ...

    def read(self, form: Form[R], raw: bytes, request_id: str) -> R | wire.RpcError | None:
        """None where neither is there. Raises ValueError for what cannot be read, and OffProtocol for the answer to
        another request."""
        ...

    def meant(self, code: int, verb: Verb, params: Params) -> int:
        """The error code of 1.0 that says the same."""
        ...


# HTTP+JSON has a media type of its own since 1.0.1 only (section 11.1); this one every agent takes.
_CONTENT = {"Content-Type": "application/json"}
_ACCEPT = {
    False: "application/json, application/a2a+json",
    True: "text/event-stream, application/json, application/a2a+json",
}
_STREAMED = frozenset({Verb.SEND_STREAMING, Verb.SUBSCRIBE})


class _Binding:
    """What all have in common; as it stands, 1.0."""

    transport: ClassVar[str]
    version: ClassVar[str] = wire.PROTOCOL_VERSION
    joins_with_snapshot: bool = True

    def __init__(self, extensions: Sequence[str] = ()) -> None:
        """`extensions` are the URIs of those that the caller knows (section 3.2.6)."""
        self.name = f"{self.transport}/{self.version}"
        common = self._common_headers(", ".join(extensions))
        self._headers = {
            (is_stream, has_body): {**common, "Accept": _ACCEPT[is_stream], **(_CONTENT if has_body else {})}
            for is_stream in (False, True)
            for has_body in (False, True)
        }

    def _common_headers(self, extensions: str) -> dict[str, str]:
        return {"A2A-Version": self.version, **({"A2A-Extensions": extensions} if extensions else {})}

    def offers(self, verb: Verb) -> bool:
        del verb
        return True

    def meant(self, code: int, verb: Verb, params: Params) -> int:
        del verb, params
        return code


class _Old:
    """What is different in 0.3; stands before one of the transports."""

    version: ClassVar[str] = wire_03.PROTOCOL_VERSION
    joins_with_snapshot: bool = False

    def _common_headers(self, extensions: str) -> dict[str, str]:
        """No version: its absence is 0.3 (1.0, section 3.6.2), and some servers of 0.3 refuse what they do not know."""
        return {"X-A2A-Extensions": extensions} if extensions else {}

    def offers(self, verb: Verb) -> bool:
        return verb in wire_03.METHODS

    def meant(self, code: int, verb: Verb, params: Params) -> int:
        """A task that is over is refused as invalid params by SDKs before 1.0, in a send and in a resubscription."""
        about_task = verb is Verb.SUBSCRIBE or "taskId" in params.get("message", ())
        return wire.UNSUPPORTED_OPERATION if about_task and code == wire.INVALID_PARAMS else code


class JsonRpc(_Binding):
    """JSON-RPC 2.0 over HTTP (section 9)."""

    transport = "JSONRPC"

    def request(self, url: str, tenant: str, verb: Verb, params: Params, request_id: str) -> HttpRequest:
        method, said = self._spelled(verb, params)
        if tenant:
            said = {"tenant": tenant, **said}
        body = orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": said})
        return HttpRequest("POST", url, self._headers[verb in _STREAMED, True], body)

    def _spelled(self, verb: Verb, params: Params) -> tuple[str, Params]:
        return verb.value, params

    def read(self, form: Form[R], raw: bytes, request_id: str) -> R | wire.RpcError | None:
        answer = _ANSWER(raw)
        if answer.error is not None and answer.id in (request_id, None):
            return answer.error
        if (result := bytes(answer.result)) == b"null":
            return None
        if answer.id != request_id:
            raise wire.OffProtocol("it answered another request")
        return form[self.version](result)


class OldJsonRpc(_Old, JsonRpc):
    def _spelled(self, verb: Verb, params: Params) -> tuple[str, Params]:
        return wire_03.METHODS[verb], wire_03.params(verb, params, proto=False)


_PLACES = re.compile(r"{(\w+)}")


class Rest(_Binding):
    """HTTP+JSON (section 11)."""

    transport = "HTTP+JSON"
    prefix: ClassVar[str] = ""

    # Subscribing is a GET in a2a.proto and a POST in section 11.3.
    _ROUTES: ClassVar[Mapping[Verb, tuple[str, str]]] = {
        Verb.SEND: ("POST", "/message:send"),
        Verb.SEND_STREAMING: ("POST", "/message:stream"),
        Verb.GET: ("GET", "/tasks/{id}"),
        Verb.LIST: ("GET", "/tasks"),
        Verb.CANCEL: ("POST", "/tasks/{id}:cancel"),
        Verb.SUBSCRIBE: ("GET", "/tasks/{id}:subscribe"),
        Verb.PUSH_CREATE: ("POST", "/tasks/{taskId}/pushNotificationConfigs"),
        Verb.PUSH_DELETE: ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
        Verb.EXTENDED_CARD: ("GET", "/extendedAgentCard"),
    }

    def request(self, url: str, tenant: str, verb: Verb, params: Params, request_id: str) -> HttpRequest:
        del request_id
        method, path = self._ROUTES[verb]
        rest = dict(self._spelled(verb, params))
        for name in _PLACES.findall(path):
            path = path.replace(f"{{{name}}}", _segment(params[name]))
            rest.pop(name, None)
        if tenant:
            path = f"/{_segment(tenant)}{path}"
        path, is_stream = self.prefix + path, verb in _STREAMED
        if method != "POST":
            headers, other = self._headers[is_stream, False], "POST" if is_stream else ""
            return HttpRequest(method, _joined(url, path, rest), headers, other_method=other)
        if tenant:
            rest["tenant"] = tenant
        body = orjson.dumps(rest)
        return HttpRequest(method, _joined(url, path, {}), self._headers[is_stream, True], body)

    def _spelled(self, verb: Verb, params: Params) -> Params:
        del verb
        return params

    def read(self, form: Form[R], raw: bytes, request_id: str) -> R | wire.RpcError | None:
        del request_id
        try:  # first, since it has what no answer has, and answers have nothing that they must
            return self._error_body(raw).error
        except ValueError:
            return form[self.version](raw)

    @staticmethod
    def _error_body(raw: bytes) -> wire.ErrorBody:
        return _ERROR_BODY(raw)


class OldRest(_Old, Rest):
    prefix = "/v1"
    _ROUTES: ClassVar[Mapping[Verb, tuple[str, str]]] = {**Rest._ROUTES, Verb.EXTENDED_CARD: ("GET", "/card")}

    def _spelled(self, verb: Verb, params: Params) -> Params:
        return params if verb is Verb.PUSH_DELETE else wire_03.params(verb, params, proto=True)

    @staticmethod
    def _error_body(raw: bytes) -> wire.ErrorBody:
        return wire_03.error_body(raw)


def _segment(text: str) -> str:
    """One segment of a path; raises ValueError for those that would name another place."""
    if text in (".", ".."):
        raise ValueError(f"{text!r} cannot stand in a URL's path")
    return quote(text, safe="")


def _joined(url: str, path: str, query: Params) -> str:
    """The interface's URL with the path below its own and the query behind its own (section 11.5: camelCase)."""
    base, _, own = url.partition("?")
    said = urlencode({name: _written(value) for name, value in query.items()})
    both = "&".join(filter(None, (own, said)))
    return f"{base.rstrip('/')}{path}" + (f"?{both}" if both else "")


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_BINDINGS = (JsonRpc, Rest, OldJsonRpc, OldRest)  # by preference, where nothing else is configured


def bindings(extensions: Sequence[str] = ()) -> dict[str, Binding]:
    """All that are spoken, by name."""
    made: list[Binding] = [binding(extensions) for binding in _BINDINGS]
    return {binding.name: binding for binding in made}
