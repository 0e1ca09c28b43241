"""The command line: what a tired operator types and reads, against a real server."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.crashpoint import POINTS
from core.doors.ingress import Ingress
from core.telemetry import Silent
from gateway.api import ControlApi, NotPossible
from gateway.cli_commands import command
from gateway.cli_show import ago, printable, shorten
from gateway.health import Health, Operator, health_routes
from gateway.metrics import Metrics
from gateway.supervisor import PluginHealth, PluginState
from tests.gateway.conftest import TOKEN, Serve
from tests.gateway.ledger import NASTY, Ledger, delivery, task
from tests.waiting import within

ROOT = Path(__file__).resolve().parents[2]
AGENT = '[agents.echo]\nkind = "local"\nentry = "echo"\n'


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


Type = Callable[..., Awaitable[Ended]]


async def typed(*arguments: str, cwd: Path, **environ: str) -> Ended:
    """`frontdesk` with these arguments, in this folder."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway",
        *arguments,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with within(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def accounts() -> dict[str, PluginHealth]:
    return {"support": PluginHealth(PluginState.RESTARTING, 0.0, reason="OSError: no network")}


@pytest.fixture
def health(accounts: dict[str, PluginHealth]) -> Health:
    return Health(lambda: None, lambda: accounts, is_listening=True)


@pytest.fixture
async def frontdesk(
    ledger: Ledger, health: Health, serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Type]:
    """Types commands beside a running gateway; in this process, since a new one for each costs a second."""
    operator = Operator(TOKEN)
    ingress = Ingress()
    routes = ControlApi(ledger, operator, Silent(), version="1.2").routes(ingress)
    async with serve([*routes, *health_routes(ingress, health, Metrics(), operator)]) as client:
        port = client._base_url.port  # type: ignore[union-attr]
        config = tmp_path / "frontdesk.toml"
        config.write_text(f'[gateway]\nport = {port}\noperator_token = "{TOKEN}"\n{AGENT}')

        async def type_(*arguments: str) -> Ended:
            code = await asyncio.to_thread(command, [*arguments, "--config", str(config)])
            said = capsys.readouterr()
            return Ended(code, said.out, said.err)

        yield type_


async def test_a_list_is_an_aligned_table_with_short_ids(frontdesk: Type) -> None:
    ended = await frontdesk("delivery", "list")
    assert (ended.code, ended.err) == (0, "")
    head, _rule, first, *_rest = ended.out.splitlines()
    assert head.split() == ["ID", "STATE", "ACCOUNT", "CHAT", "PART", "TRIES", "QUEUED", "REASON"]
    assert head.index("STATE") == first.index("unknown")
    assert first.split()[0] == "34"


async def test_a_list_as_json_is_the_records_themselves(frontdesk: Type, ledger: Ledger) -> None:
    assert json.loads((await frontdesk("delivery", "list", "--format", "json")).out) == ledger.deliveries_


PAUSED = {"state": "paused", "reason": "its card has changed (interfaces)", "warnings": [f"it is {NASTY}"]}


async def test_agents_are_listed_with_their_connections(frontdesk: Type, ledger: Ledger) -> None:
    ledger.of_agent |= PAUSED
    ended = await frontdesk("agent", "list")
    head, _rule, first, *_rest = ended.out.splitlines()
    assert head.split() == ["NAME", "KIND", "STATE", "INTERFACE", "URL", "FINGERPRINT", "REASON"]
    assert first.split()[:4] == ["research", "a2a", "paused", "JSONRPC/1.0"]


async def test_an_agent_is_discovered_tested_and_agreed_to(frontdesk: Type, ledger: Ledger) -> None:
    ledger.of_agent |= PAUSED
    shown = await frontdesk("agent", "discover", "research")
    assert (shown.code, "\x1b" in shown.out) == (0, False)
    assert "https://agents.example/rpc" in shown.out
    assert "it answers over JSONRPC/1.0" in (await frontdesk("agent", "test", "research")).out
    assert (await frontdesk("agent", "agree", "research")).out == f"research: agreed to {'f00d' * 8}\n"
    assert ledger.acts == [("discover", "research"), ("test", "research"), (f"agree {'f00d' * 8}", "research")]
    again = await frontdesk("agent", "agree", "research")
    assert (again.code, "waits for no agreement" in again.err) == (1, True)


async def test_the_doctor_looks_at_every_agents_card(frontdesk: Type, ledger: Ledger) -> None:
    ledger.of_agent |= PAUSED
    ended = await frontdesk("doctor")
    assert ended.code == 1
    assert "agent research is paused: its card has changed; `frontdesk agent agree research`" in ended.err
    assert "f00d" * 8 in ended.out
    assert "warning: agent research: it is" in ended.out
    assert "\x1b" not in ended.out
    assert ledger.acts == [("discover", "research")]
    [agent] = json.loads((await frontdesk("doctor", "--format", "json")).out)["agents"]
    assert agent["connection"]["binding"] == "JSONRPC/1.0"


async def test_what_could_not_be_read_is_listed_and_read(frontdesk: Type, ledger: Ledger) -> None:
    listed = (await frontdesk("envelope", "unreadable")).out
    assert "81001" in listed
    assert "it is no JSON" in listed
    read = await frontdesk("envelope", "read", "12")
    assert (read.code, "[bold]markup[/bold]" in read.out, "\x1b" in read.out) == (0, True, False)
    assert (await frontdesk("envelope", "read", "13")).err == "frontdesk: there is no such record\n"
    assert "queued" in (await frontdesk("envelope", "show", "e1")).out
    ledger.torn.clear()
    assert (await frontdesk("envelope", "unreadable")).out == "everything could be read\n"


async def test_an_operator_replies_to_a_task(frontdesk: Type, ledger: Ledger) -> None:
    ended = await frontdesk("task", "reply", "7", 'Friday, "please"\n周五')
    assert (ended.code, ledger.said) == (0, ['Friday, "please"\n周五'])
    ledger.trouble = NotPossible("the task asks for nothing")
    refused = await frontdesk("task", "reply", "7", "Friday")
    assert (refused.code, refused.err) == (1, "frontdesk: the task asks for nothing\n")


async def test_a_list_says_when_there_is_more(frontdesk: Type) -> None:
    assert "... and more; --limit shows them" in (await frontdesk("task", "list", "--limit", "3")).out
    assert len(json.loads((await frontdesk("task", "list", "--limit", "300", "--format", "json")).out)) == 300


async def test_a_list_can_be_narrowed_to_a_state_and_an_empty_one_says_so(frontdesk: Type) -> None:
    assert "4711" in (await frontdesk("delivery", "list", "--state", "unknown")).out
    assert (await frontdesk("delivery", "list", "--state", "dead")).out == "none is dead\n"
    assert len(json.loads((await frontdesk("session", "list", "--state", "idle", "--format", "json")).out)) == 2


@pytest.mark.parametrize(
    ("thing", "known"),
    [("session", "active, idle"), ("task", "submitted, working, input-required"), ("delivery", "queued, attempting")],
)
async def test_an_unknown_state_is_refused_with_the_known_ones(frontdesk: Type, thing: str, known: str) -> None:
    ended = await frontdesk(thing, "list", "--state", "foo")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"frontdesk: unknown state 'foo'; known here: {known}")


