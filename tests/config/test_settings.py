"""What the settings mean, and what is said about those that cannot be."""

import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError

from config.isolation import isolating, left_out
from config.loading import load
from config.problems import problems_of
from config.settings import AccountSettings, GatewaySettings
from gateway.catalogue import kinds
from tests.config.conftest import AGENT, LISTED, PIGEON, Load, Refusal


def test_a_minimal_file_gives_the_documented_defaults(loaded: Load) -> None:
    gateway = loaded(AGENT).gateway
    assert (gateway.host, gateway.port, gateway.max_turns, gateway.max_queued) == ("127.0.0.1", 8080, 64, 20_000)
    assert (gateway.turns_per_owner, gateway.max_queued_per_owner) == (48, 1000)
    assert (gateway.dedupe_horizon, gateway.retention) == (72 * 3600, 30 * 86_400)
    assert gateway.database == Path(".frontdesk/frontdesk.db")


def test_a_fourth_slash_makes_the_path_of_the_store_absolute() -> None:
    assert GatewaySettings(store="sqlite:////var/lib/desk.db").database == Path("/var/lib/desk.db")


@pytest.mark.parametrize(
    ("written", "seconds"), [("20", 20), ('"20 s"', 20), ('"1.5min"', 90), ('"72h"', 259_200), ('"30 d"', 2_592_000)]
)
def test_a_duration_is_seconds_or_carries_its_unit(loaded: Load, written: str, seconds: float) -> None:
    assert (
        loaded(f"[gateway]\nretention = '60 d'\nforeground_patience = {written}").gateway.foreground_patience == seconds
    )


def test_a_size_may_carry_its_unit(loaded: Load) -> None:
    assert loaded('[gateway]\nbody_limit = "2 MiB"').gateway.body_limit == 2 << 20


def test_an_unknown_key_is_refused_with_its_path_and_a_suggestion(refused: Refusal) -> None:
    assert "gateway.prot: unknown setting 'prot'; did you mean 'port'?" in refused("[gateway]\nprot = 1")


def test_a_mistyped_setting_that_all_accounts_share_is_suggested_too(refused: Refusal) -> None:
    words = refused(AGENT + PIGEON + 'ownr = "us"')
    assert "plugins.nest.ownr: unknown setting 'ownr'; did you mean 'owner'?" in words


def test_a_key_inside_a_nested_table_gets_its_full_path_and_a_suggestion(refused: Refusal) -> None:
    words = refused('[agents.far]\nkind = "remote"\ncard = "https://a"\nauth = { kind = "bearer", tokn = "env:RING" }')
    assert "agents.far.auth.tokn: unknown setting 'tokn'; did you mean 'token'?" in words


def test_an_unknown_section_is_refused_with_a_suggestion(refused: Refusal) -> None:
    assert "unknown section 'plugin'; did you mean 'plugins'?" in refused('[plugin.nest]\nkind = "pigeon"')


def test_an_unknown_kind_is_refused_with_a_suggestion(refused: Refusal) -> None:
    words = refused(AGENT + '[plugins.nest]\nkind = "pidgeon"\nagent = "echo"')
    assert "plugins.nest.kind: unknown kind 'pidgeon'; did you mean 'pigeon'?" in words


def test_a_missing_kind_is_refused_with_the_kinds_there_are(refused: Refusal) -> None:
    words = refused(AGENT + '[plugins.nest]\nagent = "echo"')
    assert "plugins.nest.kind: is required and not set; choose pigeon or mute" in words


def test_a_wrong_value_is_quoted_with_the_remedy(refused: Refusal) -> None:
    words = refused('[gateway]\nport = "eighty"')
    assert "gateway.port: 'eighty' is wrong" in words
    assert "give a port from 1 to 65535" in words


def test_a_missing_setting_is_named_with_its_models_own_advice(refused: Refusal) -> None:
    words = refused(AGENT + '[plugins.nest]\nkind = "pigeon"\nagent = "echo"')
    assert "plugins.nest.token: is required and not set; set it to the pigeon's ring number" in words


def test_all_problems_are_reported_together(refused: Refusal) -> None:
    words = refused('[gateway]\nprot = 1\nmax_turns = 0\n[plugins.nest]\nkind = "pigeon"\nagent = "nobody"\n')
    assert "4 problems in" in words
    for setting in ("gateway.prot", "gateway.max_turns", "plugins.nest.token", "plugins.nest.agent"):
        assert f"\n  {setting}: " in words


