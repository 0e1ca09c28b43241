"""What is wrong with a configuration, in the operator's words: the setting, the cause, the remedy.

Every problem is found before any is reported, so that one look at the list mends the file. A value is quoted only when
it cannot be a secret: a mistyped key may well hold a token.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from config.shape import at, fields_of, literals
from core.errors import ConfigurationError

_MAY_BE_SECRET = re.compile(r"token|secret|password|key|value|auth|credential", re.IGNORECASE)
_QUOTED_AT_MOST = 60  # characters of a wrong value
_NAMED_AT_MOST = 150  # characters of a setting's path; names have 64 at most
_SHAPES = {  # by pydantic's word for what was expected; its own words are Python's
    "bool_parsing": ("true or false", "write it without quotes"),
    "bool_type": ("true or false", "write it without quotes"),
    "dict_type": ("a table", "write it in braces, { ... }"),
    "list_type": ("a list", "write it in brackets, [ ... ]"),
    "model_attributes_type": ("a table", "write it in braces, { ... }"),
    "model_type": ("a table", "write it in braces, { ... }"),
    "string_type": ("text", "put it in quotes"),
    "tuple_type": ("a list", "write it in brackets, [ ... ]"),
}
_BOUNDS = {  # what to write instead, by pydantic's word for what is wrong; in braces what it says of the bound
    "float_parsing": "write a number",
    "float_type": "write a number",
    "greater_than": "write more than {gt}",
    "greater_than_equal": "write {ge} or more",
    "int_from_float": "write a whole number",
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "less_than_equal": "write {le} or less",
    "string_pattern_mismatch": "write what matches {pattern}",
    "string_too_long": "write {max_length} or fewer characters",
    "string_too_short": "write {min_length} or more characters",
    "too_long": "list {max_length} or fewer",
    "too_short": "list {min_length} or more",
}
_ELSE = "write it as docs/configuration.md or the page of its kind there says"
_FIELD = re.compile(
    r"([a-z][a-z0-9_]*)((?:\.[^\s:]+)*):? (.*)", re.DOTALL
)  # that the words of a whole table begin with


@dataclass(frozen=True, slots=True)
class Problem:
    """`setting` is the dotted path, "" when the file as a whole is meant."""

    setting: str
    cause: str
    remedy: str
    variable: str = ""  # the environment variable that has no secret for it, where that is all

    def __str__(self) -> str:
        place = f"{shortened(self.setting, _NAMED_AT_MOST)}: " if self.setting else ""
        words = f"{place}{self.cause}; {self.remedy}" if self.remedy else f"{place}{self.cause}"
        return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in words)  # one line, and no colours


class ConfigurationProblems(ConfigurationError):
    """Everything that must change before the gateway can start."""

    def __init__(self, origin: str, problems: Iterable[Problem]) -> None:
        self.origin = origin
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"{count} in {origin}:{lines}", setting=self.problems[0].setting if self.problems else "")


def unknown(
    setting: str, name: str, known: Iterable[str], what: str = "setting", *, missing: str = "remove it"
) -> Problem:
    """A name nobody reads, with the known one it resembles, or all of them when it resembles none.

    `missing` is the remedy where no name is known at all.
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6) or get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    known_here = f"known here: {', '.join(names)}" if names else missing
    return Problem(
        setting, f"unknown {what} '{shortened(name)}'", f"did you mean '{close[0]}'?" if close else known_here
    )


def problems_of(
    error: ValidationError,
    prefix: str,
    model: type[BaseModel],
    *,
    written: Mapping[str, Any],
    sources: Mapping[str, str],
    beside: Iterable[str] = (),
) -> list[Problem]:
    """One problem for each thing pydantic found in the table called `prefix`, which was `written` so.

    `sources` names the environment variable of each setting that came from one; `beside` are settings of the same
    table that another model reads, and that a mistyped one may have meant.
    """
    found = []
    for item in error.errors(include_url=False):
        loc = tuple(part for part in item["loc"] if not _is_union_tag(part, item["loc"], model))
        setting = ".".join([prefix, *map(str, loc)])
        given = _as_written(written, loc, item["input"])
        problem = _problem(setting, loc, {**item, "input": given}, model, beside)
        variable = sources.get(setting)
        cause = f"{problem.cause} (from {variable})" if variable else problem.cause
        found.append(Problem(problem.setting, cause, problem.remedy))
    return list(dict.fromkeys(found))  # a union reports the same cause once for each of its members


def _problem(
    setting: str, loc: tuple[int | str, ...], item: Any, model: type[BaseModel], beside: Iterable[str]
) -> Problem:
    kind, message, given = item["type"], item["msg"], item["input"]
    if kind == "extra_forbidden":
        return unknown(setting, str(loc[-1]), {*fields_of(at(model, loc[:-1])), *(() if len(loc) > 1 else beside)})
    if kind == "missing":
        return Problem(setting, "is required and not set", advice(model, loc) or "set it")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        kinds = [repr(tag) for each in at(model, loc) for tag in literals(each, "kind")]
        return Problem(setting, "its kind is missing or unknown", f"set its kind to one of {', '.join(kinds)}")
    if kind == "literal_error":
        expected = item.get("ctx", {}).get("expected", "")
        return Problem(setting, f"{quoted(setting, given)} is not known", f"choose {expected}")
    if kind in _SHAPES:
        shape, remedy = _SHAPES[kind]
        return Problem(setting, f"{quoted(setting, given)} is not {shape}", advice(model, loc) or remedy)
    cause = message.removeprefix("Value error, ")
    if kind in ("value_error", "assertion_error"):
        head, _, tail = cause.partition("; ")
        if (named := _FIELD.fullmatch(head)) and named[1] in fields_of(at(model, loc)):
            setting, loc, head = f"{setting}.{named[1]}{named[2]}", (*loc, named[1]), named[3]
        return Problem(setting, head, tail or advice(model, loc) or _ELSE)
    cause = cause[:1].lower() + cause[1:]
    remedy = advice(model, loc) or _BOUNDS.get(kind, _ELSE).format_map(item.get("ctx", {}))
    return Problem(setting, f"{quoted(setting, given)} is wrong: {cause}", remedy)


def _as_written(table: Mapping[str, Any], loc: tuple[int | str, ...], given: object) -> object:
    """A duration or size as the operator wrote it, where pydantic has the number that it came to."""
    found: Any = table
    try:
        for part in loc:
            found = found[part]
    except (LookupError, TypeError):
        return given
    return found if isinstance(found, str) and isinstance(given, int | float) else given


def _is_union_tag(part: int | str, loc: tuple[int | str, ...], model: type[BaseModel]) -> bool:
    """Pydantic puts the chosen member of a union into the path, where an operator wrote no such key."""
    if isinstance(part, int):
        return False
    here = loc[: loc.index(part)]
    types = at(model, here)
    return bool(types) and part not in fields_of(types) and part != loc[-1]


def quoted(setting: str, given: object) -> str:
    if not isinstance(given, str | int | float | bool) or _MAY_BE_SECRET.search(setting.rpartition(".")[2]):
        return "the value"
    return repr(shortened(given)) if isinstance(given, str) else shortened(str(given).lower())


def shortened(text: str, most: int = _QUOTED_AT_MOST) -> str:
    return text if len(text) <= most else text[:most] + "…"


def advice(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    """The setting's own description, which its model writes as an instruction; "" when it has none."""
    if not loc or isinstance(loc[-1], int):
        return ""
    for owner in at(model, loc[:-1]):
        for name, field in owner.model_fields.items():
            if str(loc[-1]) in (name, field.alias):
                return field.description or ""
    return ""
