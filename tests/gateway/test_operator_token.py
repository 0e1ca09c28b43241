"""The operator's token: made once, readable for its owner alone, and never made twice."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from config.settings import GatewaySettings
from core.errors import ConfigurationError
from gateway.operator_token import OPERATOR_TOKEN, is_operator


@pytest.fixture
def gateway(tmp_path: Path) -> GatewaySettings:
    return GatewaySettings(store=f"sqlite:///{tmp_path}/state/frontdesk.db")


def test_a_token_is_made_beside_the_database_for_its_owner_alone(gateway: GatewaySettings, tmp_path: Path) -> None:
    token = OPERATOR_TOKEN.ensure(gateway)
    path = tmp_path / "state" / "operator-token"
    assert path.read_text().strip() == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) >= 43  # 256 bits
    assert [file.name for file in path.parent.iterdir()] == ["operator-token"]


def test_the_token_stays_the_same_over_starts(gateway: GatewaySettings) -> None:
    assert OPERATOR_TOKEN.find(gateway) is None
    assert OPERATOR_TOKEN.ensure(gateway) == OPERATOR_TOKEN.ensure(gateway) == OPERATOR_TOKEN.find(gateway)


def test_processes_that_start_together_agree_on_one_token(gateway: GatewaySettings) -> None:
    with ThreadPoolExecutor(16) as starts:
        tokens = set(starts.map(lambda _: OPERATOR_TOKEN.ensure(gateway), range(16)))
    assert tokens == {OPERATOR_TOKEN.find(gateway)}


def test_a_configured_token_is_used_and_none_is_made(gateway: GatewaySettings) -> None:
    configured = gateway.model_copy(update={"operator_token": SecretStr("0123456789abcdef")})
    assert OPERATOR_TOKEN.ensure(configured) == "0123456789abcdef"
    assert not OPERATOR_TOKEN.path(configured).exists()


@pytest.mark.case("T83")
def test_a_token_that_others_can_read_is_refused_with_the_remedy(gateway: GatewaySettings) -> None:
    OPERATOR_TOKEN.ensure(gateway)
    OPERATOR_TOKEN.path(gateway).chmod(0o644)
    with pytest.raises(ConfigurationError, match=r"can be read by others; chmod 600 .*/operator-token"):
        OPERATOR_TOKEN.ensure(gateway)


def test_a_damaged_token_is_refused_with_the_remedy(gateway: GatewaySettings) -> None:
    OPERATOR_TOKEN.ensure(gateway)
    OPERATOR_TOKEN.path(gateway).write_text("")
    with pytest.raises(ConfigurationError, match="holds no token; remove"):
        OPERATOR_TOKEN.find(gateway)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(ConfigurationError, match="operator-token cannot be"):
        OPERATOR_TOKEN.ensure(GatewaySettings(store=f"sqlite:///{tmp_path}/state/frontdesk.db"))


@pytest.mark.parametrize("wrong", ["", "0123456789abcde", "0123456789abcdef ", "0123456789ABCDEF", "ü\udcff"])
def test_only_the_whole_token_is_the_operators(wrong: str) -> None:
    assert is_operator("0123456789abcdef", "0123456789abcdef")
    assert not is_operator(wrong, "0123456789abcdef")