def test_a_route_to_an_agent_that_does_not_exist_is_refused_with_a_suggestion(refused: Refusal) -> None:
    words = refused(AGENT + PIGEON.replace('agent = "echo"', 'agent = "ehco"'))
    assert "plugins.nest.agent: unknown agent 'ehco'; did you mean 'echo'?" in words


def test_a_local_agent_that_does_not_exist_is_refused_with_a_suggestion(refused: Refusal) -> None:
    words = refused('[agents.desk]\nkind = "local"\nentry = "concierg"')
    assert "agents.desk.entry: unknown local agent 'concierg'; did you mean 'concierge'?" in words


@pytest.mark.parametrize("name", ["Support", "my bot", "a" * 65, "a/b", "ä"])
def test_a_name_that_cannot_be_part_of_an_address_is_refused(refused: Refusal, name: str) -> None:
    assert "cannot be a name" in refused(f'[agents."{name}"]\nkind = "local"\nentry = "echo"')


@pytest.mark.case("T93")
def test_two_accounts_that_differ_by_dashes_alone_are_refused(refused: Refusal) -> None:
    words = refused(AGENT + PIGEON.replace("nest", "my-nest") + PIGEON.replace("nest", "my_nest"))
    assert "plugins.my_nest: its name differs from 'my-nest' by dashes alone" in words


@pytest.mark.case("T93")
def test_one_account_written_twice_is_refused(refused: Refusal) -> None:
    words = refused(AGENT + PIGEON + PIGEON)
    assert "it is not TOML: [plugins.nest] stands there twice (at line" in words
    assert words.endswith("; give one of them another name")


@pytest.mark.case("DEL-21")
@pytest.mark.case("SEC-07")
def test_a_missing_key_takes_its_strictest_value(loaded: Load) -> None:
    nest = loaded(AGENT + PIGEON).plugins["nest"]
    assert (nest.account.owner, nest.account.fixed_owner, nest.settings.access.direct) == ("per_sender", "", "allow")  # type: ignore[attr-defined]
    assert loaded(AGENT).gateway.host == "127.0.0.1"


STRICTEST = {
    "gateway": {"host": "127.0.0.1"},
    "agents.remote": {"allow_private_network": False},
    "plugins.partners": {"owner": "per_sender", "anonymous": "off"},
    "plugins.bot": {"owner": "per_sender", "access.direct": "allow", "access.groups": "off"},
    "plugins.page": {"owner": "per_sender", "access.direct": "allow"},
    "plugins.official": {"owner": "per_sender", "access.direct": "allow", "mode": "safe"},
}
LEAST = f"""
[agents.remote]
kind = "a2a"
card = "https://agents.example.com/"
[plugins.partners]
kind = "a2a"
agent = "remote"
[plugins.bot]
kind = "telegram"
agent = "remote"
token = "4711:{"A" * 35}"
[plugins.page]
kind = "webchat"
agent = "remote"
[plugins.official]
kind = "wechat"
agent = "remote"
app_id = "wx0123456789abcdef"
app_secret = "{"0" * 32}"
token = "aToken"
encoding_aes_key = "{"a" * 43}"
"""


@pytest.mark.case("DEL-21")
def test_every_key_that_isolates_is_at_its_strictest_where_it_is_missing_and_is_said_to_be(tmp_path: Path) -> None:
    """The strictest of each by hand, so that a looser default is noticed; and nothing is said of what is set."""
    path = tmp_path / "frontdesk.toml"
    path.write_text(LEAST)
    settings = load(kinds(), environ={}, config=path)
    found: dict[str, dict[str, object]] = {}
    for each in isolating(settings):
        assert not each.is_set
        found.setdefault(each.table, {})[each.path] = each.value
    assert found == STRICTEST
    assert 'plugins.page: owner = "per_sender", access.direct = "allow"' in left_out(settings)
    path.write_text(LEAST.replace('kind = "webchat"', 'kind = "webchat"\nowner = "team"\naccess.direct = "open"'))
    assert not [line for line in left_out(load(kinds(), environ={}, config=path)) if line.startswith("plugins.page")]


def test_a_kind_has_the_last_word_on_the_default_of_a_common_setting(loaded: Load) -> None:
    assert loaded(AGENT + PIGEON).plugins["nest"].account.on_unknown == "skip"
    assert loaded(AGENT + PIGEON + 'on_unknown = "ask"').plugins["nest"].account.on_unknown == "ask"
    assert AccountSettings(kind="any", agent="echo").on_unknown == "ask"


def test_a_horizon_below_48_hours_is_refused(refused: Refusal) -> None:
    assert "gateway.dedupe_horizon" in refused('[gateway]\ndedupe_horizon = "47 h"')


