"""The web chat over HTTP: messages once, histories to their visitors alone, and a stream of what is shown."""

import asyncio
import re
from typing import Literal

import pytest

from core.delivery import Op
from core.errors import Busy, FloodFromSender, StoreUnavailable
from core.parts import text_of
from core.plugin import Host
from plugins.webchat.plugin import PLUGIN
from plugins.webchat.settings import Access, WebchatSettings
from plugins.webchat.streams import ENTRIES_MOST, PER_VISITOR, Stream
from tests.plugins.webchat.site import OPEN, Desk, Visitor, site

PUBLIC = "https://desk.example.com/front"


async def test_a_message_is_admitted_and_a_retry_of_it_is_the_same_envelope() -> None:
    async with site() as here, Visitor(here) as ann:
        assert await ann.history() == []
        first = await ann.say("hello")
        again = await asyncio.gather(*(ann.say("hello") for _ in range(5)))
        assert first.status == 202
        envelope = (await first.json())["envelope"]
        assert [(await one.json())["envelope"] for one in again] == [envelope] * 5
        assert [text_of(inbound.parts) for inbound in here.desk.inbounds] == ["hello"]
        assert [(entry["id"], entry["own"], entry["text"]) for entry in await ann.history()] == [
            (envelope, True, "hello")
        ]


async def test_what_is_shown_reaches_the_open_page_and_the_history_under_one_id() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        await ann.say("hello")
        chat = here.desk.inbounds[0].chat
        async with ann.events() as events:
            await here.preview(chat, "")
            assert await anext(events) == ("preview", {"turn": "turn-1", "text": ""})
            await here.preview(chat, "Good")
            assert await anext(events) == ("preview", {"turn": "turn-1", "text": "Good"})
            shown = await here.answer(chat, "Good day")
            name, entry = await anext(events)
        assert (name, entry["id"], entry["markdown"], entry["turn"]) == ("entry", shown, "Good day", "turn-1")
        assert (await ann.history())[-1] | {"at": 0} == entry | {"at": 0}


async def test_a_message_of_one_page_appears_on_the_visitors_other_pages() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        async with ann.events() as one, ann.events() as other:
            answer = await ann.say("hello", "message-7")
            for events in (one, other):
                name, entry = await anext(events)
                assert (name, entry["own"], entry["text"], entry["sent"]) == ("entry", True, "hello", "message-7")
                assert entry["id"] == (await answer.json())["envelope"]


async def test_a_replacement_names_what_it_takes_the_place_of() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        await ann.say("hello")
        chat = here.desk.inbounds[0].chat
        first = await here.answer(chat, "draft")
        async with ann.events() as events:
            await here.answer(chat, "final", replaces=(first,))
            assert (await anext(events))[1]["replaces"] == [first]
        assert here.delivery(chat, {}, "t", (first,)).op is Op.REPLACE


async def test_showing_is_done_when_nobody_looks() -> None:
    async with site() as here:
        await here.answer("nobody", "hello")


# ---------------------------------------------------------------------------------------------- who is who


async def test_nobody_reads_or_hears_what_another_visitor_is_told() -> None:
    """T97."""
    async with site() as here, Visitor(here) as ann, Visitor(here) as bob:
        for visitor in (ann, bob):
            await visitor.history()
        await ann.say("a secret")
        async with bob.events() as events:
            await here.answer(here.desk.inbounds[0].chat, "another secret")
            assert await bob.history() == []
            await bob.say("hello", "message-1")
            assert (await anext(events))[1]["text"] == "hello"
        assert len(await ann.history()) == 2
        assert len({inbound.chat for inbound in here.desk.inbounds}) == 2
        assert len(here.desk.inbounds) == 2


async def test_the_cookie_is_unguessable_kept_from_scripts_and_other_sites_and_is_no_id() -> None:
    async with site() as here, Visitor(here) as ann:
        async with await ann.get("/history") as response:
            (cookie,) = response.headers.getall("Set-Cookie")
        await ann.say("hello")
    token, *attributes = (part.strip() for part in cookie.split(";"))
    assert re.fullmatch(r"frontdesk-chat=[A-Za-z0-9_-]{43}", token)
    assert {"HttpOnly", "Path=/chat/", "SameSite=Strict"} <= set(attributes)
    assert "Secure" not in attributes
    assert here.desk.inbounds[0].chat not in cookie
    assert token.partition("=")[2] not in repr(here.desk.inbounds)


async def test_behind_https_the_cookie_travels_no_other_way() -> None:
    async with (
        site(public_url=PUBLIC) as here,
        Visitor(here) as ann,
        await ann.get("/history", Host="desk.example.com") as response,
    ):
        attributes = {part.strip() for part in response.headers["Set-Cookie"].split(";")}
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/front/chat/"} <= attributes


