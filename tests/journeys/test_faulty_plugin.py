"""One plugin fails, and the others do not notice."""

from pathlib import Path

import pytest

from tests.fakes.telegram import FakeTelegram
from tests.journeys.plugins_of_others import offer_faulty_plugin
from tests.journeys.process import GatewayProcess, look

CHAT = 7


STATES = {
    "raises": ("restarting", "RuntimeError: this plugin is broken"),
    "ends": ("restarting", "it ended by itself"),
    "hangs": ("running", ""),
    "blocks": ("restarting", "it ended by itself"),
    "is misconfigured": ("stopped", "ConfigurationError: this account has a wrong setting"),
}


@pytest.mark.case("T84")
@pytest.mark.case("F34")
@pytest.mark.parametrize("fault", STATES)
async def test_beside_a_plugin_that_fails_the_others_go_on_and_it_is_shown_with_its_reason(
    fault: str, tmp_path: Path, telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    gateway.path.append(offer_faulty_plugin(tmp_path / "others"))
    gateway.configure("plugins.bad", kind="faulty", agent="remote", fault=fault)
    gateway.expected_errors |= {"plugin.failed"} if fault == "is misconfigured" else set()
    await gateway.start()
    telegram.user_says(CHAT, "beside a faulty plugin")
    await telegram.wait_for_text(CHAT, "beside a faulty plugin")

    async def is_shown() -> bool:
        shown = (await gateway.api("plugins/bad"))["health"]
        return (shown["state"], shown["reason"]) == STATES[fault]

    await look(is_shown, what=f"the plugin to be {STATES[fault]}")
    assert await gateway.status("/readyz") == 200
