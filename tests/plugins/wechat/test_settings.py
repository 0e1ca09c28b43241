"""Each usual mistake is refused with the setting's name and what to do."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from plugins.wechat.settings import WechatSettings
from tests.fakes.wechat import AES_KEY, APP_ID, APP_SECRET, TOKEN
from tests.plugins.wechat.account import ANN

USUAL = {"app_id": APP_ID, "app_secret": APP_SECRET, "token": TOKEN, "encoding_aes_key": AES_KEY, "agent": "echo"}


@pytest.fixture
def objection() -> Callable[..., str]:
    def refused(**changed: Any) -> str:
        given = {name: value for name, value in {**USUAL, **changed}.items() if value is not None}
        with pytest.raises(ValidationError) as caught:
            WechatSettings(**given)
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in caught.value.errors())

    return refused


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"app_id": "gh_0123456789ab"}, "app_id: Value error, this is the account's original id"),
        ({"app_id": "wx123"}, "app_id: Value error, does not look like an AppID"),
        ({"app_secret": "short"}, "app_secret: Value error, does not look like an AppSecret"),
        ({"app_secret": None}, "customer_service: Value error, customer-service messages need app_secret"),
        ({"token": "a b"}, "token: Value error, does not look like a Token"),
        ({"encoding_aes_key": AES_KEY + "="}, "encoding_aes_key: Value error, does not look like an EncodingAESKey"),
        ({"encoding_aes_key": AES_KEY[:-1]}, "this has 42"),
        ({"previous_encoding_aes_key": "x"}, "previous_encoding_aes_key: Value error"),
        ({"encoding_aes_key": None}, 'mode: Value error, mode is "safe" and encoding_aes_key is not set'),
        ({"encoding_aes_key": None, "mode": "compatible"}, 'mode is "compatible" and encoding_aes_key is not set'),
        ({"api_base": "api.weixin.qq.com"}, "api_base: Value error"),
        ({"reply_within": 5.0}, "reply_within"),
        ({"access": {"allow": ["张三"]}}, "access.allow.0: Value error, '张三' is no OpenID"),
        ({"access": {"allow": ["wxid_abc"]}}, "is no OpenID"),
    ],
)
def test_a_usual_mistake_names_its_setting(objection: Callable[..., str], changed: dict[str, Any], said: str) -> None:
    assert said in objection(**changed)


@pytest.mark.case("SEC-01")
@pytest.mark.case("T05")
@pytest.mark.parametrize("token", ["", "   ", None])
def test_an_account_without_a_token_is_refused(objection: Callable[..., str], token: str | None) -> None:
    assert "token" in objection(token=token)


@pytest.mark.case("SRC-12")
@pytest.mark.case("DEL-21")
def test_an_empty_list_admits_nobody_and_immutable_ids_are_taken() -> None:
    assert WechatSettings(**USUAL).access.direct == "allow"  # type: ignore[arg-type]
    assert WechatSettings(**USUAL, access={"allow": [ANN]}).access.allow == (ANN,)  # type: ignore[arg-type]


def test_plain_mode_is_by_explicit_word_and_needs_no_key() -> None:
    given = {**USUAL, "mode": "plain"}
    del given["encoding_aes_key"]
    assert WechatSettings(**given).encoding_aes_key is None  # type: ignore[arg-type]


def test_without_customer_service_no_secret_is_needed() -> None:
    given = {**USUAL, "customer_service": False}
    del given["app_secret"]
    assert WechatSettings(**given).app_secret is None  # type: ignore[arg-type]


def test_no_secret_is_shown() -> None:
    said = repr(WechatSettings(**USUAL))  # type: ignore[arg-type]
    assert not [secret for secret in (APP_SECRET, TOKEN, AES_KEY) if secret in said]
