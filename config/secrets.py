"""Secret references: a secret setting is a literal, `env:NAME` or `file:PATH`.

References are resolved before the models see the value, so that a model's own rule (a token's shape, a least length)
judges the secret and not the reference. A file that others may read is refused: a secret many can read is none.
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from config.problems import Problem, shortened
from config.shape import holds_secret, narrowed, tables_in

SECRET_FILE_LIMIT = 64 << 10  # bytes; keys and tokens are far smaller, and /dev/zero is not read to its end


@dataclass(slots=True)
class Secrets:
    """Resolves one configuration's references; relative files count from `base`, the configuration file's folder."""

    environ: Mapping[str, str]
    base: Path
    problems: list[Problem] = field(default_factory=list)
    literal: list[str] = field(default_factory=list)  # the settings whose secret is written out in the file
    referred: set[str] = field(default_factory=set)  # the environment variables that settings name

    def resolved(self, table: Mapping[str, Any], model: type[BaseModel], path: str) -> dict[str, Any]:
        """The table with each secret in place of its reference; what cannot be resolved is left out and reported."""
        result: dict[str, Any] = {}
        for key, value in table.items():
            setting = f"{path}.{key}"
            if isinstance(value, str) and holds_secret(model, key):
                secret = self._secret(value, setting)
                result[key] = value if secret is None else secret
            else:
                result[key] = self._inside(value, model, key, setting)
        return result

    def _inside(self, value: Any, model: type[BaseModel], key: str, setting: str) -> Any:
        if isinstance(value, list):
            if holds_secret(model, key):
                return [self._secret(item, setting) or item if isinstance(item, str) else item for item in value]
            return [self._inside(item, model, key, f"{setting}.{number}") for number, item in enumerate(value)]
        if isinstance(value, Mapping):
            for inner in narrowed(tables_in(model, key), value)[:1]:
                return self.resolved(value, inner, setting)
        return value

    def _secret(self, value: str, setting: str) -> str | None:
        """None, with a problem noted, when the reference leads nowhere."""
        if value.startswith("env:"):
            return self._from_environment(value.removeprefix("env:").strip(), setting)
        if value.startswith("file:"):
            return self._from_file(value.removeprefix("file:").strip(), setting)
        if (name := value.strip().lstrip("$").strip("{}")) in self.environ:
            cause = f"it is the name of the environment variable {shortened(name)}, and not a secret"
            self._report(setting, cause, f"write env:{shortened(name)}")
            return None
        self.literal.append(setting)
        return value

    def _from_environment(self, name: str, setting: str) -> str | None:
        if not name:
            self._report(setting, "env: names no environment variable", "write env:NAME")
            return None
        self.referred.add(name)
        secret = self.environ.get(name, "")
        if not secret:
            state = "is empty" if name in self.environ else "is not set"
            said = shortened(name)
            cause, remedy = f"the environment variable {said} {state}", f"set {said}, or change the reference"
            self.problems.append(Problem(setting, cause, remedy, said))
        return secret or None

    def _from_file(self, name: str, setting: str) -> str | None:
        if not name:
            self._report(setting, "file: names no file", "write file:PATH")
            return None
        try:
            path = self.base / Path(name).expanduser()
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode):
                self._report(setting, f"{path} is not a file", "name a file that holds the secret alone")
            elif mode & 0o077:
                self._report(setting, f"{path} can be read by others (mode {mode & 0o777:04o})", f"chmod 600 {path}")
            else:
                return self._content(path, setting)
        except OSError as error:
            self._report(setting, f"{path} cannot be read: {error.strerror}", "correct the path or its permissions")
        except (RuntimeError, ValueError):  # an unknown ~user; a byte that no path has
            self._report(setting, f"{shortened(name)!r} is not a path", "write file:PATH")
        return None

    def _content(self, path: Path, setting: str) -> str | None:
        with path.open("rb") as file:
            raw = file.read(SECRET_FILE_LIMIT + 1)
        secret = raw.decode(errors="replace").strip()
        if len(raw) > SECRET_FILE_LIMIT or not secret or "\ufffd" in secret:
            self._report(setting, f"{path} holds no readable secret", "write the secret, as text, into the file")
            return None
        return secret

    def _report(self, setting: str, cause: str, remedy: str) -> None:
        self.problems.append(Problem(setting, cause, remedy))


def secrets_in(value: object) -> Iterator[str]:
    """Every secret inside validated settings: what must never be seen in a log or an answer."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secrets_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from secrets_in(item)


def shown(value: object) -> Any:
    """Settings as JSON for an operator's eyes: a secret says only whether it is set."""
    if isinstance(value, SecretStr):
        return {"set": bool(value.get_secret_value())}
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {field.alias or name: shown(getattr(value, name)) for name, field in fields.items()}
    if isinstance(value, Mapping):
        return {str(key): shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [shown(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
