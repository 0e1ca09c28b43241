"""What keeps everybody who waits for an agent that is away from knocking at its door.

An interface that did not take OPENS_AFTER calls in a row, for want of a connection or with HTTP 502, 503 or 504, is
away (M. Nygard, Release It!: the circuit breaker). Calls are then refused at once, as certainly not taken, with the
time after which asking is worth while. When that has come one call is let through at a time, as a probe: an answer
closes the circuit, and none makes the next pause twice as long, up to a bound. Any other answer shows that somebody is
there: an agent's own error, a refused credential, a stream that breaks later. Silence says nothing either way, since
work may take long; only of a probe an answer is expected.

The libraries looked at (aiobreaker, purgatory, pybreaker) let every call through while they probe, know one pause only,
and go by the wall clock.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from a2a.card import Endpoint
from a2a.failures import NoConnection, of_outbound, seconds_of
from core.clock import Clock, Instant
from core.doors import outbound
from core.telemetry import Telemetry

OPENS_AFTER = 5  # calls in a row; with fewer, an agent that restarts under load would be away each time
FIRST_PAUSE = 1.0  # seconds
MOST_PAUSE = 30.0  # seconds; as often as a message that is alone is tried
MOST_ASKED = 300.0  # seconds; a longer Retry-After is one request's, and may be a mistake
REMEMBERED = 100  # interfaces in trouble; a card has a handful, and one whose URLs keep changing must not add up

_AWAY = frozenset({502, 503, 504})


class Called(NamedTuple):
    """What has a circuit of its own: an interface or, since it stands elsewhere, the card."""

    name: str  # the interface's ("JSONRPC/1.0"), or "card"
    url: str


def called_at(endpoint: Endpoint) -> Called:
    return Called(endpoint.binding, endpoint.url)


@dataclass(frozen=True, slots=True)
class Away:
    interface: str  # or "card"
    since: Instant
    why: str
    again: Instant  # when the next call is let through


@dataclass(slots=True)
class _Circuit:
    """Of what did not take the last call."""

    failures: int = 0  # in a row
    why: str = ""
    since: Instant | None = None  # when it opened; None: it is closed
    pause: float = 0.0  # seconds
    due: float = 0.0  # monotonic
    probe: "Passage | None" = None  # which is under way


class Circuits:
    """Of one agent. What takes calls costs a look-up. `on_back` is called when what was away does, or by `back`."""

    def __init__(self, agent: str, clock: Clock, telemetry: Telemetry, on_back: Callable[[], None] | None) -> None:
        self._agent, self._clock, self._telemetry, self._on_back = agent, clock, telemetry, on_back
        self._troubled: dict[Called, _Circuit] = {}

    def passage(self, called: Called, *, insists: bool = False) -> "Passage":
        """For one exchange. One that insists is never refused: a person waits for it."""
        return Passage(self, called, insists=insists)

    def wants_probe(self, called: Called) -> bool:
        """Whether the next call would be let through as a probe."""
        circuit = self._troubled.get(called)
        return circuit is not None and circuit.since is not None and self._is_due(circuit)

    def hurry(self) -> None:
        """Somebody has reason to ask now: the next call is let through."""
        for circuit in self._troubled.values():
            circuit.due = self._clock.monotonic()

    def back(self) -> None:
        """Whoever waits for the agent need not wait longer."""
        if self._on_back is not None:
            self._on_back()

    @property
    def away(self) -> tuple[Away, ...]:
        """What is not asked for now, since longest first."""
        found = (
            Away(called.name, circuit.since, circuit.why, self._clock.now() + self._left(circuit))
            for called, circuit in self._troubled.items()
            if circuit.since is not None
        )
        return tuple(sorted(found, key=lambda each: each.since))

    def _is_due(self, circuit: _Circuit) -> bool:
        return circuit.probe is None and not self._left(circuit)

    def _left(self, circuit: _Circuit) -> float:
        """Seconds until a call is let through."""
        return max(0.0, circuit.due - self._clock.monotonic())

    # ------------------------------------------------------------------ for passages

    def enter(self, passage: "Passage") -> None:
        """Raises NoConnection where the interface is away."""
        circuit = self._troubled.get(passage.called)
        if circuit is None or circuit.since is None:
            return
        if self._is_due(circuit):
            circuit.probe = passage
        elif not passage.insists:
            pause = max(self._left(circuit), FIRST_PAUSE)  # a probe may be under way
            raise NoConnection(f"away, and not asked again yet: {circuit.why}", retry_after=pause)

    def succeeded(self, passage: "Passage") -> None:
        circuit = self._troubled.pop(passage.called, None)
        if circuit is None or circuit.since is None:
            return
        lasted = round(self._clock.now() - circuit.since, 3)
        self._telemetry.event("agent.back", agent=self._agent, interface=passage.called.name, duration=lasted)
        self.back()

    def failed(self, passage: "Passage", why: str, asked_for: float | None) -> None:
        """What was on its way when the circuit opened, and fails now, tells nothing new."""
        circuit = self._troubled.get(passage.called) or self._begun(passage.called)
        circuit.failures += 1
        if circuit.since is not None and circuit.probe is not passage:
            return
        if circuit.since is None and circuit.failures < OPENS_AFTER:
            return
        circuit.why, circuit.probe = why, None
        circuit.pause = min(circuit.pause * 2 or FIRST_PAUSE, MOST_PAUSE)
        pause = circuit.pause * (0.8 + 0.4 * random.random())
        circuit.due = self._clock.monotonic() + max(pause, min(asked_for or 0.0, MOST_ASKED))
        if circuit.since is None:
            circuit.since = self._clock.now()
            said = {"agent": self._agent, "interface": passage.called.name, "error": why}
            self._telemetry.event("agent.away", level="warning", **said)

    def told_nothing(self, passage: "Passage") -> None:
        """A probe that was given up was none: the next call takes its place."""
        circuit = self._troubled.get(passage.called)
        if circuit is not None and circuit.probe is passage:
            circuit.probe = None

    def is_probe(self, passage: "Passage") -> bool:
        circuit = self._troubled.get(passage.called)
        return circuit is not None and circuit.probe is passage

    def _begun(self, called: Called) -> _Circuit:
        if len(self._troubled) >= REMEMBERED:
            del self._troubled[next(iter(self._troubled))]
        return self._troubled.setdefault(called, _Circuit())


class Passage:
    """One exchange's way through its circuit: entered before the request, left when the answer's head is there.

    What it is left with as an exception is judged; an answer is told to `answered`.
    """

    def __init__(self, circuits: Circuits, called: Called, *, insists: bool) -> None:
        self.called, self.insists = called, insists
        self._circuits = circuits

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        if status in _AWAY:
            self._circuits.failed(self, f"answered HTTP {status}", seconds_of(headers.get("Retry-After")))
        else:
            self._circuits.succeeded(self)

    def __enter__(self) -> Self:
        self._circuits.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        match error:
            case outbound.Refused():
                self._circuits.told_nothing(self)
            case outbound.Ambiguous(status=int(status)):
                self.answered(status, {})
            case outbound.NotSent() | outbound.Disconnected():
                self._fail(error)
            case outbound.OutboundError() if self._circuits.is_probe(self):
                self._fail(error)
            case _:
                self._circuits.told_nothing(self)

    def _fail(self, error: outbound.OutboundError) -> None:
        self._circuits.failed(self, str(of_outbound(error)), None)
