"""One plugin fails, and the others do not notice."""

from pathlib import Path

import pytest

from tests.fakes.telegram import FakeTelegram
from tests.journeys.plugins_of_others import offer_faulty_plugin
from tests.journeys.process import GatewayProcess, look

CHAT = 7


@pytest.mark.case("T84")
@pytest.mark.case("F34")
@pytest.mark.parametrize("fault", ["raises", "ends", "hangs", "blocks", "is misconfigured"])
async def test_beside_a_plugin_that_fails_the_others_go_on(
    fault: str, tmp_path: Path, telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    gateway.path.append(offer_faulty_plugin(tmp_path / "others"))
    gateway.configure("plugins.bad", kind="faulty", agent="remote", fault=fault)
    gateway.expected_errors |= {"plugin.failed"} if fault == "is misconfigured" else set()
    await gateway.start()
    telegram.user_says(CHAT, "beside a faulty plugin")
    await telegram.wait_for_text(CHAT, "beside a faulty plugin")
    assert await gateway.status("/readyz") == 200


@pytest.mark.case("T84")
@pytest.mark.parametrize(
    ("fault", "state", "reason"),
    [
        ("raises", "restarting", "RuntimeError: this plugin is broken"),
        ("ends", "restarting", "it ended by itself"),
        ("is misconfigured", "stopped", "ConfigurationError: this account has a wrong setting"),
    ],
)
async def test_a_plugin_that_fails_is_shown_red_with_its_reason(
    fault: str, state: str, reason: str, tmp_path: Path, gateway: GatewayProcess
) -> None:
    gateway.path.append(offer_faulty_plugin(tmp_path / "others"))
    gateway.configure("plugins.bad", kind="faulty", agent="remote", fault=fault)
    gateway.expected_errors |= {"plugin.failed"} if fault == "is misconfigured" else set()
    await gateway.start()

    async def health() -> dict[str, object] | None:
        shown: dict[str, object] = (await gateway.api("plugins/bad"))["health"]
        return shown if shown["state"] == state else None

    shown = await look(health, what=f"the plugin to be {state}")
    assert shown["reason"] == reason
    assert (await gateway.event("plugin.failed", plugin="bad"))["error"] == reason
