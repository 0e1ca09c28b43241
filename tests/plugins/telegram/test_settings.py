"""What an operator may write for a Telegram account, and what each mistake is told."""

from collections.abc import Callable

import pytest
from pydantic import SecretStr

from plugins.telegram.settings import TelegramSettings

Objection = Callable[..., str]


def settings(**given: object) -> TelegramSettings:
    return TelegramSettings.model_validate({"token": "123456:TEST", "agent": "echo", **given})


def test_a_token_and_an_agent_are_enough_and_let_nobody_in() -> None:
    made = settings()
    assert (made.mode, made.access.direct, made.access.groups, made.access.allow) == ("polling", "allow", "off", ())
    assert (made.owner, made.on_unknown, made.streaming, made.collect) == ("per_sender", "ask", "off", 0)
    assert (made.limits.per_second, made.limits.per_chat_second, made.limits.per_group_minute) == (30, 1, 20)
    assert made.is_public_api


@pytest.mark.parametrize("secret", [None, "", "   ", "\t\n"])
@pytest.mark.case("T05")
@pytest.mark.case("SEC-01")
def test_a_webhook_without_a_secret_is_refused_by_name(objection: Objection, secret: str | None) -> None:
    said = objection(mode="webhook", webhook_secret=secret)
    assert said.startswith("webhook_secret: ")
    assert "anybody could send updates" in said


@pytest.mark.case("SEC-01")
def test_a_webhook_whose_secret_is_left_out_is_refused(objection: Objection) -> None:
    assert objection(mode="webhook").startswith("webhook_secret: ")


@pytest.mark.parametrize("secret", ["has space", "ünïcode", "semi;colon", "x" * 257])
def test_a_secret_that_telegram_would_refuse_is_refused_here(objection: Objection, secret: str) -> None:
    said = objection(mode="webhook", webhook_secret=secret)
    assert said.startswith("webhook_secret: ")
    assert secret not in said


@pytest.mark.parametrize("secret", ["a", "A-Z_0-9", "x" * 256])
def test_every_secret_that_telegram_takes_is_taken(secret: str) -> None:
    assert settings(mode="webhook", webhook_secret=secret).webhook_secret == SecretStr(secret)


def test_polling_needs_no_secret() -> None:
    assert settings(mode="polling", webhook_secret="").webhook_secret is None


@pytest.mark.parametrize("name", ["@alice", "alice", "t.me/alice", ""])
@pytest.mark.case("T06")
@pytest.mark.case("SEC-02")
def test_a_name_in_the_allow_list_is_refused_with_the_remedy(objection: Objection, name: str) -> None:
    said = objection(access={"allow": [123456789, name]})
    assert said.startswith("access.allow.1: ")
    assert "numeric id" in said


@pytest.mark.case("SEC-02")
def test_ids_of_people_and_of_groups_may_be_listed() -> None:
    assert settings(access={"allow": [123456789, -1001234567890, "42"]}).access.allow == (123456789, -1001234567890, 42)


@pytest.mark.parametrize("token", ["", "123456", "123456:", "bot123456:AAA", "123456:AA A", "123456:AAA/getMe"])
def test_what_is_no_token_is_refused_without_repeating_it(objection: Objection, token: str) -> None:
    said = objection(token=token)
    assert said.startswith("token: ")
    assert "AA" not in said


@pytest.mark.parametrize("base", ["http://127.0.0.1:8081", "http://[::1]:8081/", "https://telegram.example.com/api"])
def test_a_bot_api_server_of_ones_own_may_stand_anywhere(base: str) -> None:
    made = settings(api_base=base)
    assert made.api_base == base.rstrip("/")
    assert not made.is_public_api


@pytest.mark.parametrize(
    "base", ["", "api.telegram.org", "ftp://x", "https://user@host", "https://host/?q=1", "http://"]
)
def test_what_is_no_address_of_a_server_is_refused(objection: Objection, base: str) -> None:
    assert objection(api_base=base).startswith("api_base: ")


def test_settings_show_no_secret() -> None:
    shown = repr(settings(mode="webhook", webhook_secret="very-secret"))
    assert "TEST" not in shown
    assert "very-secret" not in shown


@pytest.mark.parametrize(
    "wrong",
    [{"mode": "push"}, {"access": {"groups": "some"}}, {"limits": {"per_second": -1}}, {"agent": ""}, {"tokens": "x"}],
)
def test_values_nobody_knows_are_refused(objection: Objection, wrong: dict[str, object]) -> None:
    assert objection(**wrong).startswith(next(iter(wrong)))


def test_no_pace_at_all_may_be_set_for_a_local_server() -> None:
    made = settings(limits={"per_second": 0, "per_chat_second": 0, "per_group_minute": 0})
    assert made.limits.per_second == 0
