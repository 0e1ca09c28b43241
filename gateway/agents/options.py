"""The options of a local agent against what the agent takes: its parameters and their annotations are the model.

So a mistyped option is named with the one that was meant, and what comes from the environment, where all is text,
becomes what the agent expects. What an annotation does not say, the agent itself may still refuse.
"""

import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from config.problems import ConfigurationProblems, problems_of
from config.truths import misplaced

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def fitting(factory: Any, options: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """The options as the factory takes them. Raises ConfigurationProblems with everything that does not fit."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # written in C, and says nothing of itself
        return dict(options)
    model = _model(parameters, _hints(factory), is_open=any(each.kind is each.VAR_KEYWORD for each in parameters))
    from_anywhere = [f"{setting}.{name}" for name in options]  # a variable may have set it
    if found := list(misplaced(options, model, setting, as_text=from_anywhere)):
        raise ConfigurationProblems(setting, found)
    try:
        read = model.model_validate(dict(options))
    except ValidationError as error:
        raise ConfigurationProblems(setting, problems_of(error, setting, model, written=options, sources={})) from error
    return {name: _value(read, model, name) for name in options}


def _model(parameters: Any, hints: Mapping[str, Any], *, is_open: bool) -> type[BaseModel]:
    """One field for each parameter, by an alias: pydantic keeps some names for itself."""
    named = [each for each in parameters if each.kind in _NAMED]
    try:
        return _made(named, hints, is_open)
    except PydanticUserError:  # an annotation that is no type of values
        return _made(named, {}, is_open)


def _made(named: list[inspect.Parameter], hints: Mapping[str, Any], is_open: bool) -> type[BaseModel]:
    fields: dict[str, Any] = {
        f"option_{each.name}": (
            hints.get(each.name, Any),
            Field(... if each.default is each.empty else None, alias=each.name),
        )
        for each in named
    }
    rules = ConfigDict(extra="allow" if is_open else "forbid", arbitrary_types_allowed=True, hide_input_in_errors=True)
    return create_model("Options", __config__=rules, **fields)


def _hints(factory: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(factory.__init__ if inspect.isclass(factory) else factory)
    except (NameError, TypeError, AttributeError):  # names that exist for type checkers alone
        return {}


def _value(read: BaseModel, model: type[BaseModel], name: str) -> Any:
    field = f"option_{name}"
    return getattr(read, field) if field in model.model_fields else (read.model_extra or {})[name]
