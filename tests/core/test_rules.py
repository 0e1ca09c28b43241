"""The small pure rules: threads, access, commands, pacing, and what an outcome means."""

import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.access import Access
from core.commands import command_of
from core.delivery import Delivery, DeliveryState, Refusal, Rejected, Sent, Unknown
from core.envelope import Inbound
from core.identity import Address, Source, language_of
from core.ids import new_id
from core.notices import NOTICES, counted, sentence
from core.outbox import NOT_YET
from core.pacing import Limits, Pacer
from core.parts import Data, File, Part, Text, part_from_json, part_to_json
from core.patience import Patience
from core.router import AskWhich, Join, Start, ThreadFact, pick_thread
from core.settling import settle


def inbound(text: str = "hi", **fields: object) -> Inbound:
    values: dict[str, object] = {
        "keys": ("k",),
        "external_id": "1",
        "chat": "7",
        "sender": "7",
        "parts": (Text(text),),
        "raw": b"",
    }
    return Inbound(**(values | fields))  # type: ignore[arg-type]


@pytest.mark.case("DEL-15")
@pytest.mark.parametrize(("account", "chat"), [("desk", ""), ("", "7")])
def test_an_incomplete_address_is_an_error_and_no_wider_one(account: str, chat: str) -> None:
    with pytest.raises(ValueError, match="an address needs its account and its chat"):
        Address(Source("telegram", account), chat)


@pytest.mark.case("DEL-15")
@pytest.mark.parametrize("missing", ["chat", "sender"])
def test_a_message_of_nobody_or_from_nowhere_is_an_error(missing: str) -> None:
    with pytest.raises(ValueError, match="needs its chat and its sender"):
        inbound(**{missing: ""})


# ------------------------------------------------------------------ threads

ECHO = ("echo", "")
RUNNING = ThreadFact("running", "running", is_foreground=True, agent="echo")
ASKING = ThreadFact("asking", "waiting", asks="ann", agent="echo")
OTHER = ThreadFact("other", "waiting", asks="ann", agent="other")


def test_a_reply_joins_the_thread_of_what_it_replies_to_above_all_else() -> None:
    assert pick_thread("ann", "old", [RUNNING, ASKING], agents=ECHO) == Join("old")


def test_a_message_answers_the_one_question_open_to_its_person() -> None:
    assert pick_thread("ann", "", [RUNNING, ASKING], agents=ECHO) == Join("asking")
    assert pick_thread("bob", "", [RUNNING, ASKING], agents=ECHO) == Join("running")


def test_several_open_questions_start_nothing() -> None:
    assert pick_thread("ann", "", [ASKING, OTHER], agents=ECHO) == AskWhich(("asking", "other"))


def test_a_message_joins_the_foreground_only_while_that_is_queued_or_running() -> None:
    assert pick_thread("ann", "", [RUNNING], agents=ECHO) == Join("running")
    assert (
        pick_thread("ann", "", [ThreadFact("w", "waiting", is_foreground=True, agent="echo")], agents=ECHO) == Start()
    )
    assert pick_thread("ann", "", [], agents=ECHO) == Start()


# ------------------------------------------------------------------ access


@pytest.mark.case("SEC-07")
@pytest.mark.case("SRC-12")
def test_an_empty_list_admits_nobody() -> None:
    assert Access().refusal(inbound(), {}) == "not_allowed"


def test_a_listed_person_is_let_in_and_in_groups_only_when_the_bot_is_addressed() -> None:
    access = Access("allow", "mention", frozenset({"7"}))
    assert access.refusal(inbound(), {}) == ""
    group = inbound(chat="-5", is_direct=False, is_addressed=False)
    assert access.refusal(group, {}) == "not_addressed"


def test_a_listed_group_admits_everybody_in_it_and_keeps_doing_so_after_it_moved() -> None:
    access = Access("allow", "all", frozenset({"-5"}))
    assert access.refusal(inbound(chat="-5", sender="9", is_direct=False), {}) == ""
    moved = inbound(chat="-1005", sender="9", is_direct=False)
    assert access.refusal(moved, {}) == "not_allowed"
    assert access.refusal(moved, {"-5": "-1005"}) == ""


def test_groups_can_be_off() -> None:
    assert Access("open", "off").refusal(inbound(is_direct=False), {}) == "groups_off"


