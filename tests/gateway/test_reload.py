"""What a reread file changes at once, and what it names as waiting for a restart."""

from typing import Any

import pytest

from a2a.server.facade import LIVE
from a2a.server.settings import A2AServerSettings
from config.settings import AccountSettings, GatewaySettings, PluginEntry, Settings
from gateway.reload import changes

KEY = "a-key-of-a-caller-0"


def partners(**settings: Any) -> Settings:
    account = AccountSettings(kind="a2a", agent="echo")
    served = A2AServerSettings.model_validate({"agent": "echo", **settings})
    entries = {"partners": PluginEntry("partners", "a2a", account, served)}
    return Settings(GatewaySettings(), {}, entries, origin="the test")


@pytest.mark.parametrize(
    "settings", [{"callers": [{"name": "acme", "key": KEY}]}, {"anonymous": "by_id"}, {"key_header": "X-Key"}]
)
def test_who_may_call_over_a2a_changes_at_once(settings: dict[str, Any]) -> None:
    found = changes(partners(), partners(**settings), {"partners": LIVE})
    assert (found.live, found.restart) == ((f"plugins.partners.{next(iter(settings))}",), ())


@pytest.mark.parametrize("settings", [{"limits": {"parts": 5}}, {"streaming": False}])
def test_what_its_plugin_cannot_change_needs_a_restart(settings: dict[str, Any]) -> None:
    found = changes(partners(), partners(**settings), {"partners": LIVE})
    assert (found.live, found.restart) == ((), (f"plugins.partners.{next(iter(settings))}",))
