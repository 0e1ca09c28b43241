"""Numbers and states that the documents name are those of the code."""

import ast
from collections.abc import Iterator
from typing import get_args

import pytest

from a2a import card_keeping, interfaces
from a2a.card import SPOKEN
from core.notices import NOTICES
from core.outbox import SEND_LIMIT
from core.patience import Patience
from core.session import COLLECTED
from gateway import supervisor, telemetry
from gateway.agents.quick import ANSWER_LIMIT
from plugins.telegram import outgoing, webhook
from plugins.telegram.health import State
from plugins.telegram.render import TEXT_LIMIT as TELEGRAM_LIMIT
from plugins.webchat import plugin as webchat
from plugins.webchat import streams
from plugins.webchat.translate import TEXT_LIMIT
from tests.conftest import ROOT
from tests.docs.reading import document, first, rows, sections

PATIENCE = Patience()
OPERATIONS, AGENTS, TELEGRAM, WEBCHAT = "docs/operations.md", "docs/agents.md", "docs/telegram.md", "docs/webchat.md"

FACTS = [
    (OPERATIONS, f"the person hears of it after {PATIENCE.tell_unreachable:.0f} s"),
    (OPERATIONS, f"after {PATIENCE.give_up / 60:.0f} min the message is given up"),
    (OPERATIONS, {300.0: "once in five minutes"}[PATIENCE.poll_most]),
    (OPERATIONS, {3600.0: "recorded for an hour"}[PATIENCE.detached]),
    (OPERATIONS, f"({supervisor.FIRST_DELAY:.0f} s, doubled up to {supervisor.LONGEST_DELAY:.0f} s)"),
    (OPERATIONS, f"every {telemetry.FLUSH_INTERVAL} s"),
    (OPERATIONS, f"in {SEND_LIMIT:.0f} s"),
    (AGENTS, f"a silence of {PATIENCE.quiet:.0f} s"),
    (AGENTS, f"from {PATIENCE.poll_first:.0f} s to {PATIENCE.poll_most / 60:.0f} min"),
    (AGENTS, f"It has {ANSWER_LIMIT:.0f} s"),
    (AGENTS, f"from {card_keeping.LEAST_LIFETIME / 60:.0f} min to {card_keeping.MOST_LIFETIME / 3600:.0f} h"),
    (AGENTS, f"{card_keeping.LIFETIME / 3600:.0f} h where it says nothing"),
    (AGENTS, "Spoken are `{}`, `{}`, `{}` and `{}`.".format(*SPOKEN)),
    (AGENTS, f"passed over for {interfaces.PASSED_OVER / 60:.0f} min"),
    (OPERATIONS, NOTICES["command_interrupted"][0]),
    (TELEGRAM, NOTICES["busy"][0]),
    (TELEGRAM, f"above {webhook.BODY_LIMIT >> 10} KiB"),
    (TELEGRAM, {600.0: "every ten minutes"}[webhook.CHECK_INTERVAL]),
    (TELEGRAM, f"{TELEGRAM_LIMIT:,} UTF-16 units"),
    ("docs/configuration.md", {1.0: "once a second in a private chat"}[outgoing.PREVIEW_INTERVAL]),
    ("docs/configuration.md", {3.0: "every three seconds in a group"}[outgoing.GROUP_PREVIEW_INTERVAL]),
    ("docs/configuration.md", f"{COLLECTED} at most"),
    ("docs/configuration.md", {300.0: "passes that one over for five minutes"}[interfaces.PASSED_OVER]),
    (WEBCHAT, f"{TEXT_LIMIT:,} characters a message"),
    (WEBCHAT, f"the newest {webchat.HISTORY_LIMIT} entries"),
    (WEBCHAT, f"{streams.PER_VISITOR} open pages of one visitor"),
]


@pytest.mark.parametrize(("name", "words"), FACTS)
def test_a_number_in_the_documents_is_the_codes_own(name: str, words: str) -> None:
    assert words in " ".join(document(name).split())


def states_reached() -> Iterator[str]:
    """Every state that the Telegram plugin says it becomes, and the one it begins in."""
    yield "starting"
    for path in sorted((ROOT / "plugins" / "telegram").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ealth.becomes"):
                assert isinstance(node.args[0], ast.Constant)
                yield str(node.args[0].value)


def test_every_state_of_a_telegram_account_is_explained() -> None:
    explained = {first(row[0]) for row in rows(sections(document(TELEGRAM))["When something is wrong"])}
    assert explained == set(states_reached())
    assert explained <= set(get_args(State))
