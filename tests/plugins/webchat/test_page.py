"""The page in a browser: what people see when all goes well, when the gateway is away, and when somebody means harm."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from core.errors import Busy
from core.parts import text_of
from plugins.webchat.settings import WebchatSettings
from tests.plugins.webchat.browser import SOON, Page, chromium
from tests.plugins.webchat.site import OPEN, Desk, Site, site
from tests.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    with chromium() as driver:
        yield driver


@pytest.fixture
async def page(driver: webdriver.Chrome) -> AsyncIterator[Page]:
    """Nobody's browser: without cookies, and by default in English."""
    page = Page(driver)
    await page.cdp("Network.clearBrowserCookies")
    await page.complaints()
    yield page
    await page.open("about:blank")
    await page.cdp("Emulation.clearDeviceMetricsOverride")


async def opened(page: Page, here: Site) -> None:
    await page.open(f"{here.origin}/chat/")
    await page.connected()


async def said(page: Page, here: Site, text: str) -> str:
    """Say it and wait until it is admitted; the chat."""
    count = len(here.desk.inbounds)
    await page.say(text)
    return (await here.desk.until(count + 1)).chat


async def test_a_message_is_sent_and_its_answer_is_streamed_and_then_whole(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "good morning")
        await page.foot("Sent")
        await here.preview(chat, "")
        await page.previews("Working on it")
        await here.preview(chat, "Good **mor")
        await page.previews("Good mor")
        await here.answer(chat, "Good **morning**!")
        await page.shows("> good morning", "Good morning!")
        await page.previews()
        assert await page.js("return document.querySelector('.theirs strong').textContent") == "morning"
        assert await page.complaints() == []


