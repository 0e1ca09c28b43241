"""The numbers operators watch, in Prometheus' text format: counted from the wide events, so that each hop says it once.

Counting is a dictionary lookup; the library's own objects are made only when somebody scrapes.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)  # seconds
MOST_SERIES = 500  # pairs of event and outcome; outcomes come from a closed set, and a mistake there must not grow
DELIVERY = "delivery.attempted"  # the event whose outcomes are counted as deliveries too

_NUMBERS = (float, int)
Reading = float | Mapping[str, float]


@dataclass(slots=True)
class _Durations:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        bounds = [*map(str, BUCKETS), "+Inf"]
        return [(bound, sum(self.counts[: place + 1])) for place, bound in enumerate(bounds)]


@dataclass(slots=True)
class _Series:
    """One event with one outcome."""

    durations: _Durations  # of the event, whatever its outcome
    count: int = 0


@dataclass(frozen=True, slots=True)
class _Gauge:
    name: str
    help: str
    read: Callable[[], Reading]
    label: str


class Metrics:
    """A registry of its own: no global state, so two gateways in one process (tests) do not count together."""

    def __init__(self, version: str = "") -> None:
        self._series: dict[tuple[str, str], _Series] = {}
        self._durations: dict[str, _Durations] = {}
        self._gauges: list[_Gauge] = []
        self._version = version
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def count(self, event: str, outcome: str, duration: object) -> None:
        """`duration` in seconds; anything that is no number is not a duration."""
        series = self._series.get((event, outcome)) or self._begun(event, outcome)
        series.count += 1
        if isinstance(duration, _NUMBERS):
            series.durations.add(float(duration))

    def gauge(self, name: str, help: str, read: Callable[[], Reading], *, label: str = "") -> None:
        """A number asked for at each scrape; with `label`, a mapping from that label's values to numbers."""
        self._gauges.append(_Gauge(f"frontdesk_{name}", help, read, label))

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """What prometheus_client asks at a scrape."""
        yield InfoMetricFamily("frontdesk_build", "The running version", {"version": self._version})
        events = CounterMetricFamily(
            "frontdesk_events", "Wide events, by name and outcome", labels=("event", "outcome")
        )
        deliveries = CounterMetricFamily("frontdesk_deliveries", "Delivery attempts, by outcome", labels=("outcome",))
        for (event, outcome), series in list(self._series.items()):
            events.add_metric((event, outcome), series.count)
            if event == DELIVERY:
                deliveries.add_metric((outcome,), series.count)
        yield events
        yield deliveries
        yield self._histogram()
        for gauge in self._gauges:
            yield _family(gauge)

    def _begun(self, event: str, outcome: str) -> _Series:
        if len(self._series) >= MOST_SERIES:
            event, outcome = "other", ""
        durations = self._durations.setdefault(event, _Durations())
        return self._series.setdefault((event, outcome), _Series(durations))

    def _histogram(self) -> Metric:
        family = HistogramMetricFamily(
            "frontdesk_event_duration_seconds", "How long what an event tells of took", labels=("event",)
        )
        for event, durations in list(self._durations.items()):
            if not any(durations.counts):
                continue  # an event without a duration
            family.add_metric((event,), durations.cumulative(), durations.total)
        return family


def _family(gauge: _Gauge) -> Metric:
    reading = gauge.read()
    if not isinstance(reading, Mapping):
        return GaugeMetricFamily(gauge.name, gauge.help, value=reading)
    family = GaugeMetricFamily(gauge.name, gauge.help, labels=(gauge.label,))
    for value, number in reading.items():
        family.add_metric((value,), number)
    return family
