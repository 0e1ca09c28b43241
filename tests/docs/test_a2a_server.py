"""docs/a2a-server.md: its configuration can be used, and its tables have every setting with its default."""

import re
import tomllib

import pytest
from pydantic import BaseModel

from a2a.server import settings
from tests.a2a.server.site import AGENT, serving
from tests.conformance.__main__ import command_line
from tests.docs.reading import all_blocks, coded, document, first, rows, sections

SECTIONS = sections(document("docs/a2a-server.md"))
MODELS: dict[str, type[BaseModel]] = {
    "Settings": settings.A2AServerSettings,
    "`callers`": settings.CallerSettings,
    "`cards`": settings.CardSettings,
    "`extensions`": settings.ExtensionSettings,
    "`limits`": settings.LimitSettings,
}
SETTINGS = [(title, name) for title, model in MODELS.items() for name in model.model_fields]


@pytest.mark.parametrize("title", MODELS)
def test_a_table_lists_exactly_the_settings_that_exist(title: str) -> None:
    assert [first(row[0]) for row in rows(SECTIONS[title])] == list(MODELS[title].model_fields)


@pytest.mark.parametrize(("title", "name"), SETTINGS)
def test_the_default_of_a_setting_is_the_documented_one(title: str, name: str) -> None:
    field = MODELS[title].model_fields[name]
    written = next(row[1] for row in rows(SECTIONS[title]) if first(row[0]) == name).strip("`")
    if name == "kind" or field.is_required():
        assert written == "required"
    elif field.default is None:
        assert written == "not set"
    else:
        default = field.default
        shown = {} if isinstance(default, BaseModel) else list(default) if isinstance(default, tuple) else default
        assert tomllib.loads(f"it = {written}")["it"] == shown


def test_the_configuration_can_be_used() -> None:
    (block,) = all_blocks("toml a2a")
    told = tomllib.loads(re.sub(r'"env:\w+"', lambda match: f'"{match[0].strip(chr(34)) + "0" * 16}"', block.text))
    read = settings.A2AServerSettings.model_validate(told["plugins"]["partners"])
    assert set(read.exposed) == set(told["agents"])
    assert read.cards["research"].skills[0].id == "find"


def test_what_strangers_may_do_is_explained() -> None:
    named = [first(row[0]).strip('"') for row in rows(SECTIONS["Who may call"])]
    assert named == ["off", "by_id", "shared"]


def test_the_commands_of_the_kits_can_be_typed() -> None:
    (block,) = (it for it in all_blocks("sh") if it.document == "docs/conformance.md")
    for line in block.text.splitlines():
        assert line.startswith("python -m tests.conformance ")
        assert command_line().parse_args(line.split()[3:]).port == 9999


async def test_the_paths_are_those_that_are_served() -> None:
    named = {word for row in rows(SECTIONS["Being called over A2A"]) for word in coded(row[0])}
    async with serving() as site:
        served = {resource.canonical for resource in site.resources}
    assert {path.replace("AGENT", AGENT).replace("ID", "{id}") for path in named} <= served
