"""How a request is refused: one exception, one shape of answer (RFC 9457), and never a word of what happened inside."""

import json
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus

from aiohttp import web

_NO_HEADERS: Mapping[str, str] = {}


class Refusal(Exception):
    """Raised anywhere behind the ingress to answer with a problem.

    `reason` is a machine word for audit and metrics and stays inside; `detail` is for the caller's eyes and says only
    what that caller may know. `close` ends the connection after the answer.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        headers: Mapping[str, str] = _NO_HEADERS,
        detail: str | None = None,
        close: bool = False,
    ) -> None:
        super().__init__(f"{status} {reason}")
        self.status = status
        self.reason = reason
        self.headers = headers
        self.detail = detail
        self.close = close


def problem(
    status: int, *, headers: Mapping[str, str] = _NO_HEADERS, detail: str | None = None, close: bool = False
) -> web.Response:
    """The answer to a refused request: status, its standard title, and `detail` if there is one."""
    response = web.Response(
        status=status, body=_problem_body(status, detail), content_type="application/problem+json", headers=headers
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
    if close:
        response.force_close()
    return response


@lru_cache(maxsize=128)
def _problem_body(status: int, detail: str | None) -> bytes:
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Refused"
    members = {"type": "about:blank", "title": title, "status": status}
    return json.dumps(members if detail is None else members | {"detail": detail}).encode()
