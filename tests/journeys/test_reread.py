"""SIGHUP, and the file it rereads."""

import signal
from pathlib import Path
from typing import Any

from tests.journeys.process import GatewayProcess, toml

CONFIGURATION = {
    "agents": {"helper": {"kind": "local", "entry": "echo"}},
    "plugins": {"page": {"kind": "webchat", "agent": "helper"}},
}


async def test_a_file_that_went_away_is_refused_and_the_demo_does_not_take_its_place(tmp_path: Path) -> None:
    async with GatewayProcess(tmp_path / "desk") as gateway:  # no --config: ./frontdesk.toml is found by itself
        file = gateway.folder / "frontdesk.toml"
        file.write_text(toml({**CONFIGURATION, "gateway": {"port": gateway.port, "store": "sqlite:///desk.db"}}))
        await gateway.start()
        file.rename(gateway.folder / "away.toml")
        gateway._signal(signal.SIGHUP)

        refused = await gateway.event("configuration.refused")

        assert "frontdesk.toml" in str(refused["error"])
        assert gateway.events("configuration.reread") == []


async def test_the_keys_of_calling_agents_are_taken_away_and_added_without_a_restart(tmp_path: Path) -> None:
    def partners(*keys: str, **more: Any) -> dict[str, Any]:
        callers = [{"name": f"caller{n}", "key": key} for n, key in enumerate(keys)]
        return {"kind": "a2a", "agent": "helper", "callers": callers, **more}

    async def answered(key: str) -> int:
        said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        headers = {"X-API-Key": key, "A2A-Version": "1.0"}
        return await gateway.status("/a2a/helper/message:send", "POST", json={"message": said}, headers=headers)

    old, stays, new = (f"a-key-for-the-test-{n}" for n in ("old", "stays", "new"))
    async with GatewayProcess(tmp_path / "desk") as gateway:
        table = {"port": gateway.port, "store": "sqlite:///desk.db"}
        tables = {**CONFIGURATION, "gateway": table, "plugins": {"partners": partners(old, stays)}}
        file = gateway.folder / "frontdesk.toml"
        file.write_text(toml(tables))
        gateway.private |= {old, stays, new}
        await gateway.start()
        assert [await answered(key) for key in (old, stays, new)] == [200, 200, 401]

        file.write_text(toml({**tables, "plugins": {"partners": partners(new, stays, push=False)}}))
        gateway._signal(signal.SIGHUP)
        reread = await gateway.event("configuration.reread")

        assert reread["changed"] == ["plugins.partners.callers"]
        assert reread["needs_restart"] == ["plugins.partners.push"]
        assert [await answered(key) for key in (old, stays, new)] == [401, 200, 200]
        gateway.check_log()


async def test_an_account_that_was_taken_out_is_named_as_still_served(tmp_path: Path) -> None:
    async with GatewayProcess(tmp_path / "desk") as gateway:
        partners = {"kind": "a2a", "agent": "helper", "callers": [{"name": "acme", "key": "a-key-for-the-test"}]}
        tables = {**CONFIGURATION, "gateway": {"port": gateway.port, "store": "sqlite:///desk.db"}}
        file = gateway.folder / "frontdesk.toml"
        file.write_text(toml({**tables, "plugins": {**CONFIGURATION["plugins"], "partners": partners}}))
        await gateway.start()
        file.write_text(toml(tables))
        gateway._signal(signal.SIGHUP)
        reread = await gateway.event("configuration.reread")

        assert (reread["still_served"], reread["needs_restart"]) == (["partners"], ["plugins.partners"])
        assert reread["level"] == "warning"
        assert await gateway.status("/a2a/helper/.well-known/agent-card.json", "GET") == 200
