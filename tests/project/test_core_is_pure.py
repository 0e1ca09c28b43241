"""The core is plain Python: the standard library and itself; only its two doors may speak HTTP through aiohttp."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLAIN = sys.stdlib_module_names | {"core"}


def imported_roots(source: str) -> set[str]:
    """The first part of every module the source imports anywhere in it, also inside functions and type checks."""
    roots = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0] if node.level == 0 else ".")
    return roots


def strangers(files: list[Path], known: frozenset[str] | set[str]) -> dict[str, set[str]]:
    found = {str(file.relative_to(ROOT)): imported_roots(file.read_text()) - known for file in files}
    return {name: roots for name, roots in found.items() if roots}


def test_the_core_imports_nothing_but_the_standard_library_and_itself() -> None:
    doors = ROOT / "core" / "doors"
    files = [file for file in (ROOT / "core").rglob("*.py") if doors not in file.parents]
    assert files
    assert strangers(files, PLAIN) == {}


def test_the_doors_of_the_core_may_use_aiohttp_with_its_headers_and_addresses_and_no_more() -> None:
    speech = {"aiohttp", "multidict", "yarl"}
    assert strangers(list((ROOT / "core" / "doors").rglob("*.py")), PLAIN | speech) == {}


def test_the_core_never_speaks_of_the_channel_that_was_to_prove_its_ports() -> None:
    words = re.compile(r"we\s?chat|weixin|wecom|openid|微信", re.IGNORECASE)
    files = [file for file in (ROOT / "core").rglob("*.py") if words.search(file.read_text())]
    assert files == []


def test_an_import_hidden_in_a_function_or_made_relative_is_found() -> None:
    source = "import os.path\ndef late() -> None:\n    from pydantic.main import BaseModel\n    from . import sibling\n"
    assert imported_roots(source) == {"os", "pydantic", "."}
