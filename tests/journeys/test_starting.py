"""Which configurations a gateway refuses to start with, and what it says; and what it never says of its secrets."""

import re
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess
from tests.journeys.setting import SECRET
from tests.peers.processes import free_port

MISCONFIGURED = 2


async def refusal(gateway: GatewayProcess) -> str:
    """What a gateway says that does not start because of its configuration."""
    await gateway.launch()
    assert await gateway.ended() == MISCONFIGURED
    gateway.check_log()
    return gateway.tail()


def listeners_on(port: int) -> list[str]:
    """The local addresses on which somebody listens, as the kernel writes them (IPv4, bytes turned around)."""
    table = Path("/proc/net/tcp").read_text()
    return re.findall(rf"^\s*\d+: ([0-9A-F]{{8}}):{port:04X} 0{{8}}:0{{4}} 0A", table, re.MULTILINE)


@pytest.mark.case("T05")
@pytest.mark.case("SEC-01")
@pytest.mark.parametrize("secret", [None, "", "   "])
async def test_a_webhook_without_a_secret_does_not_start(secret: str | None, gateway: GatewayProcess) -> None:
    gateway.configure("plugins.support", webhook_secret=secret)
    assert "plugins.support.webhook_secret" in await refusal(gateway)


@pytest.mark.case("T06")
@pytest.mark.case("SEC-02")
async def test_a_name_in_an_allow_list_does_not_start(gateway: GatewayProcess) -> None:
    gateway.configure("plugins.support", access={"direct": "allow", "allow": ["@alice"]})
    said = await refusal(gateway)
    assert "plugins.support.access.allow" in said
    assert "numeric id" in said


@pytest.mark.case("T87")
async def test_a_gateway_without_a_token_does_not_listen_where_others_reach_it(gateway: GatewayProcess) -> None:
    gateway.configure("gateway", host="0.0.0.0", operator_token=None)
    assert "gateway.host" in await refusal(gateway)


@pytest.mark.case("T87")
async def test_a_page_open_to_everybody_does_not_listen_where_others_reach_it(gateway: GatewayProcess) -> None:
    gateway.configure("gateway", host="0.0.0.0")
    gateway.configure("plugins.web", kind="webchat", agent="remote", access={"direct": "open"})
    assert "plugins.web" in await refusal(gateway)


@pytest.mark.case("T87")
async def test_without_a_host_the_gateway_listens_on_loopback_alone(gateway: GatewayProcess) -> None:
    await gateway.start()
    listening = listeners_on(gateway.port)
    assert listening == ["0100007F"]


@pytest.mark.case("T83")
async def test_a_secret_file_that_others_can_read_does_not_start(gateway: GatewayProcess) -> None:
    path = gateway.folder / "secret"
    path.write_text(SECRET)
    path.chmod(0o644)
    gateway.configure("plugins.support", webhook_secret=f"file:{path}")
    assert "chmod 600" in await refusal(gateway)


@pytest.mark.case("T83")
async def test_a_configuration_with_secrets_that_others_can_read_is_warned_of(gateway: GatewayProcess) -> None:
    (gateway.folder / "frontdesk.toml").touch()
    (gateway.folder / "frontdesk.toml").chmod(0o644)
    await gateway.start()
    assert "chmod 600" in gateway.tail()


@pytest.mark.case("T83")
@pytest.mark.case("T52")
async def test_secrets_from_the_environment_work_and_are_shown_nowhere(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    gateway.env |= {"DESK_TOKEN": telegram.token, "DESK_SECRET": SECRET}
    gateway.configure("plugins.support", token="env:DESK_TOKEN", webhook_secret="env:DESK_SECRET")
    await gateway.start()
    telegram.user_says(7, "a message by a secret way")
    await telegram.wait_for_messages(7)
    shown = "".join(
        [str(await gateway.api(path)) for path in ("plugins", "agents", "summary", "sessions", "deliveries")]
    )
    async with gateway.http.get(f"{gateway.base}/metrics") as answer:
        shown += await answer.text()
    assert "'webhook_secret': {'set': True}" in shown
    assert not [secret for secret in gateway.private if secret in shown]


@pytest.mark.case("SEC-08")
async def test_the_bot_token_is_not_in_the_database(telegram: FakeTelegram, gateway: GatewayProcess) -> None:
    await gateway.start()
    telegram.user_sends(7, "photo")
    await telegram.wait_for_messages(7)
    await gateway.at_rest()
    kept = b"".join(path.read_bytes() for path in gateway.folder.glob("desk.db*"))
    assert b"photo" in kept
    assert telegram.token.partition(":")[2].encode() not in kept
    assert SECRET.encode() not in kept


async def test_a_port_that_is_taken_ends_the_start_with_a_word(gateway: GatewayProcess) -> None:
    gateway.expected_errors.add("gateway.failed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gateway.configure("gateway", port=taken.getsockname()[1])
        await gateway.launch()
        assert await gateway.ended() == 1
    assert "in use" in gateway.tail()


@pytest.mark.parametrize(
    ("table", "settings", "named"),
    [
        ("gateway", {"max_turn": 5}, "max_turns"),
        ("plugins.support", {"acess": {}}, "access"),
        ("plugins.support", {"agent": "remot"}, "remote"),
        ("agents.remote", {"kind": "a2b"}, "a2a"),
        ("gateway", {"store": "sqlite:///:memory:"}, "gateway.store"),
    ],
)
async def test_a_mistake_in_the_configuration_is_named_with_what_was_probably_meant(
    table: str, settings: dict[str, Any], named: str, gateway: GatewayProcess
) -> None:
    gateway.configure(table, **settings)
    assert named in await refusal(gateway)


async def test_every_mistake_is_named_at_once(gateway: GatewayProcess) -> None:
    gateway.configure("gateway", port=-1, max_turns=0)
    gateway.configure("plugins.support", token="no token", mode="carrier pigeon")
    said = await refusal(gateway)
    for setting in ("gateway.port", "gateway.max_turns", "plugins.support.token", "plugins.support.mode"):
        assert setting in said


async def test_the_built_in_demo_needs_no_file_and_keeps_its_token_to_its_user(tmp_path: Path) -> None:
    async with GatewayProcess(tmp_path / "demo", port=free_port()) as demo:
        await demo.start()
        token = tmp_path / "demo" / ".frontdesk" / "operator-token"
        demo.token = token.read_text().strip()
        demo.private.add(demo.token)
        assert (token.stat().st_mode & 0o777, (await demo.summary())["unknown"]) == (0o600, 0)
        assert await demo.status("/chat/") == 200
        assert await demo.stop() == 0
        demo.check_log()
