"""Where settings come from: which file is read, and what the environment changes."""

from pathlib import Path

import pytest

from config.loading import load, load_gateway
from config.problems import ConfigurationProblems
from tests.config.conftest import AGENT, KINDS, PIGEON, Load, Refusal


def write(path: Path, port: int) -> Path:
    path.write_text(f"[gateway]\nport = {port}\n")
    return path


def test_the_file_that_was_asked_for_comes_before_the_variable_and_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "frontdesk.toml", 1001)
    named, asked = write(tmp_path / "named.toml", 1002), write(tmp_path / "asked.toml", 1003)
    environ = {"FRONTDESK_CONFIG": str(named)}
    assert load(KINDS, config=asked, environ=environ, cwd=tmp_path).gateway.port == 1003
    assert load(KINDS, environ=environ, cwd=tmp_path).gateway.port == 1002
    assert load(KINDS, environ={}, cwd=tmp_path).gateway.port == 1001


def test_a_file_that_was_asked_for_and_is_missing_is_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "frontdesk.toml", 1001)
    with pytest.raises(ConfigurationProblems, match=r"gone\.toml:\n  cannot be read: No such file"):
        load(KINDS, config=Path("gone.toml"), environ={}, cwd=tmp_path)


def test_a_syntax_error_is_named_with_its_line(refused: Refusal) -> None:
    assert "at line 2" in refused("[gateway]\nport 8080")


def test_a_byte_order_mark_at_the_start_of_the_file_is_no_fault(loaded: Load) -> None:
    assert loaded("\ufeff[gateway]\nport = 8081").gateway.port == 8081


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 3000, "[gateway]\nport" + ".a" * 3000 + " = 1", "a = " + "[" * 21 + "]" * 21]
)
def test_brackets_or_dots_without_end_are_said_to_be_that(refused: Refusal, text: str) -> None:
    words = refused(text)
    assert "1 problem in" in words
    assert "it has more than 20 tables or lists inside each other; look for brackets or dots too many" in words


def test_brackets_without_end_in_the_environment_name_their_variable(refused: Refusal) -> None:
    words = refused("", FRONTDESK_GATEWAY__PORT="[" * 50 + "]" * 50)
    assert "FRONTDESK_GATEWAY__PORT: it has more than 20 tables or lists" in words


def test_a_number_without_end_is_said_to_be_that(refused: Refusal) -> None:
    assert "it holds a number of thousands of digits; correct" in refused("[gateway]\nport = " + "9" * 5000)


def test_the_environment_replaces_a_setting(loaded: Load) -> None:
    assert loaded("[gateway]\nport = 1", FRONTDESK_GATEWAY__PORT="8081").gateway.port == 8081


def test_the_environment_reaches_an_account_whose_name_has_dashes(loaded: Load) -> None:
    text = AGENT + PIGEON.replace("nest", "my-nest")
    settings = loaded(text, FRONTDESK_PLUGINS__MY_NEST__LOFT="7", FRONTDESK_PLUGINS__MY_NEST__OWNER="us")
    assert (settings.plugins["my-nest"].settings.loft, settings.plugins["my-nest"].account.owner) == (7, "us")  # type: ignore[attr-defined]


def test_the_environment_reaches_into_tables_and_lists(loaded: Load) -> None:
    nest = loaded(AGENT + PIGEON, FRONTDESK_PLUGINS__NEST__ACCESS__ALLOW="[1, 2]").plugins["nest"]
    assert nest.settings.access.allow == (1, 2)  # type: ignore[attr-defined]


def test_the_environment_can_add_an_account(loaded: Load) -> None:
    added = {"KIND": "pigeon", "AGENT": "echo", "TOKEN": "ring-0123456789"}
    environ = {f"FRONTDESK_PLUGINS__NEW__{key}": value for key, value in added.items()}
    assert loaded(AGENT, **environ).plugins["new"].kind == "pigeon"


def test_a_wrong_value_from_the_environment_names_its_variable(refused: Refusal) -> None:
    words = refused(AGENT, FRONTDESK_GATEWAY__PORT="eighty")
    assert "gateway.port: 'eighty' is wrong" in words
    assert "(from FRONTDESK_GATEWAY__PORT)" in words


def test_a_mistyped_variable_is_an_error_with_a_suggestion(refused: Refusal) -> None:
    assert "did you mean 'gateway'?" in refused(AGENT, FRONTDESK_GATWAY__PORT="1")
    assert "did you mean 'port'?" in refused(AGENT, FRONTDESK_GATEWAY__PROT="1")


def test_variables_without_a_double_underscore_are_no_settings(loaded: Load) -> None:
    assert loaded(AGENT, FRONTDESK_CRASHPOINT="a:1", FRONTDESK_OPERATOR_TOKEN="x").gateway.port == 8080


def test_the_gateway_section_can_be_read_without_the_secrets_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "frontdesk.toml").write_text("[gateway]\nport = 1234\n" + AGENT + PIGEON)
    assert load_gateway(environ={}, cwd=tmp_path).port == 1234


def test_a_setting_that_should_be_a_table_is_refused_with_the_remedy(refused: Refusal) -> None:
    assert "plugins.nest: it is not a table; write [plugins.nest]" in refused('[plugins]\nnest = "pigeon"')
    assert "gateway: it is not a table; write [gateway]" in refused("gateway = 1")
