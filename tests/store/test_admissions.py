"""Conformance: each update becomes one envelope, once."""

import asyncio

import pytest

from core.envelope import ContextScope, Unreadable
from core.parts import Data, File, Text
from core.plugin import Cursor
from core.store import Admitted, AlreadySeen, NotAdmitted
from tests.store.line import DESK, HOUR, OTHER, Line, message


async def test_a_message_is_admitted_into_the_queue_of_a_new_thread(line: Line) -> None:
    candidate = message("hello")

    admitted = await line.admit(candidate)
    turn = await line.begin(admitted)

    assert admitted.envelope == candidate.envelope_id
    assert [envelope.parts for envelope in turn.envelopes] == [(Text("hello"),)]
    assert turn.envelopes[0].external_id == candidate.inbound.external_id


@pytest.mark.case("T04")
@pytest.mark.case("TG-37")
async def test_an_update_seen_before_is_the_first_ones_envelope(line: Line) -> None:
    first = await line.admit(message(keys=("u:1", "m:7:1")))

    assert await line.store.admit(DESK, (message(keys=("u:1", "m:7:2")),)) == (AlreadySeen(first.envelope),)


async def test_what_came_before_is_known_by_any_of_its_keys_and_to_its_own_source(line: Line) -> None:
    await line.admit(message(keys=("u:1", "m:7:1")))

    assert await line.store.knows(DESK, ("m:7:2", "u:1"))
    assert not await line.store.knows(DESK, ("m:7:2",))
    assert not await line.store.knows(OTHER, ("u:1",))
    line.clock.time += 73 * HOUR
    assert not await line.store.knows(DESK, ("u:1",))


@pytest.mark.case("TG-39")
async def test_any_one_of_its_keys_makes_a_duplicate_and_all_are_remembered(line: Line) -> None:
    first = await line.admit(message(keys=("u:1", "m:7:1")))
    await line.store.admit(DESK, (message(keys=("u:2", "m:7:1")),))

    assert await line.store.admit(DESK, (message(keys=("u:2",)),)) == (AlreadySeen(first.envelope),)


@pytest.mark.case("TG-39")
async def test_concurrent_arrivals_of_one_update_are_one_envelope(line: Line) -> None:
    arrivals = [message(keys=("u:1", "m:7:1")) for _ in range(20)]

    admissions = [a for (a,) in await asyncio.gather(*(line.store.admit(DESK, (m,)) for m in arrivals))]

    (first,) = [admission for admission in admissions if isinstance(admission, Admitted)]
    assert admissions.count(AlreadySeen(first.envelope)) == 19


async def test_a_duplicate_within_one_batch_is_seen(line: Line) -> None:
    first, second = await line.store.admit(DESK, (message(keys=("u:1",)), message(keys=("u:1",))))

    assert isinstance(first, Admitted)
    assert second == AlreadySeen(first.envelope)


async def test_one_update_that_names_a_key_twice_is_not_its_own_duplicate(line: Line) -> None:
    assert isinstance(await line.admit(message(keys=("u:1", "u:1"))), Admitted)


async def test_keys_of_different_accounts_are_different(line: Line) -> None:
    await line.admit(message(keys=("u:1",)))

    (admission,) = await line.store.admit(OTHER, (message(keys=("u:1",), source=OTHER),))

    assert isinstance(admission, Admitted)


async def test_a_key_is_forgotten_only_after_the_horizon(line: Line) -> None:
    await line.admit(message(keys=("u:1",)))
    line.clock.time += 71 * HOUR
    assert isinstance((await line.store.admit(DESK, (message(keys=("u:1",)),)))[0], AlreadySeen)
    line.clock.time += 73 * HOUR

    assert isinstance(await line.admit(message(keys=("u:1",))), Admitted)


async def test_a_refused_message_starts_nothing_and_is_known_when_it_comes_again(line: Line) -> None:
    refused = message(keys=("u:1",), refusal="not_allowed")

    assert await line.store.admit(DESK, (refused,)) == (NotAdmitted("not_allowed"),)
    assert await line.store.admit(DESK, (message(keys=("u:1",)),)) == (AlreadySeen(""),)
    assert await line.store.ready() == []


async def test_what_cannot_be_read_is_put_aside_and_the_rest_of_the_batch_goes_on(line: Line) -> None:
    broken = Unreadable(("u:1",), "1", b"{", "no message in it")

    aside, admitted = await line.store.admit(DESK, (broken, message()))

    assert aside == NotAdmitted("unreadable")
    assert isinstance(admitted, Admitted)
    assert await line.store.admit(DESK, (broken,)) == (AlreadySeen(""),)


async def test_an_edit_is_history_only_and_starts_nothing(line: Line) -> None:
    edit = await line.admit(message("edited", scope=ContextScope.NOTIFY))

    assert edit.thread == ""
    assert await line.store.ready() == []


async def test_a_cursor_commits_with_its_batch(line: Line) -> None:
    assert await line.store.cursor(DESK, "updates") is None

    await line.store.admit(DESK, (message(),), Cursor("updates", "41"))
    await line.store.admit(DESK, (), Cursor("updates", "42"))

    assert await line.store.cursor(DESK, "updates") == "42"
    assert await line.store.cursor(OTHER, "updates") is None


@pytest.mark.case("T19")
async def test_a_nul_in_a_message_is_stored_and_comes_back(line: Line) -> None:
    admitted = await line.admit(message("a\0b", message_id="1\0", external_id="\0"))

    (envelope,) = (await line.begin(admitted)).envelopes

    assert envelope.parts == (Text("a\0b"),)
    assert (envelope.message_id, envelope.external_id) == ("1\0", "\0")


async def test_every_kind_of_part_comes_back_as_it_was(line: Line) -> None:
    parts = (Text("see"), File("a.pdf", "application/pdf", "https://example.com/a.pdf", 3), Data({"n": [1, None]}))

    turn = await line.begin(await line.admit(message(parts=parts)))

    assert turn.envelopes[0].parts == parts


async def test_a_person_is_the_same_one_in_every_chat_of_an_account_and_speaks_the_language_last_used(
    line: Line,
) -> None:
    await line.admit(message(sender="5", chat="5", language="en"))
    first = await line.begin(await line.admit(message(sender="5", chat="-100", language="zh")))
    second = await line.begin(await line.admit(message(sender="5", chat="-200", language="zh")))

    assert first.envelopes[0].person == second.envelopes[0].person
    assert first.language == "zh"


@pytest.mark.case("DEL-20")
@pytest.mark.case("DEL-23")
async def test_chats_topics_and_accounts_each_have_a_session_of_their_own(line: Line) -> None:
    candidates = [
        message(chat="1"),
        message(chat="2"),
        message(chat="2", topic="9"),
        message(chat="1", source=OTHER),
    ]

    turns = [await line.begin(await line.admit(candidate, candidate.source)) for candidate in candidates]

    assert len({turn.session for turn in turns}) == 4
    assert len({turn.conversation for turn in turns}) == 4
