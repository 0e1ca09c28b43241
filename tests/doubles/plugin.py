"""A channel in memory: what it is told to show it keeps, in order, and it answers as a test scripts it."""

import asyncio
from collections import deque
from collections.abc import Iterable

from core.delivery import Delivery, Op, Outcome, Payload, Piece, Sent
from core.doors.ingress import Ingress, Route
from core.parts import text_of
from core.plugin import Capabilities, Intake, PreviewFrame
from tests.waiting import until

PART = 40  # characters in one message of this channel


class FakePlugin:
    def __init__(self, capabilities: Capabilities | None = None) -> None:
        self.capabilities = capabilities or Capabilities()
        self.sent: list[Delivery] = []
        self.frames: list[PreviewFrame] = []
        self.outcomes: deque[Outcome | Exception] = deque()  # taken first; then everything is Sent
        self.gate: asyncio.Event | None = None  # a send waits for it

    @property
    def health(self) -> dict[str, object]:
        return {"sent": len(self.sent)}

    async def run(self, intake: Intake) -> None:
        del intake
        await asyncio.Event().wait()

    def routes(self, ingress: Ingress) -> Iterable[Route]:
        del ingress
        return ()

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        text = text_of(piece.parts).strip()
        return tuple({"text": text[at : at + PART]} for at in range(0, len(text), PART))

    async def send(self, delivery: Delivery) -> Outcome:
        if self.gate is not None:
            await self.gate.wait()
        outcome = self.outcomes.popleft() if self.outcomes else Sent((f"m{len(self.sent) + 1}",))
        if isinstance(outcome, Exception):
            raise outcome
        if isinstance(outcome, Sent):
            self.sent.append(delivery)
        return outcome

    async def preview(self, frame: PreviewFrame) -> str:
        self.frames.append(frame)
        return ""

    def shown(self, chat: str = "ann") -> list[str]:
        """What is visible in a chat, replacements applied."""
        texts: dict[str, str] = {}
        for number, delivery in enumerate(self.sent, 1):
            if delivery.address.chat != chat:
                continue
            key = delivery.replaces[0] if delivery.op is Op.REPLACE and delivery.replaces else f"m{number}"
            texts[key] = str(delivery.payload["text"])
        return list(texts.values())

    async def until(self, count: int, chat: str = "ann") -> list[str]:
        """The chat, as soon as it shows this many messages."""
        await until(lambda: len(self.shown(chat)) >= count)
        return self.shown(chat)
