"""People as their channels call them, remembered by the writer."""

from core.envelope import Candidate
from core.identity import Person, Source
from core.ids import new_id
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("people.sql")


def person_of(tx: Tx, source: Source, item: Candidate) -> Person:
    key = (source.key, item.inbound.sender)
    known = tx.memory.people.get(key)
    if known is None:
        row = tx.execute(SQL["person"], key).fetchone()
        known = tx.memory.people.keep(key, Person(*row) if row else _new_person(tx, key, item))
    if known.language != item.language:
        tx.execute(SQL["update_language"], (item.language, known.id))
        known = tx.memory.people.keep(key, Person(known.id, known.owner, item.language))
    return known


def _new_person(tx: Tx, key: tuple[str, str], item: Candidate) -> Person:
    known = Person(new_id(), item.owner, item.language)
    tx.execute(SQL["insert_person"], (known.id, known.owner, known.language))
    tx.execute(SQL["insert_identity"], (*key, known.id))
    return known