def test_one_owner_cannot_be_given_more_turns_than_there_are(refused: Refusal) -> None:
    words = refused("[gateway]\nmax_turns = 4\nmax_turns_per_owner = 5")
    assert "gateway.max_turns_per_owner: is above max_turns; lower it, or leave it out" in words


def test_what_two_settings_disagree_on_is_said_of_the_one_to_change(refused: Refusal) -> None:
    words = refused('[gateway]\nretention = "50 h"\ndedupe_horizon = "60 h"')
    assert "  gateway.retention: is shorter than dedupe_horizon; raise it, or lower the horizon" in words


def test_a_duration_is_quoted_as_it_was_written(refused: Refusal) -> None:
    assert "gateway.shutdown_grace: '2 h' is wrong" in refused('[gateway]\nshutdown_grace = "2 h"')
    assert "gateway.shutdown_grace: '2 h' is wrong" in refused("", FRONTDESK_GATEWAY__SHUTDOWN_GRACE="2 h")
    assert "gateway.shutdown_grace: 7200 is wrong" in refused("[gateway]\nshutdown_grace = 7200")


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("perches = 0", "write 1 or more"),
        ("perches = 99", "write 9 or less"),
        ("perches = 1.5", "write a whole number"),
        ('song = ""', "write 1 or more characters"),
        ('song = "coo coo"', "write what matches ^[a-z]*$"),
        ("crumbs = []", "list 1 or more"),
    ],
)
def test_a_bound_says_what_to_write(written: str, remedy: str) -> None:
    class Loft(BaseModel):
        perches: int = Field(1, ge=1, le=9)
        song: str = Field("coo", min_length=1, pattern="^[a-z]*$")
        crumbs: tuple[str, ...] = Field(("bread",), min_length=1)

    table = tomllib.loads(written)
    with pytest.raises(ValidationError) as refusal:
        Loft.model_validate(table)
    (problem,) = problems_of(refusal.value, "plugins.loft", Loft, written=table, sources={})
    assert problem.remedy == remedy


@pytest.mark.parametrize("store", ["postgresql://desk@db/desk", "sqlite:///:memory:", "frontdesk.db", "sqlite:///"])
def test_a_store_that_keeps_nothing_or_is_unknown_is_refused(refused: Refusal, store: str) -> None:
    assert "only a SQLite file can be the store; write sqlite:///PATH" in refused(f'[gateway]\nstore = "{store}"')


@pytest.mark.parametrize(
    "url", ["desk.example.com", "ftp://desk.example.com", "https://", "https://u:p@desk", "https://d/?a"]
)
def test_a_public_url_that_is_no_plain_address_is_refused(refused: Refusal, url: str) -> None:
    assert "gateway.public_url: it is not an http or https address" in refused(f'[gateway]\npublic_url = "{url}"')


def test_a_short_operator_token_is_refused_without_being_shown(refused: Refusal) -> None:
    words = refused('[gateway]\noperator_token = "hunter2"')
    assert "gateway.operator_token: it needs 16 to 512" in words
    assert "hunter2" not in words


def test_a_value_under_a_mistyped_secret_is_never_quoted(refused: Refusal) -> None:
    assert "ring-number-one" not in refused(AGENT + PIGEON + 'tokn = "ring-number-one"')


@pytest.mark.case("T87")
def test_a_public_host_needs_an_operator_token(refused: Refusal) -> None:
    words = refused('[gateway]\nhost = "0.0.0.0"')
    assert "gateway.host: 0.0.0.0 is reachable by others and gateway.operator_token is not set" in words
    assert "listen on 127.0.0.1" in words


@pytest.mark.case("T87")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "desk.example.com"])
def test_a_public_host_needs_every_account_authenticated(refused: Refusal, host: str) -> None:
    text = f'[gateway]\nhost = "{host}"\noperator_token = "0123456789abcdef"\n' + AGENT + PIGEON
    words = refused(text + 'access = { direct = "open" }')
    assert f"plugins.nest: {host} is reachable by others and this account is not authenticated" in words


@pytest.mark.case("T87")
def test_an_account_that_does_not_say_how_it_authenticates_counts_as_open(refused: Refusal) -> None:
    text = '[gateway]\nhost = "::"\noperator_token = "0123456789abcdef"\n'
    assert "does not say how" in refused(text + AGENT + '[plugins.nest]\nkind = "mute"\nagent = "echo"')


@pytest.mark.case("T87")
def test_a_public_host_is_taken_when_everything_is_authenticated(loaded: Load) -> None:
    text = '[gateway]\nhost = "0.0.0.0"\noperator_token = "0123456789abcdef"\n'
    assert not loaded(text + AGENT + PIGEON).gateway.is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_authentication(loaded: Load, host: str) -> None:
    assert loaded(f'[gateway]\nhost = "{host}"\n' + AGENT + PIGEON + 'access = { direct = "open" }').gateway.is_loopback


