"""Routes in the configuration: what is read, and what is refused because it could not work."""

import pytest

from config.settings import RouteSettings
from core.routes import Route, Routes
from gateway.composition import routes_of
from gateway.reload import applied, changes
from tests.config.conftest import AGENT, LISTED, PIGEON, Load, Refusal

SECOND = '[agents.second]\nkind = "local"\nentry = "echo"\n'


def desk(*routes: str, account: str = "") -> str:
    """A configuration whose account has these routes."""
    tables = "".join(f"[[plugins.nest.routes]]\n{route}\n" for route in routes)
    return AGENT + SECOND + PIGEON + LISTED + account + "\n" + tables


def test_routes_are_read_in_order_with_ids_as_numbers_or_text(loaded: Load) -> None:
    settings = loaded(
        desk(
            'chat = -1001234\ntopic = "7"\nagent = "second"',
            'command = "/Ask"\nagent = "second"\nfallback = "echo"',
            'language = "zh"\nagent = "echo"',
            account='fallback = "second"\nchoose = true',
        )
    )
    assert routes_of(settings.plugins["nest"].account) == Routes(
        "echo",
        (
            Route("second", chat="-1001234", topic="7"),
            Route("second", command="ask"),
            Route("echo", language="zh"),
        ),
        {"second": "echo", "echo": "second"},
        may_choose=True,
    )


def test_an_account_without_routes_goes_to_its_agent(loaded: Load) -> None:
    assert routes_of(loaded(desk()).plugins["nest"].account) == Routes("echo")


@pytest.mark.parametrize(
    ("route", "words"),
    [
        ('chat = 5\nagent = "secnd"', "plugins.nest.routes.0.agent: unknown agent 'secnd'; did you mean 'second'?"),
        ('chat = 5\nagent = "second"\nfallback = "x"', "plugins.nest.routes.0.fallback: unknown agent 'x'"),
        ('chat = 5\nagent = "second"\nfallback = "second"', "plugins.nest.routes.0.fallback: it is the agent itself"),
        ('agent = "second"', "plugins.nest.routes.0: it takes every message; give it a condition, or set the account"),
        ("chat = 5", "plugins.nest.routes.0.agent: is required and not set"),
        ('chta = 5\nagent = "second"', "plugins.nest.routes.0.chta: unknown setting 'chta'; did you mean 'chat'?"),
        ('chat = true\nagent = "second"', "plugins.nest.routes.0.chat"),
        ('command = "two words"\nagent = "second"', "plugins.nest.routes.0.command"),
        ('command = "status"\nagent = "second"', "/status is the gateway's own command; take another word"),
        ('command = "帮助"\nagent = "second"', "/帮助 is the gateway's own command"),
        ('language = "z"\nagent = "second"', "plugins.nest.routes.0.language"),
    ],
)
def test_a_route_that_cannot_work_is_refused_with_the_remedy(refused: Refusal, route: str, words: str) -> None:
    assert words in refused(desk(route))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("chat = 5", "chat = 5"),
        ("chat = 5", 'chat = "5"\nlanguage = "zh"'),
        ('language = "zh"', 'language = "zh-TW"\ncommand = "ask"'),
        ('topic = "7"', "chat = 5\ntopic = 7"),
    ],
)
def test_a_route_below_one_that_takes_all_of_its_messages_is_refused(refused: Refusal, first: str, second: str) -> None:
    words = refused(desk(f'{first}\nagent = "echo"', f'{second}\nagent = "second"'))
    assert "plugins.nest.routes.1: it can never take a message: plugins.nest.routes.0 above takes all of them" in words
    assert "put it above that one, or remove it" in words


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("chat = 5", "chat = 6"),
        ('chat = 5\nlanguage = "zh"', "chat = 5"),
        ('language = "zh-TW"', 'language = "zh"'),
        ('command = "ask"', "chat = 5"),
        ('language = "zh"', 'language = "de"'),
    ],
)
def test_a_route_that_leaves_something_to_the_next_is_taken(loaded: Load, first: str, second: str) -> None:
    settings = loaded(desk(f'{first}\nagent = "echo"', f'{second}\nagent = "second"'))
    assert len(settings.plugins["nest"].account.routes) == 2


def test_an_agent_has_one_fallback_in_an_account(refused: Refusal) -> None:
    third = '[agents.third]\nkind = "local"\nentry = "echo"\n'
    routes = ('chat = 5\nagent = "echo"\nfallback = "third"', 'chat = 6\nagent = "echo"\nfallback = "third"')
    words = refused(third + desk(*routes, account='fallback = "second"'))
    assert "plugins.nest.routes.0.fallback: echo has the fallback second already" in words
    assert "plugins.nest.routes.1.fallback" in words


def test_the_accounts_own_fallback_must_be_another_agent(refused: Refusal) -> None:
    assert "plugins.nest.fallback: it is the agent itself" in refused(desk(account='fallback = "echo"'))


def test_other_routes_hold_without_a_restart(loaded: Load) -> None:
    old, new = loaded(desk()), loaded(desk('chat = 5\nagent = "second"', account="choose = true"))
    found = changes(old, new, {})
    assert (found.live, found.restart) == (("plugins.nest.routes", "plugins.nest.choose"), ())
    assert applied(old, new).plugins["nest"].account.routes == (RouteSettings(chat="5", agent="second"),)
