"""The card that an agent shows only to those it knows (A2A 1.0, section 3.1.11; 0.3, section 7.10).

It takes the place of the public one where that offers it and credentials are configured; the same rules hold for what
it names. When it cannot be had the public one stays in use, and that is shown.
"""

from dataclasses import replace

from a2a import bindings, failures
from a2a.calls import Call, Calls
from a2a.card import CardView, digests, view
from a2a.card_wire import Card
from a2a.settings import A2AAgentSettings
from a2a.wire import Verb


class ExtendedCards:
    def __init__(self, settings: A2AAgentSettings, calls: Calls) -> None:
        self._settings, self._calls = settings, calls

    async def seen(self, public: Card, shown: CardView) -> CardView:
        """What is to be used of the two; `shown` where the public card offers no other one."""
        if not (public.offers_extended and self._calls.has_credentials):
            return shown
        call = Call(Verb.EXTENDED_CARD, {}, bindings.CARD, lambda card: card, seconds=self._settings.read_timeout)
        try:
            card = await self._calls.call(shown.endpoint, call)
            extended = view(card, shown.place, self._settings)
        except failures.CallFailed as failure:
            return replace(shown, warnings=(*shown.warnings, f"its extended card is not used: {failure}"))
        return replace(extended, digests={**shown.digests, **digests(card, "extended ")}, is_extended=True)