# ------------------------------------------------------------------ commands


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", "help"),
        ("/start", "help"),
        ("/Cancel  all ", "cancel all"),
        ("/取消", "cancel"),
        ("/frobnicate", "unknown frobnicate"),
        ("/etc/hosts is gone", ""),
        ("please /cancel", ""),
        ("hello", ""),
    ],
)
def test_a_command_is_a_slash_and_one_word_at_the_start(text: str, command: str) -> None:
    assert command_of(inbound(text)) == command


def test_commands_count_only_when_typed() -> None:
    assert command_of(inbound("/cancel", is_edit=True)) == ""
    assert command_of(inbound("/cancel", is_forward=True)) == ""


def test_unreadable_content_is_for_the_desk() -> None:
    assert command_of(inbound(unsupported="sticker")) == "unsupported sticker"


# ------------------------------------------------------------------ outcomes

DELIVERY = Delivery("d", "c", Address(Source("x", "y"), "7"), "t", {}, attempt=3, queued=0.0, not_after=99.0)


def test_what_the_channel_took_is_delivered_and_what_nobody_contradicted_presumed() -> None:
    assert settle(DELIVERY, Sent(("1",)), 0, on_unknown="ask", jitter=0).state is DeliveryState.DELIVERED
    presumed = settle(DELIVERY, Sent(("1",), presumed=True), 0, on_unknown="ask", jitter=0)
    assert presumed.state is DeliveryState.PRESUMED


@pytest.mark.parametrize("policy", ["ask", "skip"])
def test_an_unknown_outcome_stays_unknown(policy: str) -> None:
    assert settle(DELIVERY, Unknown("?"), 0, on_unknown=policy, jitter=0).state is DeliveryState.UNKNOWN


def test_only_the_policy_repeat_repeats_and_only_once_and_marked() -> None:
    again = settle(DELIVERY, Unknown("?"), 0, on_unknown="repeat", jitter=0)
    assert (again.state, again.repeat) == (DeliveryState.QUEUED, True)
    second = settle(replace(DELIVERY, is_repeat=True), Unknown("?"), 0, on_unknown="repeat", jitter=0)
    assert second.state is DeliveryState.UNKNOWN


def test_a_throttled_delivery_waits_as_long_as_it_was_told() -> None:
    no = settle(DELIVERY, Rejected(Refusal.THROTTLED, "", retry_after=33), 10, on_unknown="ask", jitter=0)
    assert (no.state, no.due) == (DeliveryState.QUEUED, 43)


@pytest.mark.case("DEL-02")
def test_what_was_certainly_not_taken_is_repeated_with_growing_pauses() -> None:
    no = Rejected(Refusal.UNAVAILABLE, "connection refused")
    due = settle(DELIVERY, no, 10, on_unknown="ask", jitter=0.5).due
    assert due == pytest.approx(14)


@pytest.mark.parametrize("attempt", [1, 6])
def test_what_a_request_that_is_open_may_carry_is_looked_at_again_soon_however_often_it_was_tried(attempt: int) -> None:
    tried = replace(DELIVERY, attempt=attempt)
    found = settle(tried, NOT_YET, 10, on_unknown="ask", jitter=0.5)
    assert (found.state, found.due) == (DeliveryState.QUEUED, 11)
    closed = settle(tried, Rejected(Refusal.WINDOW_CLOSED, ""), 10, on_unknown="ask", jitter=0.5)
    assert closed.state is DeliveryState.WAITING_FOR_USER


def test_a_dead_address_is_dead_whole_and_bad_content_alone() -> None:
    assert settle(DELIVERY, Rejected(Refusal.BLOCKED, ""), 0, on_unknown="ask", jitter=0).blocked
    bad = settle(DELIVERY, Rejected(Refusal.MALFORMED, ""), 0, on_unknown="ask", jitter=0)
    assert (bad.state, bad.blocked) == (DeliveryState.REJECTED, False)


# ------------------------------------------------------------------ pacing


