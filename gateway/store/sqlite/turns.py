"""Turns: begun from a thread's queue, changed by observations, ended into a state their thread goes on from.

A thread is `queued` exactly when there is something to begin and no turn of it is at work. An observation is one
compare-and-set on the turn's revision, and everything it implies hangs on that in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from core.agent import TaskState
from core.clock import Instant
from core.envelope import Envelope
from core.identity import Person
from core.ids import new_id
from core.parts import part_from_json
from core.router import ThreadFact
from core.store import (
    Disposition,
    InboxRecord,
    Observation,
    Ready,
    RemoteTask,
    SubmissionState,
    Turn,
    TurnEnd,
    TurnState,
)
from gateway.store.rules import Policy, is_troubled, state_after
from gateway.store.sqlite.deliveries import enqueue
from gateway.store.sqlite.memory import Live, Place
from gateway.store.sqlite.places import active_threads, leave_foreground, place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.writer import Tx

SQL = load("turns.sql")
_THREAD, _QUEUED, _INSERT_TURN = SQL["thread"], SQL["queued_envelopes"], SQL["insert_turn"]
_OBSERVE, _END_TURN, _PUT_TASK, _INSERT_RECORD = (
    SQL["observe_turn"],
    SQL["end_turn"],
    SQL["put_task"],
    SQL["insert_record"],
)
_HAS_QUEUED, _END = SQL["has_queued"], SQL["end_thread"]


def begin(tx: Tx, thread: str, now: Instant, limit: int) -> Turn | None:
    tx.flush()
    row = tx.execute(_THREAD, (thread,)).fetchone()
    if row is None or row[4] != "queued":
        return None
    session, conversation, owner, agent, _, is_desk, taken, resume, task_id, asks = row
    where = place(tx, conversation)
    if where is None:
        return None
    if resume:
        return _begin_again(tx, where, thread, resume, taken)
    rows = tx.execute(_QUEUED, (thread, taken, limit)).fetchall()
    if not rows:
        return None
    turn = Turn(
        id=(id := new_id()),
        thread=thread,
        session=session,
        owner=owner,
        conversation=where.id,
        address=where.address,
        is_direct=where.is_direct,
        agent=agent,
        envelopes=tuple([_envelope(row) for row in rows]),
        message_id=f"fd-{id}",
        begun=now,
        context_id=_context(tx, session, agent, where.generation),
        task_id=task_id or None,
        task=_known_task(tx, agent, task_id) if task_id else None,
        is_desk=bool(is_desk),
    )
    _store_begun(tx, where, turn, is_answer=bool(task_id or asks))
    return turn


def _store_begun(tx: Tx, where: Place, turn: Turn, *, is_answer: bool) -> None:
    first, last = turn.envelopes[0], turn.envelopes[-1]
    tx.execute(
        _INSERT_TURN,
        (
            turn.id,
            turn.thread,
            turn.session,
            turn.conversation,
            turn.owner,
            turn.agent,
            turn.is_desk,
            first.seq,
            last.seq,
            "" if turn.is_desk else turn.submission.value,
            where.generation,
            turn.context_id,
            turn.task_id,
            last.message_id,
            last.person.language,
            turn.begun,
        ),
    )
    tx.execute(SQL["begin_answer" if is_answer else "begin_thread"], (turn.id, last.seq, turn.thread))
    tx.memory.live.keep(turn.id, Live(where.id, turn.session, where.generation, cancel_wanted=False))
    _now(where, turn.thread, "running")


def _begin_again(tx: Tx, where: Place, thread: str, resume: str, taken: int) -> Turn | None:
    """A turn that had ended is at work once more; whoever still holds it from before holds an old revision."""
    tx.execute(SQL["resume_turn"], (resume,))
    tx.execute(SQL["begin_answer"], (resume, taken, thread))
    tx.memory.live.pop(resume, None)
    where.active = None
    return read_turn(tx, resume)


def _now(where: Place, thread: str, state: str) -> None:
    """What is remembered of the thread follows it; a desk's thread is not remembered."""
    if where.active is not None and thread in where.active:
        if state in ("queued", "running"):
            fact = where.active[thread]
            where.active[thread] = ThreadFact(thread, state, fact.is_foreground)
        else:
            del where.active[thread]


