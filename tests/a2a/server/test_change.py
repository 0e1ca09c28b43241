"""Who may call changes while calls come in: a secret that is gone lets nobody in, and a new one does."""

from typing import Any

import pytest

from a2a.server.settings import A2AServerSettings
from tests.a2a.server.site import AGENT, Site, message, serving

OLD, NEW, OTHER = "a-key-that-was-revoked", "a-key-that-was-added-0", "a-key-that-has-stayed-0"
CALLERS = [{"name": "acme", "key": OLD}, {"name": "globex", "key": OTHER}]


def change(site: Site, **settings: Any) -> None:
    site.facade.change(A2AServerSettings.model_validate({"agent": AGENT, **settings}))


async def status(site: Site, key: str, header: str = "X-API-Key") -> int:
    return (await site.rpc("SendMessage", message("echo x"), headers={header: key})).status


async def test_a_revoked_key_is_refused_and_an_added_one_is_taken() -> None:
    async with serving(anonymous="off", callers=CALLERS) as site:
        assert [await status(site, key) for key in (OLD, NEW, OTHER)] == [200, 401, 200]
        change(site, callers=[{"name": "acme", "key": NEW}, CALLERS[1]])
        assert [await status(site, key) for key in (OLD, NEW, OTHER)] == [401, 200, 200]


async def test_a_key_that_took_another_s_place_reaches_what_its_caller_made() -> None:
    async with serving(anonymous="off", callers=CALLERS) as site:
        made = await site.start("ask", headers={"X-API-Key": OLD})
        change(site, callers=[{"name": "acme", "key": NEW}, CALLERS[1]])
        assert (await site.rpc("GetTask", {"id": made["id"]}, headers={"X-API-Key": NEW})).said["result"]
        assert (await site.rpc("GetTask", {"id": made["id"]}, headers={"X-API-Key": OTHER})).code == -32001


@pytest.mark.parametrize("left", [[CALLERS[1]], [{**CALLERS[0], "owner": "somebody"}, CALLERS[1]]])
async def test_a_stream_ends_when_it_would_not_be_opened_again(left: list[dict[str, str]]) -> None:
    hold = message("hold")
    async with (
        serving(anonymous="off", callers=CALLERS) as site,
        site.rpc_stream("SendStreamingMessage", hold, **{"X-API-Key": OLD}) as revoked,
        site.rpc_stream("SendStreamingMessage", hold, **{"X-API-Key": OTHER}) as stays,
    ):
        await revoked.next()
        await stays.next()
        change(site, callers=left)
        states = [event["result"]["statusUpdate"]["status"]["state"] for event in await revoked.rest()]
        assert "TASK_STATE_COMPLETED" not in states
        site.tasks.released.set()
        last = (await stays.rest())[-1]["result"]["statusUpdate"]
        assert last["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_who_was_let_in_is_known_by_name_and_owner_whatever_its_secret() -> None:
    async with serving(anonymous="off", callers=CALLERS) as site:
        acme = ("a2a:partners:acme", "acme")
        assert [site.facade.admits(*who) for who in (acme, ("team", "acme"), ("a2a:partners:anonymous", ""))] == [
            True,
            False,
            False,
        ]
        change(site, callers=[{"name": "acme", "key": NEW}])
        assert site.facade.admits(*acme)
        change(site, callers=[{"name": "acme", "key": NEW, "owner": "team"}], anonymous="by_id")
        assert [site.facade.admits(*who) for who in (acme, ("team", "acme"), ("", ""))] == [False, True, True]


async def test_strangers_are_shut_out_at_once_and_the_card_says_so() -> None:
    async with serving() as site, site.rpc_stream("SendStreamingMessage", message("hold")) as stream:
        await stream.next()
        card = await site.ask("GET", f"/a2a/{AGENT}/.well-known/agent-card.json")
        assert "securitySchemes" not in card.said
        change(site, callers=CALLERS, key_header="X-Key")
        await stream.rest()
        assert (await site.rpc("SendMessage", message("echo x"))).status == 401
        assert [await status(site, OLD, header) for header in ("X-API-Key", "X-Key")] == [401, 200]
        known = {"If-None-Match": card.headers["ETag"]}
        fresh = await site.ask("GET", f"/a2a/{AGENT}/.well-known/agent-card.json", headers=known)
        assert fresh.said["securitySchemes"]["apiKey"]["name"] == "X-Key"


async def test_who_has_a_card_by_its_date_gets_the_changed_one() -> None:
    async with serving() as site:
        path = f"/a2a/{AGENT}/.well-known/agent-card.json"
        known = {"If-Modified-Since": (await site.ask("GET", path)).headers["Last-Modified"]}
        assert (await site.ask("GET", path, headers=known)).status == 304
        change(site, callers=CALLERS)
        assert (await site.ask("GET", path, headers=known)).status == 200


async def test_what_needs_a_restart_stays_as_it_was() -> None:
    async with serving() as site:
        change(site, anonymous="shared", streaming=False, limits={"body": 1024})
        async with site.rpc_stream("SendStreamingMessage", message("echo " + "x" * 2000, messageId="long")) as stream:
            assert await stream.rest()
