"""Which thread a message belongs to: picked once, at admission, from what the store knows at that instant.

In this order: the thread of the shown message it replies to; else the one question open to this person here (several
open: ask which, start nothing); else the conversation's foreground thread while that is queued or running; else a new
thread, which becomes the foreground. A thread stays with its agent, so a conversation has a foreground for each agent
that its messages go to. Pure: each store gathers the facts inside its admitting transaction and asks here.
"""

from collections.abc import Collection, Sequence

from core.values import value


@value(frozen=True, slots=True)
class ThreadFact:
    """One thread of the conversation as the admitting transaction sees it."""

    id: str
    state: str  # queued, running, waiting, completed, failed, interrupted, cancelled
    is_foreground: bool = False
    asks: str = ""  # the person whom its open question addresses; "" when it has none
    agent: str = ""


@value(frozen=True, slots=True)
class Join:
    thread: str


@value(frozen=True, slots=True)
class Start:
    """A new thread, which becomes the conversation's foreground for its agent."""


@value(frozen=True, slots=True)
class AskWhich:
    """Several questions are open to this person and nothing says which is meant."""

    threads: tuple[str, ...]


Pick = Join | Start | AskWhich


def pick_thread(
    person: str, replied: str, active: Sequence[ThreadFact], *, agents: Collection[str], is_called: bool = False
) -> Pick:
    """`replied` is the thread of the message replied to, "" for none (or none that is known here).

    `active` are the conversation's threads that are queued, running or waiting, oldest first. `agents` are the agent
    the message goes to and its fallback; with `is_called` the person named it, and means no other agent's question.
    """
    if replied:
        return Join(replied)
    questions = [fact.id for fact in active if fact.asks == person and (fact.agent in agents or not is_called)]
    if len(questions) > 1:
        return AskWhich(tuple(questions))
    if questions:
        return Join(questions[0])
    for fact in reversed(active):
        if fact.is_foreground and fact.agent in agents and fact.state in ("queued", "running"):
            return Join(fact.id)
    return Start()
