"""Push notifications to calling agents (4.3): each change of a task is told to every address that its configs name.

A config is an address of its own: what it is told goes through the outbox, in order, durable with the change it tells
of, and tried again until it is taken or too old. So a slow receiver holds up nobody, least of all the task. A private
address is refused when it is set; names are resolved by the guarded client, at each dispatch, which connects to what it
checked and follows no redirect.
"""

import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from a2a.server.port import PushConfig, PushRefused, ServedEvent, StatusChange
from a2a.server.push_configs import config_of, setter_of, settings_of
from a2a.server.served_words import said_of, task_of
from core.agent import Artifact, ArtifactUpdate, Metadata, TaskState
from core.clock import Instant
from core.delivery import Delivery, Outcome, Payload, Refusal, Rejected, RenderedPiece, Sent
from core.doors.outbound import Ambiguous, GuardedClient, NotSent, OutboundPolicy, Refused, Timeouts, check_url
from core.errors import StoreUnavailable
from core.followed import FollowedRecords, Report, Said, Step, Target, state_now
from core.identity import Source
from core.parts import Attached, part_from_json, part_to_json
from core.seal import Seal
from core.turn import Turn

CONFIGS = 10  # of one task; each costs a request for every change
TIMEOUTS = Timeouts(connect=5.0, head=15.0, idle=15.0, whole=20.0)  # 4.3.3: 10 to 30 seconds
ANSWER_LIMIT = 64 << 10  # bytes of a receiver's answer, which nobody reads
GONE = 410  # the receiver wants no more of it
BUSY = frozenset({408, 425, 429})
_HEADER = re.compile(r"[ -~]{0,4096}")  # CR and LF would begin another header
_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{0,64}")  # RFC 9110, 11.1
_ID = re.compile(r"[!-~]{0,128}")

Body = Callable[[ServedEvent, str], bytes]  # an event, or the whole task, in the words of that protocol version


