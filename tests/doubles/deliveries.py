"""The in-memory store's lanes of deliveries: queued, claimed from the head, settled once."""

from collections.abc import Sequence
from dataclasses import replace

from core.clock import Instant
from core.delivery import Delivery, DeliveryState, Op, RenderedPiece
from core.identity import Source
from core.store import NotBefore, Settlement
from gateway.store.rules import quote_of
from tests.doubles.tables import ATTEMPTING, QUEUED, ConversationRow, DeliveryRow, Tables

UNKNOWN = DeliveryState.UNKNOWN
SHOWN = (DeliveryState.DELIVERED, DeliveryState.PRESUMED)
MAYBE_SHOWN = (ATTEMPTING, UNKNOWN, *SHOWN)


class DeliveryTables(Tables):
    def _enqueue(self, conversation: str, turn: str, piece: RenderedPiece, now: Instant) -> None:
        place, held = self._resolve(conversation), self._turns[turn].turn
        earlier = [old for old in self._deliveries.values() if old.delivery.turn == turn and old.piece == piece.key]
        if place is None or (earlier and earlier[-1].text == piece.text):
            return
        for old in earlier:
            if old.state in (QUEUED, DeliveryState.WAITING_FOR_USER):
                old.state = DeliveryState.WITHDRAWN
        is_shown = any(old.state in MAYBE_SHOWN for old in earlier)
        revision = earlier[-1].revision + 1 if earlier else 1
        for part, payload in enumerate(piece.payloads):
            seq = next(self._lane_seqs)
            delivery = Delivery(
                f"{turn}-{seq}",
                place.id,
                place.address,
                turn,
                payload,
                0,
                now,
                now + self._policy.max_age,
                Op.REPLACE if is_shown else Op.SHOW,
                part,
                len(piece.payloads),
                held.language,
                place.is_direct,
            )
            self._deliveries[delivery.id] = DeliveryRow(delivery, piece.key, revision, seq, piece.text, now)

    def _lane(self, conversation: str) -> list[DeliveryRow]:
        found = self._deliveries.values()
        return [old for old in found if old.delivery.conversation == conversation and old.state in (QUEUED, ATTEMPTING)]

    async def claim(self, conversation: str, now: Instant) -> Delivery | NotBefore | None:
        place = self._resolve(conversation)
        for held in self._lane(place.id) if place else ():
            if held.state is ATTEMPTING:
                return None
            if held.delivery.not_after < now:
                held.state = DeliveryState.DEAD
                continue
            was_set_back = max(held.delivery.queued, held.attempted) > now
            if held.due > now and not was_set_back:
                return NotBefore(held.due)
            held.state, held.attempted = ATTEMPTING, now
            held.delivery = replace(held.delivery, attempt=held.delivery.attempt + 1)
            return self._as_claimed(held)
        return None

    async def claim_behind(self, delivery: Delivery, now: Instant) -> Delivery | None:
        place, first = self._resolve(delivery.conversation), self._deliveries[delivery.id]
        for held in self._lane(place.id) if place else ():
            is_due = held.due <= now <= held.delivery.not_after
            if held.state is QUEUED and held.seq > first.seq and is_due:
                held.state = ATTEMPTING
                held.delivery = replace(held.delivery, attempt=held.delivery.attempt + 1)
                return self._as_claimed(held)
        return None

    def _as_claimed(self, held: DeliveryRow) -> Delivery:
        delivery, place = held.delivery, self._conversations[held.delivery.conversation]
        question = self._turns[delivery.turn].turn.envelopes[-1]
        quote = quote_of(
            question.message_id,
            part=delivery.part,
            is_direct=place.is_direct,
            is_overtaken=place.newest > question.seq,
        )
        preview = self._turns[delivery.turn].turn.preview if delivery.op is Op.SHOW else ""
        replaced = self._replaced(held)
        return replace(
            delivery,
            address=place.address,
            is_direct=place.is_direct,
            quote=quote,
            replaces=replaced,
            preview=preview,
        )

    async def previewed(self, turn: str, shown: str) -> None:
        held = self._turns[turn]
        held.turn = replace(held.turn, preview=shown)

    def _replaced(self, held: DeliveryRow) -> tuple[str, ...]:
        if held.delivery.op is not Op.REPLACE:
            return ()
        earlier = [
            old
            for old in self._deliveries.values()
            if (old.delivery.turn, old.piece) == (held.delivery.turn, held.piece)
            and old.revision < held.revision
            and old.state in SHOWN
        ]
        newest = max((old.revision for old in earlier), default=0)
        part, is_last = held.delivery.part, held.delivery.part == held.delivery.parts - 1
        return tuple(
            id
            for old in earlier
            if old.revision == newest and (old.delivery.part == part or (is_last and old.delivery.part > part))
            for id in old.shown
        )

    async def settle(self, settlement: Settlement, now: Instant, notice: RenderedPiece | None = None) -> bool:
        place = self._resolve(settlement.delivery.conversation)
        held = self._deliveries.get(settlement.delivery.id)
        if place is None:
            return False
        if held and held.state is ATTEMPTING and held.delivery.attempt == settlement.delivery.attempt:
            held.state, held.shown = settlement.state, settlement.ids
            if settlement.delivery.preview and settlement.ids:
                await self.previewed(held.delivery.turn, "")
            held.due = held.due if settlement.due is None else settlement.due
            held.delivery = replace(held.delivery, is_repeat=held.delivery.is_repeat or settlement.repeat)
            lane = self._threads[self._turns[held.delivery.turn].turn.thread]
            for id in settlement.ids if not lane.is_desk else ():
                self._thread_of[place.id, id] = lane.id
            self._share_fate(settlement, held, place)
            if notice is not None:
                self._post(place.id, held.delivery.turn, notice, now)
            if settlement.moved_to:
                address = settlement.delivery.address
                self._move(address.source.key, address.chat, settlement.moved_to)
        place = self._resolve(place.id) or place
        return any(old.state is QUEUED for old in self._lane(place.id))

    def _share_fate(self, settlement: Settlement, held: DeliveryRow, place: ConversationRow) -> None:
        for old in self._lane(place.id):
            is_rest = (old.delivery.turn, old.piece, old.revision) == (held.delivery.turn, held.piece, held.revision)
            if old.state is QUEUED and settlement.blocked and old is not held:
                old.state = DeliveryState.DEAD
            elif settlement.state is DeliveryState.WAITING_FOR_USER and is_rest and old.seq > held.seq:
                old.state = DeliveryState.WAITING_FOR_USER

    async def lanes(self) -> Sequence[tuple[str, Source]]:
        places = {old.delivery.conversation for old in self._deliveries.values() if old.state is QUEUED}
        return [(id, self._conversations[id].address.source) for id in sorted(places)]

    async def begun(self) -> Sequence[Delivery]:
        taken = {row.delivery: envelope for envelope, row in self._windows.items() if row.delivery}
        return [
            replace(self._as_claimed(held), window=taken.get(held.delivery.id, ""))
            for held in self._deliveries.values()
            if held.state is ATTEMPTING
        ]

    async def again(self, conversation: str, now: Instant) -> int:
        place = self._resolve(conversation)
        unknown = [
            held
            for held in self._deliveries.values()
            if place and held.delivery.conversation == place.id and held.state is UNKNOWN
        ]
        newest = [held for held in unknown if held.delivery.turn == unknown[-1].delivery.turn]
        for held in newest:
            self._queue(held, now, is_repeat=True)
        return len(newest)

    def _queue(self, held: DeliveryRow, now: Instant, *, is_repeat: bool = False) -> None:
        held.state, held.due = QUEUED, now
        is_repeat = is_repeat or held.delivery.is_repeat
        held.delivery = replace(held.delivery, queued=now, not_after=now + self._policy.max_age, is_repeat=is_repeat)

    def _post(self, conversation: str, turn: str, piece: RenderedPiece, now: Instant) -> None:
        if not any(held.delivery.turn == turn and held.piece == piece.key for held in self._deliveries.values()):
            self._enqueue(conversation, turn, piece, now)

    async def retry(self, delivery: str, now: Instant) -> str | None:
        held = self._deliveries.get(delivery)
        if held is None or held.state not in (UNKNOWN, DeliveryState.DEAD, DeliveryState.REJECTED):
            return None
        self._queue(held, now, is_repeat=held.state is UNKNOWN)
        return held.delivery.conversation

    async def discard(self, delivery: str) -> str | None:
        held = self._deliveries.get(delivery)
        kept = (ATTEMPTING, DeliveryState.DELIVERED, DeliveryState.PRESUMED, DeliveryState.DISCARDED)
        if held is None or held.state in (*kept, DeliveryState.WITHDRAWN):
            return None
        held.state = DeliveryState.DISCARDED
        return held.delivery.conversation
