"""Observations: everything one step of a turn changes, decided on a revision of it, in one transaction.

With any other revision than the turn's present one nothing is changed. When the turn ends, its thread goes on from
there: to what is queued behind it, to the answer of the person it asked, or to rest.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from core.clock import Instant
from core.errors import ForeignTask
from core.turn import InboxRecord, Observation, RemoteTask, Turn, TurnEnd, TurnState
from gateway.store.rules import Policy, is_troubled, state_after
from gateway.store.sqlite import followed
from gateway.store.sqlite.deliveries import enqueue
from gateway.store.sqlite.memory import Live, Place
from gateway.store.sqlite.names import name, number
from gateway.store.sqlite.places import active_threads, leave_foreground, place, remote_context, thread_is
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import encoded
from gateway.store.sqlite.transaction import Tx

SQL = load("observations.sql")
_OBSERVE_TURN, _END_TURN, _END_THREAD = SQL["observe_turn"], SQL["end_turn"], SQL["end_thread"]
_PUT_TASK, _INSERT_RECORD, _PUT_CONTEXT = SQL["put_task"], SQL["insert_record"], SQL["put_context"]


def observe(tx: Tx, observation: Observation, policy: Policy, now: Instant) -> Turn | None:
    turn, task, end = observation.turn, observation.task, observation.end
    live = _live(tx, turn.id)
    where = place(tx, live.conversation) if live is not None else None
    if live is None or where is None or live.revision != turn.revision:
        return None
    live.revision += 1
    present = _next(observation, live, where)
    if observation.agent:
        present = _change_agent(tx, live, where, present, observation.agent)
    _store_turn(tx, present, end, now)
    if task is not None:
        _store_task(tx, turn, task)
    if observation.records:
        _store_records(tx, turn, observation.records, present.task, now)
    if observation.context_id is not None and observation.context_id != turn.context_id:
        _store_context(tx, live, turn.agent, observation.context_id)
    for piece in observation.pieces:
        enqueue(tx, where, turn.id, piece, policy, now)
    if end is not None:
        present = _end(tx, where, present, end)
    if observation.step is not None and where.is_followed:
        followed.stepped(tx, present, observation.step, now)
    for report in observation.reports:
        if (there := place(tx, report.conversation)) is not None:
            enqueue(tx, there, turn.id, report.piece_now(more=present.more), policy, now)
    return present


def refused(observation: Observation, error: sqlite3.IntegrityError) -> Exception:
    """What it means that the rows of an observation were not accepted."""
    if observation.task is None or "another conversation" not in str(error):  # the trigger remote_task_of_another
        return error
    return ForeignTask(f"task {observation.task.task_id} of {observation.turn.agent} is another conversation's")


def note(tx: Tx, observation: Observation, now: Instant) -> None:
    turn, task = observation.turn, observation.task
    if task is not None:
        _store_task(tx, turn, task)
    _store_records(tx, turn, observation.records, task or turn.task, now)


def _live(tx: Tx, turn: str) -> Live | None:
    known = tx.memory.live.get(turn)
    if known is None:
        tx.flush()  # a turn that ended in this transaction is at work in its row until then
        row = tx.execute(SQL["live"], (number(turn), turn)).fetchone()
        if row is not None:
            known = tx.memory.live.keep(turn, Live(row[0], row[1], row[2], row[3], bool(row[4])))
    return known


def _next(observation: Observation, live: Live, where: Place) -> Turn:
    turn, end = observation.turn, observation.end
    return Turn(
        id=turn.id,
        thread=turn.thread,
        session=live.session,
        owner=where.owner,
        conversation=where.id,
        address=where.address,
        is_direct=where.is_direct,
        agent=turn.agent,
        envelopes=turn.envelopes,
        message_id=turn.message_id,
        begun=turn.begun,
        context_id=observation.context_id or turn.context_id,
        task_id=turn.task_id,
        submission=observation.submission or turn.submission,
        asked=turn.asked if observation.asked is None else observation.asked,
        task=observation.task or turn.task,
        cancel_wanted=live.cancel_wanted,
        waiting=turn.waiting or (end is not None and end.state is TurnState.WAITING),
        preview=turn.preview,
        revision=live.revision,
        is_desk=turn.is_desk,
    )


def _change_agent(tx: Tx, live: Live, where: Place, turn: Turn, agent: str) -> Turn:
    """The turn goes on with another agent, in the context that one keeps; what is queued behind it follows."""
    tx.flush()
    tx.execute(SQL["change_turns_agent"], (agent, number(turn.id)))
    tx.execute(SQL["change_threads_agent"], (agent, number(turn.thread)))
    if queue := tx.memory.queues.get(turn.thread):
        queue.agent = agent
    where.active = None
    return replace(turn, agent=agent, context_id=remote_context(tx, live.session, agent, live.generation))


def _store_turn(tx: Tx, present: Turn, end: TurnEnd | None, now: Instant) -> None:
    values = (
        present.revision,
        "" if present.is_desk else present.submission._value_,
        int(present.asked),
        present.task.task_id if present.task is not None else None,
        present.context_id,
    )
    n = number(present.id)
    if end is None:
        tx.late(_OBSERVE_TURN, (*values, n))
    else:
        ended = None if end.state is TurnState.WAITING else now
        tx.late(_END_TURN, (*values, end.state._value_, ended, end.reason, n))
    if is_troubled(present, end):
        tx.flush()
        tx.execute(SQL["mark_troubled"], (n,))


def _store_task(tx: Tx, turn: Turn, task: RemoteTask) -> None:
    tx.late(
        _PUT_TASK,
        (
            turn.agent,
            task.task_id,
            task.context_id,
            turn.owner,
            number(turn.id),
            task.state._value_,
            task.state_time,
            task.heard,
            task.disposition._value_,
            int(task.unconfirmed),
            task.binding,
        ),
    )


def _store_records(tx: Tx, turn: Turn, records: Sequence[InboxRecord], task: RemoteTask | None, now: Instant) -> None:
    task_id, turn_n, revision = task.task_id if task else "", number(turn.id), turn.revision + 1
    for n, record in enumerate(records):
        row = (turn_n, revision, n, task_id, record.road._value_, record.kind, encoded(record.facts), now)
        tx.late(_INSERT_RECORD, row)


def _store_context(tx: Tx, live: Live, agent: str, context_id: str) -> None:
    """Of the generation the turn was begun in: what was left behind by /new does not come back."""
    tx.late(_PUT_CONTEXT, (live.session, agent, live.generation, context_id))
    tx.memory.contexts.keep((live.session, agent, live.generation), context_id)


# ---------------------------------------------------------------------------------------------- ending


def _end(tx: Tx, where: Place, turn: Turn, end: TurnEnd) -> Turn:
    """The turn, with what is queued behind it."""
    queue = tx.memory.queues.get(turn.thread)
    if end.state is not TurnState.WAITING:
        tx.memory.live.pop(turn.id, None)
    if end.state is TurnState.WAITING or end.waits_for_input or turn.waiting or queue is None:
        return _end_stored(tx, where, turn, end)
    state = state_after(end, has_queued=bool(queue.envelopes))
    if state == "queued":
        queue.is_at_work = False
        tx.late(SQL["queue_again"], (number(turn.thread),))
    else:
        del tx.memory.queues[turn.thread]
        tx.late(_END_THREAD, (state, number(turn.thread)))
    thread_is(where, turn.thread, state)
    return replace(turn, more=True) if state == "queued" else turn


def _end_stored(tx: Tx, where: Place, turn: Turn, end: TurnEnd) -> Turn:
    """From the rows: a thread that waits now, or waited, or was not seen from its beginning."""
    tx.flush()
    n = number(turn.thread)
    tx.memory.queues.pop(turn.thread, None)
    if end.state is TurnState.WAITING:
        _leave_foreground(tx, where, turn.thread)
        wait(tx, turn, "task", asks="")
    elif end.waits_for_input:
        turn = turn if where.is_followed else replace(turn, moved=_move_queued(tx, n))
        wait(tx, turn, "input", asks=turn.envelopes[-1].person.id if turn.envelopes else "")
        if where.is_followed and tx.execute(SQL["has_queued"], (n,)).fetchone()[0]:
            tx.execute(SQL["queue_answer"], (n,))
            turn = replace(turn, more=True)
    else:
        tx.execute(SQL["leave_wait"], (n,))
        has_queued = bool(tx.execute(SQL["has_queued"], (n,)).fetchone()[0])
        state = state_after(end, has_queued=has_queued)
        tx.execute(*((SQL["queue_again"], (n,)) if state == "queued" else (_END_THREAD, (state, n))))
        turn = replace(turn, more=state == "queued")
    where.active = None
    return turn


def wait(tx: Tx, turn: Turn, kind: str, *, asks: str) -> None:
    n, task_id = number(turn.thread), turn.task.task_id if turn.task is not None else ""
    key = f"{turn.agent}/{task_id}" if task_id else turn.thread
    if tx.execute(SQL["wake_is_taken"], (kind, key, n)).fetchone()[0]:
        key = f"{key}#{turn.thread}"
    continues = task_id if kind == "input" else ""
    tx.execute(SQL["wait_thread"], (kind, key, continues, asks, n))


def _leave_foreground(tx: Tx, where: Place, thread: str) -> None:
    fact = active_threads(tx, where).get(thread)
    if fact is not None and fact.is_foreground:
        leave_foreground(tx, where, fact.agent)
    else:
        tx.execute(SQL["leave_foreground"], (number(thread),))


def _move_queued(tx: Tx, thread: int) -> str:
    """What was written before the question was asked does not answer it: it goes on in a new foreground thread."""
    first = tx.execute(SQL["first_queued"], (thread,)).fetchone()
    if first is None:
        return ""
    new = name(first[1], first[0])
    values = {"new": first[0], "id": new, "old": thread}
    tx.execute(SQL["split_thread"], values)
    tx.execute(SQL["move_queued"], values)
    return new
