"""What `frontdesk check` says of each usual mistake: the setting by its whole name, the cause, and what to do."""

from pathlib import Path

import pytest

from config.loading import load
from config.problems import ConfigurationProblems
from gateway.catalogue import kinds
from tests.fakes.wechat import AES_KEY, APP_ID, APP_SECRET, TOKEN
from tests.journeys.process import Tables, toml

GOOD: Tables = {"app_id": APP_ID, "app_secret": APP_SECRET, "token": TOKEN, "encoding_aes_key": AES_KEY}
ENDLESS = AES_KEY + "="  # as base64 tools print it


def problems(folder: Path, **changed: object) -> list[tuple[str, str]]:
    """Of an account with these settings (None: left out): each setting, and the cause and remedy said of it."""
    desk = {"kind": "wechat", "agent": "helper", **GOOD, **changed}
    config = folder / "frontdesk.toml"
    config.write_text(
        toml(
            {
                "agents": {"helper": {"kind": "local", "entry": "echo"}},
                "plugins": {"desk": {name: value for name, value in desk.items() if value is not None}},
            }
        )
    )
    config.chmod(0o600)
    with pytest.raises(ConfigurationProblems) as caught:
        load(kinds(), config=config)
    return [(each.setting, f"{each.cause}; {each.remedy}") for each in caught.value.problems]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("app_id", None, "set it to the AppID of the account"),
        ("app_id", "gh_0123456789ab", "this is the account's original id (gh_...), not its AppID"),
        ("app_id", APP_SECRET, "does not look like an AppID; set it to the AppID of the account"),
        ("app_secret", APP_ID, "does not look like an AppSecret"),
        ("app_secret", "env:NO_SUCH_SECRET", "NO_SUCH_SECRET"),
        ("token", None, "set it to the Token of the server configuration"),
        ("token", "", "without one anybody could write in anybody's name"),
        ("token", "with spaces", "does not look like a Token (3 to 32 letters and digits)"),
        ("encoding_aes_key", AES_KEY[:-1], "43 letters and digits, and this has 42); set it to the EncodingAESKey"),
        ("encoding_aes_key", ENDLESS, "43 letters and digits, and this has 44); set it to the EncodingAESKey"),
        (
            "previous_encoding_aes_key",
            "old",
            "does not look like an EncodingAESKey (43 letters and digits, and this has 3)",
        ),
        ("mode", "Safe", "'safe', 'compatible' or 'plain'"),
        ("api_base", "api.weixin.qq.com", "write it as http(s)://host[:port]"),
        ("reply_within", 5, "the platform hangs up after 5"),
        ("agent", "nobody", "nobody"),
        ("agent", None, "name the agent that answers here"),
        ("appid", APP_ID, "app_id"),
    ],
)
def test_a_usual_mistake_is_named_by_its_setting_with_what_to_do(
    tmp_path: Path, name: str, value: object, said: str
) -> None:
    found = problems(tmp_path, **{name: value})
    assert [setting for setting, _ in found] == [f"plugins.desk.{name}"]
    assert said in found[0][1]
    assert not [secret for secret in (APP_SECRET, TOKEN, AES_KEY) if secret in found[0][1]]


def test_a_key_that_is_missing_is_named_with_the_mode_that_needs_it(tmp_path: Path) -> None:
    ((setting, said),) = problems(tmp_path, encoding_aes_key=None)
    assert setting == "plugins.desk.mode"
    assert 'mode is "safe" and encoding_aes_key is not set; set it' in said


def test_a_secret_that_is_missing_is_named_with_what_needs_it(tmp_path: Path) -> None:
    ((setting, said),) = problems(tmp_path, app_secret=None)
    assert setting == "plugins.desk.customer_service"
    assert "customer-service messages need app_secret; set it, or write customer_service = false" in said


@pytest.mark.case("SEC-02")
def test_a_nickname_in_the_list_is_named_by_its_place(tmp_path: Path) -> None:
    ((setting, said),) = problems(tmp_path, access={"allow": ["张三"]})
    assert setting.startswith("plugins.desk.access.allow")
    assert "'张三' is no OpenID" in said


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, app_id="x", token="x", encoding_aes_key="x", api_base="x")
    assert {setting for setting, _ in found} == {
        f"plugins.desk.{name}" for name in ("app_id", "token", "encoding_aes_key", "api_base")
    }