def test_one_chat_gets_one_message_a_second_and_another_is_not_delayed() -> None:
    pacer = Pacer(lambda: Limits(per_second=30, per_chat_second=1))
    assert pacer.delay("a", is_group=False, now=0.0) == 0
    assert pacer.delay("a", is_group=False, now=0.2) == pytest.approx(0.8)
    assert pacer.delay("b", is_group=False, now=0.2) == 0
    assert pacer.delay("a", is_group=False, now=1.0) == 0


def test_a_group_gets_twenty_a_minute() -> None:
    pacer = Pacer(lambda: Limits(per_group_minute=20))
    for second in range(20):
        assert pacer.delay("g", is_group=True, now=float(second)) == 0
    assert pacer.delay("g", is_group=True, now=20.0) == pytest.approx(40.0)


def test_no_limits_delay_nothing() -> None:
    pacer = Pacer(Limits)
    assert all(pacer.delay("a", is_group=True, now=0.0) == 0 for _ in range(1000))


@given(st.lists(st.floats(0, 0.3), max_size=80))
def test_never_more_than_the_limit_in_any_second(gaps: list[float]) -> None:
    pacer, now, sent = Pacer(lambda: Limits(per_second=5)), 0.0, []
    for gap in gaps:
        now += gap
        if not pacer.delay("a", is_group=False, now=now):
            sent.append(now)
    assert all(sum(1 for other in sent if at - 1.0 < other <= at) <= 5 for at in sent)


# ------------------------------------------------------------------ values


def test_ids_grow_and_never_repeat() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(len(one) == 32 and one[12] == "7" for one in ids)
    assert [one[:12] for one in ids] == sorted(one[:12] for one in ids)


@pytest.mark.parametrize("part", [Text("hi"), File("a.txt", "text/plain", "https://x.test/a", 3), Data(None)])
def test_parts_survive_being_stored(part: Part) -> None:
    assert part_from_json(part_to_json(part)) == part


@pytest.mark.parametrize(("tag", "language"), [("zh-hans", "zh"), ("zh_TW", "zh"), ("de", "en"), (None, "en")])
def test_notices_are_chinese_for_any_chinese_and_else_english(tag: str | None, language: str) -> None:
    assert language_of(tag) == language


def test_every_notice_exists_in_both_languages_with_the_same_blanks() -> None:
    for name, words in NOTICES.items():
        blanks = [sorted(field for _, field, _, _ in string.Formatter().parse(text) if field) for text in words]
        assert blanks[0] == blanks[1], name
        assert words[0]
        assert words[1]
    assert sentence("idle", "de") == sentence("idle", "en")


@pytest.mark.parametrize(
    ("working", "dropped", "english", "chinese"),
    [
        (1, 0, "I am asking the agent to stop.", "正在请智能体停止。"),
        (3, 0, "I am asking for 3 tasks to be stopped.", "正在请求停止 3 项任务。"),
        (0, 1, "One message that was still waiting will not be worked on.", "有 1 条还在排队的消息不再处理。"),
        (0, 2, "2 messages that were still waiting will not be worked on.", "有 2 条还在排队的消息不再处理。"),
        (
            1,
            2,
            "I am asking the agent to stop. 2 messages that were still waiting will not be worked on.",
            "正在请智能体停止。有 2 条还在排队的消息不再处理。",
        ),
    ],
)
def test_what_a_cancel_covers_is_said_in_words_and_nothing_of_what_is_none(
    working: int, dropped: int, english: str, chinese: str
) -> None:
    for language, said in (("en", english), ("zh", chinese)):
        assert counted(language, cancel_working=working, cancel_dropped=dropped) == said


def test_a_silent_task_is_asked_less_and_less_often_but_never_given_up() -> None:
    patience = Patience()
    pauses = [patience.poll(silent, 0.5) for silent in (0, 60, 600, 86_400)]
    assert pauses == [1, 6, 60, 300]


def test_an_agent_s_own_wish_for_a_pause_is_kept() -> None:
    assert Patience().retry(0, 0.5, asked_for=9) == 9


@pytest.mark.case("F10")
def test_the_pauses_between_tries_grow_to_a_bound_and_are_spread_by_chance() -> None:
    patience = Patience()
    assert [patience.retry(attempt, 0.5) for attempt in (0, 1, 2, 5, 6, 100)] == [0.5, 1, 2, 16, 30, 30]
    assert [round(patience.retry(6, chance), 6) for chance in (0.0, 1.0)] == [24, 36]
