"""A store in plain dictionaries: every port of the core, for journeys that need no disk.

The same conformance suite holds for it as for the engines (tests/store). Nothing awaits between reading and writing, so
each method is one transaction by itself.
"""

from collections.abc import Sequence
from dataclasses import replace

from core.agent import TaskState
from core.choices import Offered, about, chosen, is_line
from core.clock import Instant
from core.delivery import DeliveryState
from core.envelope import Candidate, ContextScope, Envelope, Moved, Unreadable
from core.errors import ForeignTask
from core.followed import CancelReports, Heard, no_reports
from core.identity import Address, Person, Source
from core.ids import new_id
from core.parts import Part, text_of
from core.plugin import Cursor, Entry
from core.push import PushTarget
from core.router import AskWhich, Join, Start, ThreadFact, pick_thread
from core.store import Admission, Admitted, AlreadySeen, DeskView, HeldWindow, NotAdmitted, Ready, Work
from core.turn import Cancellation, Disposition, Observation, OpenTask, SubmissionState, Turn, TurnEnd, TurnState
from gateway.store.rules import TEXT_SHOWN, is_open, state_after
from tests.doubles.deliveries import SHOWN, UNKNOWN
from tests.doubles.followed import FollowedTables
from tests.doubles.tables import AT_WORK, ConversationRow, ThreadRow, TurnRow, WindowRow

CHOICE_OVER = "choice_over"
_OUTCOMES: dict[type, str] = {Unreadable: "unreadable", Moved: "moved"}


