"""From the records of followed work to served tasks and back to what is admitted: pure, without an await."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable

from a2a.server.port import BadRequest, Caller, Filter, Message, Role, Send, ServedTask
from a2a.server.reading import forwarded_of, hops_of
from core.clock import Instant
from core.envelope import Inbound
from core.followed import Followed, Heard, Said, Target, Wanted
from core.parts import Attached, part_to_json
from core.router import Join, Start

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}")


def task_of(work: Followed) -> ServedTask:
    return ServedTask(
        id=work.id,
        context_id=work.topic,
        state=work.state,
        time=work.time,
        message=said_of(work.said, work.id, work.topic),
        artifacts=work.artifacts,
        history=tuple([_heard(entry, work) for entry in work.history]),
        metadata=work.metadata,
    )


def said_of(said: Said | None, task: str, context: str) -> Message | None:
    """`task` is "" for a bare message."""
    if said is None:
        return None
    beside = said.attached or Attached()
    return Message(said.id, Role.AGENT, said.parts, context, task, beside.metadata, beside.extensions)


def _heard(entry: Heard, work: Followed) -> Message:
    beside = entry.attached or Attached()
    return Message(
        id=entry.id,
        role=Role.USER if entry.is_theirs else Role.AGENT,
        parts=entry.parts,
        context_id=work.topic,
        task_id=work.id,
        metadata=beside.metadata,
        extensions=beside.extensions,
        references=beside.references,
    )


def inbound_of(
    caller: Caller,
    agent: str,
    request: Send,
    context: str,
    passes: Iterable[str],
    also: Callable[[str], Target] | None = None,
) -> Inbound:
    """What is admitted: for a task of its own, or for the one that the message names."""
    message = request.message
    return Inbound(
        keys=(_key(caller, agent, request),) if caller.is_idempotent else (),
        external_id=message.id,
        chat=chat_of(caller, agent),
        sender=f"{caller.owner}/{caller.name}",
        parts=message.parts,
        raw=b"",
        topic=context,
        message_id=message.id,
        thread=Join(message.task_id) if message.task_id else Start(),
        party=caller.owner,
        route=agent,
        attached=_attached(request, passes),
        also=also,
    )


def _attached(request: Send, passes: Iterable[str]) -> Attached | None:
    """What stands beside the message's parts; None for nothing, as with most."""
    message = request.message
    said = (message.metadata, message.extensions, request.metadata)
    if not (any(said) or message.references):
        return None
    return Attached(
        message.metadata,
        message.extensions,
        message.references,
        tuple(name for name in passes if any(name in each for each in said)),
        hops_of(message.metadata),
        request.metadata,
        forwarded_of(message.metadata, len(message.parts)),
    )


def chat_of(caller: Caller, agent: str) -> str:
    """A context is its owner's at one agent: the same contextId of another owner is another conversation."""
    return f"{agent}/{caller.owner}"


def _key(caller: Caller, agent: str, request: Send) -> str:
    """Equal sends of one caller are one: the same Idempotency-Key (or message id) with the same payload.

    The payload belongs to it, since callers reuse message ids for other words (section 3.4.3 leaves that to agents).
    """
    message = request.message
    payload = [message.context_id, message.task_id, [part_to_json(part) for part in message.parts]]
    digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode(errors="replace")).hexdigest()
    return "\n".join(("send", agent, caller.owner, caller.name, request.idempotency_key or message.id, digest))


# ---------------------------------------------------------------------------------------------- lists


def wanted_of(owner: str, agent: str, filter: Filter) -> Wanted:
    """Raises BadRequest."""
    if not 1 <= filter.size <= 100:
        raise BadRequest("pageSize", "must be from 1 to 100")
    return Wanted(
        owner=owner,
        agent=agent,
        size=filter.size,
        topic=filter.context_id,
        state=filter.state,
        since=filter.since,
        before=_place(filter.after, _bound_to(owner, agent, filter)) if filter.after else None,
    )


def token_of(place: tuple[Instant, int] | None, owner: str, agent: str, filter: Filter) -> str:
    """A place in one caller's list, for that caller and that list only."""
    if place is None:
        return ""
    text = json.dumps([place[0], place[1], _bound_to(owner, agent, filter)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _bound_to(owner: str, agent: str, filter: Filter) -> str:
    list = [owner, agent, filter.context_id, filter.state and filter.state.value, filter.since]
    return hashlib.blake2b(json.dumps(list).encode(), digest_size=12).hexdigest()


def _place(token: str, bound_to: str) -> tuple[Instant, int]:
    try:
        if not _TOKEN.fullmatch(token):
            raise ValueError(token)
        time, n, owner = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        if owner != bound_to or type(time) is not float or type(n) is not int or not 0 <= n < 1 << 62:
            raise ValueError(token)
    except (ValueError, TypeError, binascii.Error) as error:
        raise BadRequest("pageToken", "is not one of this list's; begin with the first page") from error
    return time, n
