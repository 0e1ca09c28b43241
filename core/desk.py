"""The front desk itself: what the gateway answers without asking any agent.

Commands act as of their admission: /cancel covers what was admitted before it, never a later message. A command is
carried out at most once.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from core.choices import lines_of
from core.clock import Clock
from core.commands import COMMANDS
from core.delivery import Piece
from core.notices import counted, notice
from core.outbox import Outbox
from core.persistence import patiently
from core.routes import AUTO, Routes
from core.session import Lanes
from core.store import Admissions, Deliveries, DeskRecords, DeskView, Turns, Work
from core.tracker import TaskTracker
from core.turn import Observation, Turn, TurnEnd, TurnState

CHANGES_SOMETHING = frozenset({"new", "cancel", "again"})  # carried out at most once


class Desk:
    def __init__(
        self,
        admissions: Admissions,
        turns: Turns,
        deliveries: Deliveries,
        records: DeskRecords,
        tracker: TaskTracker,
        outbox: Outbox,
        lanes: Callable[[], Lanes],
        routes: Callable[[str], Routes],
        clock: Clock,
    ) -> None:
        """`routes`: those of an account, as they are configured now."""
        self._admissions, self._turns, self._deliveries, self._records = admissions, turns, deliveries, records
        self._tracker, self._outbox, self._lanes, self._routes = tracker, outbox, lanes, routes
        self._clock = clock

    async def answer(self, turn: Turn, park: Callable[[], None], *, after: float | None) -> Turn:
        """What a stop cut off may have been carried out: of a command that changes something the person is told so."""
        del park  # it holds no slot
        return await self._tracker.guard(lambda: turn, self._act(turn, is_new=after is None))

    async def _act(self, turn: Turn, *, is_new: bool) -> Turn:
        name = turn.envelopes[0].command.partition(" ")[0]
        is_told = not is_new and name in CHANGES_SOMETHING
        pieces = (notice("command_interrupted", turn.language),) if is_told else await self._pieces(turn)
        rendered = self._tracker.render(turn, pieces)
        return await self._tracker.commit(Observation(turn=turn, pieces=rendered, end=TurnEnd(TurnState.COMPLETED)))

    async def _pieces(self, turn: Turn) -> tuple[Piece, ...]:
        name, _, argument = turn.envelopes[0].command.partition(" ")
        acts = {
            "help": self._help,
            "new": self._new,
            "status": self._status,
            "cancel": self._cancel,
            "again": self._again,
            "agents": self._agents,
            "which": self._which,
        }
        if name in acts:
            return await patiently(lambda: acts[name](turn, argument), self._tracker.telemetry)
        if name == "unsupported":
            return (notice("unsupported", turn.language, kind=argument),)
        if name in ("busy", "choice_over"):
            return (notice(name, turn.language),)
        return (notice("unknown_command", turn.language, command=argument),)

    async def _help(self, turn: Turn, _argument: str) -> tuple[Piece, ...]:
        chinese = turn.language == "zh"
        lines = "\n".join(f"/{name} — {words[1 if chinese else 0]}" for name, words in COMMANDS.items())
        return (notice("help", turn.language, commands=lines),)

    async def _new(self, turn: Turn, _argument: str) -> tuple[Piece, ...]:
        self._tracker.let_go(await self._turns.renew(turn.conversation, self._clock.now()))
        view = await self._records.view(turn.conversation)
        return (notice("new_running" if view.works else "new", turn.language),)

    async def _status(self, turn: Turn, _argument: str) -> tuple[Piece, ...]:
        view = await self._records.view(turn.conversation)
        lines = [_line(self._up_to_now(work), self._clock.now(), turn.language) for work in view.works]
        lines += _trouble(view, self._clock.now(), turn.language)
        if not lines:
            return (notice("idle", turn.language),)
        return (notice("status", turn.language, lines="\n".join(lines)),)

    def _up_to_now(self, work: Work) -> Work:
        """A growing answer is stored when it is whole, and its agent is not silent."""
        heard = self._tracker.heard(work.thread)
        return work if heard is None or work.heard is None else replace(work, heard=max(heard, work.heard))

    async def _cancel(self, turn: Turn, argument: str) -> tuple[Piece, ...]:
        command = turn.envelopes[0]
        covered = await self._turns.want_cancel(
            turn.conversation,
            command.seq,
            person=None if turn.is_direct else command.person.id,
            everything=argument.lower() in {"all", "全部"},
            now=self._clock.now(),
        )
        self._lanes().drop(turn.owner, covered.dropped)
        self._tracker.cancel(covered.turns)
        self._tracker.let_go(covered.closed)
        if not covered.turns and not covered.dropped:
            return (notice("cancel_question" if covered.closed else "cancel_nothing", turn.language),)
        said = counted(turn.language, cancel_working=len(covered.turns), cancel_dropped=covered.dropped)
        return (notice("cancel_asked", turn.language, sentences=said),)

    async def _again(self, turn: Turn, _argument: str) -> tuple[Piece, ...]:
        now = self._clock.now()
        if await self._deliveries.again(turn.conversation, now):
            self._outbox.wake(turn.conversation, turn.address.source.account)
            return ()
        ready = await self._records.unknown_submission(turn.conversation, now)
        if ready is None:
            return (notice("again_nothing", turn.language),)
        self._lanes().add(ready)
        return (notice("again_asking", turn.language),)

    async def _agents(self, turn: Turn, argument: str) -> tuple[Piece, ...]:
        routes, where = self._routes(turn.address.source.account), turn.address
        known = routes.agents_at(where.chat, where.topic, await self._admissions.aliases(where.source))
        if not argument:
            lines = "\n".join(_agent_line(name, calls, name == turn.agent, turn) for name, calls in known.items())
            return (notice("agents_choose" if routes.may_choose else "agents", turn.language, lines=lines),)
        if not routes.may_choose:
            return (notice("agent_fixed", turn.language),)
        name = argument.lower()
        if name not in known and name not in AUTO:
            return (notice("agent_unknown", turn.language, agent=argument[:64]),)
        await self._records.choose(turn.conversation, name if name in known else "")
        return (notice("agent_chosen" if name in known else "agent_auto", turn.language, agent=name),)

    async def _which(self, turn: Turn, _argument: str) -> tuple[Piece, ...]:
        choices = lines_of(await self._records.offered(turn.thread))
        return (replace(notice("which", turn.language, questions="\n".join(choices)), choices=choices),)


def _agent_line(name: str, calls: list[str], is_present: bool, turn: Turn) -> str:
    """A desk's turn goes to whom a message without a command would go."""
    chinese = turn.language == "zh"
    notes = [f"/{call}" for call in calls]
    notes += ["当前" if chinese else "now"] if is_present else []
    return f"• {name}" + ((f"（{'，'.join(notes)}）" if chinese else f" ({', '.join(notes)})") if notes else "")