@pytest.mark.case("SRC-12")
def test_an_account_that_lets_nobody_in_is_warned_of(loaded: Load) -> None:
    [warning] = loaded(AGENT + PIGEON).warnings
    assert "plugins.nest.access.allow is empty" in warning
    assert loaded(AGENT + PIGEON + LISTED).warnings == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gateway]\nport = true", "gateway.port: true is no number; give a port"),
        ("[gateway]\nbody_limit = false", "gateway.body_limit: false is no number; give a size"),
        (AGENT + PIGEON + "loft = true", "plugins.nest.loft: true is no number; give a number"),
        (AGENT + PIGEON + "access = { allow = [7, true] }", "plugins.nest.access.allow.1: true is no number"),
    ],
)
def test_true_and_false_are_no_numbers(refused: Refusal, text: str, said: str) -> None:
    assert "1 problem in" in refused(text)
    assert said in refused(text)


REMOTE = '[agents.far]\nkind = "remote"\ncard = "https://a"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            REMOTE + 'push = "yes"',
            "agents.far.push: 'yes' is neither true nor false; write true or false without quotes, or \"auto\"",
        ),
        (REMOTE + "push = 1", "agents.far.push: 1 is neither true nor false"),
        (REMOTE + 'is_trusted = "false"', "'false' is neither true nor false; write true or false without quotes"),
        (AGENT + PIGEON + 'choose = "on"', "plugins.nest.choose: 'on' is neither true nor false; give true"),
    ],
)
def test_words_and_numbers_are_neither_true_nor_false(refused: Refusal, text: str, said: str) -> None:
    assert "1 problem in" in refused(text)
    assert said in refused(text)


def test_a_word_that_may_stand_beside_true_and_false_is_taken(loaded: Load) -> None:
    assert getattr(loaded(AGENT + REMOTE + 'push = "auto"').agents["far"].settings, "push", "") == "auto"


def test_true_and_false_of_the_environment_are_text(loaded: Load) -> None:
    environ = {"FRONTDESK_AGENTS__FAR__PUSH": "false", "FRONTDESK_AGENTS__FAR__IS_TRUSTED": "true"}
    far = loaded(AGENT + REMOTE, **environ).agents["far"].settings
    assert (getattr(far, "push", ""), getattr(far, "is_trusted", "")) == (False, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gateway]\npublic_url = 7", "gateway.public_url: 7 is not text; give the address"),
        (AGENT + PIGEON + 'access = "open"', "plugins.nest.access: 'open' is not a table; write it in braces, { ... }"),
        (AGENT + PIGEON + "access = { allow = 7 }", "plugins.nest.access.allow: 7 is not a list; write it in brackets"),
        ('[agents.far]\nkind = "remote"\ncard = "https://a"\nauth = {}', "set its kind to one of 'bearer', 'api_key'"),
    ],
)
def test_a_value_of_the_wrong_shape_is_told_in_the_words_of_the_file(refused: Refusal, text: str, said: str) -> None:
    assert said in refused(text)


def test_what_an_account_and_its_kind_both_read_is_wrong_once(refused: Refusal) -> None:
    words = refused(AGENT + PIGEON + 'on_unknown = "aks"')
    assert "1 problem in" in words
    assert "plugins.nest.on_unknown: 'aks' is not known" in words


@pytest.mark.parametrize(
    ("agents", "agent", "said"),
    [
        ("", "echo", "plugins.nest.agent: unknown agent 'echo'; configure it as [agents.echo]"),
        ("", "", "plugins.nest.agent: it names no agent; name one of [agents.*]"),
        ("", "no name", "plugins.nest.agent: unknown agent 'no name'; name one of [agents.*]"),
        (AGENT, "desk", "plugins.nest.agent: unknown agent 'desk'; known here: echo"),
    ],
)
def test_an_agent_that_is_missing_is_what_is_to_be_added(refused: Refusal, agents: str, agent: str, said: str) -> None:
    words = refused(agents + f'[plugins.nest]\nkind = "pigeon"\nagent = "{agent}"\ntoken = "env:RING"\n')
    assert "1 problem in" in words
    assert said in words


def test_what_would_colour_a_terminal_is_said_in_harmless_characters(refused: Refusal) -> None:
    words = refused('[gateway]\n"\\u001b[31m" = 1\nlog_level = "\\u202e"')
    assert words.count("\n") == 2
    assert words.replace("\n", "").isprintable()
