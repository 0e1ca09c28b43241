"""The collections of the control API, as commands show them: a list, one record by a shortened id, an action on one."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway.cli_asking import Form
from gateway.cli_client import API, CommandFailed, GatewayClient, Item, segment
from gateway.cli_show import Column, Show, shorten, when

SEARCHED = 10_000  # items looked through for a shortened id: as many as a list shows at most
CANDIDATES = 5  # ids named where a shortened one is ambiguous
FULL_ID = 32  # characters; ids of this length and more are taken as they are

Short = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Collection:
    path: str
    one: str  # what one of them is called, and its command
    none: str  # what a list says that has nothing to show
    columns: Callable[[Short], Sequence[Column]]
    by: str = "id"
    called: tuple[str, ...] = ()  # further names of one, by which it may be asked for as well
    told: Callable[[Item], Item] = dict  # one as people read it

    def list_(self, config: Path | None, form: Form, limit: int, state: str | None = None) -> None:
        client = GatewayClient.of(config)
        items = list(client.items(f"{API}/{self.path}", most=limit + 1, state=state))
        short = shorten(str(item[self.by]) for item in items)
        nothing = self.none if state is None else f"none is {state}"
        Show(form).table(items[:limit], self.columns(short), none=nothing, more=len(items) > limit)

    def show(self, short: str, config: Path | None, form: Form) -> None:
        client = GatewayClient.of(config)
        full = self._meant(client, short)
        item = client.get(f"{API}/{self.path}/{segment(full)}")
        Show(form).facts(self.told(item) if form is Form.HUMAN else item, title=full)

    def act(
        self,
        short: str,
        verb: str,
        words: Callable[[Item], str],
        config: Path | None,
        form: Form,
        *,
        body: Mapping[str, str] | None = None,
    ) -> None:
        client = GatewayClient.of(config)
        full = self._meant(client, short)
        item = client.act(f"{API}/{self.path}/{segment(full)}:{verb}", body)
        Show(form).done(item, f"{full}: {words(item)}")

    def _meant(self, client: GatewayClient, short: str) -> str:
        """The full id that a shortened one means: its beginning, or the number that ends it."""
        if len(short) >= FULL_ID and not self.called:
            return short
        names = {
            str(item[self.by]): [str(item[self.by]), *(str(item[name]) for name in self.called if item.get(name))]
            for item in client.items(f"{API}/{self.path}", most=SEARCHED)
        }
        found = _named(names, short)
        if len(found) > 1:
            named = ", ".join(" ".join(names[full]) for full in found[:CANDIDATES])
            more = ", ..." if len(found) > CANDIDATES else ""
            raise CommandFailed(f"'{short}' is the beginning of {len(found)} ids ({named}{more}); write more of it")
        if found:
            return found[0]
        if len(short) >= FULL_ID:  # older than what was looked through, it may still be
            return short
        raise CommandFailed(f"no {self.one} begins with '{short}'; `frontdesk {self.one} list` shows them")


def facts(path: str, id: str, config: Path | None, form: Form) -> None:
    """One record by its whole id."""
    Show(form).facts(GatewayClient.of(config).get(f"{API}/{path}/{segment(id)}"), title=id)


def _named(names: Mapping[str, Sequence[str]], short: str) -> list[str]:
    """The ids that may be meant; a whole name goes before beginnings."""
    return (
        [full for full in names if short in (full, _tail(full))]
        or [full for full, own in names.items() if short in own]
        or [full for full, own in names.items() if any(name.startswith(short) for name in own)]
    )


def _tail(full: str) -> str:
    """The number at the end of a name such as TURN-34, which is unique among its kind; "" where there is none."""
    beginning, _, number = full.rpartition("-")
    return number if beginning and number.isdigit() else ""


# ------------------------------------------------------------------------------------------------- each of them


def _session_columns(short: Short) -> tuple[Column, ...]:
    return (
        Column("REF", lambda it: short(it["ref"])),
        Column("ACCOUNT", lambda it: it["account"]),
        Column("CHAT", lambda it: f"{it['chat']}{' #' + it['topic'] if it.get('topic') else ''}"),
        Column("AGENT", lambda it: it["agent"]),
        Column("OWNER", lambda it: it["owner"]),
        Column("SINCE", lambda it: when(it.get("created"))),
    )


def _task_columns(short: Short) -> tuple[Column, ...]:
    return (
        Column("ID", lambda it: short(it["id"])),
        Column("AGENT", lambda it: it["agent"]),
        Column("STATE", lambda it: it["state"]),
        Column("HERE", lambda it: it["disposition"]),
        Column("LAST HEARD", lambda it: when(it.get("heard"))),
        Column("TASK", lambda it: it["task_id"]),
    )


def _heard(task: Item) -> Item:
    return {**task, "inbox": [_said(entry, task["task_id"]) for entry in task["inbox"]]}


def _said(entry: Item, task_id: str) -> Item:
    """One thing that an agent said; what is so of nearly all of them is left out."""
    try:
        said = json.loads(entry["body"])
    except ValueError:
        return entry
    if said.get("task") == task_id:
        del said["task"]
    if said.get("change") == "applied":
        del said["change"]
    if (time := said.pop("time", None)) is not None:
        said["agent's_time"] = datetime.fromtimestamp(time, UTC).isoformat()
    return {**{name: value for name, value in entry.items() if name != "body"}, **said}


def _delivery_columns(short: Short) -> tuple[Column, ...]:
    return (
        Column("ID", lambda it: _tail(it["id"]) or short(it["id"])),
        Column("STATE", lambda it: it["state"]),
        Column("ACCOUNT", lambda it: it["account"]),
        Column("CHAT", lambda it: it["chat"]),
        Column("PART", _part),
        Column("TRIES", lambda it: str(it["attempts"])),
        Column("QUEUED", lambda it: when(it.get("queued"))),
        Column("REASON", lambda it: it["reason"]),
    )


def _counted(delivery: Item) -> Item:
    return {**{name: value for name, value in delivery.items() if name != "parts"}, "part": _part(delivery)}


def _part(delivery: Mapping[str, Any]) -> str:
    """People count from one."""
    return f"{delivery['part'] + 1}/{delivery['parts']}"


def _unreadable_columns(_short: Short) -> tuple[Column, ...]:
    return (
        Column("ID", lambda it: it["id"]),
        Column("ACCOUNT", lambda it: it["account"]),
        Column("CHANNEL'S ID", lambda it: it["external_id"]),
        Column("RECEIVED", lambda it: when(it.get("received"))),
        Column("BYTES", lambda it: str(it["bytes"])),
        Column("ERROR", lambda it: it["error"]),
    )


SESSIONS = Collection("sessions", "session", "no conversation yet", _session_columns, by="ref")
UNREADABLE = Collection("unreadable", "envelope", "everything could be read", _unreadable_columns)
TASKS = Collection("tasks", "task", "no task yet", _task_columns, called=("task_id", "served_task"), told=_heard)
DELIVERIES = Collection("deliveries", "delivery", "no delivery yet", _delivery_columns, told=_counted)
