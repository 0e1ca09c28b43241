"""The account as a whole: what it costs to look up, what it offers, and what it tells about itself."""

import subprocess
import sys
import time as clock
from collections.abc import Mapping

import pytest

from core.clock import SystemClock
from core.commands import COMMANDS
from core.doors.ingress import Ingress
from core.doors.outbound import GuardedClient
from core.plugin import Host
from plugins.telegram.menu import COMMANDS_LIMIT, DESCRIPTION_LIMIT, fitting
from plugins.telegram.plugin import PLUGIN, TelegramPlugin
from plugins.telegram.settings import TelegramSettings
from plugins.telegram.translate import read
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import bad_request
from tests.plugins.telegram import payloads as tg
from tests.plugins.telegram.conftest import MakePlugin
from tests.plugins.telegram.intake import MemoryLeases, MemoryState, NoHistory, RecordingIntake, running
from tests.waiting import until

Commands = Mapping[str, tuple[str, str]]


def test_looking_the_plugin_up_does_not_import_telegrams_library() -> None:
    program = "import sys, plugins.telegram.plugin; sys.exit('telegram' in sys.modules or 'httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_the_channel_makes_accounts_of_its_kind() -> None:
    assert PLUGIN.Settings is TelegramSettings
    async with GuardedClient() as client:
        account = PLUGIN.create(
            "support",
            TelegramSettings(token="1:x", agent="echo"),  # type: ignore[arg-type]
            Host(client, MemoryLeases(), MemoryState(), NoHistory(), SystemClock(), "here"),
        )
    assert isinstance(account, TelegramPlugin)


def test_a_polling_account_has_no_door(plugin: TelegramPlugin) -> None:
    assert list(plugin.routes(Ingress())) == []


@pytest.mark.parametrize(("streaming", "previews"), [("off", False), ("edit", True)])
def test_it_says_what_it_can_do(make_plugin: MakePlugin, streaming: str, previews: bool) -> None:
    can = make_plugin(streaming=streaming).capabilities
    assert (can.replaces, can.previews, can.preview_interval) == (True, previews, 1.0)
    assert can.activity_interval is not None
    assert can.activity_interval < 5


def test_the_pace_to_keep_is_the_configured_one(make_plugin: MakePlugin) -> None:
    limits = make_plugin(limits={"per_second": 0, "per_chat_second": 2}).limits
    assert (limits.per_second, limits.per_chat_second, limits.per_group_minute) == (0, 2, 20)


async def test_health_names_the_bot_and_not_its_token(
    plugin: TelegramPlugin, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    assert plugin.health["state"] == "starting"
    async with running(plugin.run(intake)):
        await until(lambda: plugin.health["state"] == "receiving")
    assert (plugin.health["bot"], plugin.health["mode"]) == ("@desk_bot", "polling")
    assert telegram.token not in str(plugin.health)


class TestCommands:
    async def test_the_hosts_commands_are_offered_in_english_and_chinese(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        async with running(plugin.run(intake)):
            english, chinese = await telegram.wait_for_calls("setMyCommands", 2)
        assert {entry["command"]: entry["description"] for entry in english.params["commands"]} == {
            name: texts[0] for name, texts in COMMANDS.items()
        }
        assert "language_code" not in english.params
        assert chinese.params["language_code"] == "zh"
        assert [entry["description"] for entry in chinese.params["commands"]] == [text for _, text in COMMANDS.values()]

    async def test_that_they_cannot_be_offered_keeps_nobody_from_starting(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        telegram.script("setMyCommands", respond=bad_request("BOT_COMMAND_INVALID"), times=None)
        telegram.user_says(1001, "hello")
        async with running(plugin.run(intake)):
            await intake.until(1)

    @pytest.mark.case("TG-17")
    def test_of_too_many_the_first_hundred_are_offered(self) -> None:
        many: Commands = {f"command_{number}": ("Do it", "执行") for number in range(130)}
        taken, left_out = fitting(many)
        assert list(taken) == [f"command_{number}" for number in range(COMMANDS_LIMIT)]
        assert len(left_out) == 30

    @pytest.mark.parametrize("name", ["中文", "x" * 40, "Upper", "with-dash", "", "a b", "/help"])
    @pytest.mark.case("TG-17")
    def test_a_name_that_telegram_would_refuse_is_left_out_alone(self, name: str) -> None:
        taken, left_out = fitting({"good": ("Good", "好"), name: ("Bad", "坏"), "fine": ("Fine", "行")})
        assert (list(taken), left_out) == (["good", "fine"], [name])

    def test_a_long_description_is_cut(self) -> None:
        taken, _ = fitting({"help": ("x" * 300, "好" * 300)})
        assert [len(text) for text in taken["help"]] == [DESCRIPTION_LIMIT, DESCRIPTION_LIMIT]


def test_reading_an_update_takes_microseconds() -> None:
    """The budget is 40 µs for 1 KB; the bound here only catches a change of order, on machines that others use too."""
    raw = tg.raw(tg.update(message=tg.message("x" * 700)))
    best = min(_seconds_for_hundred(raw) for _ in range(20))
    assert best / 100 < 200e-6


def _seconds_for_hundred(raw: bytes) -> float:
    begun = clock.perf_counter()
    for _ in range(100):
        read(raw, tg.ME)
    return clock.perf_counter() - begun
