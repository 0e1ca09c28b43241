"""What a person is shown of a finished or asking task: pure, from an Assembly to pieces and the turn's end."""

import unicodedata

from core.agent import Artifact, TaskState
from core.assembly import Assembly
from core.delivery import Piece
from core.notices import notice
from core.parts import Part, Text, text_of
from core.turn import TurnEnd, TurnState
from core.values import value

MANY = 8  # artifacts; beyond, runs of unnamed text ones are one piece (agents that make an artifact of each token)


@value(frozen=True, slots=True)
class Answer:
    pieces: tuple[Piece, ...]
    end: TurnEnd


def answer_of(assembly: Assembly, turn: str, language: str, *, unconfirmed: bool = False) -> Answer:
    """The answer of a task that rests (or of a bare message)."""
    if assembly.reply is not None:
        pieces = [Piece(f"message:{assembly.reply.message_id}", assembly.reply.parts)]
    else:
        pieces = artifact_pieces(tuple(assembly.artifacts.values()))
        said = _status_message(assembly, turn, pieces)
        pieces += said
        pieces += _state_notice(assembly.state, language, has_words=bool(said))
    if unconfirmed:
        pieces.append(notice("unconfirmed", language))
    if not any(_shows(piece) for piece in pieces):
        pieces = [notice("no_content", language)]
    return Answer(tuple(pieces), end_of(assembly))


def end_of(assembly: Assembly) -> TurnEnd:
    """How a turn ends whose task rests."""
    if assembly.reply is not None:
        return _END[TaskState.COMPLETED]
    return _END.get(assembly.state) or _ASKS


def artifact_pieces(artifacts: tuple[Artifact, ...]) -> list[Piece]:
    """A piece for each artifact, in order; where there are many, neighbouring unnamed texts become one piece."""
    pieces: list[Piece] = []
    mergeable = False
    for artifact in artifacts:
        is_plain = not artifact.name and all(isinstance(part, Text) for part in artifact.parts)
        if is_plain and mergeable and len(artifacts) > MANY:
            last = pieces.pop()
            pieces.append(Piece(last.key, (Text(text_of(last.parts) + text_of(artifact.parts)),)))
        else:
            pieces.append(Piece(f"artifact:{artifact.id}", artifact.parts))
        mergeable = is_plain
    return pieces


_END = {
    TaskState.COMPLETED: TurnEnd(TurnState.COMPLETED),
    TaskState.FAILED: TurnEnd(TurnState.FAILED, reason="the agent reports failure"),
    TaskState.REJECTED: TurnEnd(TurnState.FAILED, reason="the agent rejected the task"),
    TaskState.CANCELED: TurnEnd(TurnState.CANCELLED, reason="the agent cancelled the task"),
}

_ASKS = TurnEnd(TurnState.COMPLETED, waits_for_input=True)

_STATE_NOTICE = {
    TaskState.FAILED: "failed",
    TaskState.REJECTED: "rejected",
    TaskState.CANCELED: "cancelled_by_agent",
    TaskState.INPUT_REQUIRED: "input_required",
    TaskState.AUTH_REQUIRED: "auth_required",
}


def _status_message(assembly: Assembly, turn: str, pieces: list[Piece]) -> list[Piece]:
    """The status's own message, unless an artifact already says the same."""
    text = text_of(assembly.message).strip()
    if not assembly.message or (text and any(text == text_of(piece.parts).strip() for piece in pieces)):
        return []
    return [Piece(_status_key(assembly, turn), assembly.message)]


def _status_key(assembly: Assembly, turn: str) -> str:
    """A task may go on by itself after a sign-in, in the same turn: what it says then does not replace the demand."""
    if assembly.state is not TaskState.AUTH_REQUIRED:
        return f"message:status:{turn}"
    return f"message:sign-in:{turn}:{assembly.state_time or 0:.3f}"


def _state_notice(state: TaskState, language: str, *, has_words: bool) -> list[Piece]:
    name = _STATE_NOTICE.get(state)
    return [notice(name, language)] if name and not has_words else []


def _shows(piece: Piece) -> bool:
    return any(not isinstance(part, Text) or any(map(_is_seen, part.text)) for part in piece.parts)


def _is_seen(character: str) -> bool:
    """No blank, and nothing that chats take out of a text: controls, format marks, halves of surrogates."""
    return not character.isspace() and unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Cn")


def said(parts: tuple[Part, ...], limit: int = 80) -> str:
    """The beginning of a message, on one line, for lists."""
    line = " ".join(text_of(parts).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