class Pushes:
    def __init__(
        self,
        source: Source,
        records: FollowedRecords,
        client: GuardedClient,
        body: Body,
        seal: Seal,
        admits: Callable[[str, str], bool],
        *,
        allow_private: bool = False,
        limit: int = CONFIGS,
    ) -> None:
        """`admits` says whether a caller, by owner and name, is still let in; nothing is told to one that is not."""
        self._source, self._records, self._client, self._body = source, records, client, body
        self._seal, self._admits = seal, admits
        self._policy = OutboundPolicy(allow_private=allow_private, body_limit=ANSWER_LIMIT)
        self._limit = limit
        self._open: dict[str, dict[str, Target]] = {}  # of tasks that have not ended
        self._told: dict[str, str] = {}  # the turn of which a task's receivers know

    async def load(self) -> None:
        """After a start. Raises StoreUnavailable."""
        for target in await self._records.targets(self._source):
            self._open.setdefault(target.thread, {})[target.id] = target

    @property
    def unreadable(self) -> int:
        """How many configs of tasks that have not ended cannot be used, since their secrets do not open."""
        targets = [target for of_task in self._open.values() for target in of_task.values()]
        return sum(not config_of(target, self._seal).is_readable for target in targets)

    # ------------------------------------------------------------------ configs

    def check(self, config: PushConfig) -> None:
        """Raises PushRefused; names are not resolved here."""
        try:
            check_url(config.url, self._policy)
        except Refused as error:
            raise PushRefused(f"this push address will not be called: {error}") from error
        if not (_HEADER.fullmatch(config.token) and _HEADER.fullmatch(config.credentials)):
            raise PushRefused("token and credentials must be printable ASCII")
        if not _SCHEME.fullmatch(config.scheme) or (config.credentials and not config.scheme):
            raise PushRefused("authentication.scheme must name an HTTP authentication scheme")
        if not _ID.fullmatch(config.id):
            raise PushRefused("the config's id must be printable ASCII, at most 128 characters")

    def with_message(self, config: PushConfig) -> Callable[[str], Target]:
        """What is stored with the message that brings it, by the task of the message; `keep` holds from then on.

        An agent in this process may have done all of the work before a config that is stored behind its message
        would be there. Raises PushRefused past the limit of the task that the config names.
        """
        self._check_room(_named(config), self._open.get(config.task_id, {}))
        return lambda task_id: self._target(_named(replace(config, task_id=task_id)))

    def keep(self, target: Target) -> None:
        """It is durable, and its task has not ended: what changes from here on is told to it."""
        self._open.setdefault(target.thread, {})[target.id] = target

    async def put(self, config: PushConfig, *, is_over: bool = False) -> PushConfig:
        """Raises PushRefused past the limit, StoreUnavailable."""
        known = self._open.get(config.task_id, {})
        found = await self._records.targets_of(config.task_id) if is_over else known.values()
        config = _named(config)
        self._check_room(config, {one.id for one in found})
        stored = await self._records.put_target(self._target(config), self._source)
        if not is_over:
            self.keep(stored)
        return config

    def _check_room(self, config: PushConfig, ids: Collection[str]) -> None:
        if config.id not in ids and len(ids) >= self._limit:
            raise PushRefused(f"a task has at most {self._limit} push notification configs")

    def _target(self, config: PushConfig) -> Target:
        return Target(config.task_id, config.id, "", settings_of(config, self._seal))

    async def of(self, task_id: str) -> Sequence[PushConfig]:
        """Without its secrets where they cannot be read any more."""
        return [config_of(target, self._seal) for target in await self._records.targets_of(task_id)]

    async def drop(self, task_id: str, config_id: str) -> None:
        self._open.get(task_id, {}).pop(config_id, None)
        await self._records.drop_target(task_id, config_id)

    def ended(self, task_id: str) -> None:
        self._open.pop(task_id, None)
        self._told.pop(task_id, None)

    # ------------------------------------------------------------------ what is told

    def reports(self, turn: Turn, step: Step, at: Instant) -> Sequence[Report]:
        """A piece for each config and change, to be committed with the step."""
        targets = self._targets(turn.thread)
        if not targets:
            return ()
        beginning = self._beginning(turn)
        payloads, going_on = ([*beginning, *_payloads(step, at, more=more)] for more in (False, True))
        return _reports(targets, turn.address.topic, str(turn.revision), payloads, going_on)

    def cancel_reports(self, topic: str, task_id: str, at: Instant) -> Sequence[Report]:
        """Of a task that is canceled while no turn is at work that would tell so."""
        payload = {"state": TaskState.CANCELED.value, "time": at}
        return _reports(self._targets(task_id), topic, "canceled", [payload])

    def _targets(self, task_id: str) -> Sequence[Target]:
        return [target for target in self._open.get(task_id, {}).values() if self._admits(*setter_of(target))]

    def _beginning(self, turn: Turn) -> list[Payload]:
        """That the turn is at work is told with the first thing its agent says."""
        if self._told.get(turn.thread) == turn.id:
            return []
        self._told[turn.thread] = turn.id
        return [{"state": TaskState.WORKING.value, "time": turn.begun}]

    # ------------------------------------------------------------------ telling it

    async def send(self, delivery: Delivery) -> Outcome:
        """One request; whatever may have been lost may come again, since receivers must expect that (4.3.3)."""
        task_id, config_id = delivery.address.chat, delivery.address.topic
        try:
            config = await self._config(task_id, config_id)
            if config is None:
                return Rejected(Refusal.BLOCKED, "the push notification config was deleted")
            if not self._admits(*config.setter):
                return Rejected(Refusal.BLOCKED, "its caller is not let in any more")
            if not config.is_readable:
                return Rejected(Refusal.BLOCKED, "its secrets cannot be read with the present gateway.secret_key")
            body = await self._body_of(delivery, config)
        except StoreUnavailable as error:
            return Rejected(Refusal.UNAVAILABLE, str(error), retry_after=error.retry_after)
        return await self._post(config, body)

    async def _config(self, task_id: str, config_id: str) -> PushConfig | None:
        known = self._open.get(task_id, {}).get(config_id)
        if known is not None:
            return config_of(known, self._seal)
        return next((config for config in await self.of(task_id) if config.id == config_id), None)

    async def _body_of(self, delivery: Delivery, config: PushConfig) -> bytes:
        if config.is_old and (work := await self._records.followed(config.task_id)) is not None:
            return self._body(task_of(work), config.protocol)
        return self._body(_event_of(delivery.payload, config.task_id), config.protocol)

    async def _post(self, config: PushConfig, body: bytes) -> Outcome:
        try:
            answer = await self._client.request(
                "POST", config.url, policy=self._policy, headers=_headers(config), body=body, timeouts=TIMEOUTS
            )
        except Refused as error:
            return Rejected(Refusal.MALFORMED, str(error))
        except (NotSent, Ambiguous) as error:
            return Rejected(Refusal.UNAVAILABLE, str(error))
        return _outcome(answer.status, answer.headers)