_STATE_WORDS = {
    "queued": ("waiting its turn", "排队中"),
    "running": ("at work", "处理中"),
    "waiting": ("the agent is still at it", "智能体仍在处理"),
    "asks": ("waiting for your answer", "等待你的回答"),
    "cancel_asked": ("asked to stop, not confirmed", "已请求停止，尚未确认"),
    "detached": ("asked to stop, not confirmed", "已请求停止，尚未确认"),
}


def _line(work: Work, now: float, language: str) -> str:
    chinese = language == "zh"
    key = "asks" if work.waits_for_input else work.disposition if work.disposition in _STATE_WORDS else work.state
    words = _STATE_WORDS[key][1 if chinese else 0]
    age = _ago(now - work.since)
    line = f"• {work.text} — {work.agent}: {words}, {age}"
    if work.state == "waiting" and work.heard is not None and not work.waits_for_input and now - work.heard > 10:
        line += f"，已沉默 {_ago(now - work.heard)}" if chinese else f", silent since {_ago(now - work.heard)}"
    if work.queued:
        line += f"（另有 {work.queued} 条排队）" if chinese else f" (+{work.queued} waiting behind it)"
    return line


def _trouble(view: DeskView, now: float, language: str) -> list[str]:
    chinese = language == "zh"
    lines = []
    if view.parked_until and view.parked_until > now:
        wait = _ago(view.parked_until - now)
        lines.append(f"• 聊天平台限流，{wait} 后继续发送" if chinese else f"• The chat platform makes me wait {wait}")
    if uncertain := view.unknown_deliveries + view.unknown_submissions:
        lines.append(f"• {uncertain} 项结果不明：/again" if chinese else f"• {uncertain} uncertain: /again")
    return lines


def _ago(seconds: float) -> str:
    return str(timedelta(seconds=max(0, int(seconds))))
