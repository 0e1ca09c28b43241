"""What an operator may write for the A2A server side, and what is refused with its reason."""

from typing import Any

import pytest
from pydantic import ValidationError

from a2a.server.settings import A2AServerSettings

KEY = "a-key-of-a-caller-0123456789"


def read(**settings: Any) -> A2AServerSettings:
    return A2AServerSettings.model_validate({"agent": "desk", **settings})


def test_nobody_is_let_in_unless_the_operator_says_so() -> None:
    settings = read()
    assert (settings.anonymous, settings.callers, settings.unauthenticated) == ("off", (), None)
    assert (settings.allow_push_private, settings.extended_card) == (False, False)


@pytest.mark.parametrize("anonymous", ["by_id", "shared"])
def test_an_account_that_lets_strangers_in_says_so(anonymous: str) -> None:
    assert anonymous in (read(anonymous=anonymous).unauthenticated or "")


def test_the_default_agent_is_exposed_first_and_each_once() -> None:
    assert read(expose=["archive", "desk", "archive"]).exposed == ("desk", "archive")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"callers": [{"name": "anna"}]}, "neither key nor bearer"),
        ({"callers": [{"name": "anna", "key": ""}]}, "at least 16"),
        ({"callers": [{"name": "anna", "key": "short"}]}, "at least 16"),
        ({"callers": [{"name": "anna", "key": "with space " + KEY}]}, "without spaces"),
        ({"callers": [{"name": "", "key": KEY}]}, "callers.0.name"),
        ({"callers": [{"name": "a", "key": KEY}, {"name": "b", "key": KEY}]}, "the same name or secret"),
        ({"callers": [{"name": "a", "key": KEY}, {"name": "a", "bearer": "b" + KEY}]}, "the same name or secret"),
        ({"key_header": "Authorization"}, "cannot be the header"),
        ({"key_header": "X Y"}, "cannot be the header"),
        ({"agent": "push"}, "has another use"),
        ({"expose": ["a/b"]}, "expose.0"),
        ({"agent": "two words"}, "agent"),
        ({"agent": ".."}, "agent"),
        ({"cards": {"other": {}}}, "is of no agent that is exposed"),
        ({"extended_card": True}, "there are none"),
        ({"extensions": [{"uri": "a, b"}]}, "extensions.0.uri"),
        ({"limits": {"depth": 65}}, "limits.depth"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_slip_is_refused_with_its_reason(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as error:
        read(**settings)
    assert said in str(error.value)


@pytest.mark.case("T52")
def test_secrets_are_not_shown() -> None:
    settings = read(callers=[{"name": "anna", "key": KEY, "bearer": "b" + KEY}])
    assert KEY not in repr(settings) + str(settings.model_dump())
    with pytest.raises(ValidationError) as error:
        read(callers=[{"name": "anna", "key": KEY + "\n"}])
    assert KEY not in str(error.value)
