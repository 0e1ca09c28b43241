"""True and false where a number is asked for: a model would take them for 1 and 0, and nobody means that."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from config.problems import Problem, advice
from config.shape import is_number, narrowed, tables_in


def misplaced(table: Mapping[str, Any], model: type[BaseModel], path: str) -> Iterator[Problem]:
    for key, value in table.items():
        for setting, each in _each(value, f"{path}.{key}"):
            if isinstance(each, bool) and is_number(model, key):
                cause = f"{str(each).lower()} is no number"
                yield Problem(setting, cause, advice(model, (key,)) or "give a number")
            elif isinstance(each, Mapping):
                for inner in narrowed(tables_in(model, key), each)[:1]:
                    yield from misplaced(each, inner, setting)


def _each(value: Any, setting: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield from ((f"{setting}.{number}", item) for number, item in enumerate(value))
    else:
        yield setting, value
