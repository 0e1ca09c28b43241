"""What a settings model expects at a path: the nested models behind unions, lists and tables.

Suggestions and secret references both need it before, or without, a validated instance.
"""

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

Models = tuple[type[BaseModel], ...]


def at(model: type[BaseModel], path: Iterable[int | str]) -> Models:
    """The models that a table at `path` below `model` may be; () where none is expected."""
    found: Models = (model,)
    for part in path:
        if isinstance(part, int):
            continue  # list items are looked through by `_models_in`
        annotations = [field for owner in found for field in _annotations(owner, part)]
        if annotations:
            found = tuple(dict.fromkeys(inner for each in annotations for inner in _models_in(each)))
        elif not any(part in literals(owner, "kind") for owner in found):
            return ()
    return found


def fields_of(models: Models) -> list[str]:
    """The names an operator may write there."""
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def narrowed(models: Models, given: Mapping[str, Any]) -> Models:
    """The members of a union that a table can be, judged by its `kind`."""
    kind = given.get("kind")
    return tuple(model for model in models if not (tags := literals(model, "kind")) or kind in tags)


def literals(model: type[BaseModel], name: str) -> tuple[Any, ...]:
    """The values a field is confined to, () when it is not."""
    field = model.model_fields.get(name)
    if field is None:
        return ()
    return tuple(
        value for each in _unwrapped(field.annotation) if get_origin(each) is Literal for value in get_args(each)
    )


def holds_secret(model: type[BaseModel], key: str) -> bool:
    return any(inner is SecretStr for each in _annotations(model, key) for inner in _unwrapped(each))


def is_number(model: type[BaseModel], key: str) -> bool:
    """Whether nothing but a number, or none at all, may stand there."""
    kinds = {inner for each in _annotations(model, key) for inner in _unwrapped(each) if isinstance(inner, type)}
    return not kinds.isdisjoint((int, float)) and bool not in kinds


def is_truth_value(model: type[BaseModel], key: str, *, besides: object) -> bool:
    """Whether true or false is asked for there, and `besides` is none of the words that may stand there too."""
    kinds = {inner for each in _annotations(model, key) for inner in _unwrapped(each) if isinstance(inner, type)}
    return bool in kinds and kinds.isdisjoint((int, float, str)) and besides not in literals(model, key)


def tables_in(model: type[BaseModel], key: str) -> Models:
    return tuple(inner for each in _annotations(model, key) for inner in _models_in(each))


def _annotations(model: type[BaseModel], key: str) -> list[Any]:
    return [field.annotation for name, field in model.model_fields.items() if key in (name, field.alias)]


def _models_in(annotation: Any) -> Models:
    return tuple(inner for inner in _unwrapped(annotation) if isinstance(inner, type) and issubclass(inner, BaseModel))


def _unwrapped(annotation: Any) -> Iterator[Any]:
    """The plain types inside Optional, Union, Annotated, lists, tuples and the values of tables."""
    origin = get_origin(annotation)
    if origin is None or origin is Literal:
        yield annotation
        return
    arguments = get_args(annotation)
    if origin is Annotated:
        arguments = arguments[:1]
    elif origin not in (Union, types.UnionType):
        arguments = arguments[1:] if isinstance(origin, type) and issubclass(origin, Mapping) else arguments
    for each in arguments:
        yield from _unwrapped(each)