async def test_opening_the_page_by_a_link_leaves_the_visitors_cookie_alone() -> None:
    async with site() as here, Visitor(here) as ann, await ann.get("/") as response:
        assert response.status == 200
        assert "Set-Cookie" not in response.headers


async def test_a_message_without_a_visitor_is_refused() -> None:
    async with site() as here, Visitor(here) as ann:
        assert (await ann.say("hello")).status == 401
        forged = await ann.say("hello", Cookie="frontdesk-chat=../../etc")
        assert forged.status == 401
        assert here.desk.inbounds == []


# ---------------------------------------------------------------------------------------------- other sites


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "localhost@evil.test", "desk.example.com.", "10.0.0.1"]
)
async def test_a_name_pointed_at_this_machine_is_served_nothing(host: str) -> None:
    """T99."""
    async with site() as here, Visitor(here) as ann:
        for path in ("/", "/chat.js", "/history", "/events"):
            async with await ann.get(path, Host=host) as response:
                assert response.status == 421
                assert "Set-Cookie" not in response.headers
        assert (await ann.say("hello", Host=host)).status == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:1", "[::1]:8080", "LOCALHOST"])
async def test_loopback_names_are_served_on_any_port(host: str) -> None:
    async with site() as here, Visitor(here) as ann, await ann.get("/", Host=host) as response:
        assert response.status == 200


async def test_the_public_name_is_served_and_its_page_may_write() -> None:
    async with site(public_url="https://desk.example.com:443") as here, Visitor(here) as ann:
        async with await ann.get("/history", Host="desk.example.com") as response:
            cookie = response.headers["Set-Cookie"].partition(";")[0]
        told = await ann.say("hello", Host="desk.example.com", Origin="https://desk.example.com", Cookie=cookie)
        assert told.status == 202


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},  # another port of this machine is somebody else's page
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
async def test_another_sites_page_can_neither_write_nor_read(headers: dict[str, str]) -> None:
    """T98."""
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        assert (await ann.say("hello", **headers)).status == 403
        for path in ("/history", "/events"):
            async with await ann.get(path, **headers) as response:
                assert response.status == 403
                assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize(
    ("language", "accepts", "words"),
    [
        ("", "zh-CN,zh;q=0.9", "此访客尚未获准使用，编号是 "),
        ("", "fr", "This visitor is not let in; its id is "),
        ("zh", "en", "此访客尚未获准使用，编号是 "),
    ],
)
async def test_a_visitor_who_is_not_let_in_is_told_so_in_the_pages_language(
    language: Literal["", "zh"], accepts: str, words: str
) -> None:
    async with site(settings=WebchatSettings(agent="desk", language=language)) as here, Visitor(here) as ann:
        await ann.history()
        here.desk.refuses = True
        assert (await (await ann.say("hello", Accept_Language=accepts)).json())["detail"].startswith(words)


async def test_the_pages_own_origin_may_write() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        assert (await ann.say("hello", Origin=here.origin, Sec_Fetch_Site="same-origin")).status == 202


async def test_a_form_of_another_site_is_no_message() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        assert (await ann.say("hello", Content_Type="text/plain")).status == 415
        assert here.desk.inbounds == []


# ---------------------------------------------------------------------------------------------- the page's files


@pytest.mark.parametrize("path", ["/", "/chat.js", "/words.js", "/markdown.js", "/entries.js", "/chat.css", "/history"])
async def test_everything_is_served_under_strict_headers(path: str) -> None:
    """T56."""
    async with site() as here, Visitor(here) as ann, await ann.get(path) as response:
        assert response.status == 200
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in response.headers


async def test_the_page_loads_nothing_from_elsewhere_and_shows_its_title_as_text() -> None:
    titled = OPEN.model_copy(update={"title": '<b>Desk</b> & "co"', "language": "zh"})
    async with site(settings=titled) as here, Visitor(here) as ann, await ann.get("/") as response:
        page = await response.text()
    assert "<title>&lt;b&gt;Desk&lt;/b&gt; &amp; &quot;co&quot;</title>" in page
    assert 'data-language="zh"' in page
    assert "{{" not in page
    assert set(re.findall(r'(?:src|href)="(?!data:)([^"]*)"', page)) == {"chat.css", "chat.js"}


async def test_the_first_account_also_has_the_short_path_and_a_missing_slash_is_forgiven() -> None:
    async with site(account="support") as here, Visitor(here) as ann:
        for path, base in (("/chat/", "support/"), ("/chat/support/", "./")):
            async with await ann.open(path) as response:
                assert f'data-base="{base}"' in await response.text()
        for path, target in (("/chat", "chat/"), ("/chat/support", "support/")):
            async with await ann.open(path) as response:
                assert (response.status, response.headers["Location"]) == (308, target)


