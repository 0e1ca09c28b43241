"""Which agent a message goes to: the table of an account, read top down."""

import pytest

from core.envelope import Inbound
from core.parts import Text
from core.routes import Picked, Route, Routes


def inbound(chat: str = "5", topic: str = "") -> Inbound:
    return Inbound(("k",), "1", chat, "ann", (Text("hello"),), b"", topic=topic)


def picked(*table: Route, chat: str = "5", topic: str = "", command: str = "", language: str = "") -> str:
    return Routes("default", table).pick(inbound(chat, topic), command, language, {}).agent


def test_what_no_route_takes_goes_to_the_default() -> None:
    assert picked() == "default"
    assert picked(Route("other", chat="6")) == "default"


def test_the_first_route_that_takes_a_message_has_it() -> None:
    assert picked(Route("first", chat="5"), Route("second", chat="5", topic="7"), topic="7") == "first"
    assert picked(Route("first", chat="6"), Route("second", topic="7"), topic="7") == "second"


@pytest.mark.parametrize(
    ("route", "takes", "leaves"),
    [
        (Route("it", chat="5"), {}, {"chat": "6"}),
        (Route("it", topic="7"), {"topic": "7"}, {"topic": ""}),
        (Route("it", command="ask"), {"command": "ask"}, {"command": "asks"}),
        (Route("it", language="pt"), {"language": "pt-BR"}, {"language": "ptx"}),
        (Route("it", language="pt-BR"), {"language": "pt_br"}, {"language": "pt"}),
        (Route("it", language="zh"), {"language": "yue-HK"}, {"language": ""}),
        (Route("it", chat="5", language="de"), {"language": "de"}, {"chat": "6", "language": "de"}),
    ],
)
def test_every_condition_of_a_route_must_hold(route: Route, takes: dict[str, str], leaves: dict[str, str]) -> None:
    assert picked(route, **takes) == "it"
    assert picked(route, **leaves) == "default"


def test_only_a_command_calls_an_agent() -> None:
    table = (Route("asked", command="ask"), Route("here", chat="5"))
    assert Routes("default", table).pick(inbound(), "ask", "", {}) == Picked("asked", is_called=True)
    assert Routes("default", table).pick(inbound(), "other", "", {}) == Picked("here", is_called=False)


def test_a_route_follows_a_chat_that_got_a_new_id() -> None:
    routes = Routes("default", (Route("it", chat="-5"),), may_choose=True)
    assert routes.pick(inbound("-100"), "", "", {"-5": "-100"}).agent == "it"
    assert list(routes.choices(inbound("-100"), {"-5": "-100"})) == ["it", "default"]
    assert list(routes.choices(inbound("-100"), {})) == ["default"]


def test_the_agents_of_a_place_are_those_that_its_messages_can_reach() -> None:
    table = (
        Route("helper", command="ask"),
        Route("far", chat="6"),
        Route("helper", command="help_me", language="zh"),
        Route("chinese", language="zh"),
    )
    assert Routes("default", table).agents_at("5", "", {}) == {
        "helper": ["ask", "help_me"],
        "chinese": [],
        "default": [],
    }


def test_nobody_chooses_where_the_account_does_not_let_them() -> None:
    assert list(Routes("default", (Route("it", chat="5"),)).choices(inbound(), {})) == []
