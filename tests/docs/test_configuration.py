"""docs/configuration.md lists every setting with its default, and none that does not exist."""

import tomllib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from a2a.server.facade import LIVE
from config.settings import AccountSettings, GatewaySettings
from config.shape import literals, tables_in
from gateway import catalogue
from gateway.reload import LIVE_GATEWAY
from tests.docs.reading import coded, document, first, rows, sections

SECTIONS = sections(document("docs/configuration.md"))
GUIDES = {"a2a": "docs/a2a-server.md"}  # plugins whose settings stand there, with a test of their own
NOT_SET, REQUIRED = "not set", "required"

Model = type[BaseModel]


def nested(model: Model, title: str) -> Iterator[tuple[str, Model]]:
    """The model under its heading, and each table inside it under one of its own."""
    yield title, model
    for name in model.model_fields:
        for inner in tables_in(model, name):
            kinds = literals(inner, "kind")
            yield (f'`{name}` with `kind = "{kinds[0]}"`' if kinds else f"`{name}` of {title}"), inner


def documented_models() -> dict[str, Model]:
    kinds = catalogue.kinds()
    found: dict[str, Model] = {"`[gateway]`": GatewaySettings} | dict(nested(AccountSettings, "Every kind"))
    for group, elsewhere in ((kinds.agents, {}), (kinds.plugins, GUIDES)):
        for kind in set(group) - set(elsewhere):
            found |= dict(nested(group[kind], f'`kind = "{kind}"`'))
    return found


MODELS = documented_models()


def fields_of(title: str) -> dict[str, FieldInfo]:
    """The settings that belong under the heading: of an account's kind, those that differ from every account's."""
    model = MODELS[title]
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    if model not in {catalogue.kinds().plugins[kind] for kind in catalogue.kinds().plugins}:
        return fields
    common = AccountSettings.model_fields
    return {name: field for name, field in fields.items() if name not in common or differs(field, common[name])}


def differs(field: FieldInfo, common: FieldInfo) -> bool:
    """`kind` has the kind itself for its default, which its heading says."""
    return bool(field.default != common.default and not common.is_required())


SETTINGS = [(title, name) for title in MODELS for name in fields_of(title)]


@pytest.mark.parametrize("title", MODELS)
def test_a_table_lists_exactly_the_settings_that_exist(title: str) -> None:
    assert title in SECTIONS, f"docs/configuration.md has no heading {title}"
    assert [first(row[0]) for row in rows(SECTIONS[title])] == list(fields_of(title))


@pytest.mark.parametrize(("title", "name"), SETTINGS)
def test_the_default_of_a_setting_is_the_documented_one(title: str, name: str) -> None:
    field, written = fields_of(title)[name], row_of(title, name)[1].strip("`")
    if name == "kind" or field.is_required():
        assert written == REQUIRED
    elif field.get_default(call_default_factory=True) is None:
        assert written == NOT_SET
    else:
        assert as_read(field, tomllib.loads(f"it = {written}")["it"]) == field.get_default(call_default_factory=True)


@pytest.mark.parametrize(("title", "name"), SETTINGS)
def test_every_value_that_a_setting_may_have_is_explained(title: str, name: str) -> None:
    choices = [value for value in choices_of(fields_of(title)[name].annotation) if value]
    explained = coded(row_of(title, name)[2])
    assert [value for value in choices if f'"{value}"' not in explained] == []


def test_every_heading_of_settings_has_its_model() -> None:
    tables = {title for title, text in SECTIONS.items() if "| setting | default |" in text}
    assert tables == set(MODELS)


def test_what_changes_without_a_restart_is_listed() -> None:
    named = set(coded(SECTIONS["Changing it while it runs"]))
    assert named & set(GatewaySettings.model_fields) == LIVE_GATEWAY
    assert named - LIVE_GATEWAY >= {"access", "limits"} | LIVE


def row_of(title: str, name: str) -> list[str]:
    return next(row for row in rows(SECTIONS[title]) if first(row[0]) == name)


def as_read(field: FieldInfo, value: Any) -> Any:
    """What the setting becomes when an operator writes the value."""
    annotation: Any = field.annotation
    for each in field.metadata:
        annotation = Annotated[annotation, each]
    return TypeAdapter(annotation).validate_python(value)


def choices_of(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for inner in get_args(annotation) for choice in choices_of(inner)]
