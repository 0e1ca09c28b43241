"""What operators see of the connection to a remote agent, and what they do about it: discover, test, agree."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from a2a import failures
from a2a.agreement import Agreement
from a2a.card import CardView
from a2a.card_keeping import CardKeeper
from a2a.circuit import Away, Circuits
from a2a.interfaces import Interfaces
from core.agent import Snapshot, TaskRef
from core.clock import Instant
from core.errors import AgentError, Declined, TaskUnknown
from core.ids import new_id


@dataclass(frozen=True, slots=True)
class AgentReport:
    card: CardView | None  # None before it was read
    changed: tuple[str, ...]  # what of it an operator has to agree to before anything is sent
    failure: str  # why the last look at it failed
    away: tuple[Away, ...]  # what of it is not asked for now, since longest first

    @property
    def is_ready(self) -> bool:
        return not (self.changed or self.failure or self.away)

    def away_for(self, now: Instant) -> float:
        """Seconds."""
        return max(0.0, now - self.away[0].since) if self.away else 0.0


class Asked(Protocol):
    @property
    def name(self) -> str: ...

    async def get(self, task: TaskRef) -> Snapshot: ...


class Connection:
    def __init__(
        self, agent: Asked, cards: CardKeeper, agreement: Agreement, interfaces: Interfaces, circuits: Circuits
    ) -> None:
        self._agent, self._cards, self._agreement, self._interfaces = agent, cards, agreement, interfaces
        self._circuits = circuits

    async def discover(self) -> CardView:
        """The card as it is now, for people; raises Declined (NotAuthorised), Unreachable."""
        self.hurry()
        try:
            view = await self._cards.look()
        except failures.CallFailed as failure:
            raise failures.of_discovery(failure, self._agent.name) from failure
        with suppress(failures.CallFailed):  # whether it was agreed to stands in the report
            await self._agreement.check(view)
        if self._circuits.away:
            with suppress(AgentError):
                await self.test()
        return self._interfaces.shown(view)

    async def agree(self, fingerprint: str) -> None:
        """An operator agrees to the card with this fingerprint, and what waited for that goes on.

        Raises as discover, and Declined for another card.
        """
        view = await self.discover()
        if view.fingerprint != fingerprint:
            raise Declined(
                f"agent {self._agent.name}: its card now has the fingerprint {view.fingerprint}, and not "
                f"{fingerprint}; look at it anew"
            )
        await self._agreement.agree(self._cards.known or view)
        self._circuits.back()

    async def test(self) -> None:
        """Ask for a task that cannot exist, which does no work and shows that the agent is there and lets us in.

        Raises AgentErrors.
        """
        self.hurry()
        with suppress(TaskUnknown):
            await self._agent.get(TaskRef(f"frontdesk-test-{new_id()}", ""))

    def hurry(self) -> None:
        """Somebody asks by hand: where it is away, the next call goes through at once."""
        self._circuits.hurry()

    def report(self) -> AgentReport:
        """How the connection is, as far as it is known without asking."""
        view = self._cards.known
        return AgentReport(
            card=self._interfaces.shown(view) if view else None,
            changed=self._agreement.changed,
            failure=self._cards.failure,
            away=self._circuits.away,
        )
