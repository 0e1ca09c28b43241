"""Where settings are read from: one TOML file, and the environment over it.

The file is `--config`, else FRONTDESK_CONFIG, else ./frontdesk.toml, else the built-in demo. An environment variable
FRONTDESK_<SECTION>__<KEY> replaces one setting: FRONTDESK_GATEWAY__PORT, FRONTDESK_PLUGINS__SUPPORT__TOKEN. The dashes
of a name are underscores there.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.problems import ConfigurationProblems, Problem, shortened, unknown

SECTIONS = ("gateway", "agents", "plugins")
DEMO = Path(__file__).parent / "examples" / "demo.toml"
FILE_LIMIT = 4 << 20  # bytes; far above any configuration written by hand
DEEPEST = 20  # tables and lists inside each other; settings need five, and their readers may follow every level
_TWICE = re.compile(r"Cannot declare \((.*)\) twice(.*)", re.DOTALL)
OVERRIDE = re.compile(r"FRONTDESK_([A-Za-z0-9]+)__(.+)")


@dataclass(slots=True)
class Source:
    """The tables as they were written, before any model has seen them."""

    path: Path | None  # None: the built-in demo
    tables: dict[str, Any]
    variables: dict[str, str] = field(default_factory=dict)  # setting -> the environment variable it came from
    problems: list[Problem] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return str(self.path) if self.path else "the built-in demo configuration"

    @property
    def base(self) -> Path:
        """The folder that relative secret files count from."""
        return self.path.parent if self.path else Path()


def read_source(explicit: Path | None, environ: Mapping[str, str], cwd: Path) -> Source:
    """Raises ConfigurationProblems when the file cannot be read at all."""
    path = locate(explicit, environ, cwd)
    source = Source(path, _parse(path or DEMO))
    _check_sections(source)
    _overlay(source, environ)
    return source


def locate(explicit: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """The configuration file, None for the built-in demo. A file that was asked for is never passed over."""
    if explicit is not None:
        return cwd / explicit
    if named := environ.get("FRONTDESK_CONFIG", ""):
        return cwd / named
    standard = cwd / "frontdesk.toml"
    return standard if standard.exists() else None


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_LIMIT + 1)
        if len(raw) > FILE_LIMIT:
            raise ConfigurationProblems(str(path), [Problem("", "it is larger than 4 MiB", "name a TOML file")])
        tables = tomllib.loads(raw.decode("utf-8-sig"))  # some editors begin a file with a byte order mark
    except OSError as error:
        remedy = "correct --config, FRONTDESK_CONFIG or the file's permissions"
        raise ConfigurationProblems(str(path), [Problem("", f"cannot be read: {error.strerror}", remedy)]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationProblems(str(path), [Problem("", "it is not UTF-8 text", "save it as UTF-8")]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationProblems(str(path), [_not_toml(str(error))]) from error
    except ValueError as error:  # Python's bound on what becomes an integer
        problem = Problem("", "it holds a number of thousands of digits", "correct that number")
        raise ConfigurationProblems(str(path), [problem]) from error
    except RecursionError as error:
        raise ConfigurationProblems(str(path), [_too_deep("")]) from error
    if _depth(tables) > DEEPEST:
        raise ConfigurationProblems(str(path), [_too_deep("")])
    return tables


def _not_toml(said: str) -> Problem:
    """In the words of TOML's reader; but a table that stands twice it names as Python does."""
    twice = _TWICE.search(said)
    if not twice:
        return Problem("", f"it is not TOML: {said}", "correct it at that place")
    table = shortened(".".join(re.findall(r"'([^']*)'", twice[1])))
    return Problem("", f"it is not TOML: [{table}] stands there twice{twice[2]}", "give one of them another name")


def _too_deep(setting: str) -> Problem:
    cause = f"it has more than {DEEPEST} tables or lists inside each other"
    return Problem(setting, cause, "look for brackets or dots too many; no setting needs more than five")


def _depth(value: object) -> int:
    """How many tables and lists stand inside each other, counted up to one more than there may be."""
    depth, level = 0, [value]
    while depth <= DEEPEST and (level := [each for each in level if isinstance(each, dict | list)]):
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _check_sections(source: Source) -> None:
    """Drops what is no known table, after noting it, so that the rest can still be judged."""
    for name, value in list(source.tables.items()):
        if name not in SECTIONS:
            source.problems.append(unknown(name, name, SECTIONS, "section"))
        elif not isinstance(value, dict):
            source.problems.append(Problem(name, "it is not a table", f"write [{name}] on a line of its own"))
        elif name != "gateway" and (loose := [key for key, item in value.items() if not isinstance(item, dict)]):
            for key in loose:
                remedy = f"write [{name}.{key}] on a line of its own, with its settings below"
                source.problems.append(Problem(f"{name}.{key}", "it is not a table", remedy))
            source.tables[name] = {key: item for key, item in value.items() if isinstance(item, dict)}
            continue
        else:
            continue
        del source.tables[name]


def _overlay(source: Source, environ: Mapping[str, str]) -> None:
    for variable in sorted(environ):
        match = OVERRIDE.fullmatch(variable)
        if not match:
            continue
        section, path = match[1].lower(), match[2].split("__")
        if section not in SECTIONS:
            source.problems.append(unknown(variable, section, SECTIONS, "section"))
        elif not all(path) or (section != "gateway" and len(path) < 2):
            remedy = "write FRONTDESK_GATEWAY__KEY, or FRONTDESK_PLUGINS__NAME__KEY"
            source.problems.append(Problem(variable, "it does not name a setting", remedy))
        elif len(path) + _depth(value := _value(environ[variable])) > DEEPEST:
            source.problems.append(_too_deep(variable))
        else:
            _place(source, section, path, variable, value)


def _place(source: Source, section: str, path: list[str], variable: str, value: Any) -> None:
    table = source.tables.setdefault(section, {})
    spelled = [section]
    for position, part in enumerate(path[:-1]):
        key = _named(table, part) if section != "gateway" and position == 0 else part.lower()
        spelled.append(key)
        inner = table.get(key)
        table[key] = dict(inner) if isinstance(inner, dict) else {}
        table = table[key]
    spelled.append(path[-1].lower())
    table[spelled[-1]] = value
    source.variables[".".join(spelled)] = variable


def _named(table: Mapping[str, Any], part: str) -> str:
    """The agent or account a variable means; a new one is in lower case."""
    return next((name for name in table if as_variable(name) == part.upper()), part.lower())


def as_variable(name: str) -> str:
    return name.replace("-", "_").upper()


def _value(text: str) -> Any:
    """A list or table in TOML's own notation; all else stays text, which the models read as what they expect."""
    if text[:1] in ("[", "{"):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            return text
    return text
