"""The description of the control API, made from the very table that its routes are made from."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[object]]
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    description: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One thing that can be asked. `path` is as OpenAPI writes it, below the API's prefix."""

    method: str  # "GET" or "POST"
    path: str
    summary: str
    answer: Answer
    answers_with: str  # the name of a schema
    is_list: bool = False
    query: tuple[Parameter, ...] = ()
    fails_with: tuple[int, ...] = ()  # besides 401 and 503
    takes: str = ""  # the name of the body's schema; "": it needs none


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": ["string", "null"], "format": "date-time"}
_STATUS = {
    400: "A parameter is wrong",
    401: "The operator token is missing or wrong",
    404: "There is no such record",
    409: "Its state does not allow this",
    502: "The agent did not do as asked",
    503: "The store cannot commit at the moment",
}


def document(endpoints: Sequence[Endpoint], schemas: dict[str, Schema], *, prefix: str, version: str) -> Schema:
    """An OpenAPI 3.1 document."""
    paths: dict[str, Schema] = {}
    for endpoint in endpoints:
        paths.setdefault(prefix + endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Frontdesk control API", "version": version},
        "security": [{"operator": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"operator": {"type": "http", "scheme": "bearer"}},
            "schemas": {**schemas, "Problem": _PROBLEM},
        },
    }


def record(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def listed(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


_PROBLEM = record(type=TEXT, title=TEXT, status=NUMBER, detail=TEXT)


def _operation(endpoint: Endpoint) -> Schema:
    content: Schema = {"$ref": f"#/components/schemas/{endpoint.answers_with}"}
    if endpoint.is_list:
        content = record(items=listed(endpoint.answers_with), next={"type": ["string", "null"]})
    failures = sorted({401, 503, *endpoint.fails_with})
    body: Schema = {}
    if endpoint.takes:
        taken: Schema = {"$ref": f"#/components/schemas/{endpoint.takes}"}
        body = {"requestBody": {"required": True, "content": {"application/json": {"schema": taken}}}}
    return {
        "summary": endpoint.summary,
        **body,
        "parameters": [*_path_parameters(endpoint.path), *map(_query_parameter, endpoint.query)],
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": content}}},
            **{str(status): _failure(status) for status in failures},
        },
    }


def _path_parameters(path: str) -> list[Schema]:
    names = [part.partition("}")[0] for part in path.split("{")[1:]]
    return [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]


def _query_parameter(parameter: Parameter) -> Schema:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": parameter.schema,
    }


def _failure(status: int) -> Schema:
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {"description": _STATUS[status], "content": {"application/problem+json": problem}}
