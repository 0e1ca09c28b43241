"""What operators see of the connection to a remote agent, and what they do about it: discover, test, agree."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from a2a import failures
from a2a.agreement import Agreement
from a2a.card import CardView
from a2a.card_keeping import CardKeeper
from a2a.interfaces import Interfaces
from core.agent import Snapshot, TaskRef
from core.errors import Declined, TaskUnknown
from core.ids import new_id


@dataclass(frozen=True, slots=True)
class AgentReport:
    card: CardView | None  # None before it was read
    changed: tuple[str, ...]  # what of it an operator has to agree to before anything is sent
    failure: str  # why the last look at it failed

    @property
    def is_ready(self) -> bool:
        return not (self.changed or self.failure)


class Asked(Protocol):
    @property
    def name(self) -> str: ...

    async def get(self, task: TaskRef) -> Snapshot: ...


class Connection:
    def __init__(self, agent: Asked, cards: CardKeeper, agreement: Agreement, interfaces: Interfaces) -> None:
        self._agent, self._cards, self._agreement, self._interfaces = agent, cards, agreement, interfaces

    async def discover(self) -> CardView:
        """The card as it is now, for people; raises Declined (NotAuthorised), Unreachable."""
        try:
            view = await self._cards.look()
        except failures.CallFailed as failure:
            raise failures.of_discovery(failure, self._agent.name) from failure
        with suppress(failures.CallFailed):  # whether it was agreed to stands in the report
            await self._agreement.check(view)
        return self._interfaces.shown(view)

    async def agree(self, fingerprint: str) -> None:
        """An operator agrees to the card with this fingerprint. Raises as discover, and Declined for another card."""
        view = await self.discover()
        if view.fingerprint != fingerprint:
            raise Declined(
                f"agent {self._agent.name}: its card now has the fingerprint {view.fingerprint}, and not "
                f"{fingerprint}; look at it anew"
            )
        await self._agreement.agree(self._cards.known or view)

    async def test(self) -> None:
        """Ask for a task that cannot exist, which does no work and shows that the agent is there and lets us in.

        Raises AgentErrors.
        """
        with suppress(TaskUnknown):
            await self._agent.get(TaskRef(f"frontdesk-test-{new_id()}", ""))

    def report(self) -> AgentReport:
        """How the connection is, as far as it is known without asking."""
        view = self._cards.known
        return AgentReport(
            card=self._interfaces.shown(view) if view else None,
            changed=self._agreement.changed,
            failure=self._cards.failure,
        )
