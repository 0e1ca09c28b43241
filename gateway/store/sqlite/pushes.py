"""Where agents may push: the open targets, by the turn that made each."""

from core.push import PushTarget
from gateway.store.sqlite.names import number
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("pushes.sql")


def open_push(tx: Tx, target: PushTarget) -> None:
    tx.execute(SQL["open_push"], (target.id, target.agent, number(target.turn), target.digest))


def close_push(tx: Tx, id: str) -> None:
    tx.execute(SQL["close_push"], (id,))


def push_targets(tx: Tx) -> list[PushTarget]:
    """Those of turns that retention removed go with this look."""
    tx.flush()
    tx.execute(SQL["drop_orphans"])
    rows = tx.execute(SQL["push_targets"]).fetchall()
    return [PushTarget(id, agent, turn, digest, task_id) for id, agent, turn, digest, task_id in rows]
