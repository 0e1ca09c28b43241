"""Questions that nobody will answer any more: their agents are told, by a cancel, over restarts too.

A task that only asked is over for its person at once. That its agent has yet to be told is stored with that, and is so
until the agent answered, whatever it says: a kill in between leaves nothing open there.
"""

import asyncio
import random
from collections.abc import Mapping
from functools import partial

from core.agent import TaskRef
from core.errors import AgentError, Declined, NotAuthorised, TaskUnknown
from core.helm import Delegate, Helm
from core.persistence import patiently
from core.store import Turns
from core.turn import OpenTask


class Closings:
    def __init__(self, helm: Helm, turns: Turns, delegates: Mapping[str, Delegate]) -> None:
        self._helm, self._turns, self._delegates = helm, turns, delegates

    def tell(self, task: OpenTask) -> None:
        """Tell its agent, beside the turns; what this process does not manage, the next one does."""
        if task.task_id:
            self._helm.spawn(partial(self._tell, task), f"let go {task.task_id}")

    async def tell_the_rest(self) -> None:
        """After a start: what the last process did not manage."""
        for position, task in enumerate(await patiently(self._turns.untold, self._helm.telemetry)):
            asyncio.get_running_loop().call_later(position * self._helm.patience.stagger, self.tell, task)

    async def _tell(self, task: OpenTask) -> None:
        if await self._is_told(task):
            await patiently(lambda: self._turns.told(task.agent, task.task_id), self._helm.telemetry)

    async def _is_told(self, task: OpenTask) -> bool:
        """Tried for as long as a message would be."""
        clock, patience, attempt = self._helm.clock, self._helm.patience, 0
        started = clock.monotonic()
        while clock.monotonic() - started <= patience.give_up:
            if await self._hears(task):
                return True
            await asyncio.sleep(patience.retry(attempt, random.random()))
            attempt += 1
        return False

    async def _hears(self, task: OpenTask) -> bool:
        """Whether its agent answers, as it is configured now: whoever refuses the gateway's credentials heard nothing,
        and takes others later."""
        delegate = self._delegates.get(task.agent)
        if delegate is None:
            return False
        try:
            await delegate.agent.cancel(TaskRef(task.task_id, task.context_id, task.binding))
        except NotAuthorised:
            return False
        except (Declined, TaskUnknown):
            return True
        except AgentError:
            return False
        return True
