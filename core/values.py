"""Immutable values at the price of mutable ones.

A frozen dataclass pays a call for each field of each new object, a quarter of a microsecond, and a message makes some
thirty objects on its way. To the type checker `value` is `dataclass` and what it makes is frozen; at run time nothing
watches, and making one costs a quarter as much. Equality, hashing and `replace` are the same.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    def value(*, frozen: bool, slots: bool) -> Any:
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ("value",)
