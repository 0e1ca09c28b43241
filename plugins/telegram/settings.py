"""What an operator writes under `[plugins.<account>]` for a Telegram bot, checked before anything starts.

The descriptions are instructions: the configuration's error messages end with them.
"""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from core.doors.addresses import check_base

PUBLIC_API = "https://api.telegram.org"

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,128}", re.ASCII)
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}", re.ASCII)  # Bot API 10.0, setWebhook, secret_token


def _numeric_id(value: Any) -> Any:
    """Names change hands, so that an allow-list of names lets in whoever took one over."""
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,19}", value, re.ASCII):
        raise ValueError(
            f"{value[:40]!r} is a name, and names change hands; write the person's or the chat's numeric id "
            "(the log and `frontdesk session list` show the id of whoever wrote)"
        )
    return value


Id = Annotated[int, BeforeValidator(_numeric_id)]


class Access(BaseModel):
    """Who is let in; closed by default, since an empty list admits nobody."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direct: Literal["allow", "open"] = "allow"
    groups: Literal["off", "mention", "all"] = "off"
    allow: tuple[Id, ...] = ()


class Limits(BaseModel):
    """Telegram's own pace (Bot API FAQ, "My bot is hitting limits"); 0 is no limit, for a local Bot API server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_second: float = Field(default=30, ge=0)  # messages of the whole bot
    per_chat_second: float = Field(default=1, ge=0)  # messages in one chat
    per_group_minute: float = Field(default=20, ge=0)  # messages in one group


class TelegramSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
    isolating: ClassVar = ("access.direct", "access.groups", "owner")

    kind: Literal["telegram"] = "telegram"
    token: SecretStr = Field(description="set it to the token that @BotFather gave, best as env:NAME or file:PATH")
    mode: Literal["webhook", "polling"] = "polling"  # polling needs no public URL
    webhook_secret: SecretStr | None = Field(
        default=None, description="set it to 1..256 characters of A-Z, a-z, 0-9, _ and -, best as env:NAME or file:PATH"
    )
    api_base: str = Field(default=PUBLIC_API, description="write it as http(s)://host[:port]")
    owner: str = Field(default="per_sender", min_length=1, max_length=128)
    agent: str = Field(min_length=1, max_length=128, description="name one of the agents under [agents]")
    access: Access = Access()
    limits: Limits = Limits()
    on_unknown: Literal["ask", "skip", "repeat"] = "ask"
    collect: float = Field(default=0.0, ge=0, le=60)  # seconds; messages closer together than this become one turn
    streaming: Literal["off", "edit"] = "off"  # "edit": unfinished answers are shown by editing a message
    language: Literal["", "en", "zh"] = ""  # of the notices; "": as each person's Telegram reports it
    timeout: float = Field(default=20.0, gt=0, le=120)  # seconds for one call; a later answer counts as unknown

    @property
    def unauthenticated(self) -> str | None:
        """Why strangers could get in; None, since a webhook has its secret and polling has no door."""
        return None

    @property
    def identity(self) -> str:
        """The bot's id, which stands before the colon of its token and is no secret."""
        return self.token.get_secret_value().partition(":")[0]

    @property
    def doubt(self) -> str:
        """What is allowed and seldom meant."""
        group = next((id for id in self.access.allow if id < 0), None)
        if group is None or self.access.groups != "off":
            return ""
        return f'.access.allow lists the group {group}, and groups are off; set access.groups to "mention" or "all"'

    @field_validator("token")
    @classmethod
    def _token_has_its_shape(cls, value: SecretStr) -> SecretStr:
        token = value.get_secret_value().strip()
        if not _TOKEN.fullmatch(token):
            raise ValueError("does not look like a bot token (digits, a colon, letters and digits)")
        return SecretStr(token)

    @field_validator("webhook_secret")
    @classmethod
    def _webhook_has_a_secret(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        secret = value.get_secret_value().strip() if value is not None else ""
        if not secret and info.data.get("mode") == "webhook":
            raise ValueError("webhook_secret is not set, and without one anybody could send updates to the webhook")
        if secret and not _WEBHOOK_SECRET.fullmatch(secret):
            raise ValueError("webhook_secret has characters that Telegram does not allow, or is too long")
        return SecretStr(secret) if secret else None

    @field_validator("api_base")
    @classmethod
    def _api_base_is_an_origin(cls, value: str) -> str:
        return check_base(value, "a Bot API server")

    @property
    def is_public_api(self) -> bool:
        """Whether calls go to Telegram itself; any other server is the operator's own, wherever it stands."""
        return self.api_base == PUBLIC_API