@pytest.mark.parametrize(("thing", "what"), [("session", "sessions_"), ("task", "tasks_"), ("delivery", "deliveries_")])
async def test_one_record_is_shown_by_its_full_id(frontdesk: Type, ledger: Ledger, thing: str, what: str) -> None:
    record = getattr(ledger, what)[1]
    ended = await frontdesk(thing, "show", record["ref" if thing == "session" else "id"], "--format", "json")
    assert json.loads(ended.out) == record


async def test_a_delivery_names_its_part_as_its_list_does(frontdesk: Type, ledger: Ledger) -> None:
    ledger.deliveries_[1] |= {"part": 1, "parts": 3}
    shown = (await frontdesk("delivery", "show", ledger.deliveries_[1]["id"])).out
    assert re.search(r"^  part +2/3$", shown, re.MULTILINE)
    assert not re.search(r"^  parts ", shown, re.MULTILINE)
    assert " 2/3 " in (await frontdesk("delivery", "list")).out


async def test_what_an_agent_said_is_read_in_words_and_local_times(frontdesk: Type, ledger: Ledger) -> None:
    said = {
        "change": "late",
        "task": "remote-1",
        "state": "completed",
        "time": 1796097310.5,
        "text": "42",
        "artifacts": [],
    }
    ledger.tasks_[1]["inbox"] = [
        {"time": "2026-12-01T03:55:12.000Z", "road": "push", "kind": "task", "body": json.dumps(said)}
    ]
    shown = (await frontdesk("task", "show", "2")).out.splitlines()[-1]
    stamps = (
        f"{datetime.fromtimestamp(second, UTC).astimezone():%Y-%m-%d %H:%M:%S}" for second in (1796097312, 1796097310)
    )
    assert re.sub(r" \([^)]* (ago|from now)\)", "", shown) == (
        "  {}  road push  kind task  change late  state completed  text 42  agent's time {}".format(*stamps)
    )


