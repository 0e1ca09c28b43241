"""What every channel keeps, whatever it is: the suite a new plugin runs unedited. Add it to `ACCOUNTS`, that is all.

The A2A server side shows nothing to anybody; its suite is tests/a2a/server.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from core.clock import SystemClock
from core.delivery import Piece
from core.doors.ingress import Ingress
from core.doors.outbound import GuardedClient
from core.parts import Data, File, Text, text_of
from core.plugin import AgentPlugin, Host
from gateway import catalogue
from tests.doubles.store import MemoryStore
from tests.plugins.telegram.intake import NoHistory

ROOT = Path(__file__).parents[2]
SECRET = "7000001:AAE-secret_of_the_account"
ACCOUNTS: Mapping[str, Mapping[str, Any]] = {
    "telegram": {"token": SECRET, "agent": "echo", "mode": "webhook", "webhook_secret": "a-webhook-secret"},
    "webchat": {"agent": "echo", "access": {"direct": "open"}},
    "wechat": {
        "agent": "echo",
        "app_id": "wx0123456789abcdef",
        "app_secret": "0123456789abcdef0123456789abcdef",
        "token": "awebhooksecret",
        "encoding_aes_key": "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
    },
}


CHANNELS = sorted(kind for kind, (model, _) in catalogue.PLUGINS.items() if model.startswith("plugins."))


def quality(kind: str) -> Mapping[str, Mapping[str, Any]]:
    """What the plugin's quality.yaml says of each rule."""
    rules: Mapping[str, Mapping[str, Any]] = yaml.safe_load((ROOT / "plugins" / kind / "quality.yaml").read_text())
    assert "TODO" not in json.dumps(rules)
    return rules


@pytest.fixture(params=CHANNELS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def account(kind: str) -> AsyncIterator[AgentPlugin]:
    store = MemoryStore()
    settings = catalogue.imported(catalogue.PLUGINS[kind][0]).model_validate(ACCOUNTS[kind])
    async with GuardedClient() as client:
        host = Host(client, store, store, NoHistory(), SystemClock(), "here")
        made: AgentPlugin = catalogue.plugin(kind).create("support", settings, host)
        yield made


def test_the_folder_has_the_files_every_plugin_has(kind: str) -> None:
    folder = ROOT / "plugins" / kind
    missing = [
        name
        for name in ("plugin.py", "settings.py", "translate.py", "render.py", "quality.yaml")
        if not (folder / name).is_file()
    ]
    assert missing == []


def test_its_kind_is_its_folder_s_and_its_settings_are_strict(kind: str) -> None:
    plugin = catalogue.plugin(kind)
    assert plugin.Settings.model_fields["kind"].default == kind
    assert plugin.Settings.model_config["extra"] == "forbid"
    assert plugin.Settings.model_config["frozen"]


def test_its_settings_say_whether_strangers_get_in_and_are_closed_by_default(kind: str) -> None:
    model = catalogue.plugin(kind).Settings
    assert hasattr(model, "unauthenticated")
    closed: Any = model.model_validate({key: value for key, value in ACCOUNTS[kind].items() if key != "access"})
    assert (closed.access.direct, tuple(closed.access.allow)) == ("allow", ())


@pytest.mark.parametrize(("kind", "rule"), [(kind, rule) for kind in CHANNELS for rule in quality(kind)])
def test_a_quality_rule_is_shown_by_tests_or_says_why_not(kind: str, rule: str) -> None:
    stated = quality(kind)[rule]
    if stated["status"] != "done":
        assert stated["status"] in ("todo", "exempt")
        assert stated["because"]
        return
    assert stated["shown_by"]
    for shown in stated["shown_by"]:
        file, _, test = shown.partition("::")
        there = (ROOT / "tests" / "plugins" / kind / file).read_text(encoding="utf-8")
        assert re.search(rf"def {test}\(", there), f"there is no {shown}"


async def test_nothing_to_show_renders_to_nothing(account: AgentPlugin) -> None:
    assert account.render(Piece("message:1", (Text("  \n"),))) == ()


async def test_rendering_is_pure_and_its_payloads_are_json(account: AgentPlugin) -> None:
    piece = Piece("artifact:1", (Text("**hi** & <b>"), Data({"a": [1, None]}), File("a.txt", "text/plain")))
    first, again = account.render(piece), account.render(piece)
    assert first == again
    assert json.loads(json.dumps(first)) == list(first)


@pytest.mark.parametrize(
    "text", ["word " * 30_000, "汉" * 40_000, "😀" * 40_000, "```py\n" + "x = 1\n" * 20_000 + "```"]
)
async def test_a_long_answer_is_split_and_none_of_it_lost(account: AgentPlugin, text: str) -> None:
    payloads = account.render(Piece("artifact:1", (Text(text),)))
    assert len(payloads) > 1
    whole = "".join(json.dumps(payload, ensure_ascii=False) for payload in payloads)
    for word in ("word", "汉", "😀", "x = 1"):
        assert whole.count(word) >= text_of((Text(text),)).count(word)


async def test_its_routes_are_its_own_and_pass_the_one_way_in(account: AgentPlugin, kind: str) -> None:
    own = {"telegram": ("/hooks/support",), "webchat": ("/chat",), "wechat": ("/hooks/support",)}
    for route in account.routes(Ingress()):
        assert isinstance(route, web.RouteDef)
        assert route.path.startswith(own[kind])


async def test_what_it_says_of_itself_is_json_without_secrets(account: AgentPlugin) -> None:
    said = json.dumps(account.health)
    assert account.health["state"]
    assert account.health.get("trouble", "") == ""  # nobody was asked yet
    assert SECRET not in said
    assert "a-webhook-secret" not in said


async def test_what_it_can_do_has_sensible_intervals(account: AgentPlugin) -> None:
    able = account.capabilities
    assert able.preview_interval > 0
    assert able.activity_interval is None or able.activity_interval > 0
