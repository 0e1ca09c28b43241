"""True and false where a number is asked for, and words and numbers where true or false is: a model would take each
for the other, and `"off"` for false, `"on"` for true, where nobody can tell any more what was meant.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from config.problems import Problem, advice, quoted
from config.shape import is_number, is_truth_value, literals, narrowed, tables_in


def misplaced(
    table: Mapping[str, Any], model: type[BaseModel], path: str, *, as_text: Collection[str] = ()
) -> Iterator[Problem]:
    """`as_text` are the settings that came from where everything is text."""
    for key, value in table.items():
        for setting, each in _each(value, f"{path}.{key}"):
            if isinstance(each, bool) and is_number(model, key):
                cause = f"{str(each).lower()} is no number"
                yield Problem(setting, cause, advice(model, (key,)) or "give a number")
            elif _is_no_truth_value(each, model, key) and setting not in as_text:
                yield _no_truth_value(setting, each, model, key)
            elif isinstance(each, Mapping):
                for inner in narrowed(tables_in(model, key), each)[:1]:
                    yield from misplaced(each, inner, setting, as_text=as_text)


def _is_no_truth_value(value: Any, model: type[BaseModel], key: str) -> bool:
    is_other = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_other and is_truth_value(model, key, besides=value)


def _no_truth_value(setting: str, value: Any, model: type[BaseModel], key: str) -> Problem:
    words = "".join(f', or "{word}"' for word in literals(model, key) if isinstance(word, str))
    remedy = advice(model, (key,)) or f"write true or false without quotes{words}"
    return Problem(setting, f"{quoted(setting, value)} is neither true nor false", remedy)


def _each(value: Any, setting: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield from ((f"{setting}.{number}", item) for number, item in enumerate(value))
    else:
        yield setting, value
