"""Whatever stands in a configuration, the check says the setting, the cause and the remedy, and never fails itself.

A configuration that is right is spoilt in one to three places: by its text, as an editor or a copy would do it, and by
its values, as somebody would who mistook one setting for another.
"""

import copy
import datetime
import json
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.cli_commands import command

RIGHT = """
[gateway]
port = 0
public_url = "https://desk.example.com"
store = "sqlite:///%s/desk.db"
operator_token = "env:DESK_OPERATOR"
max_turns = 8
max_turns_per_owner = 4
shutdown_grace = "5 s"
retention = "30 d"
body_limit = "1 MiB"
log_level = "info"

[agents.echo]
kind = "local"
entry = "echo"
options = { chunks = 3 }

[agents.research]
kind = "a2a"
card = "https://agents.example.com/.well-known/agent-card.json"
auth = { kind = "api_key", name = "X-API-Key", in = "header", value = "env:DESK_KEY" }
resubmit = "never"

[plugins.support]
kind = "telegram"
token = "env:DESK_TOKEN"
mode = "webhook"
webhook_secret = "env:DESK_SECRET"
agent = "research"
fallback = "echo"
access = { direct = "allow", groups = "mention", allow = [7] }
limits = { per_second = 30, per_chat_second = 1 }
collect = "2 s"
routes = [{ chat = 5, agent = "echo" }, { command = "/ask", language = "zh", agent = "research" }]

[plugins.web]
kind = "webchat"
agent = "echo"
access = { direct = "open" }
title = "Desk"
choose = true

[plugins.called]
kind = "a2a"
agent = "echo"
anonymous = "shared"
expose = ["echo"]
"""
SECRETS = {
    "DESK_OPERATOR": "operator-0123456789",
    "DESK_KEY": "key-0123456789",
    "DESK_TOKEN": "123456789:ABCdefGHIjklMNOpqrSTUvwxYZ012345678",
    "DESK_SECRET": "secret_0123456789",
}
WRONG: tuple[Any, ...] = (
    *(True, False, 0, -1, 1, 10**30, 10**400, -0.5, math.inf, math.nan, "", " ", "0", "-1 s", "true", "inf", "9" * 400),
    *(
        "env:",
        "env:DESK_NO_SUCH",
        "file:",
        "file:no-such",
        "file:/dev/zero",
        "file:~nobody-here/x",
        "file:\0",
        "env:\0",
    ),
    *("\0", "\u202e", "é" * 300, "%s%d{}", "../..", "/", "[", "{", "sqlite:///\0", "sqlite:////proc/desk.db", "no one"),
    *("https://", "https://[::1", "http://a:99999999/", "https://a b", "echo", "research", "local", "telegram", "open"),
    *([], {}, [[]], [{}], [1, "a", True], {"kind": "a2a"}, {"kind": []}, {"": ""}, {"a": {"b": {"c": {}}}}),
    *(datetime.date(2026, 1, 1), datetime.time(1, 2), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),
)
SNIPPETS = (
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\0",
    "\ufeff",
    "[a.",
    "[[plugins.web.routes]]\n",
    "\\",
)

Path_ = tuple[Any, ...]


def places(table: Any, path: Path_ = ()) -> Iterator[Path_]:
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@st.composite
def spoilt_values(draw: st.DrawFn) -> str:
    tables = copy.deepcopy(tomllib.loads(RIGHT))
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from(list(places(tables))))
        here = tables
        for part in above:
            here = here[part]
        how = draw(st.sampled_from(["replace", "replace", "remove", "rename"]))
        if how == "replace":
            here[last] = copy.deepcopy(draw(st.sampled_from(WRONG)))
        else:
            value = here.pop(last)
            if how == "rename" and isinstance(here, dict):
                here[draw(st.sampled_from(["", "a.b", "kimd", "\0", "é", "DESK", "k" * 300]))] = value
    return "\n".join(f"{_text(name)} = {_text(value)}" for name, value in tables.items())


@st.composite
def spoilt_text(draw: st.DrawFn) -> str:
    text = RIGHT
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.sampled_from([0, 0, 1, 2, 20, 400])))
        text = text[:begin] + draw(st.sampled_from(["", *SNIPPETS, "[" * 3000, "a." * 3000, "9" * 5000])) + text[end:]
    return text


def _text(value: Any) -> str:
    """As TOML, with tables on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(key))} = {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value)
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else repr(value)


@settings(max_examples=300, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(spoilt_values(), spoilt_text()))
def test_whatever_a_configuration_holds_the_check_names_setting_cause_and_remedy(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "frontdesk.toml").write_text(text.replace("%s", str(tmp_path)), errors="replace", newline="")
    code = command(["check"])
    said = capsys.readouterr()
    assert not [secret for secret in SECRETS.values() if secret in said.out + said.err]
    assert (code == 0) == (said.err == "")
    if code:
        assert code == 2
        heading, *found = said.err.rstrip("\n").split("\n  ")
        assert heading.startswith(f"frontdesk: {len(found)} problem"), said.err
        for problem in found:
            cause, _, remedy = problem.partition("; ")
            assert cause, said.err
            assert remedy, said.err
    assert [each.name for each in tmp_path.iterdir()] == ["frontdesk.toml"]


def test_the_configuration_that_is_spoilt_is_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "frontdesk.toml").write_text(RIGHT.replace("%s", str(tmp_path)))
    assert command(["check", "--config", str(tmp_path / "frontdesk.toml")]) == 0
    assert capsys.readouterr().err == ""
