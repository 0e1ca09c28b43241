"""The three ways in which the protocol is written: 1.0, and 0.3 once for each binding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from a2a import wire, wire_03
from a2a.server import reading_03
from a2a.server.faults import Fault
from a2a.server.operation import Operation
from a2a.server.port import ServedEvent
from a2a.server.writing import Writer, Writer10
from a2a.server.writing_03 import ProtoWriter03, Writer03, is_last

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spelling:
    version: str
    writer: Writer
    upgrades: Mapping[Operation, Callable[[Json], Json]]  # of parameters, into the words of 1.0
    ends_stream: Callable[[ServedEvent], bool]  # whether nothing may follow the event
    refusal: Callable[[Fault], Json]  # the body of a refused request of HTTP+JSON

    @property
    def is_old(self) -> bool:
        """Whether it is of 0.3."""
        return self.version == wire_03.PROTOCOL_VERSION

    def params(self, operation: Operation, said: Json) -> Json:
        upgrade = self.upgrades.get(operation)
        return said if upgrade is None else upgrade(said)


def _never(event: ServedEvent) -> bool:
    """In 1.0 the stream's end is the server's word, whatever came last (section 3.1.2)."""
    del event
    return False


V10 = Spelling(wire.PROTOCOL_VERSION, Writer10(), {}, _never, Fault.http)
V03 = Spelling(wire_03.PROTOCOL_VERSION, Writer03(), reading_03.JSON_RPC, is_last, Fault.http_03)
V03_PROTO = Spelling(wire_03.PROTOCOL_VERSION, ProtoWriter03(), reading_03.HTTP_JSON, is_last, Fault.http_03)
