"""The control API: what operators see and can do, and that nobody else does."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from core.doors.ingress import Ingress
from core.errors import StoreUnavailable, Unreachable
from gateway.api import LARGEST_PAGE, ControlApi, NotPossible
from gateway.health import Operator
from tests.doubles.events import Events
from tests.gateway.conftest import BEARER, TOKEN, Serve
from tests.gateway.ledger import Ledger, delivery, task

TASK, DELIVERY = task(7)["id"], delivery(0)["id"]
READABLE = (
    "/summary",
    "/sessions",
    "/envelopes/e1",
    "/tasks",
    f"/tasks/{TASK}",
    "/deliveries",
    f"/deliveries/{DELIVERY}",
    "/plugins",
    "/plugins/support",
    "/agents",
    "/openapi.json",
)
ACTIONS = (
    f"/tasks/{TASK}:cancel",
    f"/tasks/{TASK}:refresh",
    f"/deliveries/{DELIVERY}:retry",
    f"/deliveries/{DELIVERY}:discard",
)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def said() -> Events:
    return Events()


@pytest.fixture
async def client(ledger: Ledger, said: Events, serve: Serve) -> AsyncIterator[aiohttp.ClientSession]:
    api = ControlApi(ledger, Operator(TOKEN), said, version="1.2")
    async with serve(api.routes(Ingress())) as client:
        yield client


async def got(client: aiohttp.ClientSession, path: str, *, status: int = 200) -> Any:
    async with client.get(f"/api/v1{path}", headers=BEARER) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json(content_type=None)


async def did(client: aiohttp.ClientSession, path: str, *, status: int = 200) -> Any:
    async with client.post(f"/api/v1{path}", headers=BEARER) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json(content_type=None)


@pytest.mark.case("T94")
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}])
async def test_without_the_operators_token_nothing_is_shown_and_nothing_done(
    client: aiohttp.ClientSession, ledger: Ledger, headers: dict[str, str]
) -> None:
    for method, paths in (("GET", READABLE), ("POST", ACTIONS)):
        for path in paths:
            async with client.request(method, f"/api/v1{path}", headers=headers) as answer:
                assert (answer.status, answer.content_type) == (401, "application/problem+json")
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert ledger.acts == []


async def test_a_token_in_the_query_opens_nothing(client: aiohttp.ClientSession) -> None:
    async with client.get("/api/v1/summary", params={"access_token": TOKEN}) as answer:
        assert answer.status == 401


async def test_everything_readable_answers_with_json_that_is_not_kept(client: aiohttp.ClientSession) -> None:
    for path in READABLE:
        async with client.get(f"/api/v1{path}", headers=BEARER) as answer:
            assert (answer.status, answer.content_type) == (200, "application/json")
            assert answer.headers["Cache-Control"] == "no-store"


async def test_a_list_is_walked_page_by_page(client: aiohttp.ClientSession) -> None:
    seen: list[str] = []
    cursor = ""
    while True:
        page = await got(client, f"/tasks?limit=100{cursor}")
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len(seen) == len(set(seen)) == 450


async def test_a_page_has_a_largest_size(client: aiohttp.ClientSession) -> None:
    assert len((await got(client, "/tasks?limit=999999"))["items"]) == LARGEST_PAGE


async def test_a_list_can_be_narrowed_to_a_state(client: aiohttp.ClientSession) -> None:
    assert [item["id"] for item in (await got(client, "/deliveries?state=unknown"))["items"]] == [DELIVERY]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("cursor=%00", "cursor"),
        ("cursor=nope", "cursor"),
        ("stat=unknown", "unknown parameter 'stat'"),
        ("state=foo", "unknown state 'foo'; known here: submitted, working, input-required"),
        ("state=", "unknown state ''"),
        ("limit=1&limit=2", "limit is given more than once"),
    ],
)
async def test_a_wrong_parameter_is_named(client: aiohttp.ClientSession, query: str, word: str) -> None:
    assert word in (await got(client, f"/tasks?{query}", status=400))["detail"]


async def test_each_list_has_states_of_its_own(client: aiohttp.ClientSession) -> None:
    for path, state in (("/sessions", "active"), ("/tasks", "working"), ("/deliveries", "unknown")):
        assert (await got(client, f"{path}?state={state}"))["items"]
    assert "known here: active, idle" in (await got(client, "/sessions?state=working", status=400))["detail"]


@pytest.mark.parametrize("body", [b"", b"{}", b" { } "])
async def test_an_action_takes_no_arguments(client: aiohttp.ClientSession, ledger: Ledger, body: bytes) -> None:
    path = f"/api/v1/deliveries/{DELIVERY}:retry"
    async with client.post(path, headers=BEARER, data=body) as answer:
        assert answer.status == 200
    async with client.post(path, headers=BEARER, data=b'{"delay": 5}') as answer:
        assert (answer.status, (await answer.json())["detail"]) == (
            400,
            "this takes no arguments; leave the body empty",
        )
    assert len(ledger.acts) == 1


@pytest.mark.parametrize(
    "path", ["/tasks/gone", "/sessions/gone", "/envelopes/gone", "/deliveries/gone", "/plugins/gone"]
)
async def test_an_unknown_id_is_a_problem_that_says_no_more(client: aiohttp.ClientSession, path: str) -> None:
    problem = await got(client, path, status=404)
    assert problem == {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "there is no such record"}


@pytest.mark.parametrize("path", ["/tasks/..%2f..%2fetc", "/tasks/a%00b", "/tasks/" + "a" * 200, "//tasks", "/nothing"])
async def test_no_trick_with_the_path_is_answered(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(f"/api/v1{path}", headers=BEARER) as answer:
        assert answer.status == 404


async def test_the_summary_names_the_messages_nobody_knows_of_only_when_asked(client: aiohttp.ClientSession) -> None:
    assert "unknown_ids" not in await got(client, "/summary")
    assert (await got(client, "/summary?ids=1"))["unknown_ids"] == ["81001"]
    assert (await got(client, "/summary"))["unknown"] == 1


@pytest.mark.parametrize(
    ("action", "verb", "state"),
    list(
        zip(
            ACTIONS,
            ("cancel", "refresh", "retry", "discard"),
            ("canceled", "completed", "queued", "discarded"),
            strict=True,
        )
    ),
)
async def test_an_action_is_done_once_answered_with_the_record_and_leaves_a_trace(
    client: aiohttp.ClientSession, ledger: Ledger, said: Events, action: str, verb: str, state: str
) -> None:
    assert (await did(client, action))["state"] == state
    assert [done for done, _ in ledger.acts] == [verb]
    (event,) = said.of("operator.acted")
    assert event["outcome"] == "done"
    assert str(event["action"]).endswith(f":{verb}")


async def test_an_action_on_an_unknown_id_is_not_found(client: aiohttp.ClientSession) -> None:
    await did(client, "/tasks/gone:cancel", status=404)


async def test_what_the_state_does_not_allow_is_refused_with_the_reason(
    client: aiohttp.ClientSession, ledger: Ledger, said: Events
) -> None:
    ledger.trouble = NotPossible("it was delivered")
    assert (await did(client, f"/deliveries/{DELIVERY}:retry", status=409))["detail"] == "it was delivered"
    assert said.of("operator.acted")[0]["outcome"] == "not_possible"


async def test_an_agent_that_does_not_answer_is_a_bad_gateway(client: aiohttp.ClientSession, ledger: Ledger) -> None:
    ledger.trouble = Unreachable("research: connection refused")
    assert "connection refused" in (await did(client, f"/tasks/{TASK}:refresh", status=502))["detail"]


async def test_a_store_that_cannot_commit_says_when_to_come_back(client: aiohttp.ClientSession, ledger: Ledger) -> None:
    ledger.trouble = StoreUnavailable("disk full", retry_after=7)
    async with client.post(f"/api/v1/tasks/{TASK}:cancel", headers=BEARER) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
        assert "disk full" not in await answer.text()


async def test_reading_never_acts(client: aiohttp.ClientSession, ledger: Ledger) -> None:
    for action in ACTIONS:
        async with client.get(f"/api/v1{action}", headers=BEARER) as answer:
            assert answer.status == 405
    assert ledger.acts == []


@pytest.mark.case("T52")
async def test_settings_show_that_a_secret_is_set_and_not_what_it_is(client: aiohttp.ClientSession) -> None:
    assert (await got(client, "/plugins/support"))["settings"]["token"] == {"set": True}
    assert (await got(client, "/agents"))["items"][0]["settings"]["auth"]["token"] == {"set": True}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"text":7}', b'{"text":" "}', b'{"text":"a","to":"b"}', b'{"text":"a","text":"b"}']
)
async def test_a_reply_that_says_nothing_is_refused(client: aiohttp.ClientSession, ledger: Ledger, body: bytes) -> None:
    async with client.post(f"/api/v1/tasks/{TASK}:reply", headers=BEARER, data=body) as answer:
        assert (answer.status, "a text of 1 to" in (await answer.json())["detail"]) == (400, True)
    too_long = json.dumps({"text": "a" * 16_385})
    async with client.post(f"/api/v1/tasks/{TASK}:reply", headers=BEARER, data=too_long) as answer:
        assert answer.status == 400
    assert ledger.acts == []


async def test_a_reply_is_passed_on_as_it_was_written(client: aiohttp.ClientSession, ledger: Ledger) -> None:
    said = {"text": "Friday\n周五 " + "x" * 16_000}
    async with client.post(f"/api/v1/tasks/{TASK}:reply", headers=BEARER, json=said) as answer:
        assert answer.status == 200
    assert (ledger.acts, ledger.said) == ([("reply", TASK)], [said["text"]])


async def test_an_agent_that_is_not_configured_is_not_known(client: aiohttp.ClientSession) -> None:
    for verb in ("", ":discover", ":test"):
        method = "POST" if verb else "GET"
        async with client.request(method, f"/api/v1/agents/nobody{verb}", headers=BEARER) as answer:
            assert answer.status == 404


async def test_the_description_lists_exactly_what_exists(client: aiohttp.ClientSession, ledger: Ledger) -> None:
    document = await got(client, "/openapi.json")
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    api = ControlApi(ledger, Operator(TOKEN), Events(), version="1.2")
    assert described == {(endpoint.method, f"/api/v1{endpoint.path}") for endpoint in api.endpoints()}
    assert len(described) == len(api.routes(Ingress()))
    for method, path in described:
        place = path.replace("{id}", TASK).replace("{ref}", "r").replace("{name}", "support")
        takes = document["paths"][path][method.lower()].get("requestBody")
        name = takes["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2] if takes else ""
        body = dict.fromkeys(document["components"]["schemas"][name]["properties"], "word") if name else None
        async with client.request(method, place, headers=BEARER, json=body) as answer:
            assert answer.status in (200, 404)


async def test_every_shape_the_description_refers_to_is_in_it(client: aiohttp.ClientSession) -> None:
    document = await got(client, "/openapi.json")
    referred = {part.split('"')[0] for part in json.dumps(document).split("#/components/schemas/")[1:]}
    assert referred == set(document["components"]["schemas"])


@pytest.mark.case("T95")
async def test_errors_tell_nothing_of_the_inside(client: aiohttp.ClientSession) -> None:
    for path in ("/nothing", "/tasks/gone", "/tasks?limit=x"):
        async with client.get(f"/api/v1{path}", headers=BEARER) as answer:
            text = await answer.text()
            assert answer.content_type == "application/problem+json"
            assert answer.headers["Server"] == "frontdesk"
        for inside in ("Traceback", ".py", "aiohttp", "gateway."):
            assert inside not in text
