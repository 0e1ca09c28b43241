"""The steps of followed work (core/followed.py): what an observation of a turn changes of what was made known of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.agent import Artifact, ArtifactUpdate, Metadata, TaskState
from core.delivery import Piece
from core.followed import Made, Said, Step
from core.notices import is_notice, sentence
from core.parts import Attached, Part, Text, say_the_same

if TYPE_CHECKING:
    from core.assembly import Assembly
    from core.turn import Turn, TurnEnd


class MadeKnown:
    """One turn's part in followed work: what was made known of it so far, and so what is a step beyond that."""

    def __init__(self) -> None:
        self._artifacts: dict[str, Artifact] = {}
        self._status: tuple[TaskState, tuple[Part, ...]] = (TaskState.WORKING, ())
        self._metadata: dict[str, Any] = {}

    def step(
        self,
        turn: "Turn",
        assembly: "Assembly",
        pieces: Sequence[Piece],
        end: "TurnEnd | None",
        update: ArtifactUpdate | None = None,
    ) -> Step | None:
        """None when nothing of it is news."""
        is_end = end is not None and not end.is_waiting
        (state, parts), beside = self._status, None
        if is_end or not assembly.rests:  # a bare end, or a question, that is not confirmed yet is no news yet
            state, parts = _status(assembly, pieces, end if is_end else None)
            beside = _beyond(self._metadata, assembly.metadata)
        is_news = is_end or beside is not None or (state, parts) != self._status
        made = [Made(*each) for each in enumerate(assembly.artifacts.values())]
        made = [each for each in made if is_end or each.artifact.id in assembly.sealed]
        changed = tuple(each for each in made if self._is_new(each.artifact))
        gone = tuple(id for id in self._artifacts if id not in assembly.artifacts) if is_end else ()
        if not (is_news or changed or gone):
            return None
        is_bare = is_end and assembly.reply is not None and not assembly.artifacts and self._status[1] == ()
        self._status = (state, parts)
        self._metadata |= beside or {}
        self._artifacts = self._artifacts | {one.artifact.id: one.artifact for one in made}
        reply_id = assembly.reply.message_id if assembly.reply is not None else ""
        said = _said(turn, parts, reply_id, _attached(assembly, parts))
        return Step(state, said, is_news, changed, gone, update, is_bare=is_bare, metadata=beside)

    def _is_new(self, artifact: Artifact) -> bool:
        known = self._artifacts.get(artifact.id)
        return known is None or not is_same(known, artifact)


def _beyond(known: Mapping[str, Any], now: Mapping[str, Any]) -> Metadata:
    """What is new or another in it; None for nothing."""
    return {key: now[key] for key in now if key not in known or known[key] != now[key]} or None


def is_same(one: Artifact, other: Artifact) -> bool:
    return (one.name, one.attached) == (other.name, other.attached) and say_the_same(one.parts, other.parts)


def _attached(assembly: "Assembly", parts: tuple[Part, ...]) -> Attached | None:
    """To the agent's own words; a notice in their place has nothing of theirs."""
    if assembly.reply is not None:
        return assembly.reply.attached
    return assembly.attached if parts == assembly.message else None


def failed(turn: "Turn", pieces: Sequence[Piece]) -> Step:
    """The step of a turn that ended without its agent."""
    return Step(TaskState.FAILED, _said(turn, _words(pieces)))


def _said(turn: "Turn", parts: tuple[Part, ...], id: str = "", attached: Attached | None = None) -> Said | None:
    return Said(id or f"said-{turn.id}-{turn.revision + 1}", parts, attached) if parts else None


def _status(assembly: "Assembly", pieces: Sequence[Piece], end: "TurnEnd | None") -> tuple[TaskState, tuple[Part, ...]]:
    if end is None:
        silent = [piece for piece in pieces if is_notice(piece, "silent_work")]
        return TaskState.WORKING, _words(silent) or assembly.message
    if assembly.reply is not None:
        return TaskState.COMPLETED, assembly.reply.parts
    if assembly.is_over or end.waits_for_input:
        return assembly.state, assembly.message
    if end.is_cancelled:
        return TaskState.CANCELED, ()
    is_declined = any(is_notice(piece, "declined") for piece in pieces)
    return TaskState.REJECTED if is_declined else TaskState.FAILED, _words(pieces)


def _words(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """What is said in the place of a notice; one that speaks of commands of chats says less."""
    for piece in pieces:
        if is_notice(piece, "submission_unknown"):
            return (Text(sentence("outcome_unknown", "en")),)
    return tuple(part for piece in pieces for part in piece.parts)
