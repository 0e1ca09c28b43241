"""What operators see of the running gateway: one wide event per hop, as a log line and as a number.

The event loop never waits for a log: an event is formatted at once and put into a bounded buffer, and a thread writes
the buffer out every 0.2 s. When the reader of the log is slower than the gateway for so long that the buffer is full,
lines are dropped and counted, and the next line that fits says how many.
"""

import logging
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import IO, Self

from gateway.log_lines import Format, json_line, redactor, safe, text_line
from gateway.metrics import Metrics

FLUSH_INTERVAL = 0.2  # seconds; what a kill -9 may cost of the log
MOST_LINES = 20_000  # waiting to be written; about 6 MB
CLOSE_PATIENCE = 2.0  # seconds; how long the end of the process waits for a reader that is stuck
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Telemetry:
    """The events of one process. A context manager: leaving it writes what is left."""

    def __init__(
        self,
        sink: IO[str],
        *,
        level: str = "info",
        form: str = "auto",
        secrets: Iterable[str] = (),
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
        buffer: int = MOST_LINES,
    ) -> None:
        """`form`: json, text, or auto for text on a terminal and JSON lines elsewhere. `secrets` are never written."""
        self.metrics = metrics or Metrics()
        self._threshold = LEVELS[level]
        self._format: Format = text_line if form == "text" or (form == "auto" and sink.isatty()) else json_line
        self._now = clock
        self._secrets = frozenset(secrets)
        self._writer = _Writer(sink, redactor(self._secrets), self._said_dropped, buffer)

    def event(self, name: str, /, **fields: object) -> None:
        level = str(fields.pop("level", "info"))
        outcome = fields.get("outcome") or ("failed" if "error" in fields else "")
        self.metrics.count(name, str(outcome), fields.get("duration"))
        if LEVELS.get(level, 20) >= self._threshold:
            self._writer.put(self._format(self._now(), level, name, fields))

    def hide(self, secrets: Iterable[str]) -> None:
        """Never write these either, as after a reread configuration; the old ones stay hidden."""
        self._secrets |= frozenset(secrets)
        self._writer.redact = redactor(self._secrets)

    def flush(self) -> None:
        """Everything said so far is with the sink when this returns (unless the sink is stuck)."""
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def route_logging(self) -> None:
        """Send the libraries' own logging, and Python's warnings, the same way."""
        handler = _Handler(self)
        root = logging.getLogger()
        root.handlers[:] = [handler]
        root.setLevel(max(self._threshold, logging.INFO))  # libraries' debug output is not ours to show
        for chatty in ("httpx", "httpcore", "telegram", "aiosqlite", "asyncio"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        logging.captureWarnings(capture=True)

    def _said_dropped(self, count: int) -> str:
        self.metrics.count("telemetry.dropped", "", None)
        return self._format(self._now(), "warning", "telemetry.dropped", {"lines": count})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def standard_telemetry(*, level: str, form: str, secrets: Iterable[str], version: str = "") -> Telemetry:
    """On standard error, where supervisors of processes look for logs; standard output stays with answers."""
    return Telemetry(sys.stderr, level=level, form=form, secrets=secrets, metrics=Metrics(version))


class _Writer:
    """A bounded buffer and the thread that empties it."""

    def __init__(
        self, sink: IO[str], redact: Callable[[str], str], said_dropped: Callable[[int], str], most: int
    ) -> None:
        self._sink, self.redact, self._said_dropped, self._most = sink, redact, said_dropped, most
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._wanted, self._closing = threading.Event(), threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        if len(self._lines) >= self._most:
            self._dropped += 1
            return
        self._lines.append(line)
        if not self._wanted.is_set():
            self._wanted.set()

    def flush(self) -> None:
        with self._writing:
            self._write()

    def close(self) -> None:
        self._closing.set()
        self._wanted.set()
        self._thread.join(CLOSE_PATIENCE)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wanted.wait()
            self._closing.wait(FLUSH_INTERVAL)  # gather
            self._wanted.clear()  # before looking, so that a line put while writing is not left behind
            self.flush()
        self.flush()

    def _write(self) -> None:
        dropped, self._dropped = self._dropped, 0
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if dropped:
            lines.append(self._said_dropped(dropped))
        if not lines:
            return
        try:
            self._sink.write(self.redact(safe("\n".join(lines) + "\n")))
            self._sink.flush()
        except (OSError, ValueError):  # the reader is gone, or the sink closed; there is nowhere left to say so
            self._dropped += len(lines)


class _Handler(logging.Handler):
    """Standard logging as events: `log` with the logger's name, the message, and where it went wrong."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__()
        self._telemetry = telemetry

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, object] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            fields["error"] = type(record.exc_info[1]).__name__
            fields["traceback"] = "".join(traceback.format_exception(record.exc_info[1], limit=-6))
        level = "error" if record.levelno >= 40 else "warning" if record.levelno >= 30 else "info"
        self._telemetry.event("log", level=level, **fields)
