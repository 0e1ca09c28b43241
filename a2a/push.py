"""What remote agents push: the other end of a push configuration (A2A 1.0, section 4.3; 0.3, section 9.5).

`POST /a2a/push/{id}`: the path is one task's own and names nobody, the secret comes by a token header in either of its
spellings, as a bearer token, or both, and every one that is there must be right. A body is any of what agents send: a
StreamResponse of 1.0, a Task or an event of 0.3. What it says goes the way of everything an agent says, a little after
the answer, so that no agent waits for our disk.
"""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from aiohttp import web

from a2a import translate, wire, wire_03
from core.agent import Reply, TaskEvent
from core.doors.ingress import Ingress, Refusal, Route, strict_json
from core.errors import Busy
from core.push import PushTarget

TOKEN_HEADERS = ("X-A2A-Notification-Token", "A2A-Notification-Token")  # of SDKs in Python and JavaScript, and in Go
BODY_LIMIT = 8 << 20  # bytes; a whole task with its artifacts, as of one answer
CONTENT_TYPES = ("application/json", "application/a2a+json")
_MEMBERS = ("task", "message", "statusUpdate", "artifactUpdate")
_PATH = "/a2a/push/{id:[A-Za-z0-9_-]{1,64}}"


class Targets(Protocol):
    is_loaded: bool

    def find(self, id: str) -> PushTarget | None: ...


class PushDoor:
    """`take` gets what was pushed, with its target; it may raise Busy. `passes` is an agent's setting of that name."""

    def __init__(
        self,
        targets: Targets,
        take: Callable[[PushTarget, TaskEvent], None],
        passes: Callable[[str], Collection[str]] = lambda _agent: (),
    ) -> None:
        self._targets, self._take, self._passes = targets, take, passes

    def routes(self, ingress: Ingress) -> list[Route]:
        return [
            ingress.post(
                _PATH,
                authenticate=self._authenticate,
                handle=self._handle,
                content_types=CONTENT_TYPES,
                body_limit=BODY_LIMIT,
            )
        ]

    def _authenticate(self, request: web.Request) -> None:
        if not self._targets.is_loaded:
            raise Refusal(503, "starting", headers={"Retry-After": "2"})
        target = self._target(request)
        shown = _secrets(request)
        if not shown or not all(target.admits(secret) for secret in shown):
            raise Refusal(401, "bad_secret", headers={"WWW-Authenticate": "Bearer"})

    def _target(self, request: web.Request) -> PushTarget:
        target = self._targets.find(request.match_info["id"])
        if target is None:
            raise Refusal(404, "unknown_push")
        return target

    async def _handle(self, request: web.Request, body: bytes) -> web.Response:
        target = self._target(request)
        event = read(body, frozenset(self._passes(target.agent)))
        if event is not None:
            if target.task_id and event.task_id != target.task_id:
                raise Refusal(404, "foreign_task")
            self._hand_over(target, event)
        return web.Response(status=200)

    def _hand_over(self, target: PushTarget, event: TaskEvent) -> None:
        try:
            self._take(target, event)
        except Busy as error:
            retry = {"Retry-After": str(round(error.retry_after))}
            raise Refusal(503, "busy", headers=retry) from error


def _secrets(request: web.Request) -> list[bytes]:
    """All that were shown; a header that comes twice shows two."""
    values = [value for name in TOKEN_HEADERS for value in request.headers.getall(name, ())]
    for value in request.headers.getall("Authorization", ()):
        scheme, _, secret = value.partition(" ")
        values.append(secret.strip() if scheme.lower() == "bearer" else "")
    return [value.encode("utf-8", "surrogateescape") for value in values]


def read(body: bytes, passes: translate.Passes = translate.NOTHING) -> "translate.OfTask | None":
    """What a push says of a task; None for a bare message, which says nothing of one. Raises Refusal and BadJson."""
    whole = strict_json(body)
    try:
        said = translate.EventReader(passes=passes)(_response(whole))
    except ValueError as error:
        raise Refusal(400, "unreadable", detail="this is no push notification of A2A 1.0 or 0.3") from error
    return None if isinstance(said, Reply) else said


def _response(said: Any) -> wire.StreamResponse:
    if isinstance(said, dict) and isinstance(said.get("result"), dict):
        said = said["result"]  # some agents push the frames of their streams
    if not isinstance(said, dict):
        raise wire.OffProtocol("it is no object")
    if "kind" in said:
        return _shaped(wire_03.event(said))
    if "id" in said and "status" in said:  # a bare task, of either version
        is_new = str(said["status"].get("state") if isinstance(said["status"], dict) else "").startswith("TASK_STATE_")
        return _shaped({"task": said} if is_new else wire_03.event({**said, "kind": "task"}))
    if not any(name in said for name in _MEMBERS):
        raise wire.OffProtocol("it says nothing of a task")
    return _shaped(said)


def _shaped(said: Any) -> wire.StreamResponse:
    return wire_03.as_shape(said, wire.StreamResponse)
