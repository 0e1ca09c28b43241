"""How deep what is handed on may be nested, so that whoever is next takes it.

Each hop wraps what it hands on in the protocol's own objects, up to ten of them (a task of a list, in JSON-RPC, with a
message or an artifact, with a data part, which 0.3 wraps once more), and a gateway takes JSON to a depth of 64: what
came in at that depth would be refused by the next one, as a message or, in the task that repeats it, as an answer.
"""

from collections.abc import Iterable, Iterator

DEEPEST = 48  # objects and lists inside each other, in one value; far more than data that is meant to be read


def nests_too_deep(value: object) -> bool:
    if not isinstance(value, dict | list):
        return False
    level = [value]
    for _ in range(DEEPEST):
        if not level:
            return False
        level = list(_containers(inner for each in level for inner in _inside(each)))
    return bool(level)


def _containers(values: Iterable[object]) -> Iterator[dict[str, object] | list[object]]:
    return (each for each in values if isinstance(each, dict | list))


def _inside(value: dict[str, object] | list[object]) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value
