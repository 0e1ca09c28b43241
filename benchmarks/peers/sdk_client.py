"""The official Python SDK's client (a2a-sdk 1.3.0) on httpx, run in its own environment with `python -P`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "clients"))  # behind the SDK, so that `a2a` stays the SDK's

import httpx
import uvloop
from calling import TEXT, arguments, measure

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState


async def main() -> None:
    given = arguments(__doc__)
    limits = httpx.Limits(max_connections=given.lanes, max_keepalive_connections=given.lanes)
    async with httpx.AsyncClient(timeout=30, limits=limits) as http:
        card = await A2ACardResolver(http, given.agent).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=given.streaming)).create(card)

        async def call(number: int) -> None:
            parts = [Part(text=f"{number} {TEXT}")]
            message = Message(message_id=f"m{number}", role=Role.ROLE_USER, parts=parts)
            state = None
            async for event in client.send_message(SendMessageRequest(message=message)):
                if event.HasField("task"):
                    state = event.task.status.state
                elif event.HasField("status_update"):
                    state = event.status_update.status.state
            assert state == TaskState.TASK_STATE_COMPLETED, state

        await measure(call, given.calls, given.lanes)


if __name__ == "__main__":
    uvloop.run(main())