async def test_enter_sends_shift_enter_breaks_the_line_and_choosing_a_word_does_neither(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        await page.write("one" + Keys.SHIFT + Keys.ENTER + Keys.NULL + "two")
        await page.js(
            "document.getElementById('text').dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"
        )
        assert here.desk.inbounds == []
        await page.write(Keys.ENTER)
        await page.shows("> one\ntwo")
        assert text_of((await here.desk.until(1)).parts) == "one\ntwo"
        assert await page.js("return document.getElementById('text').value") == ""


async def test_a_reload_shows_the_history_in_its_order(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "one")
        await here.answer(chat, "1", "turn-1")
        await page.shows("> one", "1")
        await said(page, here, "two")
        await here.answer(chat, "2", "turn-2", is_shown=False)
        await opened(page, here)
        await page.shows("> one", "1", "> two", "2")


async def test_a_restart_under_the_page_loses_nothing_and_shows_nothing_twice(page: Page) -> None:
    desk = Desk()
    async with site(desk) as here:
        await opened(page, here)
        chat = await said(page, here, "one")
        await here.answer(chat, "1", "turn-1")
        await page.shows("> one", "1")
    await here.answer(chat, "while away", "turn-2")
    await page.disconnected()
    await page.say("written while away")
    await page.foot("Waiting")
    async with site(desk, port=here.port) as here:
        await page.connected()
        await page.shows("> one", "1", "while away", "> written while away")
        await here.answer(chat, "2", "turn-3")
        await page.shows("> one", "1", "while away", "> written while away", "2")
    assert len(desk.inbounds) == 2


@pytest.mark.parametrize(("language", "words"), [("en", "Gateway not reachable"), ("zh", "无法连接到网关")])
async def test_a_gateway_that_stays_away_is_said_to_be_and_the_page_finds_it_again_by_itself(
    page: Page, language: str, words: str
) -> None:
    settings = OPEN.model_copy(update={"language": language})
    async with site(settings=settings) as here:
        await opened(page, here)
    await page.holds(f"return document.getElementById('line').textContent === '{words}'")
    async with site(settings=settings, port=here.port):
        await page.connected()


async def test_what_is_unsent_survives_a_reload(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        here.desk.trouble = [Busy("full", retry_after=1.0)] * 20
        await page.say("keep me")
        await page.foot("Busy")
        await opened(page, here)
        here.desk.trouble.clear()
        await page.foot("Sent")
        await page.shows("> keep me")
    assert [text_of(inbound.parts) for inbound in here.desk.inbounds] == ["keep me"]


async def test_a_busy_gateway_is_asked_again_and_order_is_kept(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        here.desk.trouble = [Busy("full", retry_after=0.1)] * 2
        await page.say("one")
        await page.foot("Busy")
        await page.say("two")
        await here.desk.until(2)
        await page.foot("Sent")
        await page.shows("> one", "> two")
        assert [text_of(inbound.parts) for inbound in here.desk.inbounds] == ["one", "two"]


async def test_a_refused_message_says_why_and_can_be_tried_again(page: Page) -> None:
    async with site(settings=WebchatSettings(agent="desk")) as here:
        await opened(page, here)
        here.desk.refuses = True
        await page.say("let me in")
        await page.foot("Not sent: This visitor is not let in; its id is ")
        here.desk.refuses = False
        await page.press(".failed button")
        await page.foot("Sent")
        await page.shows("> let me in")


async def test_a_replacement_takes_the_place_of_what_it_replaces(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "go")
        first = await here.answer(chat, "draft", "turn-1")
        await here.answer(chat, "other", "turn-2")
        await page.shows("> go", "draft", "other")
        await here.answer(chat, "final", "turn-1", replaces=(first,))
        await page.shows("> go", "final", "other")


async def test_an_answer_to_a_later_question_stands_after_it_while_the_earlier_one_is_made(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "count")
        await here.preview(chat, "1 2 3", "turn-1")
        await page.previews("1 2 3")
        await said(page, here, "status")
        await here.answer(chat, "counting", "turn-2")
        await page.shows("> count", "> status", "counting")
        await page.previews("1 2 3")
        await here.answer(chat, "1 2 3 4", "turn-1")
        await page.shows("> count", "> status", "counting", "1 2 3 4")
        await page.previews()


async def test_a_second_page_of_the_visitor_follows_along(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        first = page.driver.current_window_handle
        await asyncio.to_thread(page.driver.switch_to.new_window, "tab")
        await opened(page, here)
        chat = await said(page, here, "from the second")
        await here.answer(chat, "heard")
        await page.shows("> from the second", "heard")
        await asyncio.to_thread(page.driver.close)
        await asyncio.to_thread(page.driver.switch_to.window, first)
        await page.shows("> from the second", "heard")


async def test_a_page_whose_cookie_was_replaced_follows_the_new_one(page: Page) -> None:
    """As when two pages are opened together for the first time, and each is given a cookie."""
    async with site() as here:
        await opened(page, here)
        await page.cdp("Network.clearBrowserCookies")
        await page.js("return fetch('chat/history').then((answer) => answer.status)")
        chat = await said(page, here, "who am I?")
        await until(lambda: here.plugin._streams._pages.get(chat), seconds=SOON)
        await here.answer(chat, "the new one")
        await page.shows("> who am I?", "the new one")


# ---------------------------------------------------------------------------------------------- words and their look

MARKDOWN = """# Title
Some **bold**, *italic*, __bold__, _italic_, ~~gone~~ and `code *as is*`.
snake_case_name and 2 * 3 * 4 stay.
Next line <https://a.test/x_y> and [named](https://b.test/(a)) and https://c.test/y.

- one
- **two**

3. three
4. four

> quoted
> more

```python
x = "<b>*1*</b>"

y = 2
```
after"""

HTML = (
    '<p class="title">Title</p>'
    "<p>Some <strong>bold</strong>, <em>italic</em>, <strong>bold</strong>, <em>italic</em>, <del>gone</del> and "
    "<code>code *as is*</code>.<br>snake_case_name and 2 * 3 * 4 stay.<br>"
    'Next line &lt;<a href="https://a.test/x_y" target="_blank" rel="noopener noreferrer nofollow">https://a.test/x_y</a>'
    '&gt; and <a href="https://b.test/(a)" target="_blank" rel="noopener noreferrer nofollow">named</a> and '
    '<a href="https://c.test/y" target="_blank" rel="noopener noreferrer nofollow">https://c.test/y</a>.</p>'
    '<ul><li>one</li><li><strong>two</strong></li></ul><ol start="3"><li>three</li><li>four</li></ol>'
    "<blockquote>quoted<br>more</blockquote>"
    '<pre tabindex="0"><code>x = "&lt;b&gt;*1*&lt;/b&gt;"\n\ny = 2</code></pre><p>after</p>'
)


async def test_markdown_becomes_nodes(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "format")
        await here.answer(chat, MARKDOWN)
        await page.holds("return document.querySelector('.theirs .bubble')")
        assert await page.js("return document.querySelector('.theirs .bubble').innerHTML") == HTML


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Good **mor", "<p>Good <strong>mor</strong></p>"),
        ("Good **morning*", "<p>Good <strong>morning</strong></p>"),
        ("Good **", "<p>Good </p>"),
        ("**bold *and it", "<p><strong>bold <em>and it</em></strong></p>"),
        ("run `make te", "<p>run <code>make te</code></p>"),
        ("~~go", "<p><del>go</del></p>"),
        ("see [the guide](https://a.te", "<p>see <span>the guide</span></p>"),
        ("a **b** and *c", "<p>a <strong>b</strong> and <em>c</em></p>"),
        ("snake_case 2 * 3", "<p>snake_case 2 * 3</p>"),
        ("first **never closed\n\nlast *one", "<p>first **never closed</p><p>last <em>one</em></p>"),
        ("- one\n- **tw", "<ul><li>one</li><li><strong>tw</strong></li></ul>"),
        ("- one\n-", "<ul><li>one</li></ul>"),
        ("text\n##", "<p>text</p>"),
        ("## Tit", '<p class="title">Tit</p>'),
        ("```py\nx = 2 **", '<pre tabindex="0"><code>x = 2 **</code></pre>'),
    ],
)
async def test_unfinished_words_are_shown_as_their_answer_will_be(page: Page, text: str, html: str) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "format")
        await here.preview(chat, text)
        await page.holds(
            "return document.querySelector('.preview .bubble p, .preview .bubble ul, .preview .bubble pre')"
        )
        assert await page.js("return document.querySelector('.preview .bubble').innerHTML") == html
        assert await page.complaints() == []


@pytest.mark.parametrize(
    "text", ["**", "*", "`", "``a`", "[a](", "[a]()", "**a", "* ", "```", "1.", "#", ">", "~~ ~~", "_", "***a***"]
)
async def test_unfinished_marks_are_words(page: Page, text: str) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "format")
        await here.answer(chat, text + "\nend")
        await page.holds("return document.querySelector('.theirs .bubble')?.textContent.includes('end')")
        assert await page.complaints() == []


