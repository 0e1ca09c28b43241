"""What operators see of the store through the control API: JSON values, times in ISO 8601, every list bounded.

It reads beside the writer and decides nothing. Every row carries its owner; for now only the operator asks.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from core.agent import TaskState
from core.turn import Disposition
from gateway.api import Item, Page
from gateway.states import MADE_OF_TASKS
from gateway.store.sqlite.names import number, turn_of
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import decoded, encoded

SQL = load("records.sql")
RAW_SHOWN = 65_536  # bytes of an unreadable update
INBOX_SHOWN = 500  # records of one task
TIMELINE = 100  # newest messages of a session, with their turns and deliveries
UNKNOWN_SHOWN = 100_000  # ids; past it there is another trouble than a list could show
ENDED = frozenset(state.value for state in TaskState if state.is_terminal)
IN_LANE = frozenset({"queued", "attempting"})
LAST = 1 << 62  # a cursor after which comes nothing
LAST_ID = "g"  # after every id of hexadecimal digits
WORDS = ("plain", "text", "markdown")  # of a payload, as channels call them
_ID_CURSOR, _NUMBER_CURSOR = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9]{1,18}")


class Readable(Protocol):
    async def rows(self, sql: str, values: Mapping[str, object] | None = None) -> Sequence[Mapping[str, Any]]: ...


class Records:
    def __init__(self, store: Readable) -> None:
        self._store = store

    # ------------------------------------------------------------------ sessions and messages

    async def sessions(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        values = {"cursor": _after(cursor, _ID_CURSOR) or LAST_ID, "limit": limit + 1, "state": state}
        rows = await self._store.rows(SQL["sessions"], values)
        return Page([_session(row) for row in rows[:limit]], rows[limit - 1]["id"] if len(rows) > limit else None)

    async def session(self, ref: str) -> Item | None:
        rows = await self._store.rows(SQL["session"], {"id": ref})
        return {**_session(rows[0]), "timeline": await self._timeline(rows[0]["conversation"])} if rows else None

    async def _timeline(self, conversation: str) -> list[Item]:
        values = {"conversation": conversation, "limit": TIMELINE}
        moments = [
            *(
                ({**row, "what": f"command {row['command']}" if row["command"] else "message"})
                for row in await self._store.rows(SQL["timeline_messages"], values)
            ),
            *({**row, "what": "turn"} for row in await self._store.rows(SQL["timeline_turns"], values)),
            *(
                {**row, "what": f"delivery {row['piece']}"}
                for row in await self._store.rows(SQL["timeline_deliveries"], values)
            ),
        ]
        moments.sort(key=lambda moment: moment["time"])
        return [{"time": iso(row["time"]), **_only(row, "what", "id", "state")} for row in moments]

    async def envelope(self, id: str) -> Item | None:
        rows = await self._store.rows(SQL["envelope"], {"id": id})
        return {**rows[0], "received": iso(rows[0]["received"])} if rows else None

    async def unreadable(self, *, limit: int, cursor: str | None) -> Page:
        rows = await self._newest("unreadable", limit, cursor, None)
        return Page([_raw(row) for row in rows[:limit]], str(rows[limit - 1]["id"]) if len(rows) > limit else None)

    async def unreadable_one(self, id: str) -> Item | None:
        """With its body as text: what is no UTF-8 is written as \\xNN, and what is too long is cut."""
        rows = await self._store.rows(SQL["unreadable_one"], {"id": number(id), "shown": RAW_SHOWN})
        if not rows or str(rows[0]["id"]) != id:
            return None
        raw = bytes(rows[0]["raw"])
        return {**_raw(rows[0]), "body": raw.decode(errors="backslashreplace"), "is_cut": rows[0]["bytes"] > len(raw)}

    # ------------------------------------------------------------------ tasks

    async def tasks(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        name = "open_tasks" if state not in (None, "completed") else "tasks"
        if state in MADE_OF_TASKS:
            name = "tasks_made_of"
        rows = await self._newest(name, limit, cursor, state)
        return Page([_task(row) for row in rows[:limit]], str(rows[limit - 1]["id"]) if len(rows) > limit else None)

    async def task(self, id: str) -> Item | None:
        """By its id, by its agent's id of it, or by the caller's whose work it does; None where two are called so."""
        values = {"id": number(id), "limit": INBOX_SHOWN}
        rows = await self._store.rows(SQL["task"], values)
        if not rows or str(rows[0]["id"]) != id:
            called = await self._store.rows(SQL["tasks_called"], {"called": id, "thread": number(id)})
            if len(called) != 1:
                return None
            values["id"] = called[0]["id"]
            rows = await self._store.rows(SQL["task"], values)
        said = await self._store.rows(SQL["inbox"], values)
        return {**_task(rows[0]), "inbox": [{**row, "time": iso(row["time"])} for row in said]}

    # ------------------------------------------------------------------ deliveries

    async def deliveries(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        name = "deliveries"
        if state in IN_LANE:
            name = "deliveries_in_lanes"
        elif state not in (None, "delivered"):
            name = "deliveries_in_trouble"
        rows = await self._newest(name, limit, cursor, state)
        last = str(rows[limit - 1]["lane_seq"]) if len(rows) > limit else None
        return Page([_delivery(row) for row in rows[:limit]], last)

    async def delivery(self, id: str) -> Item | None:
        rows = await self._store.rows(SQL["delivery"], {"lane_seq": number(id), "turn": turn_of(id)})
        if not rows:
            return None
        tries = await self._store.rows(SQL["attempts"], {"lane_seq": number(id)})
        return {
            **_delivery(rows[0]),
            "text": words_of(decoded(rows[0]["payload"])),
            "tries": [{**row, "begun": iso(row["begun"]), "ended": iso(row["ended"])} for row in tries],
        }

    async def _newest(
        self, name: str, limit: int, cursor: str | None, state: str | None
    ) -> Sequence[Mapping[str, Any]]:
        """One row more than asked for tells whether there is another page. Raises ValueError for a bad cursor."""
        after = _after(cursor, _NUMBER_CURSOR)
        values = {"cursor": int(after) if after else LAST, "limit": limit + 1, "state": state}
        return await self._store.rows(SQL[name], values)

    async def left(self) -> Sequence[Item]:
        """Active threads with their messages, counted by agent and account."""
        return await self._store.rows(SQL["left"])

    # ------------------------------------------------------------------ summary

    async def summary(self, *, ids: bool) -> Item:
        """Counts by state; `unknown` is deliveries and submissions whose outcome nobody knows."""
        counts: dict[str, dict[str, int]] = {}
        for row in await self._store.rows(SQL["counts"]):
            counts.setdefault(row["what"], {})[row["state"]] = row["n"]
        for what, ordinary in _ORDINARY.items():
            _name_the_rest(counts.setdefault(what, {}), ordinary)
        unknown = counts["deliveries"].get("unknown", 0) + counts["submissions"].get("submission_unknown", 0)
        found: dict[str, Any] = {**counts, "unknown": unknown, "unreadable": counts["envelopes"].get("unreadable", 0)}
        if ids:
            rows = await self._store.rows(SQL["unknown_ids"], {"limit": UNKNOWN_SHOWN})
            found["unknown_ids"] = [row["id"] for row in rows]
        return found


_ORDINARY = {
    "envelopes": "taken",
    "turns": "completed",
    "submissions": "submitted",
    "tasks": "completed",
    "deliveries": "delivered",
}
_ASIDE = frozenset({"refused", "unreadable"})  # counted beside envelopes, which they never became


def _name_the_rest(counts: dict[str, int], ordinary: str) -> None:
    everything = counts.pop("all", 0)
    rest = everything - sum(n for state, n in counts.items() if state not in _ASIDE)
    counts[ordinary] = max(0, rest)


def _after(cursor: str | None, shape: re.Pattern[str]) -> str | None:
    """Raises ValueError for what this list never gave: it would be taken for another place in it."""
    if cursor is not None and not shape.fullmatch(cursor):
        raise ValueError("not a cursor of this list")
    return cursor


def iso(time: float | None) -> str | None:
    """UTC to the millisecond, as ISO 8601."""
    if time is None:
        return None
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _only(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _session(row: Mapping[str, Any]) -> Item:
    fields = _only(row, "kind", "owner", "account", "chat", "topic", "agent")
    return {"ref": row["id"], **fields, "created": iso(row["created"])}


def _task(row: Mapping[str, Any]) -> Item:
    """The wish to cancel it is over once it has ended, however it ended."""
    is_over = row["state"] in ENDED and row["disposition"] == Disposition.CANCEL_ASKED.value
    return {
        **row,
        "id": str(row["id"]),
        "heard": iso(row["heard"]),
        "unconfirmed": bool(row["unconfirmed"]),
        "disposition": Disposition.TRACKED.value if is_over else row["disposition"],
    }


def words_of(payload: Mapping[str, Any]) -> str:
    """What one rendered part shows, under the first of WORDS that its channel has; the JSON itself of any other."""
    said = next((payload[name] for name in WORDS if isinstance(payload.get(name), str)), None)
    return said if said is not None else encoded(payload)


def _raw(row: Mapping[str, Any]) -> Item:
    fields = _only(row, "account", "external_id", "error", "bytes")
    return {"id": str(row["id"]), **fields, "received": iso(row["received"])}


def _delivery(row: Mapping[str, Any]) -> Item:
    shown = {name: value for name, value in row.items() if name not in ("lane_seq", "payload")}
    return {**shown, "queued": iso(row["queued"]), "due": iso(row["due"]), "is_repeat": bool(row["is_repeat"])}
