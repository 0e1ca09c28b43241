"""The commands a person waits at: check, doctor, version, and those that ask the running gateway.

Each takes `--format human|json` and `--config FILE`, so that what is typed for one works for all.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from core.errors import ConfigurationError
from gateway import cli_check
from gateway.cli import FAILED, MISCONFIGURED, OK, complain, run_gateway
from gateway.cli_client import CommandFailed, GatewayClient, segment, tail
from gateway.cli_show import Column, Show, shorten, when
from gateway.states import DELIVERY_STATES, SESSION_STATES, TASK_STATES
from gateway.version import VERSION

API = "/api/v1"


class Form(StrEnum):
    HUMAN = "human"
    JSON = "json"


Short = Callable[[str], str]


def session_columns(short: Short) -> tuple[Column, ...]:
    return (
        Column("REF", lambda it: short(it["ref"])),
        Column("ACCOUNT", lambda it: it["account"]),
        Column("CHAT", lambda it: f"{it['chat']}{' #' + it['topic'] if it.get('topic') else ''}"),
        Column("AGENT", lambda it: it["agent"]),
        Column("OWNER", lambda it: it["owner"]),
        Column("SINCE", lambda it: when(it.get("created"))),
    )


def task_columns(short: Short) -> tuple[Column, ...]:
    return (
        Column("ID", lambda it: short(it["id"])),
        Column("AGENT", lambda it: it["agent"]),
        Column("STATE", lambda it: it["state"]),
        Column("HERE", lambda it: it["disposition"]),
        Column("LAST HEARD", lambda it: when(it.get("heard"))),
        Column("TASK", lambda it: it["task_id"]),
    )


def delivery_columns(short: Short) -> tuple[Column, ...]:
    return (
        Column("ID", lambda it: tail(it["id"]) or short(it["id"])),
        Column("STATE", lambda it: it["state"]),
        Column("ACCOUNT", lambda it: it["account"]),
        Column("CHAT", lambda it: it["chat"]),
        Column("PART", lambda it: f"{it['part'] + 1}/{it['parts']}"),
        Column("TRIES", lambda it: str(it["attempts"])),
        Column("QUEUED", lambda it: when(it.get("queued"))),
        Column("REASON", lambda it: it["reason"]),
    )


Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The gateway's configuration.")]
Format = Annotated[Form, typer.Option("--format", help="How to answer.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many, newest first.")]
SessionState = Annotated[
    str | None, typer.Option("--state", help=f"Only those that are {' or '.join(SESSION_STATES)}.")
]
TaskState = Annotated[str | None, typer.Option("--state", help=f"One of {', '.join(TASK_STATES)}.")]
DeliveryState = Annotated[str | None, typer.Option("--state", help=f"One of {', '.join(DELIVERY_STATES)}.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its id, or a beginning of it that no other shares.")]

app = typer.Typer(
    name="frontdesk",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Frontdesk: from a chat to an agent and back.",
)
sessions = typer.Typer(no_args_is_help=True, help="Conversations and what happened in them.")
tasks = typer.Typer(no_args_is_help=True, help="The work that agents do.")
deliveries = typer.Typer(no_args_is_help=True, help="What is shown to people, and what came of showing it.")
app.add_typer(sessions, name="session")
app.add_typer(tasks, name="task")
app.add_typer(deliveries, name="delivery")


def command(arguments: Sequence[str]) -> int:
    """The exit code."""
    try:
        app(list(arguments), prog_name="frontdesk")
        return OK
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except ConfigurationError as error:
        complain(str(error))
        return MISCONFIGURED
    except CommandFailed as failure:
        for line in str(failure).splitlines():
            complain(line)
        return failure.code


@app.command(name="run")
def run_help() -> None:
    """Start the gateway (frontdesk run --help shows its options)."""
    raise typer.Exit(run_gateway([]))


@app.command()
def version(form: Format = Form.HUMAN) -> None:
    """The installed version."""
    Show(form).done({"version": VERSION}, f"frontdesk {VERSION}")


@app.command()
def check(config: Config = None, form: Format = Form.HUMAN) -> None:
    """Read the configuration and say what the gateway would do, or what is wrong with it."""
    cli_check.check(config, Show(form))


@app.command()
def doctor(
    config: Config = None,
    form: Format = Form.HUMAN,
    crashpoints: Annotated[bool, typer.Option("--crashpoints", help="List the points a fault test can name.")] = False,
) -> None:
    """Check the configuration, and whether the running gateway is ready."""
    show = Show(form)
    if crashpoints:
        cli_check.crashpoints(show)
    else:
        cli_check.doctor(config, show)


# ------------------------------------------------------------------------------------------------- sessions


@sessions.command(name="list")
def session_list(
    config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50, state: SessionState = None
) -> None:
    """The newest conversations."""
    _list("sessions", "ref", session_columns, "no conversation yet", config, form, limit, state)


@sessions.command(name="show")
def session_show(ref: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One conversation, with its timeline."""
    _show("sessions", ref, config, form, by="ref")


