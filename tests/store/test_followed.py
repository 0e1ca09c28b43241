"""Conformance: work that its channel follows, in step with its thread whatever happens, and read as a whole."""

from dataclasses import replace

import pytest

from core.agent import Artifact, TaskState
from core.delivery import DeliveryState
from core.followed import Made, Report, Said, Step, Target, Wanted
from core.identity import Address
from core.ids import new_id
from core.parts import Attached, Data, File, Text
from core.router import Join, Start
from core.store import Admitted, AlreadySeen, NotAdmitted
from core.turn import Observation, SubmissionState, Turn, TurnEnd, TurnState
from gateway.store.sqlite import SqliteStore
from tests.store.line import DESK, HOUR, OTHER, Line, answered, asking, message, piece

DAY = 24 * HOUR


async def begin_work(line: Line, text: str = "hello", *, chat: str = "7", attached: Attached | None = None) -> Admitted:
    """A message that starts work of its own on a channel that follows."""
    candidate = message(text, chat=chat, message_id="same")
    inbound = replace(candidate.inbound, thread=Start(), attached=attached)
    return await line.admit(replace(candidate, inbound=inbound, is_followed=True))


async def join(line: Line, thread: str, text: str = "more", *, chat: str = "7") -> Admitted | NotAdmitted:
    candidate = message(text, chat=chat)
    inbound = replace(candidate.inbound, thread=Join(thread))
    (admission,) = await line.store.admit(DESK, (replace(candidate, inbound=inbound, is_followed=True),))
    assert isinstance(admission, Admitted | NotAdmitted)
    return admission


def ended(turn: Turn, step: Step, state: TurnState = TurnState.COMPLETED) -> Observation:
    return replace(answered(turn), step=step, end=TurnEnd(state))


def asks(turn: Turn) -> Observation:
    return replace(asking(turn), step=Step(TaskState.INPUT_REQUIRED, said("q", "which day?")))


def said(id: str, text: str) -> Said:
    return Said(id, (Text(text),))


def texts(line_of: object) -> list[str]:
    return [heard.parts[0].text for heard in line_of.history]  # type: ignore[attr-defined]


async def test_work_is_submitted_with_its_message(line: Line) -> None:
    attached = Attached({"k": 1}, ("urn:x",), ("t",), ("k",), hops=2, request={"r": 1}, forwarded=(0,))
    admitted = await begin_work(line, attached=attached)
    work = await line.store.followed(admitted.thread)

    assert work is not None
    assert (work.id, work.state, work.owner) == (admitted.thread, TaskState.SUBMITTED, admitted.owner)
    assert [(heard.id, heard.is_theirs, heard.attached) for heard in work.history] == [("same", True, attached)]


async def test_messages_without_such_a_wish_leave_no_record(line: Line) -> None:
    admitted = await line.say()

    assert await line.store.followed(admitted.thread) is None


async def test_work_is_at_work_with_its_turn_and_hands_it_what_was_attached(line: Line) -> None:
    attached = Attached({"k": 1})
    admitted = await begin_work(line, attached=attached)
    turn = await line.begin(admitted)
    work = await line.store.followed(admitted.thread)

    assert work is not None
    assert (work.state, work.time, work.position) == (TaskState.WORKING, turn.begun, (turn.envelopes[0].seq, 0))
    assert turn.envelopes[0].attached == attached


async def test_a_step_is_stored_with_its_observation_and_the_end_is_final(line: Line) -> None:
    admitted = await begin_work(line)
    turn = await line.begin(admitted)
    made = Artifact("a", (Text("x"), File("f", "x/y", content=b"\x00"), Data(None)), "named")
    turn = await line.observe(Observation(turn=turn, step=Step(TaskState.WORKING, None, False, (Made(1, made),))))
    turn = await line.observe(ended(turn, Step(TaskState.COMPLETED, said("s", "done"))))
    await line.store.cancel_thread(admitted.thread, 2_000_000.0)
    work = await line.store.followed(admitted.thread)

    assert work is not None
    assert (work.state, work.said, work.artifacts) == (TaskState.COMPLETED, said("s", "done"), (made,))


async def test_a_step_of_an_old_revision_changes_nothing(line: Line) -> None:
    admitted = await begin_work(line)
    turn = await line.begin(admitted)
    await line.observe(Observation(turn=turn, step=Step(TaskState.WORKING, said("s1", "one"))))
    late = await line.store.observe(ended(turn, Step(TaskState.COMPLETED)), 0.0)
    work = await line.store.followed(admitted.thread)

    assert late is None
    assert work is not None
    assert (work.state, work.said) == (TaskState.WORKING, said("s1", "one"))


