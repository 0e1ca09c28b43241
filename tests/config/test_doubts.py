"""What is warned of at the start, in a check and by the doctor, though the gateway runs with it."""

import pytest

from config.loading import load
from gateway.catalogue import kinds
from tests.config.conftest import AGENT, LISTED, PIGEON, Load

DESK = '[agents.echo]\nkind = "local"\nentry = "echo"\n'
BOT = '[plugins.%s]\nkind = "telegram"\nagent = "echo"\ntoken = "%s"\naccess = { direct = "open" }\n'
SERVED = '[plugins.partners]\nkind = "a2a"\nagent = "echo"\n'


@pytest.fixture
def warned(tmp_path):  # type: ignore[no-untyped-def]
    """The warnings of a configuration of the real kinds."""

    def of(text: str) -> str:
        path = tmp_path / "frontdesk.toml"
        path.write_text(text)
        path.chmod(0o600)
        return "\n".join(load(kinds(), environ={}, config=path).warnings)

    return of


def test_two_accounts_with_one_bots_token_are_warned_of_by_the_bots_id(warned) -> None:  # type: ignore[no-untyped-def]
    first, second = f"4711:{'A' * 35}", f"4711:{'B' * 35}"
    said = warned(DESK + BOT % ("one", first) + BOT % ("two", second))
    assert "plugins.two and plugins.one are one account of telegram (4711), so that they take each other" in said
    assert "AAA" not in said
    assert warned(DESK + BOT % ("one", first) + BOT % ("two", second.replace("4711", "4712"))) == ""


def test_a_group_that_is_listed_while_groups_are_off_is_warned_of(warned) -> None:  # type: ignore[no-untyped-def]
    bot = DESK + BOT % ("one", f"4711:{'A' * 35}")
    lists = bot.replace('direct = "open"', "allow = [1001, -1004711]")
    assert 'access.allow lists the group -1004711, and groups are off; set access.groups to "mention"' in warned(lists)
    assert warned(lists.replace(" }", ', groups = "mention" }')) == ""


def test_an_account_that_nobody_can_call_is_warned_of(warned) -> None:  # type: ignore[no-untyped-def]
    assert 'plugins.partners.callers is empty and anonymous is "off", so that nobody can call it' in warned(
        DESK + SERVED
    )
    assert warned(DESK + SERVED + 'anonymous = "shared"\n') == ""
    assert warned(DESK + SERVED + "callers = [{ name = 'me', key = '0123456789abcdef' }]\n") == ""


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("FRONTDESK_GATEWAY_PORT", "FRONTDESK_GATEWAY__PORT"),
        ("FRONTDESK_GATEWAY_OPERATOR_TOKEN", "FRONTDESK_GATEWAY__OPERATOR_TOKEN"),
        ("FRONTDESK__GATEWAY__PORT", "FRONTDESK_GATEWAY__PORT"),
        ("FRONTDESK_PORT", "FRONTDESK_GATEWAY__PORT"),
        ("FRONTDESK_PLUGINS_NEST_TOKEN", "FRONTDESK_PLUGINS__NEST__TOKEN"),
        ("FRONTDESK_CONFIGG", "FRONTDESK_CONFIG"),
    ],
)
def test_a_variable_that_nothing_reads_is_named_with_the_one_that_was_meant(
    loaded: Load, variable: str, meant: str
) -> None:
    (warning,) = loaded(AGENT + PIGEON + LISTED, **{variable: "9000"}).warnings
    assert warning == f"the environment variable {variable} is read by nothing; did you mean {meant}?"


def test_a_variable_that_resembles_nothing_is_named_too(loaded: Load) -> None:
    (warning,) = loaded(AGENT, FRONTDESK_XYZZY="1").warnings
    assert warning.endswith("FRONTDESK_XYZZY is read by nothing; a setting is written FRONTDESK_GATEWAY__KEY")


def test_variables_that_are_read_or_that_a_cluster_sets_are_no_doubt(loaded: Load) -> None:
    environ = {
        "FRONTDESK_CRASHPOINT": "a:1",
        "FRONTDESK_GATEWAY__MAX_TURNS": "9",
        "FRONTDESK_RING": "ring-0123456789",
        "FRONTDESK_PORT": "tcp://10.0.0.1:8080",
        "FRONTDESK_PORT_8080_TCP_ADDR": "10.0.0.1",
        "FRONTDESK_SERVICE_HOST": "10.0.0.1",
    }
    text = AGENT + PIGEON.replace("env:RING", "env:FRONTDESK_RING") + LISTED
    assert loaded(text, **environ).warnings == ()


WECHAT = (
    '[plugins.desk]\nkind = "wechat"\nagent = "echo"\napp_id = "wx0123456789abcdef"\ntoken = "aToken"\nmode = "%s"\n'
    f'encoding_aes_key = "{"A" * 43}"\ncustomer_service = false\naccess = {{ direct = "open" }}\n'
)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "is not set"),
        ("https://127.0.0.1", "(https://127.0.0.1) is no address of the internet"),
        ("http://192.168.1.2:8080", "is no address of the internet"),
        ("https://localhost", "is no address of the internet"),
        ("http://desk.example.com", "(http://desk.example.com) is not https; set it to the https address"),
        ("https://desk.example.com:8443", ":8443) has another port than 80 and 443, to which alone it calls"),
        ("https://desk.example.com", ""),
        ("https://desk.example.com:443", ""),
    ],
)
def test_an_account_whose_platform_cannot_call_it_is_warned_of(warned, url: str, why: str) -> None:  # type: ignore[no-untyped-def]
    said = warned(f'[gateway]\npublic_url = "{url}"\n' + DESK + WECHAT % "safe")
    begins = "plugins.desk is called by WeChat from the internet, and gateway.public_url "
    assert (begins in said, why in said) == (bool(why), True)


def test_a_public_address_with_the_path_of_an_account_is_warned_of(warned) -> None:  # type: ignore[no-untyped-def]
    settings = '[gateway]\npublic_url = "%s"\n' + DESK + WECHAT % "safe"
    assert warned(settings % "https://desk.example.com/hooks/desk") == (
        "gateway.public_url (https://desk.example.com/hooks/desk) ends as the path of plugins.desk does; "
        "give only what comes before the path, since each account adds its own"
    )
    assert warned(settings % "https://example.com/gateway") == ""


def test_an_account_that_calls_a_platform_of_the_operators_own_needs_no_public_address(warned) -> None:  # type: ignore[no-untyped-def]
    assert warned(DESK + WECHAT % "safe" + 'api_base = "http://127.0.0.1:1"\n') == ""


def test_an_account_that_takes_unsigned_messages_is_warned_of(warned) -> None:  # type: ignore[no-untyped-def]
    said = warned('[gateway]\npublic_url = "https://desk.example.com"\n' + DESK + WECHAT % "plain")
    assert said.startswith('plugins.desk.mode is "plain", in which whoever sees one URL can write in anybody\'s name')