# ------------------------------------------------------------------------------------------------- tasks


@tasks.command(name="list")
def task_list(config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50, state: TaskState = None) -> None:
    """The newest tasks."""
    _list("tasks", "id", task_columns, "no task yet", config, form, limit, state)


@tasks.command(name="show")
def task_show(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One task, with everything its agent said."""
    _show("tasks", id, config, form)


@tasks.command(name="refresh")
def task_refresh(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Ask the agent how the task stands now."""
    _act("tasks", id, "refresh", lambda task: f"the agent says: {task.get('state')}", config, form)


@tasks.command(name="cancel")
def task_cancel(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Ask the agent to stop the task."""
    _act("tasks", id, "cancel", lambda task: f"asked to stop; the agent says: {task.get('state')}", config, form)


# ------------------------------------------------------------------------------------------------- deliveries


@deliveries.command(name="list")
def delivery_list(
    config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50, state: DeliveryState = None
) -> None:
    """The newest deliveries; --state unknown shows what nobody can know."""
    _list("deliveries", "id", delivery_columns, "no delivery yet", config, form, limit, state)


@deliveries.command(name="show")
def delivery_show(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One delivery, with its attempts."""
    _show("deliveries", id, config, form)


@deliveries.command(name="retry")
def delivery_retry(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Show it once more, marked as a repeat where it may have been shown."""
    _act("deliveries", id, "retry", lambda delivery: f"now {delivery.get('state')}", config, form)


@deliveries.command(name="discard")
def delivery_discard(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Never send it."""
    _act("deliveries", id, "discard", lambda delivery: f"now {delivery.get('state')}", config, form)


# ------------------------------------------------------------------------------------------------- what they share

Row = dict[str, Any]


def _list(
    path: str,
    by: str,
    columns: Callable[[Callable[[str], str]], Sequence[Column]],
    none: str,
    config: Path | None,
    form: Form,
    limit: int,
    state: str | None,
) -> None:
    client = GatewayClient.of(config)
    items = list(client.items(f"{API}/{path}", most=limit + 1, state=state))
    short = shorten(str(item[by]) for item in items)
    nothing = none if state is None else f"none is {state}"
    Show(form).table(items[:limit], columns(short), none=nothing, more=len(items) > limit)


def _show(path: str, short: str, config: Path | None, form: Form, *, by: str = "id") -> None:
    client = GatewayClient.of(config)
    full = client.find(f"{API}/{path}", short, by=by)
    Show(form).facts(client.get(f"{API}/{path}/{segment(full)}"), title=full)


def _act(path: str, short: str, verb: str, words: Callable[[Row], str], config: Path | None, form: Form) -> None:
    client = GatewayClient.of(config)
    full = client.find(f"{API}/{path}", short)
    item = client.act(f"{API}/{path}/{segment(full)}:{verb}")
    Show(form).done(item, f"{full}: {words(item)}")
