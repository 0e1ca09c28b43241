"""What the inbox keeps of the things an agent says: enough to see what was said and when, capped."""

from core.agent import Artifact, ArtifactUpdate, Reply, Road, Snapshot, StatusUpdate, TaskEvent
from core.assembly import Change
from core.errors import AgentError
from core.parts import text_of
from core.turn import InboxRecord

RECORD_CAP = 4096  # characters of the words in one record


def record_of(event: TaskEvent, road: Road, change: Change) -> InboxRecord:
    facts: dict[str, object] = {"change": change.value}
    match event:
        case Snapshot() | StatusUpdate():
            facts |= {"task": event.task_id, "state": event.state.value, "time": event.time}
            facts["text"] = _capped(text_of(event.message))
            if isinstance(event, Snapshot):
                facts["artifacts"] = _shown(event.artifacts)
        case ArtifactUpdate():
            facts |= {"task": event.task_id, "artifact": event.artifact.id, "append": event.append, "last": event.last}
            facts["text"] = _capped(text_of(event.artifact.parts))
        case Reply():
            facts |= {"message": event.message_id, "text": _capped(text_of(event.parts))}
    return InboxRecord(road, kind_of(event), facts)


def record_of_error(error: AgentError) -> InboxRecord:
    facts = {"error": type(error).__name__, "message": str(error), "sample": _capped(error.sample)}
    return InboxRecord(Road.ANSWER, "error", facts)


def kind_of(event: TaskEvent) -> str:
    match event:
        case Snapshot():
            return "task"
        case StatusUpdate():
            return "status"
        case ArtifactUpdate():
            return "artifact"
        case Reply():
            return "message"


def _shown(artifacts: tuple[Artifact, ...]) -> list[dict[str, str]]:
    """Each with its words, as far as there is room in one record; the ids of all."""
    shown, room = [], RECORD_CAP
    for artifact in artifacts:
        text = text_of(artifact.parts)
        shown.append({"id": artifact.id, "text": text if len(text) <= room else text[:room] + "…"})
        room = max(0, room - len(text))
    return shown


def _capped(text: str) -> str:
    return text if len(text) <= RECORD_CAP else text[:RECORD_CAP] + "…"
