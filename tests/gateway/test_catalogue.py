"""What can be configured, found without importing what is not used; and one path for one account."""

import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web

from config.loading import load
from config.problems import ConfigurationProblems
from config.sources import DEMO
from core.errors import ConfigurationError
from gateway import catalogue
from gateway.paths import distinct_routes

EXAMPLES = DEMO.parent


async def handler(_request: web.Request) -> web.Response:
    return web.Response()


def imports_after(statement: str) -> set[str]:
    program = f"{statement}; import sys; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return set(ended.stdout.split())


def test_looking_at_what_can_be_configured_imports_none_of_it() -> None:
    imported = imports_after(
        "from gateway.catalogue import kinds; k = kinds(); assert 'telegram' in k.plugins and 'a2a' in k.agents"
    )
    assert not {name for name in imported if name.split(".")[0] in ("telegram", "plugins", "a2a", "typer", "rich")}


def test_checking_a_configuration_does_not_import_a_vendors_library() -> None:
    imported = imports_after("from gateway.catalogue import kinds; k = kinds(); k.plugins['telegram'], k.agents['a2a']")
    assert "plugins.telegram.settings" in imported
    assert "telegram" not in imported


def test_every_listed_thing_can_be_imported() -> None:
    kinds = catalogue.kinds()
    assert [kinds.plugins[kind].__name__ for kind in catalogue.PLUGINS]
    assert [kinds.agents[kind].__name__ for kind in catalogue.AGENTS]
    assert all(catalogue.plugin(kind) is not None for kind in catalogue.PLUGINS)
    assert all(catalogue.local_agent(entry) is not None for entry in catalogue.LOCAL_AGENTS)


def test_an_unlisted_kind_is_looked_for_among_the_entry_points_and_not_found() -> None:
    assert "carrier-pigeon" not in catalogue.kinds().plugins
    with pytest.raises(KeyError):
        catalogue.plugin("carrier-pigeon")


def test_the_demo_starts_without_a_file(tmp_path: Path) -> None:
    settings = load(catalogue.kinds(), environ={}, cwd=tmp_path)
    assert settings.origin == "the built-in demo configuration"
    assert settings.gateway.is_loopback
    assert settings.plugins["chat"].account.agent == "concierge"
    assert set(settings.agents) == {"concierge", "echo"}


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.toml")))
def test_every_example_can_be_used(example: str) -> None:
    environ = {"TELEGRAM_TOKEN": f"123456789:{'A' * 35}", "TELEGRAM_SECRET": "a-secret-of-the-webhook"}
    assert load(catalogue.kinds(), config=EXAMPLES / example, environ=environ).plugins


@pytest.mark.case("T87")
def test_the_demo_cannot_be_opened_to_others_by_its_host_alone(tmp_path: Path) -> None:
    environ = {"FRONTDESK_GATEWAY__HOST": "0.0.0.0"}
    with pytest.raises(ConfigurationProblems) as refusal:
        load(catalogue.kinds(), environ=environ, cwd=tmp_path)
    assert "operator_token is not set" in str(refusal.value)
    assert "plugins.chat: 0.0.0.0 is reachable by others and this account is not authenticated" in str(refusal.value)


@pytest.mark.case("T87")
def test_an_authenticated_bot_may_listen_beyond_loopback() -> None:
    environ = {
        "TELEGRAM_TOKEN": f"123456789:{'A' * 35}",
        "TELEGRAM_SECRET": "a-secret-of-the-webhook",
        "FRONTDESK_GATEWAY__HOST": "0.0.0.0",
        "FRONTDESK_GATEWAY__OPERATOR_TOKEN": "0123456789abcdef",
    }
    settings = load(catalogue.kinds(), config=EXAMPLES / "telegram-a2a.toml", environ=environ)
    assert not settings.gateway.is_loopback


@pytest.mark.case("SEC-02")
def test_an_allow_list_takes_no_names_that_change_hands(tmp_path: Path) -> None:
    text = (EXAMPLES / "telegram-a2a.toml").read_text().replace("allow = []", 'allow = ["@alice"]')
    (tmp_path / "frontdesk.toml").write_text(text)
    environ = {"TELEGRAM_TOKEN": f"123456789:{'A' * 35}", "TELEGRAM_SECRET": "a-secret-of-the-webhook"}
    with pytest.raises(ConfigurationProblems, match=r"plugins\.support\.access\.allow\.0: '@alice' is a name"):
        load(catalogue.kinds(), environ=environ, cwd=tmp_path)


@pytest.mark.case("T93")
def test_two_accounts_on_one_path_are_refused_with_both_names() -> None:
    routes = {"a": [web.post("/hooks/x", handler)], "b": [web.post("/hooks/x", handler)]}
    with pytest.raises(ConfigurationError, match=r"plugins\.b: plugins\.a answers POST /hooks/x too"):
        distinct_routes(routes)


def test_accounts_with_paths_of_their_own_keep_all_their_routes() -> None:
    routes = {"a": [web.post("/hooks/a", handler), web.get("/hooks/a", handler)], "b": [web.post("/hooks/b", handler)]}
    assert len(distinct_routes(routes)) == 3
