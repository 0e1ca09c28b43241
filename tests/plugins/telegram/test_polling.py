"""Updates that the gateway fetches: nothing lost, nothing twice, nobody held up, and one asker at a time."""

import asyncio

import pytest

from core.envelope import Inbound, Moved, Unreadable
from core.errors import Busy, ConfigurationError, FloodFromSender, StoreUnavailable
from plugins.telegram.polling import LEASE_RENEWAL, POLL_TIMEOUT
from tests.fakes.scripting import http_status
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import conflict, server_error, throttle, unauthorized
from tests.plugins.telegram.conftest import MakePlugin
from tests.plugins.telegram.intake import ManualTime, MemoryLeases, RecordingIntake, running
from tests.waiting import until

ADA, CHARLES = 1001, 1002
LEASE = "telegram:123456789"


async def test_what_people_write_arrives_in_order(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    for number in range(5):
        telegram.user_says(ADA, f"message {number}")
    async with running(make_plugin().run(intake)):
        await intake.until(5)
    assert intake.texts == [f"message {number}" for number in range(5)]


async def test_telegram_is_asked_to_wait_and_for_what_is_understood_only(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    async with running(make_plugin().run(intake)):
        [call] = await telegram.wait_for_calls("getUpdates")
    assert call.params == {"limit": 100, "timeout": int(POLL_TIMEOUT), "allowed_updates": ["message", "edited_message"]}


@pytest.mark.case("TG-37")
async def test_after_a_crash_before_the_commit_it_is_fetched_again_and_after_it_is_not(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    telegram.user_says(ADA, "first")
    async with running(make_plugin().run(intake)):
        await intake.until(1)
    crashed = RecordingIntake()
    crashed.cursors = dict(intake.cursors)
    crashed.fail_with(RuntimeError("killed"))
    telegram.user_says(ADA, "second")
    with pytest.raises(BaseExceptionGroup):
        await asyncio.wait_for(make_plugin().run(crashed), 10)
    async with running(make_plugin().run(crashed)):
        await crashed.until(1)
    assert (intake.texts, crashed.texts) == (["first"], ["second"])


async def test_the_offset_is_committed_with_its_messages(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    said = telegram.user_says(ADA, "hello")
    assert said.update_id is not None
    async with running(make_plugin().run(intake)):
        await intake.until(1)
        await telegram.wait_until_acknowledged()
    [(batch, cursor)] = intake.batches
    assert cursor is not None
    assert (len(batch), cursor.name, cursor.value) == (1, "offset", str(said.update_id + 1))


@pytest.mark.case("TG-38")
async def test_an_update_that_cannot_be_read_is_kept_and_holds_up_nobody(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    telegram.user_says(ADA, "before")
    telegram.inject({"message": {"chat": 5, "text": "\ud800"}})
    telegram.user_says(CHARLES, "after")
    async with running(make_plugin().run(intake)):
        await intake.until(3)
        await telegram.wait_until_acknowledged()
    assert [type(item) for item in intake.accepted] == [Inbound, Unreadable, Inbound]
    assert intake.texts == ["before", "after"]


async def test_updates_nobody_wrote_are_confirmed_without_being_stored(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    telegram.inject({"channel_post": {"message_id": 1, "chat": {"id": -5, "type": "channel"}, "date": 1, "text": "x"}})
    plugin = make_plugin()
    async with running(plugin.run(intake)):
        await telegram.wait_until_acknowledged()
    assert intake.accepted == []
    assert plugin.health["counts"] == {"ignored": 1}


@pytest.mark.case("TG-31")
async def test_a_group_that_moves_is_told_to_the_host(
    make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    telegram.group(-4242)
    telegram.upgrade(-4242, -1001234567890)
    async with running(make_plugin().run(intake)):
        await telegram.wait_until_acknowledged()
    [moved] = intake.accepted
    assert isinstance(moved, Moved)
    assert (moved.chat, moved.new_chat) == ("-4242", "-1001234567890")


class TestBackpressure:
    @pytest.mark.parametrize("error", [Busy("full", retry_after=0.1), StoreUnavailable("locked", retry_after=0.1)])
    async def test_what_the_host_cannot_take_is_offered_again(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, error: Busy | StoreUnavailable
    ) -> None:
        intake.fail_with(error, error)
        telegram.user_says(ADA, "patience")
        async with running(make_plugin().run(intake)):
            await intake.until(1)
        assert intake.texts == ["patience"]
        assert len(intake.batches) == 3

    async def test_a_full_host_gets_what_it_has_room_for_in_order_and_the_offset_follows(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        intake.take_at_most(3, FloodFromSender("too much of one", retry_after=0.1))
        for number in range(10):
            telegram.user_says(ADA, str(number))
        async with running(make_plugin().run(intake)):
            await intake.until(10)
            await telegram.wait_until_acknowledged()
        assert intake.texts == [str(number) for number in range(10)]
        taken = [cursor.value for batch, cursor in intake.batches if len(batch) <= 3 and cursor is not None]
        assert taken == sorted(taken, key=int)

    async def test_while_the_host_is_full_nothing_is_confirmed(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, time: ManualTime
    ) -> None:
        intake.fail_with(Busy("full", retry_after=30))
        telegram.user_says(ADA, "hello")
        async with running(make_plugin().run(intake)):
            await until(lambda: 30 in time.waits)
            assert len(telegram.calls_of("getUpdates")) == 1
            assert intake.cursors == {}


class TestOneAskerAtATime:
    @pytest.mark.case("TG-40")
    async def test_whoever_does_not_hold_the_lease_stands_by(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, leases: MemoryLeases
    ) -> None:
        first, second = make_plugin(holder="one"), make_plugin(holder="two")
        async with running(first.run(intake)):
            await until(lambda: telegram.updates.is_polled)
            async with running(second.run(intake)):
                await until(lambda: second.health["state"] == "standing_by")
                assert leases.holders == {LEASE: "one"}
                assert len(telegram.calls_of("getUpdates")) == 1

    @pytest.mark.case("TG-40")
    async def test_it_takes_over_when_the_lease_is_free(
        self,
        make_plugin: MakePlugin,
        telegram: FakeTelegram,
        intake: RecordingIntake,
        leases: MemoryLeases,
        time: ManualTime,
    ) -> None:
        leases.hand_to(LEASE, "somebody who died")
        async with running(make_plugin().run(intake)):
            await until(lambda: LEASE_RENEWAL in time.waits)
            leases.holders.clear()
            time.advance(LEASE_RENEWAL)
            await telegram.wait_for_calls("getUpdates")
            assert leases.holders == {LEASE: "here"}

    async def test_a_lost_lease_ends_the_asking(
        self,
        make_plugin: MakePlugin,
        telegram: FakeTelegram,
        intake: RecordingIntake,
        leases: MemoryLeases,
        time: ManualTime,
    ) -> None:
        plugin = make_plugin()
        async with running(plugin.run(intake)):
            await until(lambda: telegram.updates.is_polled and LEASE_RENEWAL in time.waits)
            leases.hand_to(LEASE, "another")
            time.advance(LEASE_RENEWAL)
            await until(lambda: plugin.health["state"] == "standing_by")
            await until(lambda: not telegram.updates.is_polled)
        assert leases.holders == {LEASE: "another"}

    async def test_it_is_given_back_at_the_end(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, leases: MemoryLeases
    ) -> None:
        async with running(make_plugin().run(intake)):
            await until(lambda: telegram.updates.is_polled)
        assert leases.holders == {}

    @pytest.mark.case("TG-40")
    async def test_a_stranger_with_the_same_token_is_said_once_and_asked_ever_more_slowly(
        self,
        make_plugin: MakePlugin,
        telegram: FakeTelegram,
        intake: RecordingIntake,
        time: ManualTime,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        telegram.script("getUpdates", respond=conflict(), times=4)
        plugin = make_plugin()
        async with running(plugin.run(intake)):
            await telegram.wait_for_calls("getUpdates", 4)
            await until(lambda: plugin.health["state"] == "conflict")
            assert "same token" in str(plugin.health["note"]) or "this token" in str(plugin.health["note"])
            telegram.user_says(ADA, "still here")
            await intake.until(1)
        assert [seconds for seconds in time.waits if seconds < 1] == [0.01, 0.02, 0.02, 0.02]
        assert sum("conflict" in record.getMessage() for record in caplog.records) == 1

    @pytest.mark.case("TG-40")
    async def test_a_webhook_left_behind_is_removed_and_its_updates_are_kept(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        await telegram.updates.set_webhook({"url": "http://127.0.0.1:9/old"})
        telegram.user_says(ADA, "not lost")
        async with running(make_plugin().run(intake)):
            await intake.until(1)
        assert intake.texts == ["not lost"]
        assert telegram.updates.webhook is None

    @pytest.mark.case("TG-40")
    async def test_a_webhook_set_meanwhile_is_removed_too(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        async with running(make_plugin().run(intake)):
            await until(lambda: telegram.updates.is_polled)
            await telegram.updates.set_webhook({"url": "http://127.0.0.1:9/other"})
            telegram.user_says(ADA, "not lost")
            await intake.until(1)
        assert telegram.updates.webhook is None


class TestTrouble:
    async def test_an_outage_is_shown_and_is_over_when_telegram_is_back(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        plugin = make_plugin()
        async with running(plugin.run(intake)):
            await until(lambda: telegram.updates.is_polled)
            await telegram.go_down()
            await until(lambda: plugin.health["state"] == "unreachable")
            assert "; correct the network, plugins.support.api_base" in str(plugin.health["trouble"])
            await telegram.come_up()
            await until(lambda: plugin.health["state"] == "receiving")
            assert plugin.health["trouble"] == ""
            telegram.user_says(ADA, "hello again")
            await intake.until(1)

    @pytest.mark.parametrize(
        "respond",
        [
            server_error(502),
            throttle(1),
            http_status(200, body='{"ok": true, "result": 5}', content_type="application/json"),
            http_status(200, body='{"ok": true, "result": [{"message": {}}, 7]}', content_type="application/json"),
            http_status(200, body="<html>"),
        ],
    )
    async def test_an_odd_answer_costs_a_pause(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, respond: object
    ) -> None:
        telegram.script("getUpdates", respond=respond)  # type: ignore[arg-type]
        telegram.user_says(ADA, "hello")
        async with running(make_plugin().run(intake)):
            await intake.until(1)
        assert intake.texts == ["hello"]

    async def test_a_token_refused_in_the_middle_stops_the_account(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, leases: MemoryLeases
    ) -> None:
        telegram.script("getUpdates", respond=unauthorized())
        plugin = make_plugin()
        with pytest.raises(ConfigurationError, match=r"plugins\.support\.token"):
            await asyncio.wait_for(plugin.run(intake), 10)
        assert "shows into plugins.support.token" in str(plugin.health["trouble"])
        assert leases.holders == {}
