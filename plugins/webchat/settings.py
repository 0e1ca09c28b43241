"""What an operator writes under `[plugins.<account>]` for a web chat, checked before anything starts.

The descriptions are instructions: the configuration's error messages end with them.
"""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field


class Access(BaseModel):
    """Who is let in; closed by default, since an empty list admits nobody."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direct: Literal["allow", "open"] = "allow"  # "open": whoever can reach the page, so only on loopback
    allow: tuple[str, ...] = ()  # ids of visitors, as the log and `frontdesk session list` show them


class WebchatSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
    isolating: ClassVar = ("access.direct", "owner")

    kind: Literal["webchat"] = "webchat"
    agent: str = Field(min_length=1, max_length=128, description="name one of the agents under [agents]")
    owner: str = Field(default="per_sender", min_length=1, max_length=128)
    access: Access = Access()
    title: str = Field(default="Frontdesk", min_length=1, max_length=80, description="give the page's heading")
    language: Literal["", "en", "zh"] = ""  # of page and notices; "": as each visitor's browser reports it
    collect: float = Field(default=0.0, ge=0, le=60)  # seconds; messages closer together than this become one turn
    on_unknown: Literal["ask", "skip", "repeat"] = "repeat"  # showing an entry again changes nothing on the page
    max_streams: int = Field(default=500, ge=1, le=10_000, description="give the number of open pages at most")

    @property
    def requires_loopback(self) -> bool:
        """Whether anybody who reaches the page may write, so that only this machine may reach it."""
        return self.access.direct == "open"

    @property
    def unauthenticated(self) -> str | None:
        """Why the account takes anybody's word, for the gateway that decides where to listen; None when it does not."""
        return 'access.direct is "open", which lets in whoever reaches the page' if self.requires_loopback else None
