"""Which of several open questions a message answers: what its writer was offered, and what was chosen.

The message waits in the desk's thread that asks which one is meant. Whoever then chooses has written it again, as the
answer to the question that was chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core import choices
from core.choices import Offered
from core.envelope import Candidate
from core.identity import Person
from core.parts import Attached, Part, part_from_json, text_of
from gateway.store.sqlite.memory import Place
from gateway.store.sqlite.names import number
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import decoded, encoded
from gateway.store.sqlite.transaction import Tx

SQL = load("offers.sql")


@dataclass(frozen=True, slots=True)
class Choice:
    """The message that was waiting, in the place of the one that chose, and the thread that this replies to: "" where
    the choice is out of date, and nothing waits for it."""

    item: Candidate
    thread: str


def offer(tx: Tx, desk: str, threads: Sequence[str]) -> None:
    """Keep what the desk's thread is to ask its writer."""
    tx.flush()
    offered = [(thread, choices.about(_question(tx, thread))) for thread in threads]
    tx.execute(SQL["offer"], (encoded(offered), number(desk)))


def offered(tx: Tx, desk: str) -> tuple[Offered, ...]:
    tx.flush()
    row = tx.execute(SQL["offered"], (number(desk), desk)).fetchone()
    return _read(row[0]) if row else ()


def chosen(tx: Tx, place: Place, person: Person, item: Candidate) -> Choice | None:
    """What the message chooses; None where it is no choice, as nearly all are."""
    words = text_of(item.inbound.parts)
    if item.is_called or not choices.may_choose(words):
        return None
    tx.flush()
    offers = [(n, _read(text), is_chosen) for n, text, is_chosen in tx.execute(SQL["offers_to"], (place.id, person.id))]
    if not offers:
        return None
    desk, newest, is_over = offers[0]
    choice = choices.chosen(words, newest)
    if choice is not None and not is_over and not _has_gone_on(tx, place, desk, person):
        tx.execute(SQL["choose_from"], (desk,))
        return Choice(_said_again(tx, item, desk), choice.thread)
    return Choice(item, "") if any(choices.is_line(words, each) for _, each, _ in offers) else None


def close(tx: Tx, conversation: str) -> None:
    """Whatever was offered in this conversation cannot be chosen any more."""
    tx.execute(SQL["close_offers"], (conversation,))


def _has_gone_on(tx: Tx, place: Place, desk: int, person: Person) -> bool:
    return bool(tx.execute(SQL["has_gone_on"], (place.id, desk, person.id)).fetchone()[0])


def _said_again(tx: Tx, item: Candidate, waiting: int) -> Candidate:
    parts, attached, is_forward = tx.execute(SQL["waiting_message"], (waiting,)).fetchone()
    beside = Attached.from_json(decoded(attached)) if attached else None
    inbound = replace(item.inbound, parts=_parts(parts), attached=beside, is_forward=bool(is_forward))
    return replace(item, inbound=inbound)


def _question(tx: Tx, thread: str) -> tuple[Part, ...]:
    row = tx.execute(SQL["question"], (number(thread),)).fetchone()
    return _parts(row[0]) if row else ()


def _parts(text: str) -> tuple[Part, ...]:
    return tuple([part_from_json(part) for part in decoded(text)])


def _read(offers: str) -> tuple[Offered, ...]:
    return tuple([Offered(*each) for each in decoded(offers)]) if offers else ()
