"""A folder with a configuration file in it, and models that stand for the plugins' and agents' own."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from config.loading import Kinds, load
from config.problems import ConfigurationProblems
from config.settings import LocalAgentSettings, Settings


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Bearer(_Strict):
    kind: Literal["bearer"]
    token: SecretStr


class ApiKey(_Strict):
    kind: Literal["api_key"]
    place: Literal["header", "query"] = Field("header", alias="in")
    value: SecretStr


class RemoteSettings(_Strict):
    card: str
    push: bool | Literal["auto"] = "auto"
    is_trusted: bool | None = None
    auth: Annotated[Bearer | ApiKey, Field(discriminator="kind")] | None = None


class Access(_Strict):
    direct: Literal["allow", "open"] = "allow"
    allow: tuple[int, ...] = ()


class PigeonSettings(_Strict):
    kind: Literal["pigeon"] = "pigeon"
    token: SecretStr = Field(min_length=8, description="set it to the pigeon's ring number")
    access: Access = Access()
    loft: int = 1
    on_unknown: Literal["ask", "skip", "repeat"] = "skip"  # a kind's own default for what all accounts have

    @property
    def unauthenticated(self) -> str:
        return "access.direct is open" if self.access.direct == "open" else ""


class MuteSettings(_Strict):
    """A plugin that does not say how it authenticates."""


KINDS = Kinds(
    plugins={"pigeon": PigeonSettings, "mute": MuteSettings},
    agents={"remote": RemoteSettings, "local": LocalAgentSettings},
    local_agents=("echo", "concierge"),
)
AGENT = '[agents.echo]\nkind = "local"\nentry = "echo"\n'
PIGEON = '[plugins.nest]\nkind = "pigeon"\nagent = "echo"\ntoken = "env:RING"\n'

LISTED = "access = { allow = [7] }\n"  # somebody is let in

Load = Callable[..., Settings]
Refusal = Callable[..., str]


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    """The settings from a file with this text, and these environment variables."""

    def from_text(text: str, **environ: str) -> Settings:
        path = tmp_path / "frontdesk.toml"
        path.write_text(text)
        path.chmod(0o600)
        return load(KINDS, environ={"RING": "ring-0123456789", **environ}, cwd=tmp_path)

    return from_text


@pytest.fixture
def refused(loaded: Load) -> Refusal:
    """What is said instead of starting."""

    def words(text: str, **environ: str) -> str:
        with pytest.raises(ConfigurationProblems) as refusal:
            loaded(text, **environ)
        return str(refusal.value)

    return words
