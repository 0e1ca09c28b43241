"""SIGHUP, and the file it rereads."""

import signal
from pathlib import Path

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
