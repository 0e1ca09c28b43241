"""Whatever may be raised is caught where somebody else's code ends, and where what was begun is undone."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANYTHING = ("Exception", "BaseException")
PRODUCT = ("core", "config", "a2a", "plugins", "gateway")
WHERE_FOREIGN_CODE_ENDS = {
    "core/tracker.py",
    "core/outbox.py",
    "core/preview.py",
    "gateway/agents/run.py",
    "gateway/store/sqlite/writer.py",  # hands it to whoever awaits the operation
    "gateway/supervisor.py",
}


def swallows_anything(source: str) -> bool:
    handlers = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler)]
    return any(_is_broad(handler.type) and not _raises_again(handler) for handler in handlers)


def _is_broad(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in ANYTHING) for kind in kinds)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_whatever_may_be_raised_is_caught_only_where_foreign_code_ends_or_to_undo_and_raise_it_again() -> None:
    files = [file for folder in PRODUCT for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)) for file in files if swallows_anything(file.read_text("utf-8"))}
    assert found == WHERE_FOREIGN_CODE_ENDS


def test_a_broad_except_is_known_from_one_that_raises_again_or_names_what_comes() -> None:
    body = "try:\n    work()\nexcept {}:\n    undo()\n"
    assert all(
        swallows_anything(body.format(kind)) for kind in ("", "Exception", "BaseException as e", "(E, Exception)")
    )
    assert not any(swallows_anything(body.format(kind)) for kind in ("OSError", "(ValueError, KeyError) as e"))
    assert not swallows_anything(body.format("BaseException") + "    raise\n")
