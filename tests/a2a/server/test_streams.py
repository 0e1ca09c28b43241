"""Streams: order, subscription, heartbeats, and what becomes of who does not read."""

import json
import socket
from collections.abc import AsyncIterator, Sequence

import pytest

from a2a.server.port import Caller, Overloaded, Send, ServedEvent
from tests.a2a.server.site import Site, Stream, message, serving
from tests.doubles.served import ServedDouble
from tests.waiting import until, within

BIG_ONES = 300  # artifacts, of 20 MB together: more than any buffer on the way holds


async def kinds(stream: Stream) -> list[str]:
    return [next(iter(frame.get("result", frame))) for frame in await stream.rest()]


async def test_a_stream_tells_the_task_first_and_then_what_happens_in_order(site: Site) -> None:
    async with site.rpc_stream("SendStreamingMessage", message("many 3")) as stream:
        frames = await stream.rest()
    assert {(frame["jsonrpc"], frame["id"]) for frame in frames} == {("2.0", 7)}
    events = [frame["result"] for frame in frames]
    told = [next(iter(event)) for event in events]
    assert told == ["task", "statusUpdate", *["artifactUpdate"] * 3, "statusUpdate"]
    chunks = [event["artifactUpdate"] for event in events if "artifactUpdate" in event]
    assert "".join(chunk["artifact"]["parts"][0]["text"] for chunk in chunks) == "0 1 2 "
    assert [chunk.get("append", False) for chunk in chunks] == [False, True, True]
    assert all("final" not in event.get("statusUpdate", {}) for event in events)


async def test_http_json_streams_the_bare_events(site: Site) -> None:
    async with site.stream("POST", "/message:stream", message("echo hello")) as stream:
        assert stream.answer.headers["Cache-Control"] == "no-store"
        assert await kinds(stream) == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]


async def test_a_bare_answer_is_the_only_event(site: Site) -> None:
    async with site.stream("POST", "/message:stream", message("bare")) as stream:
        assert await kinds(stream) == ["message"]


async def test_history_length_holds_in_streams_too(site: Site) -> None:
    params = {**message("echo x"), "configuration": {"historyLength": 0}}
    async with site.rpc_stream("SendStreamingMessage", params) as stream:
        assert "history" not in (await stream.next())["result"]["task"]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_subscription_begins_with_the_whole_task_and_ends_with_it(site: Site, method: str) -> None:
    task = await site.start("hold")
    path = f"/tasks/{task['id']}:subscribe"
    async with site.stream(method, path) as first, site.stream(method, path) as second:
        assert {(await stream.next())["task"]["id"] for stream in (first, second)} == {task["id"]}
        site.tasks.released.set()
        told = [await first.rest(), await second.rest()]
    assert told[0] == told[1]
    assert told[0][-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_subscription_stays_open_while_a_question_waits(site: Site) -> None:
    asked = (await site.send("ask"))["task"]
    async with site.rpc_stream("SubscribeToTask", {"id": asked["id"]}) as stream:
        assert (await stream.next())["result"]["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        await site.rpc("SendMessage", message("Tuesday", taskId=asked["id"]))
        assert (await stream.rest())[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_refusal_before_the_first_event_is_a_plain_answer(site: Site) -> None:
    ended = (await site.send("echo x"))["task"]["id"]
    for method, params, code in (
        ("SendStreamingMessage", {}, -32602),
        ("SubscribeToTask", {"id": "nobody"}, -32001),
        ("SubscribeToTask", {"id": ended}, -32004),
    ):
        answer = await site.rpc(method, params)
        assert (answer.status, answer.code, answer.headers["Content-Type"]) == (200, code, "application/json")
    refused = await site.rest("POST", f"/tasks/{ended}:subscribe")
    assert (refused.status, refused.reason) == (400, "UNSUPPORTED_OPERATION")


class Failing(ServedDouble):
    """Has too much to do once a stream has begun."""

    async def stream(self, caller: Caller, request: Send) -> AsyncIterator[Sequence[ServedEvent]]:
        async for events in super().stream(caller, request):
            yield events
            raise Overloaded("too much to do", retry_after=1.0)


async def test_a_failure_behind_the_first_event_is_an_event() -> None:
    async with serving(tasks=Failing()) as site:
        async with site.rpc_stream("SendStreamingMessage", message("echo x")) as stream:
            assert (await stream.rest())[-1]["error"]["code"] == -32000
        async with site.stream("POST", "/message:stream", message("echo x")) as stream:
            assert (await stream.rest())[-1]["error"]["status"] == "UNAVAILABLE"


@pytest.mark.case("T78")
async def test_a_quiet_stream_has_comments() -> None:
    async with serving(heartbeat=0.01) as site:
        task = await site.start("hold")
        async with site.stream("GET", f"/tasks/{task['id']}:subscribe") as stream:
            await stream.next()
            lines = [await stream.answer.content.readline() for _ in range(5)]
            assert b":\n" in lines
            assert (site.facade.streams, site.tasks.followers) == (1, 1)


async def test_who_leaves_is_noticed_and_the_task_goes_on() -> None:
    async with serving(heartbeat=0.01) as site:
        async with site.rpc_stream("SendStreamingMessage", message("hold")) as stream:
            task = (await stream.next())["result"]["task"]
            stream.answer.close()
        await until(lambda: site.facade.streams == 0 and site.tasks.followers == 0)
        site.tasks.released.set()
        params = {"id": task["id"]}

        async def is_done() -> bool:
            state = (await site.rpc("GetTask", params)).said["result"]["status"]["state"]
            return bool(state == "TASK_STATE_COMPLETED")

        await until(is_done)


@pytest.mark.case("T78")
async def test_who_never_reads_is_dropped_and_others_are_served() -> None:
    async with serving(write_limit=0.05) as site:
        host, port = site.base.removeprefix("http://").split(":")
        deaf = socket.create_connection((host, int(port)))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        body = json.dumps({**message(f"big {BIG_ONES}", messageId="m1")}).encode()
        head = (
            f"POST /a2a/desk/message:stream HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Length: {len(body)}\r\n"
        )
        deaf.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        await until(lambda: site.facade.streams == 1)
        assert (await site.send("echo hello"))["task"]
        await until(lambda: site.facade.streams == 0)
        outcomes = [fields["outcome"] for fields in site.told.of("a2a.served")]
        assert outcomes == ["ok", "reader_lost"]
        deaf.close()


@pytest.mark.case("T78")
async def test_an_owner_has_only_so_many_streams_open() -> None:
    async with serving(limits={"streams_per_owner": 1}) as site:
        task = await site.start("hold")
        async with site.rpc_stream("SubscribeToTask", {"id": task["id"]}) as stream:
            await stream.next()
            refused = await site.rpc("SubscribeToTask", {"id": task["id"]})
            assert (refused.status, refused.code, "Retry-After" in refused.headers) == (503, -32000, True)
        site.tasks.released.set()


@pytest.mark.case("T78")
async def test_a_reader_that_the_task_cut_off_subscribes_again() -> None:
    async with serving() as site:
        site.tasks.most_queued = 5
        async with site.rpc_stream("SendStreamingMessage", message("many 100")) as stream:
            await stream.rest()
        assert site.facade.streams == 0


async def test_closing_ends_every_stream(site: Site) -> None:
    task = await site.start("hold")
    async with site.rpc_stream("SubscribeToTask", {"id": task["id"]}) as stream:
        await stream.next()
        site.facade.close()
        async with within(5):
            assert await stream.rest() == []
