"""The port for what operators see: one wide event per hop, without message texts, tokens or names of people."""

from typing import Protocol


class Telemetry(Protocol):
    def event(self, name: str, /, **fields: object) -> None:
        """Record that something happened, once, with all that is known of it; also when it failed.

        Durations are in seconds. A field `error` says why something did not work; a broken invariant carries
        `level="error"`, and only that should wake anybody up.
        """
        ...


class Silent:
    """For parts that are used on their own."""

    def event(self, name: str, /, **fields: object) -> None:
        del name, fields