def _context(tx: Tx, session: str, agent: str, generation: int) -> str | None:
    key = (session, agent, generation)
    contexts = tx.memory.contexts
    if key not in contexts:
        row = tx.execute(SQL["context"], key).fetchone()
        contexts.keep(key, row[0] if row else None)
    return contexts[key]


def _known_task(tx: Tx, agent: str, task_id: str) -> RemoteTask | None:
    row = tx.execute(SQL["task"], (agent, task_id)).fetchone()
    return _task(row) if row else None


def _envelope(row: Sequence[Any]) -> Envelope:
    seq, id, parts, external_id, message_id, command, is_forward, received, person, owner, language = row
    return Envelope(
        id=id,
        seq=seq,
        person=Person(person, owner, language),
        parts=tuple([part_from_json(part) for part in orjson.loads(parts)]),
        external_id=external_id,
        message_id=message_id,
        command=command,
        is_forward=bool(is_forward),
        received=received,
    )


# ---------------------------------------------------------------------------------------------- observing


def observe(tx: Tx, observation: Observation, policy: Policy, now: Instant) -> Turn | None:
    turn, task = observation.turn, observation.task
    live = _live(tx, turn.id)
    where = place(tx, live.conversation) if live else None
    if live is None or where is None:
        return None
    present = _next(observation, cancel_wanted=live.cancel_wanted)
    if not _store_turn(tx, present, observation.end, now):
        return None
    if task is not None:
        _store_task(tx, turn, task)
    _store_records(tx, turn, observation.records, present.task, now)
    if observation.context_id is not None and observation.context_id != turn.context_id:
        _store_context(tx, live, turn.agent, observation.context_id)
    for piece in observation.pieces:
        enqueue(tx, where, turn.id, piece, policy, now)
    if observation.end is not None:
        _end(tx, where, present, observation.end)
    return present


def _live(tx: Tx, turn: str) -> Live | None:
    known = tx.memory.live.get(turn)
    if known is None:
        row = tx.execute(SQL["live"], (turn,)).fetchone()
        if row is not None:
            known = tx.memory.live.keep(turn, Live(row[0], row[1], row[2], bool(row[3])))
    return known


def _store_turn(tx: Tx, present: Turn, end: TurnEnd | None, now: Instant) -> bool:
    """False when the turn's revision is another one than the observation was decided on."""
    submission = "" if present.is_desk else present.submission.value
    task_id = present.task.task_id if present.task else None
    values = (submission, present.asked, task_id, present.context_id)
    key = (present.id, present.revision - 1)
    if end is None:
        is_present = tx.execute(_OBSERVE, values + key).rowcount == 1
    else:
        ended = None if end.state is TurnState.WAITING else now
        is_present = tx.execute(_END_TURN, (*values, end.state.value, ended, end.reason, *key)).rowcount == 1
    if is_present and is_troubled(present, end):
        tx.execute(SQL["mark_troubled"], (present.id,))
    return is_present


def _next(observation: Observation, *, cancel_wanted: bool) -> Turn:
    turn = observation.turn
    return replace(
        turn,
        submission=observation.submission or turn.submission,
        asked=turn.asked if observation.asked is None else observation.asked,
        task=observation.task or turn.task,
        context_id=observation.context_id or turn.context_id,
        cancel_wanted=cancel_wanted,
        waiting=turn.waiting or (observation.end is not None and observation.end.state is TurnState.WAITING),
        revision=turn.revision + 1,
    )


def _store_task(tx: Tx, turn: Turn, task: RemoteTask) -> None:
    tx.execute(
        _PUT_TASK,
        (
            turn.agent,
            task.task_id,
            task.context_id,
            turn.owner,
            turn.id,
            task.state.value,
            task.state_time,
            task.heard,
            task.disposition.value,
            task.unconfirmed,
        ),
    )


def _store_records(tx: Tx, turn: Turn, records: Sequence[InboxRecord], task: RemoteTask | None, now: Instant) -> None:
    task_id = task.task_id if task else ""
    for n, record in enumerate(records):
        row = (turn.id, turn.revision + 1, n, task_id, record.road.value, record.kind, record.body, now)
        tx.late(_INSERT_RECORD, row)


