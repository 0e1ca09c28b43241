"""The numbers that are asked for rather than counted: how much waits where, and who is well."""

from collections.abc import Callable, Mapping
from typing import Protocol

from gateway.health import Health
from gateway.metrics import Metrics


class Queue(Protocol):
    """core.session.Lanes, as far as it is counted."""

    @property
    def queued(self) -> int: ...

    @property
    def running(self) -> int: ...


class Sending(Protocol):
    """core.outbox.Outbox, as far as it is counted."""

    @property
    def at_work(self) -> int: ...


class Writing(Protocol):
    """The store, as far as it is counted."""

    @property
    def waiting(self) -> int: ...


def watch(
    metrics: Metrics,
    *,
    queue: Queue,
    sending: Sending,
    writing: Writing,
    health: Health,
    agents: Callable[[], Mapping[str, bool]],
    away: Callable[[], Mapping[str, float]],
) -> None:
    """Each is read at a scrape, never in between."""
    metrics.gauge("queued_messages", "Messages admitted and not yet taken into a turn", lambda: queue.queued)
    metrics.gauge("running_turns", "Turns that hold one of max_turns slots", lambda: queue.running)
    metrics.gauge("busy_delivery_lanes", "Addresses with a delivery under way", lambda: sending.at_work)
    metrics.gauge("waiting_writes", "Operations that wait for the disk", lambda: writing.waiting)
    metrics.gauge("store_healthy", "1 while the store is held and commits", lambda: float(not health.store()))
    metrics.gauge("ready", "1 while /readyz answers 200", lambda: float(not health.obstacles()))
    metrics.gauge(
        "plugin_up",
        "1 while the account's plugin runs, 0 while it waits for its next try or for a changed setting",
        lambda: {name: float(plugin.is_up) for name, plugin in health.plugins().items()},
        label="account",
    )
    metrics.gauge(
        "agent_ready",
        "1 while messages may go to the agent, 0 while it is away, or its card cannot be had or has to be agreed to",
        lambda: {name: float(is_ready) for name, is_ready in agents().items()},
        label="agent",
    )
    metrics.gauge(
        "agent_away_seconds", "For how long the agent has been away, 0 while it takes calls", away, label="agent"
    )
