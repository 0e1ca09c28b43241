"""Followed work in its rows: begun with the admission, kept in step with its turns, read as a whole.

What is written here joins the transaction of the admission, the turn or the observation it tells of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.agent import Artifact, TaskState
from core.clock import Instant
from core.followed import CancelReports, Followed, Heard, Report, Said, Step, Target, Wanted, state_now
from core.identity import Source
from core.parts import Attached, part_from_json, part_to_json
from core.turn import Told, Turn
from gateway.store.rules import Policy
from gateway.store.sqlite.deliveries import enqueue
from gateway.store.sqlite.history import Rows
from gateway.store.sqlite.memory import Place
from gateway.store.sqlite.names import number
from gateway.store.sqlite.places import open_place, place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import decoded, encoded
from gateway.store.sqlite.transaction import Tx

SQL = load("followed.sql")
_INSERT_TASK, _BEGIN_TASK, _STEP_TASK, _PUT_ARTIFACT = (
    SQL["insert_task"],
    SQL["begin_task"],
    SQL["step_task"],
    SQL["put_artifact"],
)


def submitted(tx: Tx, where: Place, thread: str, agent: str, now: Instant) -> None:
    tx.late(_INSERT_TASK, (number(thread), thread, where.owner, agent, where.topic, now))


def answered(tx: Tx, thread: str, seq: int) -> None:
    """A message came for it: what its agent said last is behind them both."""
    tx.flush()
    n = number(thread)
    tx.execute(SQL["keep_said"], (seq - 1, n))
    tx.execute(SQL["unsay"], (n,))


def began(tx: Tx, turn: Turn) -> None:
    thread, n = number(turn.thread), number(turn.id)
    if thread != n:
        tx.flush()
        tx.execute(SQL["keep_said"], (_newest(tx), thread))
    tx.late(_BEGIN_TASK, (turn.begun, n, turn.revision, thread))


def stepped(tx: Tx, turn: Turn, step: Step, now: Instant) -> None:
    thread, n = number(turn.thread), number(turn.id)
    if step.is_news and turn.revision > 1:  # before its first observation a turn has said nothing
        tx.flush()
        tx.execute(SQL["keep_said"], (_newest(tx), thread))
    for made in step.artifacts:
        tx.late(_PUT_ARTIFACT, (thread, made.artifact.id, n, made.place, _artifact_out(made.artifact)))
    for id in step.gone:
        tx.flush()
        tx.execute(SQL["drop_artifact"], (thread, id))
    if step.metadata:
        _add_metadata(tx, thread, step.metadata)
    if step.is_news:
        state = state_now(step, more=turn.more)
        tx.late(_STEP_TASK, (state._value_, now, _said_out(step.said), n, turn.revision, thread))
    else:
        tx.late(SQL["pass_task"], (n, turn.revision, thread))


def _add_metadata(tx: Tx, thread: int, more: Mapping[str, Any]) -> None:
    tx.flush()
    known = tx.execute(SQL["metadata"], (thread,)).fetchone()
    if known is not None:
        before = decoded(known[0]) if known[0] else {}
        tx.execute(SQL["put_metadata"], (encoded(before | dict(more)), thread))


@dataclass(frozen=True, slots=True)
class Ending:
    """How work ends that no turn ends: canceled, and what that makes to be told."""

    now: Instant
    reports: CancelReports
    policy: Policy


def cancelled(tx: Tx, where: Place, thread: str, end: Ending) -> Told:
    tx.flush()
    n = number(thread)
    if not tx.execute(SQL["end_task"], (end.now, n)).rowcount:
        return ()
    tx.execute(SQL["keep_said"], (_newest(tx), n))
    tx.execute(SQL["unsay"], (n,))
    turn = tx.execute(SQL["newest_turn"], (n,)).fetchone()
    if turn is None:  # nothing was told of it yet but to who gave it, and that is who cancels it
        return ()
    return tuple(
        [lane for report in end.reports(where.address, thread, end.now) for lane in _told(tx, turn[0], report, end)]
    )


def _told(tx: Tx, turn: str, report: Report, end: Ending) -> Told:
    there = place(tx, report.conversation)
    if there is None:
        return ()
    enqueue(tx, there, turn, report.piece, end.policy, end.now)
    return ((there.id, there.source.account),)


def names_thread(tx: Tx, where: Place, thread: str) -> bool:
    """Whether the conversation has this thread, active or not."""
    tx.flush()
    return bool(tx.execute(SQL["thread_named"], (number(thread), thread, where.id)).fetchone()[0])


def _newest(tx: Tx) -> int:
    """The seq that every message of the work so far is not behind."""
    if tx.memory.seq is None:
        tx.memory.seq = int(tx.execute(SQL["newest_seq"]).fetchone()[0])
    return tx.memory.seq


# ---------------------------------------------------------------------------------------------- reading


def read(tx: Tx, thread: str) -> Followed | None:
    tx.flush()
    n = number(thread)
    row = tx.execute(SQL["task"], (n, thread)).fetchone()
    if row is None:
        return None
    id, owner, topic, agent, state, time, said, metadata, is_bare, turn, revision, is_answered = row
    return Followed(
        id=id,
        owner=owner,
        topic=topic,
        agent=agent,
        state=TaskState(state),
        time=time,
        said=_said_in(said) if said else None,
        is_answered=bool(is_answered),
        artifacts=tuple([_artifact_in(body) for (body,) in tx.execute(SQL["artifacts"], (n,))]),
        history=_history(tx, n),
        position=(turn, revision),
        metadata=decoded(metadata) if metadata else {},
        is_bare=bool(is_bare),
    )


def _history(tx: Tx, n: int) -> tuple[Heard, ...]:
    entries: list[tuple[tuple[int, int], Heard]] = []
    for seq, id, parts, attached in tx.execute(SQL["messages"], (n,)).fetchall():
        beside = Attached.from_json(decoded(attached)) if attached else None
        entries.append(((seq, 0), Heard(id, _parts_in(decoded(parts)), True, beside)))
    for behind, said in tx.execute(SQL["said_before"], (n,)).fetchall():
        words = _said_in(said)
        entries.append(((behind, 1), Heard(words.id, words.parts, is_theirs=False, attached=words.attached)))
    entries.sort(key=lambda entry: entry[0])
    return tuple([heard for _, heard in entries])


async def page(rows: Rows, wanted: Wanted) -> tuple[list[tuple[int, str, Instant]], int]:
    """Number, id and time of the page's works and one more, and how many there are in all; beside the writer."""
    values: dict[str, object] = {
        "owner": wanted.owner,
        "agent": wanted.agent,
        "topic": wanted.topic,
        "state": wanted.state.value if wanted.state is not None else "",
        "since": wanted.since if wanted.since is not None else 0.0,
    }
    time, n = wanted.before or (1e18, 0)
    found = await rows(SQL["page"], {**values, "time": time, "n": n, "size": wanted.size + 1})
    total = (await rows(SQL["total"], values))[0]["total"]
    return [(row["n"], row["id"], row["time"]) for row in found], total


