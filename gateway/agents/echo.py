"""The agent that repeats what it is told: for first steps, tests and measurements."""

from gateway.agents.contract import Task


class Echo:
    async def answer(self, task: Task) -> str:
        return task.text


AGENT = Echo
