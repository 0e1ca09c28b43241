"""Interrupted tasks: answered by an operator in the person's place, or at work again by themselves."""

from dataclasses import replace

from core.clock import Instant
from core.envelope import ContextScope, Envelope
from core.identity import Person, Source
from core.ids import new_id
from core.parts import Text
from core.store import Ready
from core.turn import OpenTask, Turn
from gateway.store.sqlite import envelopes, followed
from gateway.store.sqlite.admissions import join_thread
from gateway.store.sqlite.desk import close_question
from gateway.store.sqlite.names import number
from gateway.store.sqlite.observations import wait
from gateway.store.sqlite.places import place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx
from gateway.store.sqlite.turns import read_turn

SQL = load("interrupted.sql")
OPERATOR = Source("operator", "operator")  # of an operator's words


def reply(tx: Tx, task: str, text: str, now: Instant) -> Ready | None:
    """Queue an operator's words as the answer of the person asked; None when the task asks nothing (any more)."""
    tx.flush()
    row = tx.execute(SQL["asking"], (number(task),)).fetchone()
    where = place(tx, row[2]) if row else None
    if row is None or where is None:
        return None
    thread, id, _, person = row
    seq = where.newest_seq = envelopes.next_seq(tx)
    envelope = new_id()
    external_id = f"operator:{envelope}"
    asked = Person(person, where.owner)
    said = Envelope(envelope, seq, asked, (Text(text),), external_id=external_id, received=now)
    raw = envelopes.keep_raw(tx, OPERATOR, external_id, text.encode(), "admitted", "", now)
    envelopes.keep(tx, where, thread, said, scope=ContextScope.FULL, raw=raw)
    join_thread(tx, where, id)
    if where.is_followed:
        followed.answered(tx, id, seq)
    return Ready(where.owner, id, 1, account=where.source.key)


def close(tx: Tx, task: str, end: followed.Ending) -> OpenTask | None:
    """Nobody is to answer what a task asks; None when it asks nothing."""
    tx.flush()
    row = tx.execute(SQL["asking"], (number(task),)).fetchone()
    open_task = tx.execute(SQL["open_task"], (number(task),)).fetchone()
    if row is None or open_task is None:
        return None
    thread, name, conversation, _ = row
    tx.memory.queues.pop(name, None)
    close_question(tx, thread, open_task[0], open_task[1])
    where = place(tx, conversation)
    if where is not None:
        where.active = None
        if where.is_followed:
            told = followed.cancelled(tx, where, name, end)
            return replace(OpenTask(*open_task), account=where.source.account, thread=name, told=told)
    return OpenTask(*open_task)


def rouse(tx: Tx, turn: str) -> Turn | None:
    """Put a turn that ended with an open question back to work; None when the question is not open any more."""
    tx.flush()
    row = tx.execute(SQL["waiting_turn"], (number(turn), turn)).fetchone()
    if row is None:
        return None
    tx.execute(SQL["rouse_turn"], row)
    found = read_turn(tx, row[0])
    if found is None:
        return None
    tx.memory.queues.pop(found.thread, None)
    wait(tx, found, "task", asks="")
    where = place(tx, found.conversation)
    if where is not None:
        where.active = None
    return found


def asking(tx: Tx, turn: str) -> Turn | None:
    tx.flush()
    row = tx.execute(SQL["waiting_turn"], (number(turn), turn)).fetchone()
    return read_turn(tx, row[0]) if row else None


def watched(tx: Tx) -> list[Turn]:
    tx.flush()
    rows = tx.execute(SQL["watched"]).fetchall()
    return [turn for (n,) in rows if (turn := read_turn(tx, n)) is not None]


def untold(tx: Tx) -> list[OpenTask]:
    tx.flush()
    return [OpenTask(*row) for row in tx.execute(SQL["untold"]).fetchall()]


def told(tx: Tx, agent: str, task_id: str) -> None:
    tx.flush()
    tx.execute(SQL["told"], (agent, task_id))
