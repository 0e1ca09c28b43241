"""A plugin of another distribution, as an entry point offers it, that fails in every way a plugin can."""

from pathlib import Path

_METADATA = "Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n"
_ENTRY_POINT = "[frontdesk.plugins]\nfaulty = faulty_channel:PLUGIN\n"
_MODULE = """
import asyncio
import time
from typing import Literal

from pydantic import BaseModel

from core.delivery import Sent
from core.plugin import Capabilities, PluginKind


class Settings(BaseModel):
    kind: Literal["faulty"] = "faulty"
    agent: str
    fault: Literal["raises", "ends", "hangs", "blocks", "is misconfigured"]
    unauthenticated: None = None


class Plugin:
    capabilities = Capabilities()
    health = {}

    def __init__(self, settings):
        self.fault = settings.fault

    async def run(self, intake):
        if self.fault == "raises":
            raise RuntimeError("this plugin is broken")
        if self.fault == "is misconfigured":
            from core.errors import ConfigurationError

            raise ConfigurationError("this account has a wrong setting", setting="plugins.bad.fault")
        if self.fault == "blocks":
            time.sleep(1.5)
        if self.fault == "hangs":
            await asyncio.Event().wait()

    def routes(self, ingress):
        return ()

    def render(self, piece):
        return ()

    async def send(self, delivery):
        return Sent(())

    async def preview(self, frame):
        return ""


PLUGIN = PluginKind(Settings, lambda account, settings, host: Plugin(settings))
"""


def offer_faulty_plugin(folder: Path) -> Path:
    """Lay the distribution out in the folder; a process that has it on its path is offered the kind "faulty"."""
    described = folder / "faulty-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(_METADATA)
    (described / "entry_points.txt").write_text(_ENTRY_POINT)
    (folder / "faulty_channel.py").write_text(_MODULE)
    return folder
