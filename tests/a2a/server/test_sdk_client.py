"""The official SDK as a caller, over every interface, and our own client too."""

import asyncio
import json
from typing import Any

import pytest

from a2a.card import SPOKEN
from a2a.server.port import Overloaded
from core.agent import ArtifactUpdate, Snapshot, StatusUpdate, TaskState
from core.errors import NotAccepted, TaskUnknown
from tests.a2a.asking import ask, failure, heard, ref_of, words
from tests.a2a.conftest import Connect
from tests.a2a.server.site import serving
from tests.peers.processes import ROOT, peer_program, peer_script

KEY = "a-key-of-a-caller-0123456789"
KNOWN: dict[str, Any] = {"anonymous": "off", "callers": [{"name": "sdk", "key": KEY}], "extended_card": True}


def python() -> list[str]:
    # -P keeps the checkout off sys.path: its own package `a2a` would hide the SDK's.
    return [peer_program("a2a-sdk", "python"), "-P", str(ROOT / "tests" / "peers" / "sdk_client.py")]


def javascript() -> list[str]:
    return peer_script("javascript", "js_sdk_client.mjs")


async def sdk_client(command: list[str], url: str, interface: str) -> dict[str, Any]:
    """What the SDK made of everything it can ask."""
    pipe = asyncio.subprocess.PIPE
    asking = ["--url", url, "--interface", interface, "--key", KEY]
    client = await asyncio.create_subprocess_exec(*command, *asking, stdout=pipe, stderr=pipe)
    said, errors = await client.communicate()
    assert client.returncode == 0, errors.decode()[-3000:]
    told: dict[str, Any] = json.loads(said)
    return told


TOLD = {  # by either SDK, over every interface
    "name": "Research desk",
    "interfaces": 4,
    "sent": "hello",
    "streamed": "0 1 2 ",
    "bare": "a bare answer",
    "asked": "TASK_STATE_INPUT_REQUIRED",
    "question": "Which day?",
    "answered": "You said Tuesday",
    "subscribed": True,
    "canceled": "TASK_STATE_CANCELED",
}


@pytest.mark.peer("a2a-sdk")
@pytest.mark.parametrize("interface", SPOKEN)
async def test_the_sdk_can_do_everything_over_every_interface(interface: str) -> None:
    async with serving(**KNOWN) as site:
        told = await sdk_client(python(), site.base, interface)
    lists = {"listed": 2, "more": True, "next": True} if interface.endswith("1.0") else {}
    pushes = {} if interface == "HTTP+JSON/0.3" else {"pushes": [1, 0]}
    assert told == {
        **TOLD,
        "ended": "UnsupportedOperationError",
        "again": "TaskNotCancelableError",
        "push": [True, "https://example.com/hook", "t", "secret"],
        "unknown": "TaskNotFoundError",
        "extended": "Research desk",
        **lists,
        **pushes,
    }


# How the SDK's errors are called over each interface; over HTTP+JSON of 0.3 it does not tell them apart.
JS_ERRORS = {
    "JSONRPC/1.0": "JsonRpc{}",
    "JSONRPC/0.3": "JsonRpc{}",
    "HTTP+JSON/1.0": "Rest{}",
    "HTTP+JSON/0.3": "Error",
}


@pytest.mark.peer("javascript")
@pytest.mark.parametrize("interface", SPOKEN)
async def test_the_sdk_for_javascript_can_do_everything_over_every_interface(interface: str) -> None:
    async with serving(**KNOWN) as site:
        told = await sdk_client(javascript(), site.base, interface)
    error = JS_ERRORS[interface].format
    assert told == {
        **TOLD,
        "ended": error("UnsupportedOperationError"),
        "again": error("TaskNotCancelableError"),
        "push": ["https://example.com/hook", "t", "secret"],
        "unknown": error("TaskNotFoundError"),
        **({"listed": 2, "more": True, "next": True} if interface.endswith("1.0") else {}),
    }


@pytest.mark.parametrize("interface", SPOKEN)
async def test_a_gateway_can_ask_a_gateway_over_every_interface(connect: Connect, interface: str) -> None:
    auth = {"kind": "api_key", "name": "X-API-Key", "value": KEY}
    async with serving(**KNOWN) as site:
        remote = connect(site.base, interfaces=[interface], auth=auth)
        said = await heard(remote.send(ask("many 3")))
        task = ref_of(said[0])
        assert "".join(words(each) for each in said if isinstance(each, ArtifactUpdate)) == "0 1 2 "
        assert isinstance(said[-1], StatusUpdate | Snapshot)
        assert said[-1].state is TaskState.COMPLETED
        assert words(await remote.get(task)) == "0 1 2 "
        assert isinstance(await failure(remote.get(type(task)("nobody", ""))), TaskUnknown)
        assert (await remote.discover()).warnings == ()


@pytest.mark.parametrize("interface", SPOKEN)
async def test_a_caller_that_comes_when_there_is_too_much_to_do_may_come_again(
    connect: Connect, interface: str
) -> None:
    async with serving() as site:
        site.tasks.error = Overloaded("too much to do", retry_after=7.0)
        remote = connect(site.base, interfaces=[interface])
        error = await failure(remote.send(ask("hello")))
    assert isinstance(error, NotAccepted)
    assert error.retry_after == 7.0
