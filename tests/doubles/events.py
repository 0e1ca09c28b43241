"""What an operator would see in the log."""

from dataclasses import dataclass, field


@dataclass
class Events:
    """A telemetry that keeps what it is told."""

    seen: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def event(self, name: str, /, **fields: object) -> None:
        self.seen.append((name, fields))

    def of(self, name: str) -> list[dict[str, object]]:
        return [fields for seen, fields in self.seen if seen == name]
