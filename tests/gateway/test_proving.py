"""What a start refuses, a check finds: the same configurations are given to both, and both say the same."""

import asyncio
import os
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gateway.cli import run_gateway
from gateway.cli_commands import command
from tests.gateway.test_cli import ROOT
from tests.waiting import within

ECHO = '[agents.echo]\nkind = "local"\nentry = "echo"\n'
DESK = '[agents.desk]\nkind = "local"\nentry = "concierge"\noptions = { %s }\n'
CALLED = '[plugins.%s]\nkind = "a2a"\nagent = "echo"\nanonymous = "shared"\n'

CONFIGURATIONS = {
    "plugins.one.expose: unknown agent 'ecko'; did you mean 'echo'?": ECHO + CALLED % "one" + 'expose = ["ecko"]\n',
    "plugins.two: plugins.one answers GET /a2a/echo": ECHO + CALLED % "one" + CALLED % "two",
    "agents.desk.options.pase: unknown setting 'pase'; did you mean 'pace'?": DESK % "pase = 1",
    "agents.desk.options.pace: 'quick' is wrong": DESK % "pace = 'quick'",
    "agents.desk.options: they do not fit the agent 'concierge': pace is not within 0 to 60": DESK % "pace = 100",
    "agents.echo.options: they do not fit the agent 'echo': chunks must be at least 1": ECHO + "options = {chunks = 0}",
    "agents.echo.entry: unknown local agent 'ehco'": ECHO.replace('"echo"', '"ehco"'),
    "gateway.prot: unknown setting": "[gateway]\nprot = 1",
    "plugins.one.agent: unknown agent 'desk'": ECHO + CALLED.replace("echo", "desk") % "one",
    "cannot be read": "",
}


def refusals(config: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What the check and the start say of it."""
    assert command(["check", "--config", str(config)]) == 2
    checked = capsys.readouterr().err
    assert run_gateway(["--config", str(config)]) == 2
    return checked, capsys.readouterr().err


@pytest.mark.parametrize("words", CONFIGURATIONS)
def test_what_a_start_refuses_a_check_finds_in_the_same_words(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "frontdesk.toml"
    if CONFIGURATIONS[words]:
        config.write_text(CONFIGURATIONS[words])
    checked, started = refusals(config, capsys)
    assert words in checked
    assert checked == started


def test_everything_that_cannot_be_made_is_found_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text(ECHO + DESK % "pase = 1, pace = 'quick'" + CALLED % "one" + CALLED % "two")
    checked, _ = refusals(config, capsys)
    assert "3 problems in" in checked


def test_two_accounts_that_share_many_paths_are_one_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text(ECHO + CALLED % "one" + CALLED % "two" + CALLED % "three")
    checked, _ = refusals(config, capsys)
    assert checked.count("plugins.one answers") == 2


def test_an_option_from_the_environment_becomes_what_the_agent_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRONTDESK_AGENTS__DESK__OPTIONS__PACE", "0.5")
    config = tmp_path / "frontdesk.toml"
    config.write_text(DESK % "")
    assert command(["check", "--config", str(config)]) == 0
    assert "desk (local)" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------- what the machine gives


async def ended(*arguments: str, cwd: Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "gateway", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with within(60):
        _, said = await process.communicate()
    return process.returncode, said.decode().replace('\\"', '"')


def a_folder(path: Path) -> str:
    (path / "desk.db").mkdir()
    return "the database desk.db cannot be opened: it is a folder"


def a_file_for_a_folder(path: Path) -> str:
    (path / "desk.db").touch()
    (path / "frontdesk.toml").write_text('[gateway]\nstore = "sqlite:///desk.db/deeper/desk.db"\n')
    return "desk.db is not a folder; correct gateway.store"


def a_folder_that_takes_no_files(path: Path) -> str:
    (path / "frontdesk.toml").write_text('[gateway]\nport = 0\nstore = "sqlite:////proc/desk.db"\n')
    return "the database /proc/desk.db cannot be opened: /proc takes no files"


def below_a_folder_that_takes_no_files(path: Path) -> str:
    (path / "frontdesk.toml").write_text('[gateway]\nport = 0\nstore = "sqlite:////proc/desk/desk.db"\n')
    return "the database /proc/desk/desk.db cannot be opened: /proc takes no files"


def a_device(path: Path) -> str:
    (path / "frontdesk.toml").write_text('[gateway]\nport = 0\nstore = "sqlite:////dev/null"\n')
    return "the database /dev/null cannot be opened: it is not a regular file; correct gateway.store"


def a_name_too_long(path: Path) -> str:
    (path / "frontdesk.toml").write_text(f'[gateway]\nport = 0\nstore = "sqlite:///{"x" * 300}.db"\n')
    return "cannot be opened: File name too long; correct gateway.store"


def no_database(path: Path) -> str:
    (path / "desk.db").write_text("words, and no database at all; " * 100)
    return "the database desk.db cannot be opened: file is not a database"


def anothers_database(path: Path) -> str:
    with closing(sqlite3.connect(path / "desk.db")) as other:
        other.execute("CREATE TABLE session (x)")
    return "desk.db is the database of another program (it has a table 'session'); name another file"


def an_open_token(path: Path) -> str:
    (path / "operator-token").write_text("0123456789abcdef")
    (path / "operator-token").chmod(0o644)
    return "operator-token can be read by others; chmod 600"


def an_address_of_another_machine(path: Path) -> str:
    table = '[gateway]\nhost = "192.0.2.7"\noperator_token = "0123456789abcdef"\n'  # of no machine: RFC 5737
    (path / "frontdesk.toml").write_text(table)
    return "cannot listen on 192.0.2.7:8080: Cannot assign requested address"


SURROUNDINGS = (
    a_folder,
    a_file_for_a_folder,
    a_folder_that_takes_no_files,
    below_a_folder_that_takes_no_files,
    a_device,
    a_name_too_long,
    no_database,
    anothers_database,
    an_open_token,
    an_address_of_another_machine,
)


@pytest.mark.parametrize("spoil", SURROUNDINGS, ids=lambda spoil: spoil.__name__)
async def test_what_a_machine_refuses_to_a_start_a_check_finds_in_the_same_words(spoil, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "frontdesk.toml").write_text('[gateway]\nport = 0\nstore = "sqlite:///desk.db"\n')
    words = spoil(tmp_path)
    (check_code, checked), (code, started) = await asyncio.gather(
        ended("check", cwd=tmp_path), ended("run", cwd=tmp_path)
    )
    assert check_code == 2
    assert code != 0
    assert words in checked
    assert words in started


def test_a_check_beside_the_running_gateway_minds_no_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = tmp_path / "frontdesk.toml"
        config.write_text(f'[gateway]\nport = {taken.getsockname()[1]}\nstore = "sqlite:///{tmp_path}/desk.db"\n')
        assert command(["check", "--config", str(config)]) == 0


def test_a_check_makes_nothing(tmp_path: Path) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text(f'[gateway]\nport = 0\nstore = "sqlite:///{tmp_path}/data/desk.db"\n')
    assert command(["check", "--config", str(config)]) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["frontdesk.toml"]