async def test_what_the_agent_went_beyond_joins_the_history_in_its_place(line: Line) -> None:
    admitted = await begin_work(line, "book")
    turn = await line.begin(admitted)
    turn = await line.observe(Observation(turn=turn, step=Step(TaskState.WORKING, said("s1", "looking"))))
    await line.observe(asks(turn))
    await join(line, admitted.thread, "Tuesday")
    between = await line.store.followed(admitted.thread)
    turn = await line.begin(admitted)
    await line.observe(ended(turn, Step(TaskState.COMPLETED, said("s2", "booked"))))
    work = await line.store.followed(admitted.thread)

    assert between is not None
    assert (between.said, between.is_answered) == (None, True)
    assert work is not None
    assert texts(work) == ["book", "looking", "which day?", "Tuesday"]
    assert (work.said, work.is_answered) == (said("s2", "booked"), False)


async def test_the_answer_continues_the_interrupted_task(line: Line) -> None:
    admitted = await begin_work(line)
    asked = await line.observe(asks(await line.begin(admitted)))
    await join(line, admitted.thread)
    turn = await line.begin(admitted)

    assert asked.task is not None
    assert turn.task_id == asked.task.task_id


async def test_messages_queued_behind_a_question_of_followed_work_are_its_answer(line: Line) -> None:
    admitted = await begin_work(line)
    turn = await line.begin(admitted)
    await join(line, admitted.thread, "Tuesday")
    asked = await line.observe(asks(turn))
    answer = await line.begin(admitted)

    assert (asked.more, asked.moved) == (True, "")
    assert asked.task is not None
    assert answer.task_id == asked.task.task_id
    assert answer.envelopes[0].parts == (Text("Tuesday"),)


async def test_work_goes_on_while_messages_are_queued_for_it_whatever_a_turn_came_to(line: Line) -> None:
    admitted = await begin_work(line)
    turn = await line.begin(admitted)
    await join(line, admitted.thread)
    await line.observe(ended(turn, Step(TaskState.FAILED, said("s", "broken")), TurnState.FAILED))
    work = await line.store.followed(admitted.thread)

    assert work is not None
    assert (work.state, work.said) == (TaskState.WORKING, said("s", "broken"))


async def test_a_message_joins_no_thread_of_another_conversation_and_none_that_has_ended(line: Line) -> None:
    admitted = await begin_work(line)
    other = await join(line, admitted.thread, chat="8")
    unknown = await join(line, "nothing-1")
    await line.observe(ended(await line.begin(admitted), Step(TaskState.COMPLETED)))
    late = await join(line, admitted.thread)

    assert (other, unknown, late) == (
        NotAdmitted("unknown_thread"),
        NotAdmitted("unknown_thread"),
        NotAdmitted("ended_thread"),
    )


async def test_a_thread_of_the_desk_cannot_be_joined(line: Line) -> None:
    await begin_work(line)
    desk = await line.command("help")

    assert await join(line, desk.thread) == NotAdmitted("unknown_thread")


async def test_each_message_that_asks_for_it_starts_work_of_its_own(line: Line) -> None:
    one, other = await begin_work(line), await begin_work(line)

    assert one.thread != other.thread
    assert one.conversation == other.conversation


async def test_cancelling_work_that_asks_closes_it_and_says_whom_to_tell(line: Line) -> None:
    admitted = await begin_work(line)
    asked = await line.observe(asks(await line.begin(admitted)))
    covered = await line.store.cancel_thread(admitted.thread, 2_000_000.0)
    work = await line.store.followed(admitted.thread)

    assert asked.task is not None
    assert [task.task_id for task in covered.closed] == [asked.task.task_id]
    assert work is not None
    assert (work.state, work.time, work.said) == (TaskState.CANCELED, 2_000_000.0, None)
    assert texts(work) == ["hello", "which day?"]
    assert await join(line, admitted.thread) == NotAdmitted("ended_thread")


