"""What an operator writes under `[plugins.<account>]` for a WeChat Official Account, checked before anything starts.

The descriptions are instructions: the configuration's error messages end with them.
"""

import base64
import binascii
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from core.doors.addresses import check_base

PUBLIC_API = "https://api.weixin.qq.com"

_APP_ID = re.compile(r"wx[0-9a-f]{16}", re.ASCII)
_SECRET = re.compile(r"[0-9a-f]{32}", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9]{3,32}", re.ASCII)  # "Token: 3 to 32 letters and digits" (basic configuration page)
_AES_KEY = re.compile(r"[A-Za-z0-9+/]{43}", re.ASCII)
_OPEN_ID = re.compile(r"o[A-Za-z0-9_-]{27}", re.ASCII)


def _open_id(value: Any) -> Any:
    """Nicknames and WeChat ids change hands and never come with a message."""
    if isinstance(value, str) and not _OPEN_ID.fullmatch(value):
        raise ValueError(
            f"{value[:40]!r} is no OpenID (28 characters, the first is o); a nickname or WeChat id does not do "
            "(the log and `frontdesk session list` show the OpenID of whoever wrote)"
        )
    return value


OpenId = Annotated[str, BeforeValidator(_open_id)]


class Access(BaseModel):
    """Who is let in; closed by default, since an empty list admits nobody."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direct: Literal["allow", "open"] = "allow"
    allow: tuple[OpenId, ...] = ()


class WechatSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True)
    isolating: ClassVar = ("access.direct", "mode", "owner")

    kind: Literal["wechat"] = "wechat"
    app_id: str = Field(description="set it to the AppID of the account: wx and 16 of 0-9, a-f")
    app_secret: SecretStr | None = Field(
        default=None, description="set it to the AppSecret of the account, best as env:NAME or file:PATH"
    )
    token: SecretStr = Field(
        description="set it to the Token of the server configuration, 3 to 32 letters and digits, best as env:NAME"
    )
    encoding_aes_key: SecretStr | None = Field(
        default=None,
        description="set it to the EncodingAESKey of the server configuration, 43 characters, best as env:NAME",
    )
    previous_encoding_aes_key: SecretStr | None = Field(
        default=None, description="set it to the EncodingAESKey before the present one, for the time of a change"
    )
    mode: Literal["safe", "compatible", "plain"] = "safe"
    customer_service: bool = True  # whether the account may send customer-service messages
    use_retries: bool | None = None  # None: where customer-service messages cannot bring a late answer
    reply_within: float = Field(default=4.5, gt=0, le=4.8, description="give seconds; the platform hangs up after 5")
    api_base: str = Field(default=PUBLIC_API, description="write it as http(s)://host[:port]")
    timeout: float = Field(default=20.0, gt=0, le=120)  # seconds for one call; a later answer counts as unknown
    agent: str = Field(min_length=1, max_length=128, description="name one of the agents under [agents]")
    owner: str = Field(default="per_sender", min_length=1, max_length=128)
    access: Access = Access()
    language: Literal["", "en", "zh"] = "zh"  # of the notices; the platform does not tell what a person speaks
    collect: float = Field(default=0.0, ge=0, le=60)  # seconds; messages closer together than this become one turn
    on_unknown: Literal["ask", "skip", "repeat"] = "ask"

    @property
    def unauthenticated(self) -> str | None:
        """Why strangers could get in; None, since every push is signed."""
        return None

    @property
    def identity(self) -> str:
        """Who the account is at the platform."""
        return self.app_id

    @property
    def called_by(self) -> str:
        """Who calls the account's path from outside; "" where that is a server of the operator's own."""
        return "WeChat" if self.is_public_api else ""

    @property
    def called_on(self) -> tuple[int, ...]:
        """The only ports to which it calls (developer guide, "message push": http on 80, https on 443; 2026-08)."""
        return (80, 443)

    @property
    def doubt(self) -> str:
        """What is allowed and seldom meant."""
        if self.mode != "plain":
            return ""
        return (
            '.mode is "plain", in which whoever sees one URL can write in anybody\'s name; choose "safe" on both sides'
        )

    @property
    def is_public_api(self) -> bool:
        """Whether calls go to WeChat itself; any other server is the operator's own, wherever it stands."""
        return self.api_base == PUBLIC_API

    @field_validator("app_id")
    @classmethod
    def _app_id_has_its_shape(cls, value: str) -> str:
        app_id = value.strip()
        if app_id.startswith("gh_"):
            raise ValueError("this is the account's original id (gh_...), not its AppID")
        if not _APP_ID.fullmatch(app_id):
            raise ValueError("does not look like an AppID")
        return app_id

    @field_validator("app_secret")
    @classmethod
    def _app_secret_has_its_shape(cls, value: SecretStr | None) -> SecretStr | None:
        secret = _stripped(value)
        if secret and not _SECRET.fullmatch(secret):
            raise ValueError("does not look like an AppSecret (32 of 0-9, a-f)")
        return SecretStr(secret) if secret else None

    @field_validator("token")
    @classmethod
    def _token_has_its_shape(cls, value: SecretStr) -> SecretStr:
        token = _stripped(value)
        if not token:
            raise ValueError("token is empty, and without one anybody could write in anybody's name")
        if not _TOKEN.fullmatch(token):
            raise ValueError("does not look like a Token (3 to 32 letters and digits)")
        return SecretStr(token)

    @field_validator("encoding_aes_key", "previous_encoding_aes_key")
    @classmethod
    def _key_has_its_shape(cls, value: SecretStr | None) -> SecretStr | None:
        key = _stripped(value)
        if key and not _is_key(key):
            raise ValueError(f"does not look like an EncodingAESKey (43 letters and digits, and this has {len(key)})")
        return SecretStr(key) if key else None

    @field_validator("mode")
    @classmethod
    def _encryption_has_its_key(cls, value: str, info: ValidationInfo) -> str:
        if value != "plain" and "encoding_aes_key" in info.data and info.data["encoding_aes_key"] is None:
            raise ValueError(
                f'mode is "{value}" and encoding_aes_key is not set; set it, and choose that mode on the platform '
                '(mode = "plain" does without, and signs no message, only the query that brings it)'
            )
        return value

    @field_validator("customer_service")
    @classmethod
    def _calls_have_their_secret(cls, value: bool, info: ValidationInfo) -> bool:
        if value and "app_secret" in info.data and info.data["app_secret"] is None:
            raise ValueError(
                "customer-service messages need app_secret; set it, or write customer_service = false where the "
                "account has no permission for them"
            )
        return value

    @field_validator("api_base")
    @classmethod
    def _api_base_is_an_origin(cls, value: str) -> str:
        return check_base(value, "an API server")


def _stripped(value: SecretStr | None) -> str:
    return value.get_secret_value().strip() if value is not None else ""


def _is_key(key: str) -> bool:
    try:
        return bool(_AES_KEY.fullmatch(key)) and len(base64.b64decode(key + "=")) == 32
    except binascii.Error:
        return False
