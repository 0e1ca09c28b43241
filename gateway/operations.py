"""What the control API can do to a running line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from config.secrets import shown as without_secrets
from gateway.api import Item, NotPossible, Records, UnknownId
from gateway.composition import ConfiguredLine
from gateway.health import iso, shown
from gateway.supervisor import Supervisor

if TYPE_CHECKING:
    from a2a.circuit import Away
    from a2a.connection import AgentReport, Connection


class LineOperations:
    def __init__(self, line: ConfiguredLine, supervisor: Supervisor, records: Records) -> None:
        self._line, self._supervisor, self.records = line, supervisor, records

    def plugins(self) -> Sequence[Item]:
        states = self._supervisor.states()
        return [
            {
                "name": name,
                "kind": entry.kind,
                "agent": entry.account.agent,
                "health": shown(states[name]) if name in states else {},
                "connection": self._supervisor.report(name) if name in states else {},
                "settings": without_secrets(entry.settings),
            }
            for name, entry in self._line.settings.plugins.items()
        ]

    def agents(self) -> Sequence[Item]:
        return [
            {
                "name": name,
                "kind": entry.kind,
                "connection": self._connection(name),
                "settings": without_secrets(entry.settings),
            }
            for name, entry in self._line.settings.agents.items()
        ]

    def _connection(self, name: str) -> Item:
        remote = self._line.remote(name)
        return shown_report(remote.connection.report()) if remote is not None else {"state": "ready"}

    async def agent(self, name: str) -> Item | None:
        return next((item for item in self.agents() if item["name"] == name), None)

    async def discover_agent(self, name: str) -> None:
        await self._remote(name).discover()

    async def test_agent(self, name: str) -> None:
        await self._remote(name).test()

    async def agree_to_agent(self, name: str, fingerprint: str) -> None:
        await self._remote(name).agree(fingerprint)

    def _remote(self, name: str) -> "Connection":
        if name not in self._line.settings.agents:
            raise UnknownId(name)
        remote = self._line.remote(name)
        if remote is None:
            raise NotPossible("it is a local agent, which has no card")
        return remote.connection

    async def cancel_task(self, id: str) -> None:
        task = await self._task(id)
        if await self._line.store.mark_cancel(task["turn"]):
            self._line.tracker.cancel([task["turn"]])
            return
        closed = await self._line.store.close_question(task["id"], self._line.tracker.cancel_reports)
        if closed is None:
            raise NotPossible("the task is not being worked on any more")
        self._line.tracker.let_go([closed])

    async def refresh_task(self, id: str) -> None:
        task = await self._task(id)
        turn, remote = task["turn"], self._line.remote(task["agent"])
        if remote is not None:
            remote.connection.hurry()
        if not self._line.tracker.refresh(turn) and not await self._line.tracker.look_again(turn):
            raise NotPossible("the task is not being worked on any more")

    async def reply_to_task(self, id: str, text: str) -> None:
        task = await self._task(id)
        ready = await self._line.store.reply(task["id"], text)
        if ready is None:
            raise NotPossible("the task asks for nothing; only an interrupted task can be replied to")
        self._line.lanes.add(ready)

    async def retry_delivery(self, id: str) -> None:
        await self._known(id)
        conversation = await self._line.store.retry(id, self._line.host.clock.now())
        if conversation is None:
            raise NotPossible("only unknown, rejected and dead deliveries can be tried again")
        await self._wake(conversation)

    async def discard_delivery(self, id: str) -> None:
        await self._known(id)
        conversation = await self._line.store.discard(id)
        if conversation is None:
            raise NotPossible("it was sent already, or is being sent")
        await self._wake(conversation)

    async def _wake(self, conversation: str) -> None:
        for queued, source in await self._line.store.lanes():
            if queued == conversation:
                self._line.outbox.wake(conversation, source.account)

    async def _task(self, id: str) -> Item:
        """By whichever of its names."""
        found = await self.records.task(id)
        if found is None:
            raise UnknownId(id)
        return found

    async def _known(self, delivery: str) -> None:
        if await self.records.delivery(delivery) is None:
            raise UnknownId(delivery)


def shown_report(report: "AgentReport") -> Item:
    """A remote agent's connection, for people and programs."""
    card = report.card
    state, reason = "ready", ""
    if report.changed:
        state, reason = "paused", f"its card has changed ({', '.join(report.changed)}): agree to it, or take it out"
    elif report.away:
        state, reason = "away", "; ".join(map(_said_away, report.away))
    elif report.failure:
        state, reason = "unreachable", report.failure
    elif card is None:
        state = "unknown"
    known: Item = {"state": state, "reason": reason, "away": [_shown_away(each) for each in report.away]}
    if card is None:
        return known
    return {
        **known,
        "binding": card.endpoint.binding,
        "url": card.endpoint.url,
        "card": card.card_url,
        "is_extended": card.is_extended,
        "called": card.name,
        "version": card.version,
        "pushes": card.pushes,
        "fingerprint": card.fingerprint,
        "warnings": list(card.warnings),
    }


def _shown_away(away: "Away") -> Item:
    return {"interface": away.interface, "since": iso(away.since), "reason": away.why, "again": iso(away.again)}


def _said_away(away: "Away") -> str:
    return f"{away.interface} since {iso(away.since)}: {away.why}; asked again from {iso(away.again)} on"