async def test_a_cancel_without_a_turn_that_would_say_so_is_reported_in_its_own_commit(line: Line) -> None:
    admitted, at_work, new = await begin_work(line), await begin_work(line), await begin_work(line)
    for work in (admitted, at_work, new):
        await line.store.put_target(Target(work.thread, "c1", "", {"url": "x"}), DESK)
    target, *_ = await line.store.targets_of(admitted.thread)
    await line.observe(asks(await line.begin(admitted)))
    await line.begin(at_work)
    asked: list[tuple[Address, str, float]] = []

    def reports(address: Address, thread: str, at: float) -> list[Report]:
        asked.append((address, thread, at))
        return [Report(target.conversation, piece("push:c1:canceled", "canceled")), Report("gone", piece("p", "x"))]

    now = line.clock.now()
    covered = [await line.store.cancel_thread(work.thread, now, reports) for work in (admitted, at_work, new)]
    again = await line.store.cancel_thread(admitted.thread, now, reports)

    assert [each.told for each in (*covered, again)] == [((target.conversation, DESK.account),), (), (), ()]
    assert [(address.source, thread) for address, thread, _ in asked] == [(DESK, admitted.thread)]
    assert (await line.claim(target.conversation)).payload == {"text": "canceled"}
    assert await line.lane_is_empty(target.conversation)


async def test_cancelling_work_at_work_marks_its_turn_and_drops_what_is_queued(line: Line) -> None:
    admitted = await begin_work(line)
    turn = await line.begin(admitted)
    await join(line, admitted.thread)
    covered = await line.store.cancel_thread(admitted.thread, 2_000_000.0)
    (unfinished,) = await line.store.unfinished()
    work = await line.store.followed(admitted.thread)

    assert (covered.turns, covered.dropped, unfinished.cancel_wanted) == ((turn.id,), 1, True)
    assert work is not None
    assert work.state is TaskState.WORKING


async def test_cancelling_work_not_begun_ends_it(line: Line) -> None:
    admitted = await begin_work(line)
    covered = await line.store.cancel_thread(admitted.thread, 2_000_000.0)
    work = await line.store.followed(admitted.thread)

    assert (covered.turns, covered.dropped) == ((), 1)
    assert work is not None
    assert work.state is TaskState.CANCELED
    assert await line.store.begin(admitted.thread, 0.0) is None


async def test_cancelling_what_is_not_known_covers_nothing(line: Line) -> None:
    covered = await line.store.cancel_thread("nothing-1", 0.0)

    assert (covered.turns, covered.dropped, covered.closed) == ((), 0, ())


async def test_a_page_is_of_one_owner_and_agent_the_newest_first(line: Line) -> None:
    works = []
    for chat in ("7", "7", "8", "7"):
        line.clock.time += 1
        works.append(await begin_work(line, chat=chat))
        await line.begin(works[-1])
    wanted = Wanted(works[0].owner, "agent", 2)
    first = await line.store.followed_page(wanted)
    second = await line.store.followed_page(replace(wanted, before=first.next))

    assert [work.id for work in (*first.works, *second.works)] == [works[n].thread for n in (3, 1, 0)]
    assert (first.total, second.total, second.next) == (3, 3, None)
    assert (await line.store.followed_page(replace(wanted, agent="other"))).works == ()


async def test_a_page_is_filtered(line: Line) -> None:
    done = await begin_work(line)
    await line.observe(ended(await line.begin(done), Step(TaskState.COMPLETED)))
    line.clock.time += 10
    running = await begin_work(line)
    await line.begin(running)
    wanted = Wanted(done.owner, "agent", 10)

    async def found(**fields: object) -> list[str]:
        page = await line.store.followed_page(replace(wanted, **fields))  # type: ignore[arg-type]
        return [work.id for work in page.works]

    assert await found(state=TaskState.COMPLETED) == [done.thread]
    assert await found(since=line.clock.time) == [running.thread]
    assert await found(topic="elsewhere") == []


async def test_the_thread_of_an_envelope_is_found(line: Line) -> None:
    admitted = await begin_work(line)

    assert await line.store.thread_of(admitted.envelope) == admitted.thread
    assert await line.store.thread_of("nothing") == ""


async def test_reports_go_to_their_own_addresses_with_the_step(line: Line) -> None:
    admitted = await begin_work(line)
    target = await line.store.put_target(Target(admitted.thread, "c1", "", {"url": "x"}), DESK)
    turn = await line.begin(admitted)
    report = Report(target.conversation, piece("push:1", "done"))
    await line.observe(replace(ended(turn, Step(TaskState.COMPLETED)), reports=(report,)))
    delivery = await line.claim(target.conversation)

    assert (delivery.address.chat, delivery.address.topic) == (admitted.thread, "c1")
    assert delivery.payload == {"text": "done"}
    assert await line.lane_is_empty(admitted.conversation)


