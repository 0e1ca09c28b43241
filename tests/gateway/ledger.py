"""Operations over records in memory: what the control API and the command line are shown in their tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import FrontdeskError
from gateway.api import NotPossible, Page, UnknownId

NASTY = "\x1b[31mred\x1b[0m [bold]markup[/bold] <b>&\r\n"


def task(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": str(number + 1),
        "agent": "research",
        "task_id": f"remote-{number}",
        "context_id": "c",
        "state": "working",
        "disposition": "tracked",
        "heard": "2026-11-30T12:23:10.000Z",
        "unconfirmed": False,
        "owner": "support:1",
        "turn": "t",
        "served_task": "",
        "inbox": [{"time": "2026-11-30T12:23:10.000Z", "road": "stream", "kind": "status", "body": NASTY}],
        **changes,
    }


def delivery(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"0197c0ffee11{0:020x}-8-{number + 34}",
        "conversation": "c",
        "account": "support",
        "chat": "4711",
        "owner": "support:1",
        "turn": "t",
        "piece": "artifact:1",
        "part": 0,
        "parts": 1,
        "op": "show",
        "state": "unknown",
        "reason": "no answer",
        "queued": "2026-11-30T12:23:10.000Z",
        "due": None,
        "attempts": 1,
        "is_repeat": False,
        "tries": [],
        **changes,
    }


class Ledger:
    """Both the records and the operations; `acts` are the actions asked for, `trouble` what every action raises."""

    def __init__(self) -> None:
        self.sessions_ = [
            {
                "ref": f"0197c0ffee22{number:020x}",
                "state": "active" if number == 0 else "idle",
                "kind": "front_desk",
                "owner": f"support:{number}",
                "account": "support",
                "chat": str(number),
                "topic": "",
                "agent": "research",
                "created": "2026-11-30T12:23:10.000Z",
                "timeline": [{"time": "2026-11-30T12:23:10.000Z", "what": "envelope", "id": "e1", "state": "queued"}],
            }
            for number in range(3)
        ]
        self.tasks_ = [task(number) for number in range(450)]
        self.torn: list[dict[str, Any]] = [
            {
                "id": "12",
                "account": "support",
                "external_id": "81001",
                "error": "it is no JSON",
                "bytes": 7,
                "received": "2026-11-30T12:23:10.000Z",
                "body": NASTY,
                "is_cut": False,
            }
        ]
        self.deliveries_ = [delivery(0), delivery(1, state="delivered", reason="")]
        self.connection: Mapping[str, Any] = {"state": "receiving"}
        self.acts: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.of_agent: dict[str, Any] = {
            "state": "ready",
            "reason": "",
            "binding": "JSONRPC/1.0",
            "url": "https://agents.example/rpc",
            "card": "https://agents.example/.well-known/agent-card.json",
            "fingerprint": "f00d" * 8,
            "warnings": [],
        }
        self.trouble: FrontdeskError | NotPossible | None = None

    @property
    def records(self) -> "Ledger":
        return self

    async def sessions(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        return _page(self.sessions_, limit, cursor, state)

    async def session(self, ref: str) -> Mapping[str, Any] | None:
        return _one(self.sessions_, ref, by="ref")

    async def envelope(self, id: str) -> Mapping[str, Any] | None:
        return {"id": "e1", "state": "queued"} if id == "e1" else None

    async def unreadable(self, *, limit: int, cursor: str | None) -> Page:
        return _page(self.torn, limit, cursor, None)

    async def unreadable_one(self, id: str) -> Mapping[str, Any] | None:
        return _one(self.torn, id)

    async def tasks(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        return _page(self.tasks_, limit, cursor, state)

    async def task(self, id: str) -> Mapping[str, Any] | None:
        return _one(self.tasks_, id)

    async def deliveries(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        return _page(self.deliveries_, limit, cursor, state)

    async def delivery(self, id: str) -> Mapping[str, Any] | None:
        return _one(self.deliveries_, id)

    async def summary(self, *, ids: bool) -> Mapping[str, Any]:
        counts = {"deliveries": {"unknown": 1, "delivered": 1}, "unknown": 1}
        return {**counts, "unknown_ids": ["81001"]} if ids else counts

    def plugins(self) -> Sequence[Mapping[str, Any]]:
        settings = {"token": {"set": True}, "mode": "polling"}
        return [
            {
                "name": "support",
                "kind": "telegram",
                "agent": "research",
                "health": {},
                "connection": self.connection,
                "settings": settings,
            }
        ]

    def agents(self) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "name": "research",
                "kind": "a2a",
                "connection": self.of_agent,
                "settings": {"auth": {"token": {"set": True}}},
            }
        ]

    async def agent(self, name: str) -> Mapping[str, Any] | None:
        return next((item for item in self.agents() if item["name"] == name), None)

    async def discover_agent(self, name: str) -> None:
        self._of_agent("discover", name)

    async def test_agent(self, name: str) -> None:
        self._of_agent("test", name)

    async def agree_to_agent(self, name: str, fingerprint: str) -> None:
        self._of_agent(f"agree {fingerprint}", name)
        self.of_agent = {**self.of_agent, "state": "ready"}

    def _of_agent(self, verb: str, name: str) -> None:
        self.acts.append((verb, name))
        if self.trouble is not None:
            raise self.trouble
        if name != "research":
            raise UnknownId(name)

    async def reply_to_task(self, id: str, text: str) -> None:
        self.said.append(text)
        self._act("reply", self.tasks_, id, state="working")

    async def cancel_task(self, id: str) -> None:
        self._act("cancel", self.tasks_, id, state="canceled")

    async def refresh_task(self, id: str) -> None:
        self._act("refresh", self.tasks_, id, state="completed")

    async def retry_delivery(self, id: str) -> None:
        self._act("retry", self.deliveries_, id, state="queued")

    async def discard_delivery(self, id: str) -> None:
        self._act("discard", self.deliveries_, id, state="discarded")

    def _act(self, verb: str, items: list[dict[str, Any]], id: str, *, state: str) -> None:
        self.acts.append((verb, id))
        if self.trouble is not None:
            raise self.trouble
        item = _one(items, id)
        if item is None:
            raise UnknownId(id)
        item["state"] = state


def _one(items: Sequence[dict[str, Any]], key: str, *, by: str = "id") -> dict[str, Any] | None:
    return next((item for item in items if item[by] == key), None)


def _page(items: Sequence[dict[str, Any]], limit: int, cursor: str | None, state: str | None) -> Page:
    """Raises ValueError for a cursor that is no number."""
    found = [item for item in items if state in (None, item.get("state"))]
    start = int(cursor or 0)
    end = start + limit
    return Page(found[start:end], str(end) if end < len(found) else None)