async def test_hostile_marks_do_not_stop_the_page(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "flood")
        for turn, text in enumerate(("*" * 3999, "[" * 3999, "`a" * 1999, "**a " * 999, "_a" * 1999, "~~" * 1999)):
            await here.preview(chat, "\n".join([text] * 3), f"turn-{turn}")
            await here.answer(chat, "\n".join([text] * 3), f"turn-{turn}")
        await here.answer(chat, "end", "turn-end")
        await page.holds("return [...document.querySelectorAll('.theirs')].at(-1)?.textContent.includes('end')")


HOSTILE = (
    "<img src=x onerror=window.harmed=1>",
    "<script>window.harmed=1</script>",
    "[x](javascript:window.harmed=1)",
    "[x](JaVaScRiPt:window.harmed=1) [y](data:text/html,<script>window.harmed=1</script>)",
    '[a](https://a.test/"onmouseover="window.harmed=1)',
    "![x](https://evil.test/track.png)",
    "```<img src=x onerror=window.harmed=1>\n<img src=x onerror=window.harmed=1>\n```",
    "<iframe srcdoc='<script>parent.harmed=1</script>'></iframe><svg onload=window.harmed=1>",
)


@pytest.mark.case("T54")
@pytest.mark.case("A2A-26")
async def test_nothing_that_anybody_says_is_run_or_fetched(page: Page) -> None:
    async with site(settings=OPEN.model_copy(update={"title": HOSTILE[0]})) as here:
        await opened(page, here)
        chat = await said(page, here, HOSTILE[0])
        for turn, text in enumerate(HOSTILE):
            await here.preview(chat, text, f"turn-{turn}")
            await here.answer(chat, text, f"turn-{turn}")
        await said(page, here, "end")
        await page.holds("return [...document.querySelectorAll('.own')].at(-1).textContent.includes('end')")
        await opened(page, here)
        await page.holds(f"return document.querySelectorAll('.theirs').length === {len(HOSTILE)}")
        assert await page.js("return window.harmed ?? null") is None
        tags = "img, iframe, svg, script:not([src='chat.js']), [onerror], [onload], [onmouseover]"
        assert await page.js(f"return document.querySelectorAll({tags!r}).length") == 0
        links = await page.js("return [...document.links].map((each) => new URL(each.href).protocol)")
        assert set(links) == {"https:"}
        fetched = await page.js(
            "return performance.getEntriesByType('resource').map((each) => new URL(each.name).origin)"
        )
        assert set(fetched) == {here.origin}
        assert await page.complaints() == []