@pytest.mark.parametrize("more", [False, True])
async def test_a_report_says_whether_messages_are_queued_behind_the_turn_as_the_commit_knows_it(
    line: Line, more: bool
) -> None:
    admitted = await begin_work(line)
    target = await line.store.put_target(Target(admitted.thread, "c1", "", {"url": "x"}), DESK)
    turn = await line.begin(admitted)
    if more:
        await join(line, admitted.thread)
    report = Report(target.conversation, piece("push:1", "done"), piece("push:1", "going on"))
    await line.observe(replace(ended(turn, Step(TaskState.COMPLETED)), reports=(report,)))
    delivery = await line.claim(target.conversation)

    assert delivery.payload == {"text": "going on" if more else "done"}


async def test_a_target_that_a_message_brings_is_stored_with_it(line: Line) -> None:
    candidate = message("hello")
    brings = replace(candidate.inbound, thread=Start(), also=lambda thread: Target(thread, "c1", "", {"url": "x"}))
    admitted = await line.admit(replace(candidate, inbound=brings, is_followed=True))
    sent_again = replace(candidate, envelope_id=new_id(), inbound=brings, is_followed=True)
    (again,) = await line.store.admit(DESK, (sent_again,))

    assert admitted.target is not None
    assert (admitted.target.thread, admitted.target.settings) == (admitted.thread, {"url": "x"})
    assert list(await line.store.targets(DESK)) == [admitted.target]
    assert again == AlreadySeen(admitted.envelope)


async def test_targets_are_replaced_told_and_dropped_with_what_is_queued_for_them(line: Line) -> None:
    admitted = await begin_work(line)
    first = await line.store.put_target(Target(admitted.thread, "c1", "", {"url": "x"}), DESK)
    again = await line.store.put_target(Target(admitted.thread, "c1", "", {"url": "y"}), DESK)
    known = await line.store.targets(DESK)
    turn = await line.begin(admitted)
    await line.observe(Observation(turn=turn, reports=(Report(again.conversation, piece("push:1", "x")),)))
    await line.store.drop_target(admitted.thread, "c1")
    await line.store.drop_target(admitted.thread, "c1")

    assert first.conversation == again.conversation
    assert list(known) == [again]
    assert await line.store.targets(OTHER) == []
    assert (list(await line.store.targets(DESK)), list(await line.store.targets_of(admitted.thread))) == ([], [])
    assert await line.lane_is_empty(again.conversation)


async def test_after_a_start_only_targets_of_work_that_goes_on_are_told(line: Line) -> None:
    admitted = await begin_work(line)
    target = await line.store.put_target(Target(admitted.thread, "c1", "", {"url": "x"}), DESK)
    await line.observe(ended(await line.begin(admitted), Step(TaskState.COMPLETED)))

    assert list(await line.store.targets(DESK)) == []
    assert list(await line.store.targets_of(admitted.thread)) == [target]


@pytest.mark.parametrize("is_over", [True, False])
async def test_retention_removes_work_that_ended_with_all_that_is_its_own(sqlite_line: Line, is_over: bool) -> None:
    line, store = sqlite_line, sqlite_line.store
    assert isinstance(store, SqliteStore)
    admitted = await begin_work(line)
    target = await store.put_target(Target(admitted.thread, "c1", "", {"url": "x"}), DESK)
    turn = await line.begin(admitted)
    made = (Made(0, Artifact("a", (Text("x"),))),)
    turn = await line.observe(Observation(turn=turn, step=Step(TaskState.WORKING, said("s", "so"), artifacts=made)))
    if is_over:
        step = Step(TaskState.COMPLETED, said("s2", "done"))
        await line.observe(replace(ended(turn, step), reports=(Report(target.conversation, piece("p", "x")),)))
        await line.settle(await line.claim(target.conversation), DeliveryState.DELIVERED)
    await line.say("the newest envelope stays", chat="9")
    line.clock.time += 31 * DAY
    await store.prune(line.clock.now())

    tables = ("served_task", "served_artifact", "served_message", "served_push")
    left = [(await store.rows(f"SELECT count(*) AS n FROM {table}"))[0]["n"] for table in tables]
    assert left == ([0, 0, 0, 0] if is_over else [1, 1, 0, 1])
    places = await store.rows("SELECT id FROM conversation WHERE id = :id", {"id": target.conversation})
    assert len(places) == (0 if is_over else 1)


async def test_a_message_that_names_its_thread_asks_no_agent_twice_for_the_same_key(line: Line) -> None:
    candidate = message("hello", keys=("k",))
    named = replace(candidate, inbound=replace(candidate.inbound, thread=Start()), is_followed=True)
    first = await line.admit(named)
    (again,) = await line.store.admit(DESK, (replace(named, envelope_id="other"),))

    assert again.envelope == first.envelope  # type: ignore[union-attr]
    assert SubmissionState.INTENDED is (await line.begin(first)).submission
