"""The settings of one remote agent: a table `[agents.NAME]` with `kind = "a2a"`.

Secrets arrive here resolved (a literal, or what `env:` and `file:` pointed to) and stay wrapped, so that neither a
repr, a log line nor an error shows them.
"""

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

Seconds = Annotated[float, Field(gt=0, le=3600)]
Bytes = Annotated[int, Field(ge=1024, le=256 << 20)]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, 5.6.2; cookie names are the same
_QUERY_NAME = re.compile(r"[0-9A-Za-z._~-]{1,100}")  # RFC 3986, 2.3: what needs no escaping
# What the client itself sets; a key there would break the request or be overwritten.
_OWN_HEADERS = frozenset(
    {
        "a2a-extensions",
        "a2a-version",
        "accept",
        "content-type",
        "content-length",
        "cookie",
        "host",
        "x-a2a-extensions",
    }
)
_URL = r"https?://[^/?#@\s]+([/?][^#\s]*)?"
_EXTENSION = r"[!-+\--~]{1,500}"  # a URI, in a header's list that commas divide


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def _printable(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value or not value.isascii() or not value.isprintable():
        raise ValueError("must be printable ASCII on one line, and not empty; copy it anew")
    return secret


class BearerAuth(_Settings):
    kind: Literal["bearer"]
    token: SecretStr

    _one_line = field_validator("token")(_printable)


class ApiKeyAuth(_Settings):
    kind: Literal["api_key"]
    name: str  # of the header, query parameter or cookie
    place: Literal["header", "query", "cookie"] = Field("header", alias="in")
    value: SecretStr

    _one_line = field_validator("value")(_printable)

    @model_validator(mode="after")
    def _name_fits_its_place(self) -> Self:
        allowed = _QUERY_NAME if self.place == "query" else _HEADER_NAME
        if not allowed.fullmatch(self.name) or (self.place == "header" and self.name.lower() in _OWN_HEADERS):
            raise ValueError(
                f"name: {self.name[:100]!r} cannot be used in a {self.place}; take the name that the agent asks for"
            )
        if self.place == "cookie" and re.search(r'[\s",;\\]', self.value.get_secret_value()):
            raise ValueError(
                "value: a cookie cannot hold spaces, quotes, commas, semicolons and backslashes; take another"
            )
        return self


class SeveralAuth(_Settings):
    kind: Literal["several"]
    of: tuple[Annotated[BearerAuth | ApiKeyAuth, Field(discriminator="kind")], ...] = Field(min_length=1, max_length=10)


Auth = Annotated[BearerAuth | ApiKeyAuth | SeveralAuth, Field(discriminator="kind")]
InterfaceName = Literal["JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/0.3", "HTTP+JSON/0.3"]


class A2AAgentSettings(_Settings):
    """`[agents.NAME]`, kind a2a."""

    isolating: ClassVar = ("allow_private_network",)

    kind: Literal["a2a"] = "a2a"
    card: str = Field(max_length=2048)  # the card's URL, or the address under which its well-known path is looked for
    interfaces: tuple[InterfaceName, ...] = ("JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/0.3", "HTTP+JSON/0.3")
    fallback: bool = False  # new work goes over the next interface while the preferred one does not serve
    url: str | None = Field(None, max_length=2048)  # used instead of the URL that the card names for the preferred one
    allow_origins: tuple[str, ...] = ()  # besides the card's own, at which its interfaces may be
    extensions: tuple[Annotated[str, Field(pattern=f"^{_EXTENSION}$")], ...] = Field((), max_length=20)  # asked for
    passes: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field((), max_length=100)
    auth: Auth | None = None
    allow_private_network: bool = False  # loopback and private ranges need this per agent
    push: bool | Literal["auto"] = "auto"  # whether its pushes are asked for; auto: where they spare polling
    resubmit: Literal["never", "same_message_id"] = "never"  # after a send whose outcome is unknown

    read_timeout: Seconds = 30.0  # a whole GetTask, CancelTask or ListTasks, and each try to read the card
    send_timeout: Seconds = 120.0  # a whole SendMessage, and until a stream begins; a bare reply may be long in making
    idle_timeout: Seconds = 60.0  # silence on a stream; heartbeats count as life, the SDK sends one in 15 s
    max_calls: Annotated[int, Field(ge=1, le=10_000)] = 64  # at once, streams aside
    max_streams: Annotated[int, Field(ge=0, le=10_000)] = 256  # at once; beyond it a task is polled
    max_body: Bytes = 8 << 20  # bytes of one answer
    max_event: Bytes = 1 << 20  # bytes of one event on a stream

    @field_validator("card", "url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(_URL, value):
            raise ValueError(
                "must be an http:// or https:// URL without user, fragment and spaces; write it like https://agents.example.com"
            )
        return value

    @field_validator("interfaces")
    @classmethod
    def _are_told_apart(cls, value: tuple[InterfaceName, ...]) -> tuple[InterfaceName, ...]:
        if not value or len(set(value)) < len(value):
            raise ValueError("must name at least one interface, and each once; leave it out for all four")
        return value

    @field_validator("allow_origins")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                raise ValueError(
                    "must be origins: http:// or https://, a host, and an unusual port; leave out the rest"
                )
        return value
