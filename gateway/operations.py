"""What the control API can do to a running line."""

from collections.abc import Sequence

from config.secrets import shown as without_secrets
from gateway.api import Item, NotPossible, Records, UnknownId
from gateway.composition import Line
from gateway.health import shown
from gateway.supervisor import Supervisor


class LineOperations:
    def __init__(self, line: Line, supervisor: Supervisor, records: Records) -> None:
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
            {"name": name, "kind": entry.kind, "settings": without_secrets(entry.settings)}
            for name, entry in self._line.settings.agents.items()
        ]

    async def cancel_task(self, id: str) -> None:
        turn = await self._turn(id)
        if not await self._line.store.mark_cancel(turn):
            raise NotPossible("the task is not being worked on any more")
        self._line.tracker.cancel([turn])

    async def refresh_task(self, id: str) -> None:
        if not self._line.tracker.refresh(await self._turn(id)):
            raise NotPossible("the task is not being worked on any more")

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

    async def _turn(self, task: str) -> str:
        found = await self.records.task(task)
        if found is None:
            raise UnknownId(task)
        return str(found["turn"])

    async def _known(self, delivery: str) -> None:
        if await self.records.delivery(delivery) is None:
            raise UnknownId(delivery)
