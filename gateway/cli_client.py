"""The running gateway, as the command line asks it: through the control API, with clear words when it is not there.

Standard library only: a command that prints one table should not load an HTTP framework first.
"""

import contextlib
import http.client
import ipaddress
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

from config.loading import load_gateway
from config.settings import GatewaySettings
from gateway.cli import FAILED, MISCONFIGURED
from gateway.operator_token import OPERATOR_TOKEN

API = "/api/v1"
TIMEOUT = 30.0  # seconds for one answer; a cancel asks a remote agent first
PAGE = 200  # items asked for at once

Item = dict[str, Any]


class CommandFailed(Exception):
    """What to tell whoever typed the command, in one or more lines; `code` is the exit code."""

    def __init__(self, words: str, *, code: int = FAILED) -> None:
        super().__init__(words)
        self.code = code


class GatewayClient:
    """Raises CommandFailed, with the remedy, for whatever goes wrong."""

    def __init__(self, base: str, token: str) -> None:
        self._base, self._token = base, token
        self._opener = build_opener(ProxyHandler({}))  # never through a proxy: the token must not leave the machine

    @classmethod
    def of(cls, config: Path | None) -> "GatewayClient":
        """For the gateway that this configuration describes. Raises ConfigurationError when it cannot be read."""
        gateway = load_gateway(config=config)
        token = OPERATOR_TOKEN.find(gateway)
        if token is None:
            missing = f"there is no operator token at {OPERATOR_TOKEN.path(gateway)}"
            raise CommandFailed(f"{missing}: {_not_running(base_of(gateway))}")
        return cls(base_of(gateway), token)

    def get(self, path: str, **query: str | int | None) -> Item:
        given = {name: value for name, value in query.items() if value is not None}
        return self._ask("GET", f"{path}?{urlencode(given)}" if given else path)

    def act(self, path: str, body: Mapping[str, str] | None = None) -> Item:
        return self._ask("POST", path, body=body)

    def items(self, path: str, *, most: int, **query: str | None) -> Iterator[Item]:
        """The first `most` items of a list, over as many pages as they take."""
        cursor: str | None = None
        while most > 0:
            page = self.get(path, limit=min(PAGE, most), cursor=cursor, **query)
            yield from page["items"]
            most -= len(page["items"])
            cursor = page["next"]
            if cursor is None:
                return

    def readiness(self) -> Item:
        """What /readyz says, ready or not."""
        return self._ask("GET", "/readyz", unready=True)

    def _ask(self, method: str, path: str, *, unready: bool = False, body: Mapping[str, str] | None = None) -> Item:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        said = json.dumps(body).encode() if body is not None else None
        request = Request(self._base + path, method=method, headers=headers, data=said)
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                return _decoded(answer.read())
        except HTTPError as error:
            with error:
                refused = error.read()
            if unready and error.code == 503:
                return _decoded(refused)
            code = MISCONFIGURED if error.code == 400 else FAILED  # 400: what was typed is wrong
            raise CommandFailed(_refusal(error.code, refused), code=code) from error
        except (URLError, OSError, http.client.HTTPException) as error:
            raise CommandFailed(self._unreachable(error)) from error

    def _unreachable(self, error: Exception) -> str:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, TimeoutError):
            return f"the gateway at {self._base} did not answer within {TIMEOUT:.0f} s; look at its log"
        return _not_running(self._base)


def base_of(gateway: GatewaySettings) -> str:
    """Where the gateway is reached from this machine."""
    host = gateway.host
    with contextlib.suppress(ValueError):  # a name
        address = ipaddress.ip_address(host)
        if address.is_unspecified:  # it listens everywhere, loopback included
            host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{gateway.port}" if ":" in host else f"http://{host}:{gateway.port}"


def segment(text: str) -> str:
    """Safe as one part of a path, whatever was typed."""
    return quote(text, safe="")


def _not_running(base: str) -> str:
    return f"no gateway answers at {base}; start it with `frontdesk run`, or name its configuration with --config"


def _decoded(body: bytes) -> Item:
    try:
        value = json.loads(body)
    except ValueError as error:
        raise CommandFailed("what answers there is no Frontdesk gateway; check host and port") from error
    if not isinstance(value, Mapping):
        raise CommandFailed("what answers there is no Frontdesk gateway; check host and port")
    return dict(value)


def _refusal(status: int, body: bytes) -> str:
    if status == 401:
        return "the gateway refused the operator token; use the configuration it was started with (--config)"
    try:
        problem = json.loads(body)
        return str(problem.get("detail") or problem["title"])
    except (ValueError, KeyError, AttributeError):
        return f"the gateway answered {status}"