def _store_context(tx: Tx, live: Live, agent: str, context_id: str) -> None:
    """Of the generation the turn was begun in: what was left behind by /new does not come back."""
    tx.execute(SQL["put_context"], (live.session, agent, live.generation, context_id))
    tx.memory.contexts.keep((live.session, agent, live.generation), context_id)


def _end(tx: Tx, where: Place, turn: Turn, end: TurnEnd) -> None:
    tx.flush()
    if end.state is TurnState.WAITING:
        _leave_foreground(tx, where, turn.thread)
        _wait(tx, turn, "task", asks="")
    elif end.waits_for_input:
        _move_queued(tx, turn.thread)
        _wait(tx, turn, "input", asks=turn.envelopes[-1].person.id if turn.envelopes else "")
    else:
        if turn.waiting:
            tx.execute(SQL["leave_wait"], (turn.thread,))
        state = state_after(end, has_queued=bool(tx.execute(_HAS_QUEUED, (turn.thread,)).fetchone()[0]))
        tx.execute(*((SQL["queue_again"], (turn.thread,)) if state == "queued" else (_END, (state, turn.thread))))
        _now(where, turn.thread, state)
        return
    where.active = None


def _wait(tx: Tx, turn: Turn, kind: str, *, asks: str) -> None:
    task_id = turn.task.task_id if turn.task else ""
    key = f"{turn.agent}/{task_id}" if task_id else turn.thread
    if tx.execute(SQL["wake_is_taken"], (kind, key, turn.thread)).fetchone()[0]:
        key = f"{key}#{turn.thread}"
    continues = task_id if kind == "input" else ""
    tx.execute(SQL["wait_thread"], (kind, key, continues, asks, turn.thread))


def _leave_foreground(tx: Tx, where: Place, thread: str) -> None:
    fact = active_threads(tx, where).get(thread)
    if fact is not None and fact.is_foreground:
        leave_foreground(tx, where)
    else:
        tx.execute(SQL["leave_foreground"], (thread,))


def _move_queued(tx: Tx, thread: str) -> None:
    """What was written before the question was asked does not answer it: it goes on in a new foreground thread."""
    first = tx.execute(SQL["first_queued"], (thread,)).fetchone()[0]
    if first is not None:
        values = {"new": new_id(), "old": thread, "opened": first}
        tx.execute(SQL["split_thread"], values)
        tx.execute(SQL["move_queued"], values)


# ---------------------------------------------------------------------------------------------- after a start


def ready(tx: Tx) -> list[Ready]:
    tx.flush()
    return [Ready(owner, thread, queued, bool(is_desk)) for owner, thread, is_desk, queued in tx.execute(SQL["ready"])]


def unfinished(tx: Tx) -> list[Turn]:
    tx.flush()
    ids = [id for (id,) in tx.execute(SQL["turns_at_work"]).fetchall()]
    return [turn for id in ids if (turn := read_turn(tx, id)) is not None]


def read_turn(tx: Tx, id: str) -> Turn | None:
    row = tx.execute(SQL["turn"], (id,)).fetchone()
    where = place(tx, row[4]) if row else None
    if row is None or where is None:
        return None
    (_, thread, session, owner, _, agent, begun, context_id, continues, cancel_wanted, revision, is_desk) = row[:12]
    state, first_seq, last_seq, submission, asked = row[12:17]
    envelopes = tx.execute(SQL["envelopes_of_turn"], (thread, first_seq, last_seq)).fetchall()
    return Turn(
        id=id,
        thread=thread,
        session=session,
        owner=owner,
        conversation=where.id,
        address=where.address,
        is_direct=where.is_direct,
        agent=agent,
        envelopes=tuple([_envelope(envelope) for envelope in envelopes]),
        message_id=f"fd-{id}",
        begun=begun,
        context_id=context_id,
        task_id=continues,
        submission=SubmissionState(submission or "intended"),
        asked=bool(asked),
        task=_task(row[17:]) if row[17] is not None else None,
        cancel_wanted=bool(cancel_wanted),
        waiting=state == "waiting",
        revision=revision,
        is_desk=bool(is_desk),
    )


def _task(row: Sequence[Any]) -> RemoteTask:
    task_id, context_id, state, state_time, heard, disposition, unconfirmed = row
    return RemoteTask(
        task_id, context_id, TaskState(state), state_time, heard, Disposition(disposition), bool(unconfirmed)
    )
