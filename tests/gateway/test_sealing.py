"""The gateway's seal: what it closes says nothing, and opens in its own place with its own key alone."""

import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from config.settings import GatewaySettings
from core.errors import ConfigurationError
from core.seal import SealBroken
from gateway.sealing import SECRET_KEY, KeySeal

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"


def test_what_was_closed_opens_again_after_a_restart() -> None:
    closed = KeySeal(KEY).close("let-me-in\u00e9", "here")
    assert KeySeal(KEY).open(closed, "here") == "let-me-in\u00e9"
    assert "let-me-in" not in closed


def test_the_same_secret_closed_twice_does_not_look_the_same() -> None:
    seal = KeySeal(KEY)
    assert seal.close("s", "here") != seal.close("s", "here")


@pytest.mark.case("T52")
@pytest.mark.parametrize("harm", ["another key", "another place", "changed", "cut", "never closed", "another alphabet"])
def test_what_is_not_as_it_was_closed_does_not_open(harm: str) -> None:
    closed = KeySeal(KEY).close("let-me-in", "here")
    changed = closed[:-6] + ("A" if closed[-6] != "A" else "B") + closed[-5:]
    odd = {"changed": changed, "cut": closed[:8], "never closed": "let-me-in", "another alphabet": "1.\u00e9"}
    with pytest.raises(SealBroken):
        KeySeal(OTHER if harm == "another key" else KEY).open(
            odd.get(harm, closed), "there" if harm == "another place" else "here"
        )


def test_the_key_is_made_once_beside_the_database_for_its_owner_alone(tmp_path: Path) -> None:
    gateway = GatewaySettings(store=f"sqlite:///{tmp_path}/state/frontdesk.db")
    key = SECRET_KEY.ensure(gateway)
    path = tmp_path / "state" / "secret-key"
    assert (path.read_text().strip(), stat.S_IMODE(path.stat().st_mode)) == (key, 0o600)
    assert SECRET_KEY.ensure(gateway) == key
    path.chmod(0o644)
    with pytest.raises(
        ConfigurationError, match=r"can be read by others; chmod 600 .*/secret-key, or set gateway.secret_key"
    ):
        SECRET_KEY.check(gateway)


def test_a_configured_key_is_used_and_none_is_made(tmp_path: Path) -> None:
    gateway = GatewaySettings(store=f"sqlite:///{tmp_path}/frontdesk.db", secret_key=SecretStr(KEY))
    assert SECRET_KEY.ensure(gateway) == KEY
    assert not list(tmp_path.iterdir())