async def test_the_beginning_of_an_id_is_enough_when_no_other_shares_it(frontdesk: Type, ledger: Ledger) -> None:
    ledger.sessions_[2]["ref"] = "ffee" * 8
    assert "ffee" * 8 in (await frontdesk("session", "show", "ffe")).out
    several = await frontdesk("session", "show", "0197")
    assert (several.code, several.out) == (1, "")
    first, second = (it["ref"] for it in ledger.sessions_[:2])
    assert f"'0197' is the beginning of 2 ids ({first}, {second}); write more of it" in several.err
    nothing = (await frontdesk("session", "show", "abc")).err
    assert "no session begins with 'abc'; `frontdesk session list` shows them" in nothing


async def test_a_whole_id_is_meant_although_others_begin_with_it_and_so_is_the_number_that_ends_one(
    frontdesk: Type, ledger: Ledger
) -> None:
    assert json.loads((await frontdesk("task", "show", "4", "--format", "json")).out)["id"] == "4"
    assert (await frontdesk("delivery", "discard", "34")).code == 0
    assert ledger.acts == [("discard", delivery(0)["id"])]


async def test_a_task_is_found_by_whatever_its_list_shows_and_by_its_callers_id(
    frontdesk: Type, ledger: Ledger
) -> None:
    ledger.tasks_[7] |= {"task_id": "agents:own/7", "served_task": f"{'c' * 32}-9"}
    for name in ("agents:own/7", "agents:o", f"{'c' * 32}-9", "ccc"):
        assert json.loads((await frontdesk("task", "show", name, "--format", "json")).out)["id"] == "8"
    assert (await frontdesk("task", "cancel", "agents:own/7")).code == 0
    assert (await frontdesk("task", "reply", "cccc", "Friday")).code == 0
    assert ledger.acts == [("cancel", "8"), ("reply", "8")]
    many = await frontdesk("task", "show", "remote-")
    assert "is the beginning of 449 ids (1 remote-0, 2 remote-1, 3 remote-2, 4 remote-3, 5 remote-4, ...)" in many.err


@pytest.mark.case("T53")
async def test_what_strangers_wrote_neither_colours_nor_forges_what_the_operator_reads(frontdesk: Type) -> None:
    ended = await frontdesk("task", "show", task(1)["id"])
    assert "\x1b" not in ended.out
    assert "[bold]markup[/bold]" in ended.out
    assert not any(line.startswith("<b>") for line in ended.out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("task", "cancel", task(5)["id"]), "asked to stop; the agent says: canceled"),
        (("task", "refresh", task(5)["id"]), "the agent says: completed"),
        (("delivery", "retry", delivery(0)["id"]), "now queued"),
        (("delivery", "discard", delivery(0)["id"]), "now discarded"),
    ],
)
async def test_an_action_is_done_and_its_outcome_said(
    frontdesk: Type, ledger: Ledger, arguments: tuple[str, ...], words: str
) -> None:
    ended = await frontdesk(*arguments)
    assert (ended.code, ended.out) == (0, f"{arguments[2]}: {words}\n")
    assert ledger.acts == [(arguments[1], arguments[2])]


