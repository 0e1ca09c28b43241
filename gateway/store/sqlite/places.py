"""Conversations as the writer knows them: from memory, else from their rows, always the one that is valid now."""

from collections.abc import Sequence
from typing import Any

from core.clock import Instant
from core.identity import Source
from core.ids import new_id
from core.router import ThreadFact
from gateway.store.sqlite.memory import Place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("places.sql")
_PLACE_AT, _INSERT_CONVERSATION, _INSERT_SESSION = SQL["place_at"], SQL["insert_conversation"], SQL["insert_session"]


def place_at(tx: Tx, source: str, chat: str, topic: str) -> Place | None:
    found = tx.memory.places.by_key.get((source, chat, topic))
    if found is not None:
        return found
    row = tx.execute(_PLACE_AT, (source, chat, topic)).fetchone()  # what is late is remembered
    return _from_row(tx, row) if row else None


def place(tx: Tx, conversation: str) -> Place | None:
    """The conversation, or the one that took its place; None for an id that is not known."""
    found = tx.memory.places.by_id.get(conversation)
    if found is not None:
        return found
    row = tx.execute(SQL["place"], (conversation,)).fetchone()
    return _from_row(tx, row) if row else None


def _from_row(tx: Tx, row: Sequence[Any]) -> Place:
    (id, kind, account, chat, topic, owner, session, agent, generation, is_direct, merged_into) = row[:11]
    chosen, is_followed = row[11:]
    if merged_into and (taken_over := place(tx, merged_into)) is not None:
        return taken_over
    return tx.memory.places.keep(
        Place(
            id=id,
            source=Source(kind, account),
            chat=chat,
            topic=topic,
            owner=owner,
            session=session,
            agent=agent,
            generation=generation,
            is_direct=bool(is_direct),
            waits_for_user=bool(tx.execute(SQL["waits_for_user"], (id,)).fetchone()[0]),
            newest_seq=tx.execute(SQL["newest_here"], (id,)).fetchone()[0],
            chosen=chosen,
            is_followed=bool(is_followed),
        )
    )


def open_place(
    tx: Tx,
    source: Source,
    chat: str,
    topic: str,
    *,
    owner: str,
    agent: str,
    now: Instant,
    is_direct: bool = True,
    is_followed: bool = False,
) -> Place:
    """A new conversation with its front-desk session, remembered at once and written late."""
    place = Place(
        id=new_id(),
        source=source,
        chat=chat,
        topic=topic,
        owner=owner,
        session=new_id(),
        agent=agent,
        generation=1,
        is_direct=is_direct,
        waits_for_user=False,
        newest_seq=0,
        is_followed=is_followed,
        active={},
    )
    tx.late(
        _INSERT_CONVERSATION,
        (place.id, source.kind, source.key, chat, topic, owner, place.session, int(is_direct), int(is_followed)),
    )
    tx.late(_INSERT_SESSION, (place.session, owner, place.id, agent, now))
    tx.memory.contexts.keep((place.session, agent, place.generation), None)
    return tx.memory.places.keep(place)


def aliases(tx: Tx, source: str) -> dict[str, str]:
    """Old chat id to present chat id."""
    known = tx.memory.aliases.get(source)
    if known is None:
        known = tx.memory.aliases[source] = dict(tx.execute(SQL["aliases"], (source,)).fetchall())
    return known


def active_threads(tx: Tx, where: Place) -> dict[str, ThreadFact]:
    """The conversation's active threads, oldest first; whoever changes one changes it here too, or forgets them."""
    if where.active is None:
        tx.flush()
        rows = tx.execute(SQL["active_threads"], (where.id,)).fetchall()
        fronts = {agent: id for id, _, is_foreground, _, agent in rows if is_foreground}  # the newest of each
        where.active = {
            id: ThreadFact(id, state, fronts.get(agent) == id, asks, agent) for id, state, _, asks, agent in rows
        }
    return where.active


def thread_is(where: Place, thread: str, state: str) -> None:
    """What is remembered of the thread follows it; a desk's thread is not remembered."""
    fact = where.active.get(thread) if where.active else None
    if where.active is None or fact is None:
        return
    if state in ("queued", "running"):
        where.active[thread] = ThreadFact(thread, state, fact.is_foreground, agent=fact.agent)
    else:
        del where.active[thread]


def remote_context(tx: Tx, session: str, agent: str, generation: int) -> str | None:
    """The context that the agent keeps for the session; None before its first answer and after /new."""
    key = (session, agent, generation)
    contexts = tx.memory.contexts
    if key not in contexts:
        tx.flush()
        row = tx.execute(SQL["context"], key).fetchone()
        contexts.keep(key, row[0] if row else None)
    return contexts[key]


def leave_foreground(tx: Tx, where: Place, agent: str | None = None) -> None:
    """No thread of the agent (None: of any) is the foreground until the next one starts."""
    if any(fact.is_foreground and agent in (None, fact.agent) for fact in active_threads(tx, where).values()):
        tx.flush()
        tx.execute(SQL["leave_foreground"], (where.id, agent))
        where.active = None


def move_chat(tx: Tx, source: str, old: str, new: str) -> None:
    """The chat has a new id: its conversations, and all that points to them, are found under that one from now on.

    Where the new id is known already (it wrote before the move was announced), the old conversation is merged into it
    topic by topic, and its id leads there.
    """
    if old == new:
        return
    tx.flush()
    for conversation, topic in tx.execute(SQL["conversations_of_chat"], (source, old)).fetchall():
        taken = tx.execute(SQL["place_at"], (source, new, topic)).fetchone()
        if taken is None:
            tx.execute(SQL["move_conversation"], (new, conversation))
        else:
            _merge(tx, conversation, taken[0])
    tx.execute(SQL["drop_alias"], (source, new))
    tx.execute(SQL["lead_aliases_on"], (new, source, old))
    tx.execute(SQL["put_alias"], (source, old, new))
    tx.memory.forget_places()


def _merge(tx: Tx, old: str, new: str) -> None:
    values = {"old": old, "new": new}
    for step in ("threads", "envelopes", "turns", "deliveries", "receipts", "contexts"):
        tx.execute(SQL[f"merge_{step}"], values)
    tx.execute(SQL["drop_merged_session"], values)
    tx.execute(SQL["merge_conversation"], values)
