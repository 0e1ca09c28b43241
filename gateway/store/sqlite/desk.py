"""What the desk asks of the store: /status reads one conversation, /cancel, /new and /again change it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from core.parts import part_from_json, text_of
from core.store import DeskView, Ready, Work
from core.turn import Cancellation, OpenTask
from gateway.store.rules import TEXT_SHOWN
from gateway.store.sqlite import followed, offers
from gateway.store.sqlite.names import number
from gateway.store.sqlite.places import leave_foreground, place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("desk.sql")
_LATEST = (1 << 62) - 1  # a seq behind all there are


@dataclass(frozen=True, slots=True)
class _Cover:
    """What a cancel finds in one thread: a turn at work, queued messages, a turn put back, an open question."""

    thread: int
    name: str
    state: str
    agent: str
    task_id: str
    turn: int  # at work, 0 for none covered
    turn_name: str
    queued: tuple[int, ...]  # seqs
    resume: int
    is_asking: bool

    @property
    def has_any(self) -> bool:
        return bool(self.turn or self.queued or self.resume or self.is_asking)


# ---------------------------------------------------------------------------------------------- /cancel


def want_cancel(tx: Tx, conversation: str, before: int, person: str | None, everything: bool) -> Cancellation:
    tx.flush()
    where = place(tx, conversation)
    if where is None:
        return Cancellation((), 0)
    rows = tx.execute(SQL["active_threads"], (where.id,)).fetchall()
    front = next((row[0] for row in rows if row[3]), 0)
    found = [cover for row in rows if (cover := _cover(tx, row, before, person)).has_any]
    covers = found if everything else _one_of(found, front)
    dropped = sum([_cancel(tx, cover) for cover in covers])
    closed = _open_tasks(tx, [(cover.agent, cover.task_id) for cover in covers if cover.is_asking])
    where.active = None
    return Cancellation(tuple([cover.turn_name for cover in covers if cover.turn]), dropped, closed)


def _one_of(covers: list[_Cover], foreground: int) -> list[_Cover]:
    """The foreground while it is queued or running, or else the newest that waits; `covers` is the newest first."""
    front = [cover for cover in covers if cover.thread == foreground and cover.state != "waiting"]
    waiting = [cover for cover in covers if cover.state == "waiting"]
    return (front or waiting or covers)[:1]


def _cover(tx: Tx, row: Sequence[Any], before: int, person: str | None) -> _Cover:
    thread, name, state, _, asks, task_id, agent, resume, taken, turn, turn_name, turn_state, last_seq = row
    values = {"thread": thread, "taken": taken, "before": before, "person": person}
    queued = tx.execute(SQL["queued_by"], values).fetchall()
    is_at_work = turn_state in ("running", "waiting") and last_seq < before and _is_of(tx, turn, person)
    return _Cover(
        thread=thread,
        name=name,
        state=state,
        agent=agent,
        task_id=task_id,
        turn=turn if is_at_work else 0,
        turn_name=turn_name or "",
        queued=tuple([seq for (seq,) in queued]),
        resume=resume if resume and _is_of(tx, resume, person) else 0,
        is_asking=bool(asks) and (person is None or asks == person),
    )


def _is_of(tx: Tx, turn: int, person: str | None) -> bool:
    return person is None or bool(tx.execute(SQL["turn_is_of"], (turn, person)).fetchone()[0])


def _cancel(tx: Tx, cover: _Cover) -> int:
    """Apply it to one thread; how many queued messages were dropped."""
    dropped = len(cover.queued)
    tx.memory.queues.pop(cover.name, None)
    if cover.turn:
        tx.execute(SQL["want_cancel"], (cover.turn,))
        tx.memory.live.pop(cover.turn_name, None)
    for seq in cover.queued:
        tx.execute(SQL["drop_envelope"], (seq,))
    if cover.resume:
        dropped += tx.execute(SQL["size_of_turn"], (cover.resume,)).fetchone()[0]
        tx.execute(SQL["drop_resume"], (cover.thread,))
    if cover.is_asking:
        close_question(tx, cover.thread, cover.agent, cover.task_id)
    tx.execute(SQL["leave_queue"], (cover.thread,))
    return dropped


def close_question(tx: Tx, thread: int, agent: str, task_id: str) -> None:
    tx.execute(SQL["detach_task"], (agent, task_id))
    tx.execute(SQL["close_question"], (thread,))


def cancel_thread(tx: Tx, thread: str, end: followed.Ending) -> Cancellation:
    """All of one thread, whoever wrote it."""
    tx.flush()
    named = tx.execute(SQL["thread_by_name"], (number(thread), thread)).fetchone()
    where = place(tx, named[0]) if named else None
    rows = tx.execute(SQL["active_threads"], (where.id,)).fetchall() if where is not None else ()
    found = [_cover(tx, row, _LATEST, None) for row in rows if row[1] == thread]
    if where is None or not found:
        return Cancellation((), 0)
    (cover,) = found
    dropped = _cancel(tx, cover)
    closed = _open_tasks(tx, [(cover.agent, cover.task_id)]) if cover.is_asking else ()
    where.active = None
    told = followed.cancelled(tx, where, thread, end) if where.is_followed and not cover.turn else ()
    return Cancellation((cover.turn_name,) if cover.turn else (), dropped, closed, told)


def mark_cancel(tx: Tx, turn: str) -> bool:
    tx.flush()
    tx.memory.live.pop(turn, None)
    return tx.execute(SQL["mark_cancel"], (number(turn), turn)).rowcount == 1


# ---------------------------------------------------------------------------------------------- /new and /again


def renew(tx: Tx, conversation: str) -> tuple[OpenTask, ...]:
    tx.flush()
    where = place(tx, conversation)
    if where is None:
        return ()
    tx.execute(SQL["raise_generation"], (where.session,))
    offers.close(tx, where.id)
    where.generation += 1
    leave_foreground(tx, where)
    asking = tx.execute(SQL["asking_threads"], (where.id,)).fetchall()
    for thread, name, agent, task_id in asking:
        tx.memory.queues.pop(name, None)
        close_question(tx, thread, agent, task_id)
    where.active = None
    return _open_tasks(tx, [(agent, task_id) for _, _, agent, task_id in asking])


def choose(tx: Tx, conversation: str, agent: str) -> None:
    where = place(tx, conversation)
    if where is not None:
        tx.flush()
        tx.execute(SQL["choose"], (agent, where.session))
        where.chosen = agent


def _open_tasks(tx: Tx, asking: list[tuple[str, str]]) -> tuple[OpenTask, ...]:
    found = [
        (agent, task_id, tx.execute(SQL["context_of_task"], (agent, task_id)).fetchone()) for agent, task_id in asking
    ]
    return tuple([OpenTask(agent, task_id, *row) for agent, task_id, row in found if row is not None])


def unknown_submission(tx: Tx, conversation: str) -> Ready | None:
    tx.flush()
    where = place(tx, conversation)
    row = tx.execute(SQL["newest_unknown_submission"], (where.id,)).fetchone() if where else None
    if where is None or row is None:
        return None
    turn, thread, name, owner = row
    tx.execute(SQL["resume_thread"], (turn, thread))
    tx.memory.queues.pop(name, None)
    where.active = None
    queued = tx.execute(SQL["size_of_turn"], (turn,)).fetchone()[0]
    return Ready(owner, name, queued, account=where.source.key)


# ---------------------------------------------------------------------------------------------- /status


def view(tx: Tx, conversation: str) -> DeskView:
    tx.flush()
    where = place(tx, conversation)
    if where is None:
        return DeskView((), 0, None, 0)
    rows = tx.execute(SQL["works"], (where.id,)).fetchall()
    head = tx.execute(SQL["postponed"], (where.id,)).fetchone()
    return DeskView(
        works=tuple([_work(tx, row) for row in rows]),
        unknown_deliveries=tx.execute(SQL["unknown_deliveries"], (where.id,)).fetchone()[0],
        parked_until=head[0] if head else None,
        unknown_submissions=tx.execute(SQL["unknown_submissions"], (where.id,)).fetchone()[0],
    )


def _work(tx: Tx, row: Sequence[Any]) -> Work:
    thread, name, state, agent, asks, taken, turn, turn_state, begun, task_state, heard, disposition = row
    queued, first = tx.execute(SQL["queue_of_thread"], (thread, taken)).fetchone()
    is_at_work = turn_state in ("running", "waiting")
    is_asking = state == "waiting" and bool(asks)
    of_turn = (is_at_work or is_asking or first is None) and turn
    asked = tx.execute(SQL["question_of_turn"], (turn,)).fetchone() if of_turn else None
    asked = asked or tx.execute(SQL["envelope"], (first,)).fetchone()
    parts, received = asked or ("[]", begun or 0.0)
    return Work(
        thread=name,
        state=state,
        agent=agent,
        text=text_of(part_from_json(part) for part in orjson.loads(parts))[:TEXT_SHOWN],
        since=begun if is_at_work else received,
        queued=queued if is_at_work or is_asking else max(0, queued - 1),
        task_state=task_state or "" if of_turn else "",
        heard=heard if of_turn else None,
        disposition=disposition or "" if of_turn else "",
        waits_for_input=is_asking,
    )
