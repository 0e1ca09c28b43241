"""What of an agent's card its operator has agreed to: pinned at first use, and asked for again when it changes.

Of a card that matters where calls go, what is asked to let them in, and what the agent says it does. A digest of each
is kept in plugin state, over restarts. When one of them changes nothing more is sent to the agent until an operator
agrees to the new card: it may be somebody else's. Another card URL in the settings is the operator's own word, and
starts anew.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from a2a import failures
from a2a.card import CardView
from core.errors import StoreUnavailable
from core.plugin import PluginState

NAME = "card"


@dataclass(frozen=True, slots=True)
class _Pin:
    card: str  # as configured
    digests: Mapping[str, str]
    version: int = 0


class Agreement:
    """Of one agent; `on_change` is told once of each changed card, with what of it is different."""

    def __init__(
        self, agent: str, card: str, state: PluginState | None, on_change: Callable[[CardView, tuple[str, ...]], None]
    ) -> None:
        self._account, self._agent, self._card = f"a2a/{agent}", agent, card
        self._state, self._on_change = state, on_change
        self._agreed: CardView | None = None  # compared last, and found to be what was agreed to
        self._told = ""  # the fingerprint of the change that was told last
        self.changed: tuple[str, ...] = ()  # what of the card waits for the operator

    async def check(self, view: CardView) -> None:
        """Raises CardChanged, or NotTaken when the store cannot say."""
        if view is self._agreed or self._state is None:
            return
        try:
            await self._compare(view, self._state)
        except StoreUnavailable as error:
            raise failures.NotTaken(f"what was agreed to of its card cannot be looked up: {error}") from error

    async def _compare(self, view: CardView, state: PluginState) -> None:
        pin = await self._pin(state)
        known = pin.digests if pin.card == self._card else {}
        self.changed = tuple(name for name, digest in view.digests.items() if known.get(name, digest) != digest)
        if self.changed:
            self._tell(view)
            raise failures.CardChanged(
                f"its card has changed ({', '.join(self.changed)}) since it was agreed to; nothing is sent to it until "
                f"an operator agrees: frontdesk agent agree {self._agent}"
            )
        if dict(view.digests) != {name: known.get(name) for name in view.digests}:
            await self._write({**known, **view.digests}, pin, state)
        self._agreed = view

    def _tell(self, view: CardView) -> None:
        if self._told != view.fingerprint:
            self._told = view.fingerprint
            self._on_change(view, self.changed)

    async def agree(self, view: CardView) -> None:
        """The operator's word. Raises StoreUnavailable."""
        if self._state is not None:
            await self._write(view.digests, await self._pin(self._state), self._state)
        self._agreed, self.changed = view, ()

    async def _pin(self, state: PluginState) -> _Pin:
        found = await state.read(self._account, NAME)
        if found is None:
            return _Pin(self._card, {})
        value, version = found
        kept = json.loads(value)
        return _Pin(kept["card"], kept["digests"], version)

    async def _write(self, digests: Mapping[str, str], pin: _Pin, state: PluginState) -> None:
        """Of two that pin at once the first one holds; the other compares anew at its next call."""
        value = json.dumps({"card": self._card, "digests": dict(digests)}, sort_keys=True)
        await state.write(self._account, NAME, value, version=pin.version)
