"""docs/operations.md lists every command, event, metric, error, endpoint and crash point, and nothing else."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer.main
from prometheus_client.parser import text_string_to_metric_families

from core import errors
from core.commands import COMMANDS, command_of
from core.crashpoint import POINTS
from core.delivery import DeliveryState, Refusal
from core.envelope import Inbound
from core.notices import NOTICES
from core.parts import Text
from core.turn import Disposition, SubmissionState
from gateway.api import PREFIX, ControlApi
from gateway.cli import FAILED, MISCONFIGURED, OK, run_gateway
from gateway.cli_commands import app
from gateway.gauges import watch
from gateway.health import Health, Operator
from gateway.metrics import Metrics
from gateway.preflight import NAMES
from gateway.supervisor import PluginHealth, PluginState
from tests.conftest import ROOT
from tests.docs.reading import coded, document, first, rows, sections
from tests.doubles.events import Events
from tests.gateway.ledger import Ledger

SECTIONS = sections(document("docs/operations.md"))


def table(title: str) -> dict[str, list[str]]:
    """The rows by what they are about."""
    return {first(row[0]): row for row in rows(SECTIONS[title])}


# ---------------------------------------------------------------------------------------------- the command line


def commands(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    """Each command that does something; typer brings its own click, so shapes are asked for and not types."""
    if parts := getattr(command, "commands", None):
        for part, inner in parts.items():
            yield from commands(inner, f"{name} {part}")
    else:
        options = [each for each in command.params if each.param_type_name == "option"]
        yield name, {spelling for option in options for spelling in option.opts} - {"--help"}


def real_commands(capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    with pytest.raises(SystemExit):
        run_gateway(["--help"])
    options = set(re.findall(r"--\w+", capsys.readouterr().out)) - {"--help"}
    return dict(commands(typer.main.get_command(app), "frontdesk")) | {"frontdesk run": options}


def test_every_command_is_listed_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {name: set(coded(row[1])) for name, row in table("Commands").items()}
    assert listed == real_commands(capsys)


def test_every_exit_code_is_listed() -> None:
    assert [int(row[0]) for row in rows(SECTIONS["Start and stop"])] == sorted({OK, FAILED, MISCONFIGURED})


# ---------------------------------------------------------------------------------------------- in the chat


def typed(text: str) -> str:
    return command_of(Inbound(("k",), "1", "7", "7", (Text(text),), b""))


def test_every_text_command_is_listed() -> None:
    assert [command.removeprefix("/") for command in table("Text commands")] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_another_word_for_a_text_command_does_the_same(name: str) -> None:
    for alias in coded(table("Text commands")[f"/{name}"][1]):
        assert typed(alias) == name


def test_cancelling_everything_is_typed_as_documented() -> None:
    assert "`/cancel all`" in table("Text commands")["/cancel"][2]
    assert typed("/cancel all") == "cancel all"


def quoted_sentences() -> list[str]:
    return [
        said for row in rows(SECTIONS["What is certain, and what is not"]) for said in re.findall(r'"(.+?)"', row[3])
    ]


@pytest.mark.parametrize("sentence", [said for said in quoted_sentences() if said != "ask"])
def test_what_a_person_is_told_is_quoted_as_it_is_said(sentence: str) -> None:
    assert sentence in {english for english, _ in NOTICES.values()}


def test_every_uncertain_state_is_explained_under_its_own_name() -> None:
    known = {*DeliveryState, *SubmissionState, *Disposition, "unconfirmed"}
    listed = table("What is certain, and what is not")
    assert set(listed) <= known
    assert {"unknown", "rejected", "dead", "submission_unknown", "lost_at_remote", "detached"} <= set(listed)


def test_every_state_of_a_delivery_is_named() -> None:
    (sentence,) = re.findall(r"States of a delivery: ([^.]+)\.", SECTIONS["What is certain, and what is not"])
    assert coded(sentence) == [state.value for state in DeliveryState]


# ---------------------------------------------------------------------------------------------- what operators watch


def emitted_events() -> set[str]:
    """Every name that the product's code gives an event."""
    return {name for folder in NAMES for path in sorted((ROOT / folder).rglob("*.py")) for name in events_in(path)}


def events_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args and is_telemetry(node.func):
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value


def is_telemetry(function: ast.expr) -> bool:
    said = ast.unparse(function)
    return said.endswith(("telemetry.event", "metrics.count"))


def test_every_event_is_listed() -> None:
    assert set(table("Events")) == emitted_events()


def real_metrics() -> set[str]:
    metrics, idle = Metrics("1.0"), SimpleNamespace(queued=0, running=0, at_work=0, waiting=0)
    up = {"support": PluginHealth(PluginState.RUNNING, 0.0)}
    watch(
        metrics,
        queue=idle,
        sending=idle,
        writing=idle,
        health=Health(lambda: None, lambda: up),
        agents=lambda: {"remote": True},
        away=lambda: {"remote": 0.0},
    )
    metrics.count("delivery.attempted", "delivered", 0.1)
    families = text_string_to_metric_families(metrics.render().decode())
    return {full_name(family.name, family.type) for family in families}


def full_name(name: str, kind: str) -> str:
    return f"{name}_total" if kind == "counter" else name


def test_every_metric_is_listed() -> None:
    assert set(table("Metrics")) == {name for name in real_metrics() if not name.startswith("process_")}


def test_the_paths_of_health_are_listed() -> None:
    assert [coded(row[0]) for row in rows(SECTIONS["Health"])] == [["GET /healthz"], ["GET /readyz"], ["GET /metrics"]]


# ---------------------------------------------------------------------------------------------- the control API


def described() -> Mapping[str, set[str]]:
    """Each request, with its parameters."""
    endpoints = ControlApi(Ledger(), Operator("token"), Events(), version="1").endpoints()
    return {f"{it.method} {PREFIX}{it.path}": {parameter.name for parameter in it.query} for it in endpoints}


def test_every_endpoint_is_listed() -> None:
    assert set(table("Control API")) == set(described())


def test_every_parameter_of_an_endpoint_is_named() -> None:
    named = {word.partition("=")[0] for word in coded(SECTIONS["Control API"])}
    assert {parameter for parameters in described().values() for parameter in parameters} <= named


# ---------------------------------------------------------------------------------------------- errors, crash points


def test_every_error_is_listed_with_its_remedy() -> None:
    real = {name for name, it in vars(errors).items() if isinstance(it, type) and it.__module__ == errors.__name__}
    listed = table("Errors")
    assert set(listed) == real
    assert [name for name, row in listed.items() if not (row[1] and row[2])] == []


def test_every_crash_point_is_listed() -> None:
    assert {name: row[1] for name, row in table("Crash points").items()} == POINTS


def test_every_refusal_that_a_channel_can_give_is_explained_to_whoever_writes_a_plugin() -> None:
    listed = {word for row in rows(sections(document("docs/plugins.md"))["Out"]) for word in coded(row[0])}
    assert listed == {"Sent", "Unknown", "Rejected", *(kind.value for kind in Refusal)}
