"""What an operator writes under `[plugins.<account>]` to let other agents call in over A2A, checked before it starts.

The descriptions are instructions: the configuration's error messages end with them.
"""

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from core.access import Access

Words = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=4000)]
Url = Annotated[str, Field(max_length=2048, pattern=r"^(https?://[^\s#]+)?$")]
MediaType = Annotated[str, Field(pattern=r"^[\w.+-]{1,80}/[\w.+*-]{1,80}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
AgentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$")]  # it stands in paths
ExtensionUri = Annotated[str, Field(pattern=r"^[!-+\--~]{1,500}$")]  # in a header's list, which commas divide

RESERVED = frozenset({"push"})  # `/a2a/push/` takes notifications of remote agents
LEAST_SECRET = 16  # characters; a shorter one could be guessed over the network
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, 5.6.2
_TAKEN_HEADERS = frozenset({"authorization", "content-length", "content-type", "cookie", "host", "idempotency-key"})


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class CallerSettings(_Settings):
    """One agent that may call, known by its secret."""

    name: Name
    key: SecretStr | None = Field(None, description="set it to what the caller sends in the API key's header")
    bearer: SecretStr | None = Field(None, description="set it to the token that the caller sends as bearer")
    owner: str = Field("", pattern=r"^[A-Za-z0-9_.-]{0,64}$")  # of all it makes; "": its own, which nobody shares
    idempotent: bool = False  # equal sends (message id or Idempotency-Key, and payload) are one

    @field_validator("key", "bearer")
    @classmethod
    def _is_a_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        secret = value.get_secret_value()
        if len(secret) < LEAST_SECRET or not re.fullmatch(r"[!-~]+", secret):
            raise ValueError(f"must be at least {LEAST_SECRET} printable ASCII characters without spaces")
        return value

    @model_validator(mode="after")
    def _has_a_secret(self) -> Self:
        if self.key is None and self.bearer is None:
            raise ValueError(
                f"the caller {self.name} has neither key nor bearer, so that it could not be told; give it one"
            )
        return self


class SkillSettings(_Settings):
    """What an agent can do, as a card says it (A2A 1.0, section 4.4.5)."""

    id: str = Field(min_length=1, max_length=100)
    name: str = Field(min_length=1, max_length=200)
    description: str = Field(min_length=1, max_length=4000)
    tags: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(min_length=1, max_length=50)
    examples: tuple[Text, ...] = Field((), max_length=20)


class ProviderSettings(_Settings):
    organization: str = Field(min_length=1, max_length=200)
    url: str = Field(min_length=1, max_length=2048, pattern=r"^https?://[^\s#]+$")


class CardSettings(_Settings):
    """What an agent's card says in the place of what is known of the agent; what is left out stays as it is known."""

    name: Words = ""
    description: Text = ""
    version: Words = ""
    provider: ProviderSettings | None = None
    documentation_url: Url = ""
    icon_url: Url = ""
    skills: tuple[SkillSettings, ...] = Field((), max_length=200)
    extended_skills: tuple[SkillSettings, ...] = Field((), max_length=200)  # besides, for callers that are known
    input_modes: tuple[MediaType, ...] = Field((), max_length=50)  # media types of files that are taken
    output_modes: tuple[MediaType, ...] = Field((), max_length=50)


class ExtensionSettings(_Settings):
    """An extension of the protocol that is offered to callers (A2A 1.0, section 4.6)."""

    uri: ExtensionUri
    description: Text = ""
    required: bool = False  # refuse callers that do not name it
    params: dict[str, Any] = {}


class LimitSettings(_Settings):
    """Bounds on one call and on what is open at once."""

    body: int = Field(8 << 20, ge=1024, le=256 << 20)  # bytes of one request, files in it included
    parts: int = Field(100, ge=1, le=10_000)  # of one message
    hops: int = Field(8, ge=1, le=1000)  # gateways that a message may have passed through; more is a loop
    context_rate: int = Field(120, ge=0, le=1_000_000)  # messages of one caller in one context in a minute; 0: any
    pair_rate: int = Field(0, ge=0, le=1_000_000)  # messages of one caller to one agent in a minute; 0: any
    depth: int = Field(64, ge=8, le=64)  # of nested JSON
    history: int = Field(100, ge=0, le=10_000)  # messages of a task that are told at most
    wait_03: float = Field(3.0, ge=0, le=3600)  # seconds that a send of 0.3 waits which does not say `blocking`
    streams: int = Field(1000, ge=1, le=100_000)  # open at once
    streams_per_owner: int = Field(100, ge=1, le=100_000)  # open at once, of one caller's owner


class A2AServerSettings(_Settings):
    """`[plugins.NAME]`, kind a2a."""

    isolating: ClassVar = ("anonymous",)

    kind: Literal["a2a"] = "a2a"
    agent: AgentName = Field(description="name one of the agents under [agents] whose name can stand in a URL")
    expose: tuple[AgentName, ...] = Field((), max_length=100)
    callers: tuple[CallerSettings, ...] = Field((), max_length=1000)
    anonymous: Literal["off", "by_id", "shared"] = "off"
    key_header: str = "X-API-Key"
    cards: dict[str, CardSettings] = {}  # by the agents' names
    passes: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field((), max_length=100)
    push_configs: int = Field(10, ge=1, le=1000)  # of one task
    streaming: bool = True
    push: bool = True
    extended_card: bool = False
    hybrid_card: bool = (
        True  # cards have the fields of 0.3 too: its callers need them, a strict reader of 1.0 minds them
    )
    extensions: tuple[ExtensionSettings, ...] = Field((), max_length=20)
    allow_push_private: bool = False  # push addresses may be on loopback and in private ranges
    limits: LimitSettings = LimitSettings()

    @property
    def exposed(self) -> tuple[str, ...]:
        """The agents that can be called; the first one is the default."""
        return tuple(dict.fromkeys((self.agent, *self.expose)))

    @property
    def access(self) -> Access:
        """Who gets this far has been let in: callers are told by their secrets, and not by lists of people."""
        return Access("open", "off")

    @property
    def unauthenticated(self) -> str | None:
        """Why strangers get in; None where every caller is known."""
        return None if self.anonymous == "off" else f'anonymous is "{self.anonymous}", which lets in whoever calls'

    @property
    def closed(self) -> str:
        """Why nobody can call; "" where somebody can."""
        if self.callers or self.anonymous != "off":
            return ""
        return '.callers is empty and anonymous is "off", so that nobody can call it; list callers, or set anonymous'

    @field_validator("key_header")
    @classmethod
    def _is_a_free_header(cls, value: str) -> str:
        lower = value.lower()
        if not _HEADER_NAME.fullmatch(value) or lower in _TAKEN_HEADERS or "a2a-" in lower:
            raise ValueError(f"{value[:100]!r} cannot be the header of an API key; take one like X-API-Key")
        return value

    @field_validator("callers")
    @classmethod
    def _are_told_apart(cls, value: tuple[CallerSettings, ...]) -> tuple[CallerSettings, ...]:
        names = [caller.name for caller in value]
        secrets = [secret.get_secret_value() for caller in value for secret in (caller.key, caller.bearer) if secret]
        if len(set(names)) < len(names) or len(set(secrets)) < len(secrets):
            raise ValueError(
                "two callers have the same name or secret, so that they could not be told apart; give each its own"
            )
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if taken := RESERVED & set(self.exposed):
            raise ValueError(
                f"the agent {min(taken)!r} cannot be exposed under that name, whose path has another use; rename it"
            )
        if unknown := set(self.cards) - set(self.exposed):
            raise ValueError(f"cards.{min(unknown)} is of no agent that is exposed; name it in expose")
        if self.extended_card and not self.callers and self.anonymous != "shared":
            raise ValueError("extended_card is shown to callers that are known, and there are none; list them")
        return self