async def test_an_action_that_is_not_possible_says_why(frontdesk: Type, ledger: Ledger) -> None:
    ledger.trouble = NotPossible("it was delivered")
    ended = await frontdesk("delivery", "retry", delivery(0)["id"])
    assert (ended.code, ended.err) == (1, "frontdesk: it was delivered\n")


async def test_the_doctor_says_that_all_is_well(frontdesk: Type, accounts: dict[str, PluginHealth]) -> None:
    accounts["support"] = PluginHealth(PluginState.RUNNING, 0.0)
    ended = await frontdesk("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert "is ready" in ended.out
    assert "support" in ended.out


@pytest.mark.parametrize(
    ("account", "connection", "line"),
    [
        (
            PluginHealth(PluginState.RESTARTING, 0.0, reason="OSError: no network"),
            {},
            "support is restarting: OSError: no network; it is tried again by itself",
        ),
        (
            PluginHealth(PluginState.STOPPED, 0.0, reason="ConfigurationError: plugins.support.token: not known"),
            {"state": "unauthorised", "trouble": "unauthorised: x"},
            "support is stopped: ConfigurationError: plugins.support.token: not known; then send SIGHUP",
        ),
        (
            PluginHealth(PluginState.RUNNING, 0.0),
            {"state": "unreachable", "trouble": "unreachable: no route to host; correct the network"},
            "support: unreachable: no route to host; correct the network",
        ),
        (
            PluginHealth(PluginState.RUNNING, 0.0),
            {"state": "receiving", "trouble": "pushes come unencrypted: choose safe mode"},
            "support: pushes come unencrypted: choose safe mode",
        ),
    ],
    ids=["restarting", "stopped", "unreachable", "a sentence"],
)
async def test_the_doctor_ends_with_1_and_a_line_for_an_account_that_does_not_work(
    frontdesk: Type,
    ledger: Ledger,
    accounts: dict[str, PluginHealth],
    account: PluginHealth,
    connection: dict[str, str],
    line: str,
) -> None:
    accounts["support"], ledger.connection = account, connection
    ended = await frontdesk("doctor")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert ended.err.startswith(f"frontdesk: {line}")
    assert "is troubled" in ended.out
    assert "is ready" not in ended.out
    troubles = json.loads((await frontdesk("doctor", "--format", "json")).out)
    assert troubles["status"] == "troubled"
    assert len(troubles["troubles"]) == 1


async def test_the_doctor_says_why_the_gateway_gets_no_work_and_what_to_do(frontdesk: Type, health: Health) -> None:
    health.store = lambda: "standing by: another process holds the database"
    ended = await frontdesk("doctor")
    assert ended.code == 1
    assert "is unready" in ended.out
    first = "frontdesk: not ready: store: standing by: another process holds the database; "
    assert ended.err.startswith(first + "give its disk room and rights, or stop the other process that holds it\n")


async def test_a_wrong_operator_token_is_said_with_the_remedy(frontdesk: Type, tmp_path: Path) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text(config.read_text().replace(TOKEN, "another-token-0123456789"))
    ended = await frontdesk("task", "list")
    assert ended.code == 1
    assert "refused the operator token; use the configuration it was started with" in ended.err


@pytest.mark.parametrize("arguments", [("session", "show", "abc"), ("doctor",)])
async def test_a_gateway_that_is_not_running_is_said_in_one_line_with_the_remedy(
    tmp_path: Path, unused_tcp_port: int, arguments: tuple[str, ...]
) -> None:
    text = f'[gateway]\nport = {unused_tcp_port}\noperator_token = "{TOKEN}"\n{AGENT}'
    (tmp_path / "frontdesk.toml").write_text(text)
    ended = await typed(*arguments, cwd=tmp_path)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert f"no gateway answers at http://127.0.0.1:{unused_tcp_port}; start it with `frontdesk run`" in ended.err


CALLED = """
[plugins.partners]
kind = "a2a"
agent = "echo"
callers = [{ name = "acme", key = "env:DESK_ACME_KEY" }, { name = "globex", bearer = "env:DESK_GLOBEX" }]
"""
NOT_HERE = "the configuration was not checked, since this shell has not DESK_ACME_KEY, DESK_GLOBEX; to check it as well"


async def test_the_doctor_asks_the_gateway_from_a_shell_without_the_secrets_of_the_settings(
    frontdesk: Type, accounts: dict[str, PluginHealth], tmp_path: Path
) -> None:
    accounts["support"] = PluginHealth(PluginState.RUNNING, 0.0)
    config = tmp_path / "frontdesk.toml"
    config.write_text(config.read_text() + CALLED)
    ended = await frontdesk("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert f"warning: {NOT_HERE}" in ended.out
    assert "is ready" in ended.out
    said = json.loads((await frontdesk("doctor", "--format", "json")).out)
    assert said["warnings"][0].startswith(NOT_HERE)


async def test_what_else_is_wrong_the_doctor_refuses_with_the_missing_secrets(tmp_path: Path) -> None:
    (tmp_path / "frontdesk.toml").write_text(AGENT + CALLED + "streeming = true\n")
    ended = await typed("doctor", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "3 problems" in ended.err
    assert "DESK_ACME_KEY is not set; set DESK_ACME_KEY, or change the reference" in ended.err


async def test_the_doctor_of_a_gateway_that_is_not_running_names_the_missing_secrets_too(tmp_path: Path) -> None:
    (tmp_path / "frontdesk.toml").write_text(AGENT + CALLED)
    ended = await typed("doctor", cwd=tmp_path)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 2)
    assert "start it with `frontdesk run`" in ended.err
    assert NOT_HERE in ended.err


async def test_a_gateway_that_was_never_started_is_said_in_one_line_too(tmp_path: Path) -> None:
    ended = await typed("task", "list", cwd=tmp_path)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "start it with `frontdesk run`" in ended.err


@pytest.mark.parametrize("command", ["run", "check"])
async def test_a_wrong_configuration_ends_with_2_and_every_problem(tmp_path: Path, command: str) -> None:
    (tmp_path / "frontdesk.toml").write_text("[gateway]\nprot = 1\nmax_turns = 0\n")
    ended = await typed(command, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'port'?" in ended.err
    assert "gateway.max_turns" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.case("T87")
async def test_a_public_host_without_authentication_ends_the_start_with_the_reason(tmp_path: Path) -> None:
    ended = await typed("run", cwd=tmp_path, FRONTDESK_GATEWAY__HOST="0.0.0.0")
    assert ended.code == 2
    assert "0.0.0.0 is reachable by others and gateway.operator_token is not set" in ended.err


@pytest.mark.case("T05")
@pytest.mark.parametrize("secret", ['""', '"  "', None])
async def test_a_webhook_without_a_secret_ends_the_start_and_names_the_setting(
    tmp_path: Path, secret: str | None
) -> None:
    text = f'{AGENT}[plugins.bot]\nkind = "telegram"\nagent = "echo"\nmode = "webhook"\ntoken = "env:BOT"\n'
    (tmp_path / "frontdesk.toml").write_text(text + (f"webhook_secret = {secret}\n" if secret else ""))
    ended = await typed("run", cwd=tmp_path, BOT=f"123456789:{'A' * 35}")
    assert ended.code == 2
    assert "plugins.bot.webhook_secret" in ended.err


async def test_a_check_says_what_would_be_done(tmp_path: Path) -> None:
    ended = await typed("check", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    for words in (
        "http://127.0.0.1:8080",
        "the built-in demo",
        "chat (webchat), answered by concierge",
        "echo (local)",
    ):
        assert words in ended.out


async def test_a_check_says_which_address_has_to_be_told_to_an_accounts_platform(tmp_path: Path) -> None:
    desk = '[plugins.desk]\nkind = "wechat"\nagent = "echo"\napp_id = "wx0123456789abcdef"\ntoken = "aToken"\n'
    keys = f'encoding_aes_key = "{"A" * 43}"\ncustomer_service = false\naccess = {{ direct = "open" }}\n'
    (tmp_path / "frontdesk.toml").write_text(f'[gateway]\npublic_url = "https://desk.example.com"\n{AGENT}{desk}{keys}')
    ended = await typed("check", cwd=tmp_path)
    assert "answered by echo; WeChat is to call https://desk.example.com/hooks/desk\n" in ended.out, ended.err


@pytest.mark.case("T83")
@pytest.mark.case("T52")
async def test_a_check_never_shows_a_secret(tmp_path: Path) -> None:
    bot = '[plugins.bot]\nkind = "telegram"\nagent = "echo"\ntoken = "env:BOT"\n'
    (tmp_path / "frontdesk.toml").write_text(f'[gateway]\noperator_token = "{TOKEN}"\n{AGENT}{bot}')
    for form in ("human", "json"):
        ended = await typed("check", "--format", form, cwd=tmp_path, BOT=f"123456789:{'A' * 35}")
        assert ended.code == 0, ended.err
        assert TOKEN not in ended.out + ended.err
        assert "A" * 35 not in ended.out + ended.err
    assert json.loads(ended.out)["plugins"]["bot"]["token"] == {"set": True}


async def test_a_failed_check_as_json_lists_the_problems(tmp_path: Path) -> None:
    (tmp_path / "frontdesk.toml").write_text("[gateway]\nprot = 1\n")
    ended = await typed("check", "--format", "json", cwd=tmp_path)
    assert ended.code == 2
    assert json.loads(ended.out)["problems"] == [
        {"setting": "gateway.prot", "cause": "unknown setting 'prot'", "remedy": "did you mean 'port'?"}
    ]


async def test_the_doctor_lists_every_crash_point(tmp_path: Path) -> None:
    ended = await typed("doctor", "--crashpoints", "--format", "json", cwd=tmp_path)
    assert {point["name"] for point in json.loads(ended.out)} == set(POINTS)


@pytest.mark.parametrize(
    "arguments", [("bogus",), ("task", "show"), ("run", "--port", "1"), ("task", "list", "--limit", "0")]
)
async def test_a_command_that_does_not_exist_ends_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert (await typed(*arguments, cwd=tmp_path)).code == 2


async def test_run_does_not_load_what_only_the_other_commands_need() -> None:
    program = (
        "import sys\nfrom gateway.cli import main\n"
        "try: main(['run', '--config', '/nowhere'])\n"
        "except SystemExit as end: print(end.code, *sys.modules)"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    out, _ = await process.communicate()
    code, *modules = out.decode().split()
    assert code == "2"
    assert not {name for name in modules if name.split(".")[0] in ("typer", "rich", "telegram")}


def test_ids_are_shortened_as_far_as_they_can_be_told_apart() -> None:
    assert [shorten(["0197c0ffee01", "0197c0ffee02"])(it) for it in ("0197c0ffee01",)] == ["0197c0ffee01"]
    assert shorten(["a" * 32, "b" * 32])("a" * 32) == "a" * 8
    assert shorten([])("c" * 32) == "c" * 8


def test_a_time_is_said_as_people_say_it() -> None:
    assert [ago(seconds) for seconds in (5, 90, 7200, 200_000, -60)] == [
        "5 s ago",
        "2 min ago",
        "2 h ago",
        "2 d ago",
        "1 min from now",
    ]


def test_control_characters_of_strangers_become_harmless() -> None:
    assert printable("a\x1b[31m\nb\u202e") == "a\N{REPLACEMENT CHARACTER}[31m b\N{REPLACEMENT CHARACTER}"
