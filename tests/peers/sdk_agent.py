"""An A2A agent made with the official SDK (a2a-sdk 1.3.0), the peer that keeps our reading of the protocol honest.

Run in the SDK's own environment, where `a2a` is the SDK: `python -P tests/peers/sdk_agent.py --port 0 --store memory`.
It speaks JSON-RPC (at /) and HTTP+JSON (under /rest), each of 1.0 and, by the SDK's compatibility layer, of 0.3, with
streaming, and prints `listening on PORT`. What it does is the message's first word:

    echo TEXT   TEXT comes back as one artifact in chunks (so does any other text, whole)
    book ...    asks "Which day?" (input-required) and completes with the answer
    slow N      N chunks, `--gap` seconds apart
    hold N      one chunk, then waits for POST /control/release, then the other chunks
    fail ...    ends as failed
    sign ...    demands a sign-in, and completes after the release

It pushes to whoever asks for that.

GET /control/held?n=N answers when N calls wait; GET /control/texts lists the texts executed.
"""

import argparse
import asyncio
import contextlib
import socket

import httpx
import uvicorn
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    DatabaseTaskStore,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState, TaskStatus

QUESTION = "Which day?"
SIGN_IN = "Sign in at https://idp.example"
ARTIFACT = "answer"
MOST_CHUNKS = 1000
STORE_GAP = 0.01  # seconds between looks into the task store


class Control:
    """What a test steers and asks from outside."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._released = asyncio.Event()
        self._waiting = 0
        self._changed = asyncio.Condition()

    async def hold(self) -> None:
        await self._count(1)
        try:
            await self._released.wait()
        finally:
            await asyncio.shield(self._count(-1))

    async def release(self, _: Request) -> JSONResponse:
        waiting = self._waiting
        self._released.set()
        return JSONResponse({"released": waiting})

    async def held(self, request: Request) -> JSONResponse:
        wanted = int(request.query_params.get("n", "1"))
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting >= wanted)
        return JSONResponse({"held": self._waiting})

    async def list_texts(self, _: Request) -> JSONResponse:
        return JSONResponse({"texts": self.texts})

    def routes(self) -> list[Route]:
        return [
            Route("/control/release", self.release, methods=["POST"]),
            Route("/control/held", self.held, methods=["GET"]),
            Route("/control/texts", self.list_texts, methods=["GET"]),
        ]

    async def _count(self, step: int) -> None:
        async with self._changed:
            self._waiting += step
            self._changed.notify_all()


class Desk(AgentExecutor):
    """Does what the first word says."""

    def __init__(self, control: Control, store: TaskStore, gap: float) -> None:
        self._control = control
        self._store = store
        self._gap = gap  # seconds

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        self._control.texts.append(text)
        updater = await self._begin(context, event_queue)
        word, _, rest = text.partition(" ")
        if context.current_task and context.current_task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await self._show(updater, [f"Booked for {text}"])
            await updater.complete()
        elif word == "book":
            await updater.requires_input(updater.new_agent_message([Part(text=QUESTION)]))
        elif word == "sign":
            await updater.requires_auth(updater.new_agent_message([Part(text=SIGN_IN)]))
            await self._control.hold()
            await updater.start_work()
            await self._show(updater, ["three invoices"])
            await updater.complete()
        elif word == "fail":
            await updater.failed(updater.new_agent_message([Part(text="It went wrong")]))
        elif word in ("slow", "hold") and rest.isdigit():
            await self._count(context, updater, min(int(rest), MOST_CHUNKS), is_held=word == "hold")
            await updater.complete()
        else:
            await self._show(updater, in_chunks(rest) if word == "echo" else [text])
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """The SDK stops `execute` by itself; the state is the executor's to say."""
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _begin(self, context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        return updater

    async def _show(self, updater: TaskUpdater, chunks: list[str]) -> None:
        for index, chunk in enumerate(chunks):
            await self._chunk(updater, chunk, index, len(chunks))

    async def _count(self, context: RequestContext, updater: TaskUpdater, chunks: int, *, is_held: bool) -> None:
        for index in range(chunks):
            await self._chunk(updater, f"{index + 1} ", index, chunks)
            if is_held and index == 0:
                await self._until_stored(context)
                await self._control.hold()
            elif not is_held:
                await asyncio.sleep(self._gap)

    async def _until_stored(self, context: RequestContext) -> None:
        """The SDK stores behind the executor's back; who kills a held agent must find what it had said."""
        while not (task := await self._store.get(context.task_id, context.call_context)) or not task.artifacts:  # noqa: ASYNC110
            await asyncio.sleep(STORE_GAP)

    @staticmethod
    async def _chunk(updater: TaskUpdater, text: str, index: int, count: int) -> None:
        await updater.add_artifact(
            [Part(text=text)], artifact_id=ARTIFACT, append=index > 0, last_chunk=index == count - 1
        )


def in_chunks(text: str) -> list[str]:
    """Words, each with the space that follows it; one empty chunk for no text."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]


def agent_card(port: int) -> AgentCard:
    base = f"http://127.0.0.1:{port}"
    interfaces = [
        AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
        for version in ("1.0", "0.3")
        for binding, url in (("JSONRPC", f"{base}/"), ("HTTP+JSON", f"{base}/rest"))
    ]
    return AgentCard(
        name="sdk-agent",
        description="Echoes, books, counts and fails",
        version="1.0.0",
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="desk", name="Desk", description="Echoes and books", tags=["desk"])],
    )


def task_store(choice: str) -> TaskStore:
    if choice == "memory":
        return InMemoryTaskStore()
    scheme, _, path = choice.partition(":")
    if scheme != "sqlite" or not path:
        raise SystemExit(f"--store must be memory or sqlite:PATH, not {choice}")
    return DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{path}"))


async def serve(port: int, store: str, gap: float) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    port = listener.getsockname()[1]
    card, control, tasks = agent_card(port), Control(), task_store(store)
    pushes, http = InMemoryPushNotificationConfigStore(), httpx.AsyncClient()
    handler = DefaultRequestHandler(
        agent_executor=Desk(control, tasks, gap),
        task_store=tasks,
        agent_card=card,
        push_config_store=pushes,
        push_sender=BasePushNotificationSender(http, pushes),
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette):
        # The socket listens already: a client that reads this line and connects is not refused.
        print(f"listening on {port}", flush=True)
        yield

    routes = [
        *control.routes(),
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
        *create_rest_routes(handler, enable_v0_3_compat=True, path_prefix="/rest"),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(description="An A2A agent made with the official SDK")
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    parser.add_argument("--store", default="memory", help="memory or sqlite:PATH")
    parser.add_argument("--gap", type=float, default=0.05, help="seconds between the chunks of slow N")
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.port, chosen.store, chosen.gap))


if __name__ == "__main__":
    main()
