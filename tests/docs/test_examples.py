"""What the documents show can be used as it stands."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main

from config.loading import load
from gateway.catalogue import kinds
from gateway.cli_commands import app, command
from tests.conftest import ROOT
from tests.docs.reading import Block, all_blocks

CONFIGURATIONS = all_blocks("toml")
COMMANDS = [
    pytest.param(line, id=f"{block.document}: {line[:40]}")
    for block in all_blocks("sh")
    for line in block.text.splitlines()
]
FITTING = {  # where not any secret does
    "TELEGRAM_TOKEN": "123456789:" + "A" * 35,
    "WECHAT_SECRET": "a" * 32,
    "WECHAT_AES_KEY": "A" * 43,
}
OUR_COMMAND = re.compile(r"(?:FRONTDESK_\w+=\S+ )?(?:\.venv/bin/)?frontdesk (.+)")


def offered_agents() -> set[str]:
    """The local agents that the documents' own example packages offer."""
    projects = [tomllib.loads(block.text)["project"] for block in all_blocks("toml project")]
    return {name for it in projects for name in it["entry-points"].get("frontdesk.agents", {})}


def environment(text: str) -> dict[str, str]:
    """A fitting secret for each variable that the configuration refers to."""
    names = re.findall(r'"env:(\w+)"', text)
    return {name: FITTING.get(name, "A" * 32) for name in names}


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=lambda block: block.id)
def test_a_configuration_in_the_documents_is_accepted(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "frontdesk.toml"
    file.write_text(block.text)
    known = kinds()
    with_examples = replace(known, local_agents={*known.local_agents, *offered_agents()})
    settings = load(with_examples, config=file, environ=environment(block.text))
    assert settings.agents
    assert settings.warnings == ()


@pytest.mark.parametrize(
    "block", [it for it in CONFIGURATIONS if not offered_agents() & set(it.text.split('"'))], ids=lambda block: block.id
)
def test_frontdesk_check_accepts_it_too(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "frontdesk.toml"
    file.write_text(block.text)
    for name, value in environment(block.text).items():
        monkeypatch.setenv(name, value)
    assert command(["check", "--config", str(file), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_the_shipped_examples_are_accepted() -> None:
    examples = sorted((ROOT / "config" / "examples").glob("*.toml"))
    assert examples
    for example in examples:
        assert load(kinds(), config=example, environ=environment(example.read_text())).plugins


def test_the_overrides_in_the_documents_do_what_they_say(tmp_path: Path) -> None:
    (shown,) = (it.text for it in all_blocks("sh") if "FRONTDESK_GATEWAY__PORT" in it.text)
    overrides = dict(word.split("=", 1) for line in shown.splitlines() for word in shlex.split(line)[1:])
    readme = next(it.text for it in CONFIGURATIONS if it.document == "README.md" and "plugins.support" in it.text)
    (tmp_path / "frontdesk.toml").write_text(readme)
    settings = load(kinds(), environ={**environment(readme), **overrides}, cwd=tmp_path)
    assert settings.gateway.port == 9000
    assert settings.plugins["support"].settings.model_dump()["access"]["allow"] == (123456789,)


# ---------------------------------------------------------------------------------------------- commands


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def described_commands() -> Iterator[str]:
    for block in all_blocks("sh"):
        yield from block.text.splitlines()


def test_every_make_command_in_the_documents_exists() -> None:
    named = {name for line in described_commands() if line.startswith("make ") for name in line.split()[1:2]}
    documents = "".join(path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
    named |= set(re.findall(r"`make ([a-z]+)", documents))
    assert {"run", "test"} <= named <= make_targets()


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_in_the_documents_can_be_typed(line: str) -> None:
    assert subprocess.run(["bash", "-n", "-c", line], timeout=10, check=False).returncode == 0
    if match := OUR_COMMAND.fullmatch(line):
        parts = shlex.split(match[1])
        found: Any = typer.main.get_command(app)
        while known := getattr(found, "commands", None):
            found = known[parts.pop(0)]


def test_the_two_commands_of_the_readme_are_those_that_ci_runs() -> None:
    (shown,) = (it.text for it in all_blocks("sh") if it.document == "README.md" and "make test" in it.text)
    assert shown.split("\n")[:2] == ["make run", "make test"]
    assert "make test" in (ROOT / ".ci" / "run").read_text()


# ---------------------------------------------------------------------------------------------- code


@pytest.mark.parametrize("block", all_blocks("python"), ids=lambda block: block.id)
def test_the_documents_code_is_formatted_as_ours(block: Block) -> None:
    ruff = [str(Path(sys.executable).parent / "ruff"), "format", "--check", "--stdin-filename", "example.py", "-"]
    formatted = subprocess.run(
        ruff, input=block.text, text=True, cwd=ROOT, timeout=30, check=False, capture_output=True
    )
    assert formatted.returncode == 0, formatted.stderr