def thread_of(tx: Tx, envelope: str) -> str:
    tx.flush()
    row = tx.execute(SQL["thread_of"], (envelope,)).fetchone()
    return row[0] if row else ""


def keep_bare(tx: Tx, thread: str) -> None:
    tx.flush()
    tx.execute(SQL["keep_bare"], (number(thread), thread))


# ---------------------------------------------------------------------------------------------- targets


def put_target(tx: Tx, target: Target, source: Source, now: Instant) -> Target:
    tx.flush()
    n = number(target.thread)
    row = tx.execute(SQL["target_conversation"], (n, target.id)).fetchone()
    conversation = row[0] if row else _open(tx, target, source, now)
    tx.execute(SQL["put_target"], (n, target.id, conversation, encoded(dict(target.settings))))
    return Target(target.thread, target.id, conversation, target.settings)


def _open(tx: Tx, target: Target, source: Source, now: Instant) -> str:
    """Its own conversation, at an address that only it can have."""
    row = tx.execute(SQL["task"], (number(target.thread), target.thread)).fetchone()
    owner = row[1] if row else ""
    return open_place(tx, source, target.thread, target.id, owner=owner, agent="", now=now).id


def drop_target(tx: Tx, thread: str, id: str) -> None:
    tx.flush()
    row = tx.execute(SQL["target_conversation"], (number(thread), id)).fetchone()
    if row is not None:
        tx.execute(SQL["drop_target"], (number(thread), id))
        tx.execute(SQL["discard_queued"], (row[0],))


def targets(tx: Tx, source: Source) -> list[Target]:
    tx.flush()
    return [_target(row) for row in tx.execute(SQL["targets"], (source.key,)).fetchall()]


def targets_of(tx: Tx, thread: str) -> list[Target]:
    return [_target(row) for row in tx.execute(SQL["targets_of"], (number(thread), thread)).fetchall()]


def _target(row: Sequence[Any]) -> Target:
    thread, id, conversation, settings = row
    return Target(thread, id, conversation, decoded(settings))


def drop(tx: Tx, thread: int) -> None:
    """Its thread is gone for its age: so is everything of it."""
    for (conversation,) in tx.execute(SQL["target_conversations"], (thread,)).fetchall():
        if (where := tx.memory.places.by_id.pop(conversation, None)) is not None:
            tx.memory.places.by_key.pop(where.key, None)
        tx.execute(SQL["drop_session"], (conversation,))
        tx.execute(SQL["drop_conversation"], (conversation,))
    for name in ("drop_targets", "drop_artifacts", "drop_said", "drop_task"):
        tx.execute(SQL[name], (thread,))


# ---------------------------------------------------------------------------------------------- JSON


def _said_out(said: Said | None) -> str:
    if said is None:
        return ""
    return encoded({"id": said.id, "parts": [part_to_json(part) for part in said.parts], **_beside_out(said.attached)})


def _said_in(text: str) -> Said:
    value = decoded(text)
    return Said(value["id"], _parts_in(value["parts"]), _beside_in(value))


def _artifact_out(artifact: Artifact) -> str:
    value = {"id": artifact.id, "name": artifact.name, "parts": [part_to_json(part) for part in artifact.parts]}
    return encoded(value | _beside_out(artifact.attached))


def _artifact_in(text: str) -> Artifact:
    value = decoded(text)
    return Artifact(value["id"], _parts_in(value["parts"]), value["name"], _beside_in(value))


def _beside_out(attached: Attached | None) -> dict[str, Any]:
    return {"attached": attached.to_json()} if attached is not None else {}


def _beside_in(value: dict[str, Any]) -> Attached | None:
    return Attached.from_json(value["attached"]) if "attached" in value else None


def _parts_in(values: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple([part_from_json(value) for value in values])