def _named(config: PushConfig) -> PushConfig:
    """In 0.3 a config without an id is the task's one config, as with a2a-sdk: setting it again replaces it."""
    if config.id:
        return config
    return replace(config, id=config.task_id if config.is_old else secrets.token_urlsafe(12))


def _headers(config: PushConfig) -> dict[str, str]:
    headers = {"Content-Type": "application/json" if config.is_old else "application/a2a+json"}
    if config.scheme:
        headers["Authorization"] = f"{config.scheme} {config.credentials}".strip()
    if config.token:  # the first is how 0.3 and its SDKs call it
        headers["X-A2A-Notification-Token"] = headers["A2A-Notification-Token"] = config.token
    return headers


def _outcome(status: int, headers: Mapping[str, str]) -> Outcome:
    if 200 <= status < 300:
        return Sent(())
    if status == GONE:
        return Rejected(Refusal.BLOCKED, "the receiver says it is gone")
    if status >= 500 or status in BUSY:
        after = headers.get("Retry-After", "")
        wait = min(float(after), 3600.0) if after.isascii() and after.isdigit() else None
        return Rejected(Refusal.UNAVAILABLE, f"the receiver answered {status}", retry_after=wait)
    return Rejected(Refusal.MALFORMED, f"the receiver answered {status}")


def _reports(
    targets: Sequence[Target], topic: str, of: str, payloads: Sequence[Payload], going_on: Sequence[Payload] = ()
) -> list[Report]:
    """To each target in order; `of` tells them from the others of the same turn. `going_on`: as Report's; () for the
    same.
    """

    def piece(target: Target, n: int, payload: Payload) -> RenderedPiece:
        return RenderedPiece(f"push:{target.id}:{of}.{n}", "", ({"context": topic, **payload},))

    return [
        Report(target.conversation, piece(target, n, payload), piece(target, n, other) if other != payload else None)
        for target in targets
        for n, (payload, other) in enumerate(zip(payloads, going_on or payloads, strict=True))
    ]


# ---------------------------------------------------------------------------------------------- JSON


def _payloads(step: Step, at: Instant, *, more: bool) -> list[Payload]:
    payloads: list[Payload] = [_made_out(made.artifact, step.update) for made in step.artifacts]
    if step.is_news:
        said = {"state": state_now(step, more=more).value, "time": at, **_said_out(step.said)}
        payloads.append(said | _metadata_out(step.metadata))
    return payloads


def _made_out(artifact: Artifact, update: ArtifactUpdate | None) -> Payload:
    came = update is not None and update.artifact.id == artifact.id
    return {"artifact": _artifact_out(artifact), **_metadata_out(update.metadata if update and came else None)}


def _metadata_out(metadata: Metadata) -> Payload:
    return {"metadata": dict(metadata)} if metadata else {}


def _said_out(said: Said | None) -> dict[str, Any]:
    if said is None:
        return {}
    parts = [part_to_json(part) for part in said.parts]
    return {"said": {"id": said.id, "parts": parts, **_beside_out(said.attached)}}


def _artifact_out(one: Artifact) -> Payload:
    parts = [part_to_json(part) for part in one.parts]
    return {"id": one.id, "name": one.name, "parts": parts, **_beside_out(one.attached)}


def _beside_out(attached: Attached | None) -> Payload:
    return {"attached": attached.to_json()} if attached is not None else {}


def _beside_in(value: Mapping[str, Any]) -> Attached | None:
    return Attached.from_json(value["attached"]) if "attached" in value else None


def _event_of(payload: Payload, task_id: str) -> ServedEvent:
    context_id, metadata = payload["context"], payload.get("metadata")
    if (artifact := payload.get("artifact")) is not None:
        parts = tuple(map(part_from_json, artifact["parts"]))
        whole = Artifact(artifact["id"], parts, artifact["name"], _beside_in(artifact))
        return ArtifactUpdate(task_id, context_id, whole, last=True, metadata=metadata)
    said = payload.get("said")
    words = Said(said["id"], tuple(map(part_from_json, said["parts"])), _beside_in(said)) if said is not None else None
    message = said_of(words, task_id, context_id)
    return StatusChange(task_id, context_id, TaskState(payload["state"]), payload["time"], message, metadata)