async def test_files_are_links_and_only_to_where_links_may_lead(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "files")
        files = [
            {"name": "<b>plan</b>", "url": "https://x.test/plan.pdf"},
            {"name": "bad", "url": "javascript:window.harmed=1"},
        ]
        await here.plugin.send(here.delivery(chat, {"markdown": "", "files": files}, "turn-1"))
        await page.shows("> files", "📎 <b>plan</b>📎 bad")
        assert await page.js("return [...document.links].map((each) => each.href)") == ["https://x.test/plan.pdf"]


async def test_a_chinese_browser_gets_a_chinese_page(page: Page) -> None:
    agent = await page.js("return navigator.userAgent")
    await page.cdp("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage="zh-CN")
    try:
        async with site() as here:
            await opened(page, here)
            assert await page.js("return document.documentElement.lang") == "zh"
            assert await page.js("return document.getElementById('send').textContent") == "发送"
            await said(page, here, "你好")
            await page.foot("已发送")
            assert here.desk.inbounds[0].language == "zh-CN"
    finally:
        await page.cdp("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage="en-US")


async def test_the_page_fits_a_phone_and_keeps_the_newest_words_in_sight(page: Page) -> None:
    await page.cdp("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "w" * 300)
        for turn in range(30):
            await here.answer(chat, f"answer {turn} " + "https://a.test/" + "x" * 200, f"turn-{turn}")
        await page.holds("return document.querySelectorAll('.theirs').length === 30")
        assert await page.js("return document.documentElement.scrollWidth") <= 390
        assert await page.js("return document.documentElement.scrollHeight") <= 844
        at_end = "const log = document.getElementById('log');return log.scrollHeight - log.scrollTop - log.clientHeight"
        assert await page.js(at_end) < 2
        await page.wheel("#log", -100_000)
        await page.holds("return document.getElementById('log').scrollTop === 0")
        await here.answer(chat, "one more", "turn-30")
        await page.holds("return !document.getElementById('newest').hidden")
        await page.press("#newest")
        await page.holds(f"{at_end} < 2")


async def test_who_reads_the_newest_words_still_does_when_a_keyboard_opens_or_the_phone_is_turned(page: Page) -> None:
    async def is_at_end(width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        await page.cdp("Emulation.setDeviceMetricsOverride", **size)
        await page.holds(f"return innerHeight === {height}")
        await page.holds(
            "const log = document.getElementById('log'), from_end ="
            " log.scrollHeight - log.scrollTop - log.clientHeight; return log.scrollTop > 0 && from_end < 2"
        )

    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "hello")
        await here.answer(chat, "many words " * 600, "turn")
        await page.holds("return document.querySelectorAll('.theirs').length === 1")
        for width, height in ((390, 844), (390, 400), (390, 844), (844, 390), (390, 844)):
            await is_at_end(width, height)
        await page.js("document.getElementById('entries').style.fontSize = '200%'")
        await is_at_end(390, 844)


async def test_a_room_that_is_larger_for_a_moment_moves_nobody_from_the_newest_words(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        chat = await said(page, here, "hello")
        await here.answer(chat, "many words " * 600, "turn")
        await page.holds("return document.getElementById('log').scrollTop > 500")
        moved = await page.js(
            "const log = document.getElementById('log'), before = log.scrollTop; log.style.height = '3000px';"
            "const between = log.scrollTop; log.style.height = ''; return before - between"
        )
        assert moved > 500
        await page.holds(
            "const log = document.getElementById('log'); return log.scrollHeight - log.scrollTop - log.clientHeight < 2"
        )


async def test_every_control_has_a_name_and_what_is_said_is_announced(page: Page) -> None:
    async with site() as here:
        await opened(page, here)
        assert await page.js("return document.getElementById('text').labels[0].textContent") == "Message"
        unnamed = "return [...document.querySelectorAll('button')].filter((each) => !each.textContent.trim()).length"
        assert await page.js(unnamed) == 0
        assert await page.js("return document.getElementById('entries').ariaLive") == "polite"
        assert await page.js("return document.activeElement.id") == "text"
        await page.press("#hint button")
        await page.shows("> /help")
