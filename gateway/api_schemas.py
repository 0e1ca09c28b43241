"""The shapes that the control API answers with, for its description."""

from collections.abc import Sequence

from gateway.openapi import FLAG, NUMBER, TEXT, TIME, Parameter, Schema, listed, record

LIMIT = Parameter("limit", "Items at most", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50})
CURSOR = Parameter("cursor", "The `next` of the page before", TEXT)
IDS = Parameter("ids", "1 adds unknown_ids", {"type": "string", "enum": ["0", "1"], "default": "0"})


def state_of(states: Sequence[str]) -> Parameter:
    return Parameter("state", "Only what is in this state", {**TEXT, "enum": list(states)})


_OPEN: Schema = {"type": "object", "additionalProperties": True}
_COUNTS: Schema = {"type": "object", "additionalProperties": NUMBER}
_WORDS: Schema = {"type": "array", "items": TEXT}

SCHEMAS: dict[str, Schema] = {
    "Summary": record(
        sessions=_COUNTS,
        envelopes=_COUNTS,
        turns=_COUNTS,
        submissions=_COUNTS,
        tasks=_COUNTS,
        deliveries=_COUNTS,
        unknown={**NUMBER, "description": "Deliveries and submissions whose outcome nobody knows"},
        unreadable={**NUMBER, "description": "Authenticated events that could not be read"},
        unknown_ids={**_WORDS, "description": "The channel's own ids of the messages concerned; with ids=1"},
    ),
    "Session": record(
        ref=TEXT,
        kind=TEXT,
        owner=TEXT,
        account=TEXT,
        chat=TEXT,
        topic=TEXT,
        agent=TEXT,
        created=TIME,
        timeline=listed("Moment"),
    ),
    "Moment": record(time=TIME, what=TEXT, id=TEXT, state=TEXT),
    "Envelope": record(
        id=TEXT,
        session=TEXT,
        thread=TEXT,
        turn=TEXT,
        owner=TEXT,
        person=TEXT,
        state=TEXT,
        external_id=TEXT,
        received=TIME,
    ),
    "Unreadable": record(
        id=TEXT,
        account=TEXT,
        external_id={**TEXT, "description": "The channel's own id, where it could be made out"},
        error={**TEXT, "description": "Why it could not be read"},
        bytes=NUMBER,
        received=TIME,
        body={**TEXT, "description": "As it came; what is no UTF-8 is written as \\xNN, and secrets are hidden"},
        is_cut={**FLAG, "description": "Whether there is more than is shown"},
    ),
    "Task": record(
        id=TEXT,
        agent=TEXT,
        task_id=TEXT,
        context_id=TEXT,
        state={**TEXT, "description": "The agent's own word"},
        disposition={**TEXT, "description": "What the gateway makes of it"},
        heard={**TIME, "description": "When the agent last said anything of it; a growing answer counts"},
        unconfirmed=FLAG,
        binding={**TEXT, "description": "The interface that created it, by which alone it is asked"},
        owner=TEXT,
        turn=TEXT,
        served_task={**TEXT, "description": "The calling agent's own id of it; empty where none called"},
        inbox=listed("Said"),
    ),
    "Said": record(time=TIME, road=TEXT, kind=TEXT, body=TEXT),
    "Delivery": record(
        id=TEXT,
        conversation=TEXT,
        account=TEXT,
        chat=TEXT,
        owner=TEXT,
        turn=TEXT,
        piece=TEXT,
        text={**TEXT, "description": "What is shown, shortened, and secrets hidden; of one delivery, not in lists"},
        part=NUMBER,
        parts=NUMBER,
        op=TEXT,
        state=TEXT,
        reason=TEXT,
        queued=TIME,
        due=TIME,
        attempts=NUMBER,
        is_repeat=FLAG,
        tries=listed("Attempt"),
    ),
    "Attempt": record(n=NUMBER, begun=TIME, ended=TIME, outcome=TEXT, reason=TEXT),
    "Plugin": record(name=TEXT, kind=TEXT, agent=TEXT, health=_OPEN, connection=_OPEN, settings=_OPEN),
    "Agent": record(name=TEXT, kind=TEXT, connection={"$ref": "#/components/schemas/Connection"}, settings=_OPEN),
    "Connection": record(
        state={**TEXT, "description": "ready, unknown (its card was not read yet), paused, away or unreachable"},
        reason={**TEXT, "description": "Why it is paused, away or unreachable"},
        away=listed("Away"),
        binding={**TEXT, "description": "The interface that new work goes over"},
        url=TEXT,
        card=TEXT,
        is_extended=FLAG,
        called={**TEXT, "description": "The agent's own words for itself"},
        version=TEXT,
        pushes={**FLAG, "description": "Whether its card offers push notifications"},
        fingerprint=TEXT,
        warnings=_WORDS,
    ),
    "Away": record(
        interface={**TEXT, "description": "What is not asked for now: an interface, or the card"},
        since=TIME,
        reason=TEXT,
        again={**TIME, "description": "From when on the next call is let through"},
    ),
    "Agreement": record(fingerprint={**TEXT, "description": "Of the card that is agreed to"}),
    "Words": record(text=TEXT),
    "OpenApi": _OPEN,
}
