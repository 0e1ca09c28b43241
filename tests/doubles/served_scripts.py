"""What the double of ServedTasks does with a message: steps, chosen by its first word or, for the kits, by its id."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from a2a.server.port import Message, ServedTask
from core.agent import Artifact, TaskState
from core.parts import Data, File, Part, Text, text_of


@dataclass(frozen=True, slots=True)
class Becomes:
    """The task's next status."""

    state: TaskState
    words: str = ""


@dataclass(frozen=True, slots=True)
class Makes:
    artifact: Artifact
    append: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """For so long, or until the test releases it."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Says:
    """A bare message, and no task."""

    parts: tuple[Part, ...]


Step = Becomes | Makes | Waits | Says
Script = Callable[[Message, ServedTask | None], Sequence[Step]]
"""The steps for a message, given the task it continues; of a bare message nothing else."""

BIG = 1 << 16  # characters of a big artifact
WORKING, COMPLETED = Becomes(TaskState.WORKING), Becomes(TaskState.COMPLETED)


def made(*parts: Part, id: str = "answer", append: bool = False, last: bool = False) -> Makes:
    return Makes(Artifact(id, parts), append, last)


def by_first_word(message: Message, task: ServedTask | None) -> Sequence[Step]:
    """What most tests need.

    echo TEXT, ask (a question; its answer comes back), hold (until released), many N (chunks), big N (artifacts), bare,
    file, fail, reject
    """
    if task is not None:
        return [WORKING, made(Text(f"You said {text_of(message.parts)}")), COMPLETED]
    word, _, rest = text_of(message.parts).partition(" ")
    match word:
        case "ask":
            return [WORKING, Becomes(TaskState.INPUT_REQUIRED, "Which day?")]
        case "hold":
            return [WORKING, Waits(), made(Text("released")), COMPLETED]
        case "many":
            return [WORKING, *(made(Text(f"{n} "), append=n > 0) for n in range(int(rest))), COMPLETED]
        case "big":
            return [WORKING, *(made(Text("x" * BIG), id=str(n)) for n in range(int(rest))), COMPLETED]
        case "bare":
            return [Says((Text("a bare answer"),))]
        case "file":
            return [
                WORKING,
                made(File("out.bin", "application/octet-stream", size=3, content=b"\x00\x01\x02")),
                COMPLETED,
            ]
        case "fail":
            return [WORKING, Becomes(TaskState.FAILED, "It went wrong")]
        case "reject":
            return [Becomes(TaskState.REJECTED, "rejected")]
        case "echo":
            return [WORKING, made(Text(rest)), COMPLETED]
    return [WORKING, made(*message.parts), COMPLETED]


RESUBSCRIBED = 6.0  # seconds; three times the kits' streaming time-out

_STREAMED: dict[str, Sequence[Step]] = {
    "tck-stream-artifact-chunked": [
        made(Text("chunk-1 "), id="chunked"),
        made(Text("chunk-2"), id="chunked", append=True, last=True),
    ],
    "tck-stream-artifact-text": [made(Text("Streamed text content"), id="text")],
    "tck-stream-artifact-file": [made(File("output.txt", "text/plain", content=b"file content"), id="file")],
    "tck-stream-ordering-001": [made(Text("Ordered output"), id="ordered")],
    "tck-stream-001": [made(Text("Stream hello from TCK"), id="hello")],
    "tck-stream-003": [made(Text("Stream task lifecycle"), id="lifecycle")],
}
_ARTIFACTS: dict[str, Part] = {
    "tck-artifact-text": Text("Generated text content"),
    "tck-artifact-file-url": File("output.txt", "text/plain", "https://example.com/output.txt"),
    "tck-artifact-file": File("output.txt", "text/plain", content=b"file content"),
    "tck-artifact-data": Data({"key": "value", "count": 42}),
}


def by_kit(message: Message, task: ServedTask | None) -> Sequence[Step]:
    """What the official compatibility kits of 1.0 and 0.3 expect, by the message id's prefix.

    The kit of 0.3 gives ids of its own; its tasks must stay open to be continued and cancelled.
    """
    for prefix, steps in _STREAMED.items():
        if message.id.startswith(prefix):
            return [WORKING, *steps, COMPLETED]
    for prefix, part in _ARTIFACTS.items():
        if message.id.startswith(prefix):
            return [made(part, id="made"), COMPLETED]
    match message.id:
        case id if id.startswith("tck-message-response"):
            return [Says((Text("Direct message response"),))]
        case id if id.startswith("tck-input-required"):
            return [Becomes(TaskState.INPUT_REQUIRED)]
        case id if id.startswith("tck-reject-task"):
            return [Becomes(TaskState.REJECTED, "rejected")]
        case id if id.startswith("test-resubscribe-message-id"):
            return [WORKING, Waits(RESUBSCRIBED), COMPLETED]
        case id if id.startswith("tck-") or (task is not None and _is_of_kit(task)):
            return [Becomes(TaskState.COMPLETED, "Hello from TCK")]
    return [WORKING, Becomes(TaskState.INPUT_REQUIRED, "What else?")]


def _is_of_kit(task: ServedTask) -> bool:
    return any(message.id.startswith("tck-") for message in task.history)
