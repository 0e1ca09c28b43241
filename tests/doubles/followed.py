"""The in-memory store's records of followed work, kept in step with its threads."""

from collections.abc import Sequence
from dataclasses import replace

from core.agent import TaskState
from core.clock import Instant
from core.delivery import DeliveryState
from core.followed import Followed, FollowedPage, Step, Target, Wanted, state_now
from core.identity import Address, Source
from core.turn import Turn
from tests.doubles.deliveries import DeliveryTables
from tests.doubles.tables import ConversationRow, ThreadRow, WorkRow


class FollowedTables(DeliveryTables):
    def _submitted(self, thread: ThreadRow, place: ConversationRow, now: Instant) -> None:
        self._works[thread.id] = WorkRow(thread.id, thread.opened, place.owner, thread.agent, place.address.topic, now)

    def _began(self, turn: Turn) -> None:
        if (work := self._works.get(turn.thread)) is not None:
            work.become(TaskState.WORKING, None, turn.begun)
            work.position = (turn.envelopes[0].seq, turn.revision)

    def _stepped(self, turn: Turn, step: Step, now: Instant) -> None:
        work = self._works.get(turn.thread)
        if work is None:
            return
        for made in step.artifacts:
            place = work.artifacts.get(made.artifact.id, (turn.envelopes[0].seq, made.place, None))[:2]
            work.artifacts[made.artifact.id] = (*place, made.artifact)
        for id in step.gone:
            work.artifacts.pop(id, None)
        if step.metadata and not work.state.is_terminal:
            work.metadata |= step.metadata
        if step.is_news:
            work.become(state_now(step, more=turn.more), step.said, now)
        work.position = (turn.envelopes[0].seq, turn.revision)

    async def followed(self, thread: str) -> Followed | None:
        work = self._works.get(thread)
        return self._record(work) if work is not None else None

    def _record(self, work: WorkRow) -> Followed:
        return Followed(
            work.id,
            work.owner,
            work.topic,
            work.agent,
            work.state,
            work.time,
            work.said,
            bool(self._threads[work.id].queue),
            tuple(artifact for _, _, artifact in sorted(work.artifacts.values(), key=lambda made: made[:2])),
            tuple(work.history),
            work.position,
            dict(work.metadata),
            work.is_bare,
        )

    async def keep_bare(self, thread: str) -> None:
        self._works[thread].is_bare = True

    async def thread_of(self, envelope: str) -> str:
        return self._thread_of_envelope.get(envelope, "")

    async def followed_page(self, wanted: Wanted) -> FollowedPage:
        found = [
            work
            for work in self._works.values()
            if (work.owner, work.agent) == (wanted.owner, wanted.agent)
            and wanted.topic in ("", work.topic)
            and wanted.state in (None, work.state)
            and (wanted.since is None or work.time >= wanted.since)
        ]
        found.sort(key=lambda work: (work.time, work.n), reverse=True)
        rest = [work for work in found if wanted.before is None or (work.time, work.n) < wanted.before]
        page = rest[: wanted.size]
        last = page[-1] if len(rest) > len(page) else None
        return FollowedPage(
            tuple(map(self._record, page)), (last.time, last.n) if last is not None else None, len(found)
        )

    # ------------------------------------------------------------------ targets

    async def put_target(self, target: Target, source: Source) -> Target:
        return self._put_target(target, source)

    def _put_target(self, target: Target, source: Source) -> Target:
        known = self._targets.get((target.thread, target.id))
        if known is None:
            work = self._works[target.thread]
            place = ConversationRow(
                f"target {target.thread} {target.id}",
                Address(source, target.thread, target.id),
                work.owner,
                "",
                is_direct=True,
            )
            self._conversations[place.id] = place
            known = replace(target, conversation=place.id)
        self._targets[target.thread, target.id] = replace(known, settings=target.settings)
        return self._targets[target.thread, target.id]

    async def drop_target(self, thread: str, id: str) -> None:
        dropped = self._targets.get((thread, id))
        if dropped is not None:
            self._targets[thread, id] = replace(dropped, settings={})
            for held in self._lane(dropped.conversation):
                held.state = DeliveryState.DISCARDED if held.state is DeliveryState.QUEUED else held.state

    async def targets(self, source: Source) -> Sequence[Target]:
        return [
            target
            for target in self._targets.values()
            if target.settings
            and not self._works[target.thread].state.is_terminal
            and self._conversations[target.conversation].address.source == source
        ]

    async def targets_of(self, thread: str) -> Sequence[Target]:
        found = [target for target in self._targets.values() if target.thread == thread and target.settings]
        return sorted(found, key=lambda target: target.id)
