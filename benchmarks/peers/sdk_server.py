"""An echo agent made with the official Python SDK (a2a-sdk 1.3.0), served as fast as it goes: uvloop and httptools.

Run in the SDK's own environment: `python -P benchmarks/peers/sdk_server.py --port P --store memory|sqlite`. A message
whose text begins with `fd:stream` is answered in `--chunks` chunks, any other as one artifact.
"""

import argparse
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from starlette.applications import Starlette

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState, TaskStatus

MARK = "fd:stream"


class Echo(AgentExecutor):
    def __init__(self, chunks: int) -> None:
        self._chunks = chunks

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        task = Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        count = self._chunks if text.startswith(MARK) else 1
        for n in range(count):
            words = text if count == 1 else f"{n} {text[:60]} "
            last = n == count - 1
            await updater.add_artifact([Part(text=words)], artifact_id="answer", append=n > 0, last_chunk=last)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(port: int) -> AgentCard:
    return AgentCard(
        name="echo",
        description="Says what it hears",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="Says what it hears", tags=["echo"])],
    )


def task_store(kind: str, database: Path) -> TaskStore:
    if kind == "memory":
        return InMemoryTaskStore()
    engine = create_async_engine(f"sqlite+aiosqlite:///{database}")
    _with_write_ahead_log(engine)
    return DatabaseTaskStore(engine)


def _with_write_ahead_log(engine: AsyncEngine) -> None:
    """Its best foot forward: with SQLite's default journal it would be slower still."""

    @event.listens_for(engine.sync_engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA busy_timeout=10000")
        cursor.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory")
    parser.add_argument("--database", type=Path, default=Path("tasks.db"))
    parser.add_argument("--chunks", type=int, default=20)
    given = parser.parse_args()
    described = card(given.port)
    store = task_store(given.store, given.database)
    handler = DefaultRequestHandler(agent_executor=Echo(given.chunks), task_store=store, agent_card=described)
    routes = [*create_agent_card_routes(described), *create_jsonrpc_routes(handler, "/")]
    uvicorn.run(
        Starlette(routes=routes),
        host="127.0.0.1",
        port=given.port,
        loop="uvloop",
        http="httptools",
        log_level="critical",
        access_log=False,
        backlog=1024,
    )


if __name__ == "__main__":
    main()
