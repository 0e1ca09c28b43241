"""The agent that the official compatibility kits expect behind a server, as a local agent.

What it does follows from the message's id. The kit of 1.0 gives ids that begin with `tck-`; the kit of 0.3 gives its
own, and its tasks must stay open to be continued and cancelled.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from core.parts import Data, File, Text
from gateway.agents import Done, Parts, Question, Rejected, Reply, Step, Task

# Of the kit of 0.3: messages whose task it wants to find at work, by how their ids begin; seconds.
AT_WORK = {
    "test-resubscribe-message-id": 6.0,  # three times its streaming time-out
    "test-state-message-id": 4.5,  # longer than a send waits that does not say `blocking`
}
FILE = File("output.txt", "text/plain", content=b"file content", size=12)


def one(text: str, id: str) -> Parts:
    return Parts((Text(text),), id=id)


_STEPS: dict[str, Sequence[Step]] = {
    "tck-message-response": [Reply("Direct message response")],
    "tck-input-required": [Question("What else?", {"kit": "1.0"})],
    "tck-reject-task": [Rejected("rejected")],
    "tck-artifact-text": [one("Generated text content", "made")],
    "tck-artifact-file-url": [Parts((File("output.txt", "text/plain", "https://example.com/output.txt"),), id="made")],
    "tck-artifact-file": [Parts((FILE,), id="made")],
    "tck-artifact-data": [Parts((Data({"key": "value", "count": 42}),), id="made")],
    "tck-stream-artifact-chunked": [
        Parts((Text("chunk-1 "),), id="chunked", more=True),
        Parts((Text("chunk-2"),), id="chunked"),
    ],
    "tck-stream-artifact-text": [one("Streamed text content", "text")],
    "tck-stream-artifact-file": [Parts((FILE,), id="file")],
    "tck-stream-ordering-001": [one("Ordered output", "ordered")],
    "tck-stream-001": [one("Stream hello from TCK", "hello")],
    "tck-stream-002": [],
    "tck-stream-003": [one("Stream task lifecycle", "lifecycle")],
    "tck-": [Done("Hello from TCK")],
}


class Conformant:
    resumable = False

    async def work(self, task: Task) -> AsyncIterator[Step]:
        at_work = next((seconds for prefix, seconds in AT_WORK.items() if task.message_id.startswith(prefix)), None)
        if at_work is not None:
            await asyncio.sleep(at_work)
            return
        steps = next((steps for prefix, steps in _STEPS.items() if task.message_id.startswith(prefix)), None)
        if steps is None:
            steps = [Done("Hello from TCK")] if task.state.get("kit") == "1.0" else [Question("What else?")]
        for step in steps:
            yield step


AGENT = Conformant