class MemoryStore(FollowedTables):
    # ------------------------------------------------------------------ admissions

    async def admit(
        self,
        source: Source,
        batch: Sequence[Candidate | Unreadable | Moved],
        cursor: Cursor | None = None,
        *,
        window: Instant | None = None,
    ) -> tuple[Admission, ...]:
        admissions = tuple([self._admit(source, item) for item in batch])
        if window is not None:
            admissions = tuple([self._with_window(admission, window) for admission in admissions])
        if cursor is not None:
            self._state[source.key, f"cursor:{cursor.name}"] = (cursor.value, 1)
        return admissions

    def _with_window(self, admission: Admission, until: Instant) -> Admission:
        if isinstance(admission, Admitted):
            self._windows[admission.envelope] = WindowRow(HeldWindow(admission.conversation, until))
            if self._bring_forward(admission.conversation):
                return replace(admission, hands_over=True)
        elif isinstance(admission, AlreadySeen) and admission.envelope in self._windows:
            held = self._windows[admission.envelope].held
            is_open = held.answer is None and self._clock.now() < held.until
            where = held.conversation
            return AlreadySeen(
                admission.envelope, held, is_open and any([self._hand_over(where), self._bring_forward(where)])
            )
        return admission

    def _hand_over(self, conversation: str) -> bool:
        waiting = [
            held
            for held in self._deliveries.values()
            if held.delivery.conversation == conversation and held.state is DeliveryState.WAITING_FOR_USER
        ]
        for held in waiting:
            self._queue(held, self._clock.now())
        return bool(waiting)

    def _bring_forward(self, conversation: str) -> bool:
        now = self._clock.now()
        put_off = [held for held in self._lane(conversation) if held.state is DeliveryState.QUEUED and held.due > now]
        for held in put_off:
            held.due = now
        return bool(put_off)

    def _admit(self, source: Source, item: Candidate | Unreadable | Moved) -> Admission:
        is_message = isinstance(item, Candidate) and not item.refusal
        if isinstance(item, Candidate) and is_message and (refusal := self._no_joining(source, item)):
            item, is_message = replace(item, refusal=refusal), False
        keys = item.inbound.keys if isinstance(item, Candidate) else item.keys
        seen = self._first_seen(source, keys, item.envelope_id if isinstance(item, Candidate) and is_message else "")
        if seen is not None:
            return AlreadySeen(seen)
        if isinstance(item, Candidate) and is_message:
            return self._admit_message(source, item)
        outcome = item.refusal if isinstance(item, Candidate) else _OUTCOMES[type(item)]
        external_id = item.inbound.external_id if isinstance(item, Candidate) else item.external_id
        self.set_aside.append((external_id, outcome))
        if isinstance(item, Moved):
            self._move(source.key, item.chat, item.new_chat)
        return NotAdmitted(outcome)

    def _no_joining(self, source: Source, item: Candidate) -> str:
        named = item.inbound.thread
        if not isinstance(named, Join):
            return ""
        place = self._at(Address(source, item.inbound.chat, item.inbound.topic))
        thread = self._threads.get(named.thread)
        if place is None or thread is None or thread.conversation != place.id or thread.is_desk:
            return "unknown_thread"
        return "" if thread in self._active(place.id) else "ended_thread"

    def _first_seen(self, source: Source, keys: Sequence[str], envelope: str) -> str | None:
        now = self._clock.now()
        found = [self._keys.get((source.key, key)) for key in keys]
        known = [first for first in found if first is not None and first[1] > now]
        seen = max((first for first, _ in known), default="") if known else None
        for key in keys:
            value = envelope if seen is None else seen
            self._keys[source.key, key] = (value, now + self._policy.dedupe_horizon)
        return seen

    def _admit_message(self, source: Source, item: Candidate) -> Admission:
        inbound = item.inbound
        place = self._place(source, item)
        person = self._people.setdefault((source.key, inbound.sender), Person(new_id(), item.owner, item.language))
        person = self._people[source.key, inbound.sender] = replace(person, language=item.language)
        seq, hands_over = next(self._seqs), False
        if item.scope is not ContextScope.NOTIFY:
            place.newest, hands_over = seq, self._hand_over(place.id)
        item, meant = self._chosen(place, person, item)
        inbound = item.inbound
        thread, command = self._pick(place, person, item, seq, meant)
        envelope = Envelope(
            item.envelope_id,
            seq,
            person,
            inbound.parts,
            inbound.external_id,
            inbound.message_id,
            command,
            inbound.is_forward,
            item.received,
            inbound.attached,
        )
        self._envelopes[seq] = (place.id, envelope)
        if thread is None:
            return Admitted(item.envelope_id, place.owner, place.id, "", is_desk=False, hands_over=hands_over)
        thread.queue.append(envelope)
        self._thread_of_envelope[envelope.id] = thread.id
        if (work := self._works.get(thread.id)) is not None:
            work.supersede()
            work.history.append(Heard(envelope.message_id, envelope.parts, True, envelope.attached))
        if inbound.message_id and not thread.is_desk:
            self._thread_of[place.id, inbound.message_id] = thread.id
        target = self._put_target(inbound.also(thread.id), source) if inbound.also is not None else None
        return Admitted(item.envelope_id, place.owner, place.id, thread.id, thread.is_desk, hands_over, target)

    def _place(self, source: Source, item: Candidate) -> ConversationRow:
        chat = self._aliases.get(source.key, {}).get(item.inbound.chat, item.inbound.chat)
        address = Address(source, chat, item.inbound.topic)
        found = self._at(address)
        if found is None:
            found = ConversationRow(new_id(), address, item.owner, item.agent, item.inbound.is_direct, item.is_followed)
            self._conversations[found.id] = found
        return found

    def _chosen(self, place: ConversationRow, person: Person, item: Candidate) -> tuple[Candidate, str]:
        """The message that waited for the choice in the place of the one that made it, and the thread it goes to."""
        is_reply = (place.id, item.inbound.reply_to) in self._thread_of
        is_plain = not (item.command or item.inbound.thread or item.is_called or is_reply)
        said = [
            envelope
            for conversation, envelope in self._envelopes.values()
            if (conversation, envelope.person.id) == (place.id, person.id) and envelope.command in ("", "which")
        ]
        if not is_plain or item.scope is ContextScope.NOTIFY or not said:
            return item, ""
        words, waiting = text_of(item.inbound.parts), said[-1]
        desk = self._threads.get(self._thread_of_envelope.get(waiting.id, ""))
        choice = chosen(words, desk.offers) if desk is not None and not desk.is_chosen else None
        if desk is None or choice is None:
            offers = [thread.offers for thread in self._offers(place.id) if self._writer(thread) == person.id]
            return item, CHOICE_OVER if any(is_line(words, each) for each in offers) else ""
        desk.is_chosen = True
        again = replace(item.inbound, parts=waiting.parts, attached=waiting.attached, is_forward=waiting.is_forward)
        return replace(item, inbound=again), choice.thread

    def _offers(self, conversation: str) -> list[ThreadRow]:
        return [thread for thread in self._threads.values() if thread.conversation == conversation and thread.offers]

    def _writer(self, desk: ThreadRow) -> str:
        return self._envelopes[desk.opened][1].person.id

    def _question(self, thread: str) -> tuple[Part, ...]:
        return self._turns[self._threads[thread].turn].turn.envelopes[0].parts

    def _pick(
        self, place: ConversationRow, person: Person, item: Candidate, seq: int, meant: str
    ) -> tuple[ThreadRow | None, str]:
        if item.scope is ContextScope.NOTIFY:
            return None, item.command
        agent, fallback = item.agents_for(place.chosen)
        if item.command:
            return self._start(place, item, seq, agent, is_desk=True), item.command
        named = item.inbound.thread
        if isinstance(named, Join):
            return self._joined(named.thread), ""
        if isinstance(named, Start):
            return self._start(place, item, seq, item.agent, is_front=False), ""
        if meant == CHOICE_OVER:
            return self._start(place, item, seq, agent, is_desk=True), meant
        facts = [self._fact(thread) for thread in self._active(place.id)]
        replied = self._thread_of.get((place.id, item.inbound.reply_to), "") if item.inbound.reply_to else ""
        match pick_thread(person.id, replied or meant, facts, agents=(agent, fallback), is_called=item.is_called):
            case Join(id):
                return self._joined(id), ""
            case AskWhich(threads):
                desk = self._start(place, item, seq, agent, is_desk=True)
                desk.offers = tuple(Offered(id, about(self._question(id))) for id in threads)
                return desk, "which"
            case _:
                self._leave_foreground(place.id, agent)
                return self._start(place, item, seq, agent), ""

    def _joined(self, id: str) -> ThreadRow:
        thread = self._threads[id]
        if thread.state not in ("queued", "running") and not thread.waits_for_task:
            thread.state = "queued"
        return thread

    def _fact(self, thread: ThreadRow) -> ThreadFact:
        is_foreground = thread is self._foreground(thread.conversation, thread.agent)
        return ThreadFact(thread.id, thread.state, is_foreground, thread.asks, thread.agent)

    def _start(
        self,
        place: ConversationRow,
        item: Candidate,
        seq: int,
        agent: str,
        *,
        is_desk: bool = False,
        is_front: bool = True,
    ) -> ThreadRow:
        is_front = is_front and not is_desk
        thread = ThreadRow(f"{item.envelope_id}-{seq}", place.id, agent, seq, is_desk, is_foreground=is_front)
        self._threads[thread.id] = thread
        if place.is_followed and not is_desk:
            self._submitted(thread, place, item.received)
        return thread

    # ------------------------------------------------------------------ turns

    async def sync(self) -> None:
        return None

    async def begin(self, thread: str, now: Instant, *, limit: int = 1) -> Turn | None:
        lane = self._threads.get(thread)
        if lane is None or lane.state != "queued" or not (lane.queue or lane.resume):
            return None
        place = self._conversations[lane.conversation]
        lane.state = "running"
        task_id, lane.task_id, lane.asks = lane.task_id, "", ""
        if lane.resume:
            return self._begin_again(lane)
        taken, lane.queue = tuple(lane.queue[:limit]), lane.queue[limit:]
        id = f"{taken[0].id}-{taken[0].seq}"
        turn = Turn(
            id,
            lane.id,
            place.session,
            place.owner,
            place.id,
            place.address,
            place.is_direct,
            lane.agent,
            taken,
            f"fd-{id}",
            now,
            self._contexts.get((place.session, lane.agent, place.generation)),
            task_id or None,
            task=self._tasks.get((lane.agent, task_id)),
            is_desk=lane.is_desk,
        )
        self._turns[id], lane.turn = TurnRow(turn, place.generation), id
        self._began(turn)
        return turn

    def _begin_again(self, lane: ThreadRow) -> Turn:
        held = self._turns[lane.resume]
        lane.turn, lane.resume, held.state = lane.resume, "", TurnState.RUNNING
        held.turn = replace(
            held.turn,
            submission=SubmissionState.INTENDED,
            asked=True,
            cancel_wanted=False,
            waiting=False,
            revision=held.turn.revision + 1,
        )
        return self._present(held)

    def _present(self, held: TurnRow) -> Turn:
        place = self._resolve(held.turn.conversation)
        return replace(held.turn, conversation=place.id, address=place.address) if place else held.turn

    async def observe(self, observation: Observation, now: Instant) -> Turn | None:
        held, end = self._turns.get(observation.turn.id), observation.end
        if held is None or held.state not in AT_WORK or held.turn.revision != observation.turn.revision:
            return None
        turn = held.turn
        if observation.task is not None:
            self._claim(turn, observation.task.task_id)
            self._tasks[turn.agent, observation.task.task_id] = observation.task
        if observation.context_id not in (None, turn.context_id):
            self._contexts[turn.session, turn.agent, held.generation] = observation.context_id
        if observation.agent:
            self._threads[turn.thread].agent = observation.agent
            context = self._contexts.get((turn.session, observation.agent, held.generation))
            turn = replace(turn, agent=observation.agent, context_id=context)
        held.turn = replace(
            turn,
            submission=observation.submission or turn.submission,
            asked=turn.asked if observation.asked is None else observation.asked,
            task=observation.task or turn.task,
            context_id=observation.context_id or turn.context_id,
            waiting=turn.waiting or (end is not None and end.state is TurnState.WAITING),
            revision=turn.revision + 1,
        )
        for piece in observation.pieces:
            self._enqueue(turn.conversation, turn.id, piece, now)
        if end is not None:
            held.state = end.state
            moved = self._end(self._threads[turn.thread], held.turn, end)
            more = self._threads[turn.thread].state == "queued"
            present = replace(self._present(held), more=more, moved=moved)
        else:
            present = self._present(held)
        if observation.step is not None:
            self._stepped(present, observation.step, now)
        for report in observation.reports:
            self._enqueue(report.conversation, turn.id, report.piece_now(more=present.more), now)
        return present

    def _claim(self, turn: Turn, task_id: str) -> None:
        """A task stays with the conversation that it came from."""
        owner = self._turns.get(self._owners.get((turn.agent, task_id), ""))
        if owner is not None and owner.turn.conversation != turn.conversation:
            raise ForeignTask(f"task {task_id} of {turn.agent} is another conversation's")
        self._owners[turn.agent, task_id] = turn.id

    async def note(self, observation: Observation, now: Instant) -> None:
        del now
        if observation.task is not None:
            self._tasks[observation.turn.agent, observation.task.task_id] = observation.task

    def _end(self, lane: ThreadRow, turn: Turn, end: TurnEnd) -> str:
        new_thread = ""
        is_followed = lane.id in self._works
        if end.waits_for_input and lane.queue and not is_followed:
            first = lane.queue[0]
            split = ThreadRow(f"{first.id}-{first.seq}", lane.conversation, lane.agent, first.seq, is_foreground=True)
            split.queue, lane.queue = lane.queue, []
            self._threads[split.id] = split
            new_thread = split.id
            moved = {(lane.conversation, envelope.message_id): split.id for envelope in split.queue}
            self._thread_of |= {key: thread for key, thread in moved.items() if key[1]}
        lane.state = state_after(end, has_queued=bool(lane.queue))
        if is_followed and end.waits_for_input and lane.queue:
            lane.state = "queued"
        lane.waits_for_task = end.state is TurnState.WAITING
        if lane.waits_for_task:
            if lane is self._foreground(lane.conversation, lane.agent):
                self._leave_foreground(lane.conversation, lane.agent)
            lane.is_foreground = False
        elif end.waits_for_input:
            lane.task_id = turn.task.task_id if turn.task else ""
            lane.asks = turn.envelopes[-1].person.id if turn.envelopes else ""
        return new_thread

    async def ready(self) -> Sequence[Ready]:
        lanes = [lane for lane in self._threads.values() if lane.state == "queued" or lane.queue]
        return [self._ready(lane) for lane in sorted(lanes, key=lambda lane: lane.opened)]

    def _ready(self, lane: ThreadRow) -> Ready:
        resumed = len(self._turns[lane.resume].turn.envelopes) if lane.resume else 0
        place = self._conversations[lane.conversation]
        return Ready(place.owner, lane.id, len(lane.queue) + resumed, lane.is_desk, place.address.source.key)

    async def unfinished(self) -> Sequence[Turn]:
        return [self._present(held) for held in self._turns.values() if held.state in AT_WORK]

    async def rouse(self, turn: str) -> Turn | None:
        held = self._turns.get(turn)
        lane = self._threads[held.turn.thread] if held else None
        if held is None or lane is None or lane.turn != turn or lane.state != "waiting" or not lane.task_id:
            return None
        lane.task_id, lane.asks, lane.waits_for_task = "", "", True
        held.state = TurnState.WAITING
        held.turn = replace(held.turn, waiting=True, revision=held.turn.revision + 1)
        return self._present(held)

    async def asking(self, turn: str) -> Turn | None:
        held = self._turns.get(turn)
        lane = self._threads[held.turn.thread] if held else None
        is_open = lane is not None and lane.turn == turn and lane.state == "waiting" and lane.task_id
        return self._present(held) if held and is_open else None

    async def watched(self) -> Sequence[Turn]:
        asking = [lane for lane in self._threads.values() if lane.state == "waiting" and lane.task_id]
        found = [self._turns[lane.turn] for lane in asking]
        signing_in = [held for held in found if held.turn.task and held.turn.task.state is TaskState.AUTH_REQUIRED]
        return [self._present(held) for held in signing_in]

    async def want_cancel(
        self, conversation: str, before: int, *, person: str | None, everything: bool, now: Instant
    ) -> Cancellation:
        place = self._resolve(conversation)
        lanes = (
            [lane for lane in reversed(self._active(place.id)) if self._covers(lane, before, person)] if place else []
        )
        if not everything and place:
            front = [lane for lane in lanes if lane is self._foreground(place.id) and lane.state != "waiting"]
            lanes = (front or [lane for lane in lanes if lane.state == "waiting"] or lanes)[:1]
        turns = tuple([turn for lane in lanes if (turn := self._at_work(lane, before, person))])
        closed = self._asked([lane for lane in lanes if lane.asks and person in (None, lane.asks)])
        return Cancellation(turns, sum([self._cancel(lane, before, person) for lane in lanes]), closed)

    def _asked(self, lanes: list[ThreadRow]) -> tuple[OpenTask, ...]:
        found = [(lane, self._tasks.get((lane.agent, lane.task_id))) for lane in lanes]
        return tuple(
            [OpenTask(lane.agent, task.task_id, task.context_id, task.binding) for lane, task in found if task]
        )

    def _covers(self, lane: ThreadRow, before: int, person: str | None) -> bool:
        asks = lane.asks and person in (None, lane.asks)
        return bool(self._at_work(lane, before, person) or self._dropping(lane, before, person) or lane.resume or asks)

    def _at_work(self, lane: ThreadRow, before: int, person: str | None) -> str:
        held = self._turns.get(lane.turn)
        if held is None or held.state not in AT_WORK or held.turn.envelopes[-1].seq >= before:
            return ""
        return lane.turn if person is None or person in {e.person.id for e in held.turn.envelopes} else ""

    def _dropping(self, lane: ThreadRow, before: int, person: str | None) -> list[Envelope]:
        return [e for e in lane.queue if e.seq < before and person in (None, e.person.id)]

    def _cancel(self, lane: ThreadRow, before: int, person: str | None) -> int:
        if turn := self._at_work(lane, before, person):
            self._turns[turn].turn = replace(self._turns[turn].turn, cancel_wanted=True)
        dropped = self._dropping(lane, before, person)
        lane.queue = [envelope for envelope in lane.queue if envelope not in dropped]
        resumed = len(self._turns[lane.resume].turn.envelopes) if lane.resume else 0
        lane.resume = ""
        if lane.asks and person in (None, lane.asks):
            self._close_question(lane)
        if lane.state == "queued" and not lane.queue:
            lane.state = "cancelled"
        return len(dropped) + resumed

    async def cancel_thread(self, thread: str, now: Instant, reports: CancelReports = no_reports) -> Cancellation:
        lane, latest = self._threads.get(thread), 1 << 62
        if lane is None or lane not in self._active(lane.conversation):
            return Cancellation((), 0)
        turn = self._at_work(lane, latest, None)
        closed = self._asked([lane] if lane.asks else [])
        dropped = self._cancel(lane, latest, None)
        work, told = self._works.get(thread), []
        if work is not None and not turn and not work.state.is_terminal:
            work.become(TaskState.CANCELED, None, now)
            address = self._conversations[lane.conversation].address
            turns = [held.turn.id for held in self._turns.values() if held.turn.thread == thread]
            for report in reports(address, thread, now) if turns else ():
                self._enqueue(report.conversation, turns[-1], report.piece, now)
                if (there := self._resolve(report.conversation)) is not None:
                    told.append((there.id, there.address.source.account))
        return Cancellation((turn,) if turn else (), dropped, closed, tuple(told))

    async def untold(self) -> Sequence[OpenTask]:
        return list(self._untold.values())

    async def told(self, agent: str, task_id: str) -> None:
        self._untold.pop((agent, task_id), None)

    async def mark_cancel(self, turn: str) -> bool:
        held = self._turns.get(turn)
        if held is None or held.state not in AT_WORK:
            return False
        held.turn = replace(held.turn, cancel_wanted=True)
        return True

    def _close_question(self, lane: ThreadRow) -> None:
        task = self._tasks.get((lane.agent, lane.task_id))
        if task is not None and is_open(task.state.value, task.disposition.value):
            self._tasks[lane.agent, lane.task_id] = replace(task, disposition=Disposition.DETACHED)
            self._untold[lane.agent, lane.task_id] = OpenTask(lane.agent, task.task_id, task.context_id, task.binding)
        lane.task_id, lane.asks = "", ""
        lane.state = "cancelled" if lane.state == "waiting" else lane.state

    async def renew(self, conversation: str, now: Instant) -> tuple[OpenTask, ...]:
        place = self._resolve(conversation)
        if place is None:
            return ()
        place.generation += 1
        self._leave_foreground(place.id)
        asking = [lane for lane in self._active(place.id) if lane.asks]
        closed = self._asked(asking)
        for lane in asking:
            self._close_question(lane)
        for desk in self._offers(place.id):
            desk.is_chosen = True
        return closed

    # ------------------------------------------------------------------ pushes

    async def open_push(self, target: PushTarget) -> None:
        self._push_targets[target.id] = PushTarget(target.id, target.agent, target.turn, target.digest)

    async def close_push(self, id: str) -> None:
        self._push_targets.pop(id, None)

    async def push_targets(self) -> Sequence[PushTarget]:
        return [self._present_target(target) for target in self._push_targets.values() if target.turn in self._turns]

    def _present_target(self, target: PushTarget) -> PushTarget:
        task = self._turns[target.turn].turn.task
        if task is None:
            return PushTarget(target.id, target.agent, target.turn, target.digest)
        about = [
            held.turn.id for held in self._turns.values() if held.turn.task and held.turn.task.task_id == task.task_id
        ]
        return PushTarget(target.id, target.agent, about[-1], target.digest, task.task_id)

    # ------------------------------------------------------------------ desk

    async def view(self, conversation: str) -> DeskView:
        place = self._resolve(conversation)
        if place is None:
            return DeskView((), 0, None, 0)
        lane, deliveries = self._lane(place.id), self._deliveries.values()
        unknown = [old for old in deliveries if old.delivery.conversation == place.id and old.state is UNKNOWN]
        return DeskView(
            works=tuple([self._work(thread) for thread in self._active(place.id)]),
            unknown_deliveries=len(unknown),
            parked_until=lane[0].due if lane else None,
            unknown_submissions=len(self._unknown_submissions(place.id)),
        )

    def _work(self, lane: ThreadRow) -> Work:
        held = self._turns.get(lane.turn)
        is_at_work, is_asking = held is not None and held.state in AT_WORK, lane.state == "waiting" and bool(lane.asks)
        turn = held.turn if held and (is_at_work or is_asking or not lane.queue) else None
        question = turn.envelopes[0] if turn else lane.queue[0]
        task = self._tasks.get((turn.agent, turn.task.task_id)) if turn and turn.task else None  # as it is known now
        return Work(
            thread=lane.id,
            state=lane.state,
            agent=lane.agent,
            text=text_of(question.parts)[:TEXT_SHOWN],
            since=turn.begun if turn and is_at_work else question.received,
            queued=len(lane.queue) if is_at_work or is_asking else max(0, len(lane.queue) - 1),
            task_state=task.state.value if task else "",
            heard=task.heard if task else None,
            disposition=task.disposition.value if task else "",
            waits_for_input=is_asking,
        )

    def _unknown_submissions(self, conversation: str) -> list[TurnRow]:
        return [
            held
            for held in self._turns.values()
            if held.turn.submission is SubmissionState.UNKNOWN
            and held.state not in AT_WORK
            and self._threads[held.turn.thread].conversation == conversation
        ]

    async def offered(self, thread: str) -> Sequence[Offered]:
        return self._threads[thread].offers

    async def unknown_submission(self, conversation: str, now: Instant) -> Ready | None:
        place = self._resolve(conversation)
        for held in reversed(self._unknown_submissions(place.id) if place else []):
            lane = self._threads[held.turn.thread]
            if lane.state not in ("running", "waiting") and not lane.resume and not lane.asks:
                lane.resume, lane.state = held.turn.id, "queued"
                return replace(self._ready(lane), queued=len(held.turn.envelopes))
        return None

    async def choose(self, conversation: str, agent: str) -> None:
        if place := self._resolve(conversation):
            place.chosen = agent

    # ------------------------------------------------------------------ history

    async def history(self, address: Address, *, limit: int = 200) -> Sequence[Entry]:
        place = self._at(address)
        entries = [
            Entry(envelope.id, envelope.received, is_theirs=True, text=text_of(envelope.parts), payload={})
            for conversation, envelope in self._envelopes.values()
            if place and conversation == place.id
        ]
        shown = [old for old in self._deliveries.values() if old.state in SHOWN]
        entries += [
            Entry(
                old.delivery.id, old.due, is_theirs=False, text="", payload=old.delivery.payload, turn=old.delivery.turn
            )
            for old in shown
            if place and old.delivery.conversation == place.id
        ]
        return sorted(entries, key=lambda entry: entry.at)[-limit:]
