"""The typed settings of the process, and what every agent and every plugin account has in common.

What is particular to a kind of agent or plugin stands in that kind's own model; the gateway composes them. A setting
that is missing takes its strictest value, so that an upgrade never opens a door.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator

from config.secrets import secrets_in
from config.units import Bytes, Seconds
from core.commands import is_own

NAME = re.compile(r"[a-z0-9_-]{1,64}")
LONGEST = 366 * 86_400  # seconds; a year bounds every duration
LEAST_TOKEN = 16  # characters; a shorter operator token could be guessed over the network
LEAST_HORIZON = 48 * 3600  # seconds; Telegram redelivers for 24 h, and clocks and queues add to that
STORE = "sqlite:///.frontdesk/frontdesk.db"
_SQLITE = "sqlite:///"


class GatewaySettings(BaseModel):
    """`[gateway]`: the process itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    isolating: ClassVar = ("host",)  # who reaches whom (config/isolation.py)

    host: str = Field("127.0.0.1", description="give an address of this machine, such as 127.0.0.1")
    port: int = Field(8080, ge=0, le=65_535, description="give a port from 1 to 65535; 0 takes any free one")
    public_url: str = Field("", description="give the address under which others reach this gateway, https://...")
    store: str = Field(STORE, description="give sqlite:///PATH (a fourth slash makes the path absolute)")
    operator_token: SecretStr | None = Field(None, description="give env:NAME, file:PATH, or leave it out")
    secret_key: SecretStr | None = Field(None, description="give env:NAME, file:PATH, or leave it out")

    max_turns: int = Field(64, ge=1, le=10_000, description="give the number of turns at work at once")
    max_turns_per_owner: int | None = Field(None, ge=1, description="give a number up to max_turns, or leave it out")
    max_queued: int = Field(20_000, ge=1, le=10_000_000, description="give the number of messages waiting at most")
    max_queued_per_owner: int = Field(1000, ge=1, description="give the number of messages one owner may have waiting")

    shutdown_grace: Seconds = Field(20.0, ge=0, le=3600, description="give a duration up to an hour")
    foreground_patience: Seconds = Field(30.0, gt=0, le=LONGEST, description="give a duration above 0")
    task_silence: Seconds = Field(1800.0, ge=60, le=LONGEST, description="give a duration of a minute or more")
    dedupe_horizon: Seconds = Field(72 * 3600.0, ge=LEAST_HORIZON, le=LONGEST, description="give at least '48 h'")
    retention: Seconds = Field(30 * 86_400.0, gt=0, le=10 * LONGEST, description="give at least dedupe_horizon")
    delivery_max_age: Seconds = Field(24 * 3600.0, gt=0, le=LONGEST, description="give a duration above 0")
    busy_timeout: Seconds = Field(5.0, gt=0, le=60, description="give a duration up to a minute")

    file_limit: Bytes = Field(10 << 20, ge=1024, le=100 << 20, description="give a size from 1 KiB to 100 MiB")
    files_limit: Bytes = Field(1 << 30, ge=1 << 20, le=1 << 40, description="give a size from 1 MiB to 1024 GiB")

    body_limit: Bytes = Field(1 << 20, ge=1024, le=64 << 20, description="give a size from 1 KiB to 64 MiB")
    head_deadline: Seconds = Field(10.0, gt=0, le=300, description="give a duration up to 5 min")
    body_deadline: Seconds = Field(15.0, gt=0, le=300, description="give a duration up to 5 min")

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "text"] = "auto"  # auto: text on a terminal, else JSON lines

    @field_validator("host")
    @classmethod
    def _is_an_address(cls, host: str) -> str:
        if not re.fullmatch(r"[0-9A-Za-z.:%_-]{1,253}", host):
            raise ValueError("it is not a host; give an address of this machine without scheme, port or spaces")
        return host

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, url: str) -> str:
        if not url:
            return ""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in url:
            raise ValueError("it is not an http or https address; write it like https://desk.example.com")
        return url.rstrip("/")

    @field_validator("store")
    @classmethod
    def _is_a_known_store(cls, store: str) -> str:
        if not re.fullmatch(_SQLITE + r"[^?#\0]+", store) or store.endswith((":memory:", "/")):
            raise ValueError("only a SQLite file can be the store; write sqlite:///PATH, such as " + STORE)
        return store

    @field_validator("operator_token", "secret_key")
    @classmethod
    def _is_long_enough(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(rf"[!-~]{{{LEAST_TOKEN},512}}", token.get_secret_value()):
            raise ValueError(
                f"it needs {LEAST_TOKEN} to 512 printable ASCII characters without spaces; "
                "leave it out to have one generated"
            )
        return token

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.max_turns_per_owner is not None and self.max_turns_per_owner > self.max_turns:
            raise ValueError("max_turns_per_owner is above max_turns; lower it, or leave it out for three quarters")
        if self.retention < self.dedupe_horizon:
            raise ValueError("retention is shorter than dedupe_horizon; raise it, or lower the horizon (48 h at least)")
        return self

    @property
    def turns_per_owner(self) -> int:
        """Three quarters of `max_turns` unless set, so that one owner alone never takes every turn."""
        return self.max_turns_per_owner or max(1, self.max_turns * 3 // 4)

    @property
    def database(self) -> Path:
        """The file of the store; a relative one counts from the working folder."""
        return Path(self.store.removeprefix(_SQLITE))

    @property
    def files(self) -> Path:
        """The folder beside it for the files of messages and answers."""
        return self.database.with_suffix(".files")

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


class LocalAgentSettings(BaseModel):
    """`[agents.NAME]`, kind local: an agent in this process."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    kind: Literal["local"] = "local"
    entry: str = Field(description="name an agent of the entry-point group frontdesk.agents")
    options: dict[str, Any] = Field(default_factory=dict, description="give the options that this agent takes")


def _as_text(value: object) -> object:
    """Channels write ids as numbers, and so do people."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


IdText = Annotated[str, BeforeValidator(_as_text), Field(max_length=256)]


class RouteSettings(BaseModel):
    """`[[plugins.NAME.routes]]`: a message that meets every condition given here goes to this agent."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    chat: IdText = Field("", description="give the channel's id of the chat")
    topic: IdText = Field("", description="give the channel's id of the topic")
    command: str = Field("", pattern=r"^(/?\w{1,32})?$", description="give a word that is typed after a slash")
    language: str = Field("", pattern=r"^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$", description="give a tag such as zh")
    agent: str = Field(description="name the agent that answers, one of [agents.*]")
    fallback: str = Field("", description="name the agent that is asked while this one is down, one of [agents.*]")

    @field_validator("command")
    @classmethod
    def _is_for_an_agent(cls, command: str) -> str:
        name = command.removeprefix("/").lower()
        if is_own(name):
            raise ValueError(f"/{name} is the gateway's own command; take another word")
        return name

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.chat or self.topic or self.command or self.language):
            raise ValueError("it takes every message; give it a condition, or set the account's agent instead")
        return self

    def takes_all_of(self, other: "RouteSettings") -> bool:
        """Whether nothing is left for the other, where it stands below this one."""
        ranges = (other.language.lower(), other.language.lower().partition("-")[0]) if other.language else ()
        return (
            self.chat in ("", other.chat)
            and self.topic in ("", other.topic)
            and self.command in ("", other.command)
            and (not self.language or self.language.lower() in ranges)
        )


class AccountSettings(BaseModel):
    """What every `[plugins.NAME]` has, whatever its kind: the host reads these, the plugin its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    isolating: ClassVar = ("owner",)

    kind: str
    agent: str = Field(description="name the agent that answers here, one of [agents.*]")
    fallback: str = Field("", description="name the agent that is asked while that one is down, one of [agents.*]")
    routes: tuple[RouteSettings, ...] = Field((), max_length=1000, description="write [[plugins.NAME.routes]]")
    choose: bool = Field(False, description="give true to let people choose their agent by /agents, else false")
    owner: str = Field("per_sender", pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="give per_sender or a name")
    language: Literal["", "en", "zh"] = ""  # of the notices; "": as the channel reports it for each person
    collect: Seconds = Field(0.0, ge=0, le=60, description="give a duration up to a minute; 0 turns collecting off")
    on_unknown: Literal["ask", "skip", "repeat"] = "ask"

    @property
    def fixed_owner(self) -> str:
        """ "" where each person in a direct chat, each group and each topic is an owner of its own."""
        return "" if self.owner == "per_sender" else self.owner


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """One agent: its name, and its settings as the model of its kind has them."""

    name: str
    kind: str
    settings: BaseModel


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One account of a channel: what is common to all, and the settings as the model of its kind has them."""

    name: str
    kind: str
    account: AccountSettings
    settings: BaseModel


@dataclass(frozen=True, slots=True)
class Settings:
    gateway: GatewaySettings
    agents: Mapping[str, AgentEntry]
    plugins: Mapping[str, PluginEntry]
    origin: str  # where they came from, in words
    warnings: tuple[str, ...] = ()

    def secrets(self) -> frozenset[str]:
        """Every secret in them: what logs must never show."""
        agents = (entry.settings for entry in self.agents.values())
        plugins = (entry.settings for entry in self.plugins.values())
        return frozenset(secrets_in([self.gateway, *agents, *plugins]))


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
