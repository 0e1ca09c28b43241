"""Frontdesk's own client as its tracker uses it: card, credentials, bounds, checks, and the core's words."""

import uvloop

from a2a.client import make
from a2a.settings import A2AAgentSettings
from benchmarks.clients.calling import TEXT, arguments, measure
from core.agent import Ask, Snapshot, StatusUpdate, TaskState
from core.doors.outbound import GuardedClient
from core.parts import Text


async def main() -> None:
    given = arguments(__doc__)
    card = f"{given.agent}/.well-known/agent-card.json"
    settings = A2AAgentSettings(card=card, allow_private_network=True, max_calls=1000, max_streams=1000)
    async with GuardedClient(limit_per_host=given.lanes, streams_per_host=given.lanes) as client:
        agent = make("stub", settings, client)

        async def call(number: int) -> None:
            state = None
            async for event in agent.send(Ask(f"m{number}", (Text(f"{number} {TEXT}"),))):
                if isinstance(event, Snapshot | StatusUpdate):
                    state = event.state
            assert state is TaskState.COMPLETED, state

        await measure(call, given.calls, given.lanes)


if __name__ == "__main__":
    uvloop.run(main())
