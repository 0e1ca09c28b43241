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
