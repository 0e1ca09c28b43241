"""What the double of ServedTasks does with a message: steps, chosen by its first word."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from a2a.server.port import Message, ServedTask
from core.agent import Artifact, TaskState
from core.parts import File, Part, Text, text_of


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
