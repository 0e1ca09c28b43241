"""Secret references, and that no secret is seen where it should not be."""

from pathlib import Path

import pytest

from config.loading import load
from config.secrets import shown
from config.settings import Settings
from tests.config.conftest import AGENT, KINDS, LISTED, PIGEON, Load, Refusal

RING = "ring-0123456789"


def token(settings: Settings) -> str:
    return settings.plugins["nest"].settings.token.get_secret_value()  # type: ignore[attr-defined, no-any-return]


def test_a_secret_may_be_written_out_or_come_from_the_environment(loaded: Load) -> None:
    assert token(loaded(AGENT + PIGEON)) == RING
    assert token(loaded(AGENT + PIGEON.replace("env:RING", "written-out"))) == "written-out"


def test_a_secret_may_come_from_a_file_beside_the_configuration(loaded: Load, tmp_path: Path) -> None:
    (tmp_path / "ring").write_text("from-a-file\n")
    (tmp_path / "ring").chmod(0o600)
    assert token(loaded(AGENT + PIGEON.replace("env:RING", "file:ring"))) == "from-a-file"


def test_a_secret_inside_a_nested_table_is_resolved(loaded: Load) -> None:
    far = loaded('[agents.far]\nkind = "remote"\ncard = "https://a"\nauth = { kind = "bearer", token = "env:RING" }')
    assert far.agents["far"].settings.auth.token.get_secret_value() == RING  # type: ignore[attr-defined]


def test_a_missing_variable_is_an_error_that_names_the_setting(refused: Refusal) -> None:
    words = refused(AGENT + PIGEON.replace("env:RING", "env:LOST_RING"))
    assert words.count("plugins.nest.token") == 1
    assert "plugins.nest.token: the environment variable LOST_RING is not set; set LOST_RING" in words


@pytest.mark.parametrize("written", ["RING", "$RING", "${RING}"])
def test_a_variables_name_without_env_is_named_with_what_to_write(refused: Refusal, written: str) -> None:
    words = refused(AGENT + PIGEON.replace("env:RING", written))
    assert words.count("plugins.nest.token") == 1
    assert "it is the name of the environment variable RING, and not a secret; write env:RING" in words


def test_an_empty_variable_is_no_secret(refused: Refusal) -> None:
    assert "the environment variable RING is empty" in refused(AGENT + PIGEON, RING="")


@pytest.mark.case("T83")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_secret_file_that_others_can_use_is_refused_with_the_remedy(
    refused: Refusal, tmp_path: Path, mode: int
) -> None:
    (tmp_path / "ring").write_text("from-a-file")
    (tmp_path / "ring").chmod(mode)
    words = refused(AGENT + PIGEON.replace("env:RING", "file:ring"))
    assert f"plugins.nest.token: {tmp_path / 'ring'} can be read by others (mode {mode:04o})" in words
    assert f"chmod 600 {tmp_path / 'ring'}" in words
    assert "from-a-file" not in words


@pytest.mark.parametrize("name", ["gone", ".", "empty", "binary"])
def test_a_secret_file_that_holds_no_secret_is_refused(refused: Refusal, tmp_path: Path, name: str) -> None:
    for file, content in (("empty", b"\n"), ("binary", b"\xff\xfe")):
        (tmp_path / file).write_bytes(content)
        (tmp_path / file).chmod(0o600)
    assert "plugins.nest.token: " in refused(AGENT + PIGEON.replace("env:RING", f"file:{name}"))


@pytest.mark.case("T83")
def test_a_file_with_secrets_that_everybody_can_read_is_warned_about(loaded: Load, tmp_path: Path) -> None:
    assert loaded(AGENT + PIGEON.replace("env:RING", "written-out") + LISTED).warnings == ()
    (tmp_path / "frontdesk.toml").chmod(0o644)
    (warning,) = load(KINDS, environ={}, cwd=tmp_path).warnings
    assert "plugins.nest.token" in warning
    assert f"chmod 600 {tmp_path / 'frontdesk.toml'}" in warning


def test_a_file_without_secrets_may_be_read_by_everybody(tmp_path: Path) -> None:
    path = tmp_path / "frontdesk.toml"
    path.write_text(AGENT + PIGEON + LISTED)
    path.chmod(0o644)
    assert load(KINDS, environ={"RING": RING}, cwd=tmp_path).warnings == ()


@pytest.mark.case("T83")
@pytest.mark.case("T52")
def test_settings_show_that_a_secret_is_set_and_never_what_it_is(loaded: Load) -> None:
    settings = loaded(AGENT + PIGEON)
    nest = settings.plugins["nest"].settings
    assert shown(nest)["token"] == {"set": True}
    assert RING not in repr(settings) + str(shown(nest)) + nest.model_dump_json()


def test_settings_know_all_their_secrets(loaded: Load) -> None:
    settings = loaded('[gateway]\noperator_token = "0123456789abcdef"\n' + AGENT + PIGEON)
    assert settings.secrets() == {"0123456789abcdef", RING}


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("env:", "env: names no environment variable; write env:NAME"),
        ("env:  ", "env: names no environment variable; write env:NAME"),
        ("file:", "file: names no file; write file:PATH"),
        ("file:~nobody-by-this-name/token", "'~nobody-by-this-name/token' is not a path; write file:PATH"),
        ("file:a\\u0000b", "'a\\x00b' is not a path; write file:PATH"),
    ],
)
def test_a_reference_to_nothing_says_what_to_write(refused: Refusal, reference: str, said: str) -> None:
    words = refused(AGENT + f'[plugins.nest]\nkind = "pigeon"\nagent = "echo"\ntoken = "{reference}"')
    assert "1 problem in" in words
    assert f"plugins.nest.token: {said}" in words
