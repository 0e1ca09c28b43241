"""A caller made with the official SDK (a2a-sdk 1.3.0): does everything a caller can over one interface of a server.

Run in the SDK's own environment, where `a2a` is the SDK:
`python -P tests/peers/sdk_client.py --url http://127.0.0.1:8080 --interface JSONRPC/1.0`. The server's card is at the
URL's origin, and its agent does what the first word of a message says: echo TEXT, ask, many N, hold, bare. What came of
it is printed as one line of JSON.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any
from uuid import uuid4

import httpx

from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)

HOOK = "https://example.com/hook"
Told = dict[str, Any]


def request(text: str, *, task: Task | None = None) -> SendMessageRequest:
    message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return SendMessageRequest(message=message)


async def heard(events: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    return [event async for event in events]


def words(events: list[StreamResponse]) -> str:
    """What the artifacts say, chunk by chunk, or the whole task's where no chunk came."""
    chunks = [part.text for event in events for part in event.artifact_update.artifact.parts]
    whole = [part.text for event in events for made in event.task.artifacts for part in made.parts]
    return "".join(chunks or whole)


def state(task: Task) -> str:
    return TaskState.Name(task.status.state)


async def failure(call: Awaitable[Any]) -> str:
    """The class of the error, "" for none."""
    try:
        await call
    except Exception as error:  # the SDK's own classes are what is asked for
        return type(error).__name__
    return ""


class Caller:
    """One interface, with and without streams."""

    def __init__(self, streaming: Client, plain: Client) -> None:
        self._streaming, self._plain = streaming, plain

    async def everything(self, version: str) -> Told:
        return {
            "sent": words(await heard(self._plain.send_message(request("echo hello")))),
            "streamed": words(await heard(self._streaming.send_message(request("many 3")))),
            "bare": (await heard(self._streaming.send_message(request("bare"))))[0].message.parts[0].text,
            **await self._questions(),
            **await self._held(),
            **(await self._lists() if version == "1.0" else {}),
            "unknown": await failure(self._plain.get_task(GetTaskRequest(id="nobody"))),
        }

    async def _questions(self) -> Told:
        asked = (await heard(self._streaming.send_message(request("ask"))))[0].task
        read = await self._plain.get_task(GetTaskRequest(id=asked.id))
        answered = await heard(self._streaming.send_message(request("Tuesday", task=asked)))
        return {
            "asked": state(read),
            "question": read.status.message.parts[0].text,
            "answered": words(answered[1:]),
            "ended": await failure(heard(self._plain.send_message(request("more", task=asked)))),
        }

    async def _held(self) -> Told:
        """A task that is left while it runs, subscribed to, given a push config, and cancelled."""
        stream = self._streaming.send_message(request("hold"))
        task = (await anext(stream)).task
        await stream.aclose()
        subscription = self._streaming.subscribe(SubscribeToTaskRequest(id=task.id))
        first = await anext(subscription)
        await subscription.aclose()
        pushes = await self._pushes(task.id)
        canceled = await self._plain.cancel_task(CancelTaskRequest(id=task.id))
        again = await failure(self._plain.cancel_task(CancelTaskRequest(id=task.id)))
        return {"subscribed": first.task.id == task.id, "canceled": state(canceled), "again": again, **pushes}

    async def _pushes(self, task: str) -> Told:
        authentication = AuthenticationInfo(scheme="Bearer", credentials="secret")
        config = TaskPushNotificationConfig(task_id=task, id="p1", url=HOOK, token="t", authentication=authentication)
        made = await self._plain.create_task_push_notification_config(config)
        by_id = GetTaskPushNotificationConfigRequest(task_id=task, id="p1")
        read = await self._plain.get_task_push_notification_config(by_id)
        told: Told = {"push": [made == read, read.url, read.token, read.authentication.credentials]}
        try:
            listing = ListTaskPushNotificationConfigsRequest(task_id=task)
            listed = await self._plain.list_task_push_notification_configs(listing)
            await self._plain.delete_task_push_notification_config(
                DeleteTaskPushNotificationConfigRequest(task_id=task, id="p1")
            )
        except NotImplementedError:  # the SDK's own HTTP+JSON of 0.3 has no such calls
            return told
        left = await self._plain.list_task_push_notification_configs(listing)
        return {**told, "pushes": [len(listed.configs), len(left.configs)]}

    async def _lists(self) -> Told:
        page = await self._plain.list_tasks(ListTasksRequest(page_size=2))
        return {"listed": len(page.tasks), "more": page.total_size > 2, "next": bool(page.next_page_token)}

    async def extended(self) -> str:
        return (await self._plain.get_extended_agent_card(GetExtendedAgentCardRequest())).name


def one_interface(card: AgentCard, binding: str, version: str) -> AgentCard:
    chosen = AgentCard()
    chosen.CopyFrom(card)
    wanted = [
        it for it in card.supported_interfaces if (it.protocol_binding, it.protocol_version) == (binding, version)
    ]
    del chosen.supported_interfaces[:]
    chosen.supported_interfaces.extend(wanted)
    return chosen


async def run(url: str, interface: str, key: str) -> Told:
    binding, version = interface.split("/")
    async with httpx.AsyncClient(timeout=20, headers={"X-API-Key": key} if key else {}) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        clients = []
        for streaming in (True, False):
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
            clients.append(ClientFactory(config).create(one_interface(card, binding, version)))
        caller = Caller(*clients)
        told = {"name": card.name, "interfaces": len(card.supported_interfaces), **await caller.everything(version)}
        return {**told, "extended": await caller.extended()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--interface", required=True, help="such as JSONRPC/1.0")
    parser.add_argument("--key", default="", help="sent as X-API-Key")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(run(given.url, given.interface, given.key))), flush=True)


if __name__ == "__main__":
    main()
