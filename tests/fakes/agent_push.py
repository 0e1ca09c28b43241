"""What an agent pushes, in each of the forms that agents have, and how it is posted."""

from collections.abc import Mapping
from typing import Any

import aiohttp

from tests.fakes.agent_events import Event, task
from tests.fakes.agent_old import OldWords
from tests.fakes.agent_tasks import AgentTask

FORMS = ("StreamResponse 1.0", "Task 0.3", "event 0.3", "Task 1.0")
TOKENS = ("X-A2A-Notification-Token", "A2A-Notification-Token", "Authorization")


def pushed(known: AgentTask, event: Event | None = None, *, form: str = FORMS[0]) -> dict[str, Any]:
    """The body that tells of an event; None tells of the task as it is. Task forms always have the whole task."""
    words, whole = OldWords(proto=False), known.frame(task()).body
    told = whole if event is None else known.frame(event).body
    bodies: dict[str, Any] = {
        "StreamResponse 1.0": told,
        "Task 0.3": words.task(known.wire()),
        "event 0.3": words.response(told),
        "Task 1.0": known.wire(),
    }
    return dict(bodies[form])


async def post(config: Mapping[str, Any], body: Any, *, by: str = TOKENS[0], url: str = "") -> int:
    """Post a push to where its configuration says; the status of the answer."""
    secret = str(config["token"])
    headers = {by: f"Bearer {secret}" if by == "Authorization" else secret}
    async with aiohttp.ClientSession() as http, http.post(url or config["url"], json=body, headers=headers) as answer:
        return answer.status
