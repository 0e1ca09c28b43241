"""The A2A server side on a loopback port, with served tasks in memory behind it, and a plain HTTP client before it."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from a2a.server.descriptions import Description, Skill
from a2a.server.facade import Facade
from a2a.server.port import ServedTasks
from a2a.server.settings import A2AServerSettings
from core.clock import SystemClock
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from tests.doubles.events import Events
from tests.doubles.served import ServedDouble

AGENT, OTHER = "desk", "archive"
SOON = aiohttp.ClientTimeout(total=20)  # seconds
Json = dict[str, Any]

DESK = Description(
    name="Research desk",
    description="Finds things out.",
    version="2.1",
    changed=1_780_000_000.0,
    skills=(Skill("find", "Find", "Finds things.", ("search",)),),
)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    said: Any  # parsed JSON

    @property
    def code(self) -> int:
        """Of a JSON-RPC error."""
        return int(self.said["error"]["code"])

    @property
    def reason(self) -> str:
        """ErrorInfo's, in either binding."""
        error = self.said["error"]
        details = error["data"] if "data" in error else error["details"]
        return str(details[0]["reason"])

    @property
    def fields(self) -> list[str]:
        """The fields that are to blame."""
        error = self.said["error"]
        details = error["data"] if "data" in error else error["details"]
        return [violation["field"] for violation in details[1]["fieldViolations"]]


class Site:
    """Calls of 1.0 unless the test says otherwise."""

    def __init__(
        self, base: str, facade: Facade, tasks: ServedDouble, told: Events, http: aiohttp.ClientSession
    ) -> None:
        self.base, self.facade, self.tasks, self.told, self.http = base, facade, tasks, told, http
        self.url = f"{base}/a2a/{AGENT}"
        self.resources: Sequence[web.AbstractResource] = ()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        version: str | None = "1.0",
    ) -> Answer:
        sent = {"A2A-Version": version} if version is not None else {}
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        if data is not None:
            sent["Content-Type"] = "application/json"
        url = path if path.startswith("http") else self.base + path
        async with self.http.request(method, url, data=data, headers={**sent, **(headers or {})}) as answer:
            text = await answer.text()
            said = json.loads(text) if text and "json" in answer.content_type else text
            return Answer(answer.status, answer.headers.copy(), said)

    async def rpc(self, method: str, params: Any = None, *, id: Any = "r1", **how: Any) -> Answer:
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": {} if params is None else params}
        return await self.ask("POST", self.url, body=request, **how)

    async def rpc_03(self, method: str, params: Any = None, **how: Any) -> Answer:
        return await self.rpc(method, params, version=None, **how)

    async def rest(self, method: str, path: str, body: Any = None, **how: Any) -> Answer:
        return await self.ask(method, self.url + path, body=body, **how)

    async def send(self, text: str, **how: Any) -> Json:
        """The result of a send over JSON-RPC."""
        result: Json = (await self.rpc("SendMessage", message(text), **how)).said["result"]
        return result

    async def start(self, text: str, **how: Any) -> Json:
        """A task, without waiting for it."""
        params = {**message(text), "configuration": {"returnImmediately": True}}
        task: Json = (await self.rpc("SendMessage", params, **how)).said["result"]["task"]
        return task

    @asynccontextmanager
    async def stream(
        self, method: str, path: str = "", body: Any = None, *, version: str | None = "1.0", **headers: str
    ) -> AsyncIterator["Stream"]:
        sent = {"A2A-Version": version} if version else {}
        async with self.http.request(
            method, self.url + path, json=body, headers={**sent, "Accept": "text/event-stream", **headers}
        ) as answer:
            yield Stream(answer)

    def rpc_stream(self, method: str, params: Any, *, version: str | None = "1.0", **headers: str) -> Any:
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return self.stream("POST", body=request, version=version, **headers)


class Stream:
    """What comes over one open answer."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        assert answer.content_type == "text/event-stream"

    async def next(self) -> Json:
        """The next event's data, comments left out."""
        while (line := await self.answer.content.readline()).strip() == b"" or line.startswith((b":", b"event:")):
            if not line:
                raise EOFError
        said: Json = json.loads(line.removeprefix(b"data: "))
        return said

    async def rest(self) -> list[Json]:
        """Everything until the server ends it."""
        found = []
        try:
            while True:
                found.append(await self.next())
        except EOFError:
            return found


def message(text: str, **fields: Any) -> Json:
    """SendMessage's parameters."""
    return {"message": {"messageId": f"m-{text}", "role": "ROLE_USER", "parts": [{"text": text}], **fields}}


def message_03(text: str, **fields: Any) -> Json:
    said = {"kind": "message", "messageId": f"m-{text}", "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"message": {**said, **fields}}


def words(task: Json) -> str:
    return "".join(part.get("text", "") for made in task.get("artifacts", ()) for part in made["parts"])


async def describe(agent: str) -> Description:
    return DESK


@asynccontextmanager
async def serving(
    *, tasks: ServedDouble | None = None, heartbeat: float = 15.0, write_limit: float = 20.0, **settings: Any
) -> AsyncIterator[Site]:
    known = A2AServerSettings.model_validate({"agent": AGENT, "anonymous": "shared", **settings})
    async with tasks or ServedDouble() as served, aiohttp.ClientSession(timeout=SOON) as http:
        by_agent: dict[str, ServedTasks] = dict.fromkeys(known.exposed, served)
        told = Events()
        facade = Facade(
            "partners",
            known,
            by_agent,
            describe,
            clock=SystemClock(),
            telemetry=told,
            heartbeat=heartbeat,
            write_limit=write_limit,
        )
        app = web.Application()
        app.add_routes(facade.routes(Ingress()))
        async with Listener(app, grace=1.0) as listener:
            site = Site(f"http://127.0.0.1:{listener.port}", facade, served, told, http)
            site.resources = tuple(app.router.resources())
            yield site
            facade.close()
