"""What the doctor shows of an account: every fault that stands, the gravest first, each until it is disproved."""

import pytest

from core.identity import Address, Source
from core.plugin import PreviewFrame
from core.store import Store
from plugins.wechat.failures import ApiFailure
from tests.fakes.scripting import http_status
from tests.fakes.wechat import TOKEN, FakeWechat, errcode
from tests.plugins.wechat.account import ANN, Account, account
from tests.plugins.wechat.test_media import PICTURE, Aged
from tests.waiting import until

BAD_APP_ID = "the AppID is refused: see app_id"
UNOPENED = "check encoding_aes_key and app_id"
UNENCRYPTED = "choose safe mode on the platform"
OTHER_TOKEN = "compare token with the platform's"
ANOTHER = "wxffffffffffffffff"


def stands(there: Account, *faults: str) -> bool:
    """Whether the trouble names exactly these, in this order."""
    trouble = str(there.plugin.health["trouble"])
    found = [fault for fault in (BAD_APP_ID, UNOPENED, UNENCRYPTED, OTHER_TOKEN) if fault in trouble]
    return sorted(faults, key=trouble.find) == list(faults) and sorted(found) == sorted(faults)


async def test_a_refused_app_id_stays_in_sight_when_a_push_cannot_be_opened_because_of_it(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, app_id=ANOTHER) as there:
        await until(lambda: there.plugin.health["state"] == "unauthorised")
        assert (await there.pushes.request(there.pushes.message(ANN, "text", Content="hello"))).status == 403
        assert stands(there, BAD_APP_ID, UNOPENED)
        there.pushes.app_id = ANOTHER
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"
        assert stands(there, BAD_APP_ID)


async def test_no_fault_hides_another_and_each_goes_when_it_is_disproved(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, app_id=ANOTHER) as there:
        await until(lambda: there.plugin.health["state"] == "unauthorised")
        message = there.pushes.message(ANN, "text", Content="hello")
        there.pushes.mode = "plain"
        await there.pushes.request(message)
        there.pushes.mode = "safe"
        await there.pushes.request(message)
        there.pushes.token = "anotherToken1"
        await there.pushes.request(message)
        assert stands(there, BAD_APP_ID, UNENCRYPTED, UNOPENED, OTHER_TOKEN)
        there.pushes.token, there.pushes.app_id = TOKEN, ANOTHER
        await there.pushes.request(message)
        assert stands(there, BAD_APP_ID)


async def test_a_platform_that_does_not_answer_later_hides_no_permission_that_is_missing(
    platform: FakeWechat, store: Store
) -> None:
    platform.script.add("message/custom/typing", errcode(48001))
    platform.script.add("media/get", http_status(502))
    async with account(platform, store, clock=Aged()) as there:
        with pytest.raises(ApiFailure):
            await there.plugin.preview(PreviewFrame(Address(Source("wechat", "desk"), ANN), "t", ""))
        assert str(there.plugin.health["state"]) == "no_permission"
        media_id = platform.add_media("image", PICTURE, "image/png")
        message = there.pushes.message(ANN, "image", MediaId=media_id)
        await there.pushes.request(message)
        assert str(there.plugin.health["state"]) == "unreachable"
        trouble = str(there.plugin.health["trouble"])
        assert trouble.index("HTTP 502") < trouble.index("48001")
        await there.pushes.request(message)
        assert (there.plugin.health["state"], there.plugin.health["trouble"]) == ("no_permission", "")
        assert str(there.plugin.health["note"]).startswith("48001")


async def test_a_refusal_of_the_platform_shows_that_it_answers(platform: FakeWechat, store: Store) -> None:
    platform.script.add("message/custom/typing", http_status(502))
    platform.script.add("message/custom/typing", errcode(50002))
    async with account(platform, store) as there:
        for state in ("unreachable", "unauthorised"):
            with pytest.raises(ApiFailure):
                await there.plugin.preview(PreviewFrame(Address(Source("wechat", "desk"), ANN), "t", ""))
            assert there.plugin.health["state"] == state
        assert str(there.plugin.health["trouble"]).startswith("50002")
        assert "HTTP 502" not in str(there.plugin.health["trouble"])


@pytest.mark.parametrize("is_get", [True, False])
async def test_calls_under_another_token_are_counted_at_once_since_the_last_good_one_and_are_no_trouble(
    platform: FakeWechat, store: Store, is_get: bool
) -> None:
    """However short ago that was. A stranger can make such a call too: the doctor shows it, and finds nothing wrong."""
    async with account(platform, store) as there:

        async def calls(token: str) -> str:
            there.pushes.token = token
            query = {**there.pushes.query(), "echostr": "4711"}
            message = there.pushes.message(ANN, "text", Content="hello")
            await (there.pushes.get(query) if is_get else there.pushes.request(message))
            assert there.plugin.health["trouble"] == ""
            return str(there.plugin.health["note"])

        assert (await calls("anotherToken1")).startswith("1 call since the start that are not signed with the Token")
        assert await calls(TOKEN) == ""
        assert (await calls("anotherToken1")).startswith("1 call since the last good one (20")
        assert (await calls("anotherToken1")).startswith("2 calls since the last good one (20")
        assert await calls(TOKEN) == ""
