"""The programs that are compared: how each is started, where its webhook is, and what it needs around it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ceilings.serving import HOOK_PATH, SECRET
from benchmarks.serving import LOOPBACK

OPERATOR_TOKEN = "operator-token-for-benchmarks-0123456789"
AMPLE_QUEUE = 200_000  # messages; no measurement but the queue's own shall meet the bound
CONFIGURATION = """\
[gateway]
host = "{host}"
port = {port}
store = "sqlite:///{folder}/frontdesk.db"
operator_token = "{operator_token}"
max_queued = {max_queued}

[agents.stub]
kind = "a2a"
card = "{agent}/.well-known/agent-card.json"
allow_private_network = true

[plugins.bench]
kind = "telegram"
token = "123456:TEST"
mode = "webhook"
webhook_secret = "{secret}"
api_base = "{bot_api}"
owner = "per_sender"
agent = "stub"
access = {{ direct = "open", groups = "all" }}
limits = {{ per_second = 0, per_chat_second = 0, per_group_minute = 0 }}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """What a program is given: a port, a folder that outlives it, and the two ends of the line."""

    port: int
    folder: Path
    agent: str = ""  # base URLs, without a slash at the end
    bot_api: str = ""
    is_streaming: bool = False  # whether the agent offers streams
    max_queued: int = AMPLE_QUEUE


@dataclass(frozen=True, slots=True)
class Program:
    """`hook` is the path of its webhook; `spans_the_line` when it calls agent and Bot API, and not only admits."""

    name: str
    hook: str
    spans_the_line: bool
    command: Callable[[Site], Sequence[str]]


def _bare(site: Site) -> Sequence[str]:
    return (sys.executable, "-m", "benchmarks.ceilings.bare", "--port", str(site.port))


def _durable(site: Site) -> Sequence[str]:
    module = "benchmarks.ceilings.durable"
    return (sys.executable, "-m", module, "--port", str(site.port), "--database", str(site.folder / "durable.db"))


def _minimal(site: Site) -> Sequence[str]:
    command = [sys.executable, "-m", "benchmarks.ceilings.gateway", "--port", str(site.port)]
    command += ["--database", str(site.folder / "minimal.db"), "--agent", f"{site.agent}/", "--bot-api", site.bot_api]
    return (*command, "--streaming") if site.is_streaming else command


def _frontdesk(site: Site) -> Sequence[str]:
    settings = site.folder / "frontdesk.toml"
    settings.write_text(
        CONFIGURATION.format(
            host=LOOPBACK,
            port=site.port,
            folder=site.folder,
            operator_token=OPERATOR_TOKEN,
            max_queued=site.max_queued,
            agent=site.agent,
            secret=SECRET,
            bot_api=site.bot_api,
        )
    )
    settings.chmod(0o600)
    return (str(Path(sys.executable).with_name("frontdesk")), "run", "--config", str(settings))


BARE = Program("bare handler", HOOK_PATH, False, _bare)
DURABLE = Program("durable ceiling", HOOK_PATH, False, _durable)
MINIMAL = Program("minimal gateway", HOOK_PATH, True, _minimal)
FRONTDESK = Program("Frontdesk", "/hooks/bench", True, _frontdesk)
