"""The commands a person waits at: check, doctor, version, and those that ask the running gateway.

Each takes `--format human|json` and `--config FILE`, so that what is typed for one works for all.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from core.errors import ConfigurationError
from gateway import cli_check, cli_doctor
from gateway.cli import FAILED, MISCONFIGURED, OK, complain, run_gateway
from gateway.cli_agents import agents
from gateway.cli_asking import Config, Form, Format, FullId, Id, Limit
from gateway.cli_client import CommandFailed
from gateway.cli_collections import DELIVERIES, SESSIONS, TASKS, UNREADABLE, facts
from gateway.cli_show import Show
from gateway.states import DELIVERY_STATES, SESSION_STATES, TASK_STATES
from gateway.version import VERSION

SessionState = Annotated[
    str | None, typer.Option("--state", help=f"Only those that are {' or '.join(SESSION_STATES)}.")
]
TaskState = Annotated[str | None, typer.Option("--state", help=f"One of {', '.join(TASK_STATES)}.")]
DeliveryState = Annotated[str | None, typer.Option("--state", help=f"One of {', '.join(DELIVERY_STATES)}.")]

app = typer.Typer(
    name="frontdesk",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Frontdesk: from a chat to an agent and back.",
)
sessions = typer.Typer(no_args_is_help=True, help="Conversations and what happened in them.")
envelopes = typer.Typer(no_args_is_help=True, help="Messages that came in, and what came in and is none.")
tasks = typer.Typer(no_args_is_help=True, help="The work that agents do.")
deliveries = typer.Typer(no_args_is_help=True, help="What is shown to people, and what came of showing it.")
app.add_typer(sessions, name="session")
app.add_typer(envelopes, name="envelope")
app.add_typer(tasks, name="task")
app.add_typer(deliveries, name="delivery")
app.add_typer(agents, name="agent")


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
    if crashpoints:
        cli_check.crashpoints(Show(form))
    else:
        cli_doctor.doctor(config, Show(form))


# ------------------------------------------------------------------------------------------------- sessions


@sessions.command(name="list")
def session_list(
    config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50, state: SessionState = None
) -> None:
    """The newest conversations."""
    SESSIONS.list_(config, form, limit, state)


@sessions.command(name="show")
def session_show(ref: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One conversation, with its timeline."""
    SESSIONS.show(ref, config, form)


# ------------------------------------------------------------------------------------------------- envelopes


@envelopes.command(name="show")
def envelope_show(id: FullId, config: Config = None, form: Format = Form.HUMAN) -> None:
    """The facts of one message that was admitted."""
    facts("envelopes", id, config, form)


@envelopes.command(name="unreadable")
def envelope_unreadable(config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50) -> None:
    """What was authentic and could not be read, the newest first."""
    UNREADABLE.list_(config, form, limit)


@envelopes.command(name="read")
def envelope_read(id: FullId, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One of those, with its body as it came."""
    facts("unreadable", id, config, form)


# ------------------------------------------------------------------------------------------------- tasks


@tasks.command(name="list")
def task_list(config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50, state: TaskState = None) -> None:
    """The newest tasks."""
    TASKS.list_(config, form, limit, state)


@tasks.command(name="show")
def task_show(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One task, with everything its agent said."""
    TASKS.show(id, config, form)


@tasks.command(name="refresh")
def task_refresh(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Ask the agent how the task stands now."""
    TASKS.act(id, "refresh", lambda task: f"the agent says: {task.get('state')}", config, form)


@tasks.command(name="cancel")
def task_cancel(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Ask the agent to stop the task."""
    TASKS.act(id, "cancel", lambda task: f"asked to stop; the agent says: {task.get('state')}", config, form)


@tasks.command(name="reply")
def task_reply(
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say to the agent.")],
    config: Config = None,
    form: Format = Form.HUMAN,
) -> None:
    """Answer what the task asks, in the place of the person who was asked."""
    TASKS.act(id, "reply", lambda _: "passed on; its answer goes to the chat", config, form, body={"text": text})


# ------------------------------------------------------------------------------------------------- deliveries


@deliveries.command(name="list")
def delivery_list(
    config: Config = None, form: Format = Form.HUMAN, limit: Limit = 50, state: DeliveryState = None
) -> None:
    """The newest deliveries; --state unknown shows what nobody can know."""
    DELIVERIES.list_(config, form, limit, state)


@deliveries.command(name="show")
def delivery_show(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """One delivery, with what it shows and its attempts."""
    DELIVERIES.show(id, config, form)


@deliveries.command(name="retry")
def delivery_retry(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Show it once more, marked as a repeat where it may have been shown."""
    DELIVERIES.act(id, "retry", lambda delivery: f"now {delivery.get('state')}", config, form)


@deliveries.command(name="discard")
def delivery_discard(id: Id, config: Config = None, form: Format = Form.HUMAN) -> None:
    """Never send it."""
    DELIVERIES.act(id, "discard", lambda delivery: f"now {delivery.get('state')}", config, form)
