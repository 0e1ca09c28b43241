"""What must hold before anything else of the process is imported, said in one sentence when it does not.

The folders are the import names, and they are common words: the official A2A SDK installs an `a2a`, and others install
a `config` or a `core`. Whichever comes first on the path would win in silence, so a foreign owner ends the start.
Standard library only, and readable by any Python 3, because it speaks when the rest cannot be imported.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

DISTRIBUTION = "frontdesk"
NAMES = ("core", "config", "a2a", "plugins", "gateway")
OLDEST_PYTHON = (3, 11)


def preflight() -> None:
    """Raise SystemExit(2), after one sentence on stderr, unless this environment can hold Frontdesk."""
    require_python()
    foreign = conflicts(packages_distributions())
    if foreign:
        _refuse(sentence(foreign))


def require_python(version: tuple[int, int] = (sys.version_info.major, sys.version_info.minor)) -> None:
    """Raise SystemExit(2), after one sentence on stderr, when `version` is older than what the code is written for."""
    if version < OLDEST_PYTHON:
        _refuse(
            f"Python {_dotted(OLDEST_PYTHON)} or newer is needed and this is {_dotted(version)}; "
            f"recreate the environment with a newer Python."
        )


def conflicts(owners: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Our import names that another distribution owns too, each with those distributions; empty when all is well.

    `owners` maps import names to distributions as `packages_distributions` does. It may list a distribution twice, and
    lists frontdesk itself when installed as a wheel but not when installed editable: both are no conflict.
    """
    foreign = {name: tuple(sorted({*owners.get(name, [])} - _ours(owners.get(name, [])))) for name in NAMES}
    return {name: distributions for name, distributions in foreign.items() if distributions}


def sentence(foreign: Mapping[str, tuple[str, ...]]) -> str:
    """The cause and the remedy, for a result of `conflicts` that is not empty."""
    claims = ", ".join(f"'{name}' (from {' and '.join(distributions)})" for name, distributions in foreign.items())
    return (
        f"this environment holds another package called {claims}; "
        f"install {DISTRIBUTION} in an environment of its own, or uninstall the other."
    )


def _ours(distributions: list[str]) -> set[str]:
    # Names compare in their normalized form (packaging specification, "Names and normalization").
    return {name for name in distributions if re.sub(r"[-_.]+", "-", name).lower() == DISTRIBUTION}


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _refuse(reason: str) -> NoReturn:
    print(f"frontdesk: {reason}", file=sys.stderr)
    raise SystemExit(2)