# ---------------------------------------------------------------------------------------------- trouble


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (Busy("full", retry_after=2.0), 503, "2"),
        (FloodFromSender("slow down", retry_after=0.2), 429, "1"),
        (StoreUnavailable("disk full", retry_after=4.2), 503, "5"),
    ],
)
async def test_a_message_that_cannot_be_kept_is_asked_for_again(
    error: Exception, status: int, retry_after: str
) -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        here.desk.trouble.append(error)
        response = await ann.say("hello")
        assert (response.status, response.headers["Retry-After"]) == (status, retry_after)
        assert (await ann.say("hello")).status == 202


async def test_before_the_account_runs_everything_but_the_page_is_asked_for_later() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        cookie = "frontdesk-chat=" + "x" * 43
    async with site(is_running=False) as here, Visitor(here) as ann:
        async with await ann.get("/") as page:
            assert page.status == 200
        for path in ("/history", "/events"):
            async with await ann.get(path) as response:
                assert (response.status, response.headers["Retry-After"]) == (503, "1")
        assert (await ann.say("hello", Cookie=cookie)).status == 503
        assert here.plugin.health["state"] == "starting"


async def test_an_account_that_stops_ends_its_streams() -> None:
    async with site() as here:
        async with Visitor(here) as ann, ann.events() as events:
            here.plugin._streams.close()
            assert [event async for event in events] == []
        assert here.plugin.health == {"state": "receiving", "pages": 0}
    assert here.plugin.health["state"] == "draining"


async def test_a_visitor_who_is_not_let_in_is_told_the_id_to_ask_for() -> None:
    async with site(settings=WebchatSettings(agent="desk")) as here, Visitor(here) as ann:
        await ann.history()
        here.desk.refuses = True
        response = await ann.say("hello")
        assert response.status == 403
        assert re.search(r"its id is [0-9a-f]{32}\.", (await response.json())["detail"])


@pytest.mark.parametrize("body", ['{"id": "message-1"}', "[]", "{", '{"id": "message-1", "text": "\\ud800"}'])
async def test_a_broken_message_is_refused_and_the_chat_goes_on(body: str) -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        assert (await ann.post(body)).status == 400
        assert (await ann.say("hello")).status == 202


# ---------------------------------------------------------------------------------------------- bounds


async def test_a_visitor_may_have_only_so_many_pages_open_and_closed_ones_do_not_count() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        for _ in range(2):  # the second round finds the first one gone, before any heartbeat
            opened = [await ann.get("/events") for _ in range(PER_VISITOR)]
            assert [response.status for response in opened] == [200] * PER_VISITOR
            async with await ann.get("/events") as refused:
                assert (refused.status, refused.headers["Retry-After"]) == (429, "10")
            for response in opened:
                response.close()
            await here.until_gone()


async def test_all_visitors_together_may_have_only_so_many_pages_open() -> None:
    few = OPEN.model_copy(update={"max_streams": 1})
    async with site(settings=few) as here, Visitor(here) as ann, Visitor(here) as bob:
        async with ann.events(), await bob.get("/events") as refused:
            assert refused.status == 503
        await here.until_gone()
        async with bob.events():
            assert here.plugin.health["pages"] == 1


def test_a_page_that_does_not_read_is_dropped_instead_of_kept_for() -> None:
    slow = Stream(None)
    for number in range(ENTRIES_MOST):
        slow.entry(b"entry", f"turn-{number}")
    assert not slow.is_closed
    slow.entry(b"one more", "turn")
    assert slow.is_closed


def test_of_previews_only_the_latest_waits_and_none_outlives_the_answer() -> None:
    slow = Stream(None)
    for number in range(1000):
        slow.preview(b"frame %d" % number, "turn-1")
    slow.preview(b"other", "turn-2")
    slow.entry(b"answer", "turn-2")
    assert slow._taken() == b"answerframe 999"
    assert slow._taken() == b""


async def test_of_a_long_preview_only_the_end_is_shown() -> None:
    async with site() as here, Visitor(here) as ann:
        await ann.history()
        await ann.say("hello")
        async with ann.events() as events:
            await here.preview(here.desk.inbounds[0].chat, "x" * 50_000 + "end")
            text = (await anext(events))[1]["text"]
    assert len(text) < 20_000
    assert text.startswith("…")
    assert text.endswith("end")


# ---------------------------------------------------------------------------------------------- settings


def test_an_open_chat_is_for_loopback_only_and_a_closed_one_says_so() -> None:
    closed = WebchatSettings(agent="desk")
    assert closed.access == Access(direct="allow", allow=())
    assert (closed.requires_loopback, closed.unauthenticated) == (False, None)
    assert OPEN.requires_loopback
    assert "open" in (OPEN.unauthenticated or "")


def test_the_entry_point_makes_an_account_of_its_kind() -> None:
    nothing: object = None
    host = Host(nothing, nothing, nothing, Desk(), nothing, "holder")  # type: ignore[arg-type]
    plugin = PLUGIN.create("chat", OPEN, host)
    assert PLUGIN.Settings is WebchatSettings
    assert plugin.capabilities.replaces
    assert plugin.capabilities.previews
