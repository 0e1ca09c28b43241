"""From the parameters of A2A 1.0 to the port's values; what is wrong is said with the path of the field.

Pure: no name is resolved and no URL fetched. A push address is judged as it is written, which refuses
literal internal addresses at once; what a name resolves to is judged when it is called (section 13.2).
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import ValidationError

from a2a import translate
from a2a.nesting import DEEPEST, nests_too_deep
from a2a.server import requests
from a2a.server.faults import Violation, bad_field, bad_fields
from a2a.server.port import Filter, Message, PushConfig, Role, Send
from a2a.server.settings import LimitSettings
from core.agent import TaskState
from core.clock import Instant
from core.doors import outbound
from core.parts import Data, File, Part, Text

Json = dict[str, Any]
MOST_VIOLATIONS = 10  # told of one call
PAGE_SIZE = 50  # tasks, where the caller does not say (section 3.1.4)
_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, 11.1
_UNSPECIFIED = "TASK_STATE_UNSPECIFIED"  # the enumeration's zero, which ProtoJSON takes for absent
_WHY = {
    "missing": "is required",
    "string_pattern_mismatch": f"should be an id: at most {requests.LONGEST_ID} characters, none a control character",
}
_UNCONFIGURED = requests.Configuration()
_URL_SAFE = str.maketrans("-_", "+/")  # ProtoJSON takes either alphabet

R = TypeVar("R", bound=requests.Incoming)


class View(Struct, frozen=True):
    """How much of a task is to be told."""

    history: int | None = None  # newest messages; None: as many as the server tells by itself
    artifacts: bool = True


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads with the bounds of one account."""

    limits: LimitSettings
    allow_push_private: bool = False

    def send(
        self,
        params: Json,
        *,
        patience: float | None = None,
        extensions: tuple[str, ...] = (),
        idempotency_key: str = "",
    ) -> tuple[Send, View]:
        """`patience` is that of a caller who does not say whether it waits (seconds; None: 1.0's, without an end)."""
        asked = _parsed(requests.SendMessage, params)
        configuration = asked.configuration or _UNCONFIGURED
        push = configuration.push
        send = Send(
            message=self._message(asked.message),
            waits=not configuration.return_immediately,
            patience=patience if configuration.return_immediately is None else None,
            push=None if push is None else self._push(push, "configuration.taskPushNotificationConfig."),
            idempotency_key=idempotency_key,
            output_modes=configuration.accepted_output_modes,
            metadata=_handed_on(asked.metadata or {}, "metadata"),
            extensions=extensions,
        )
        return send, View(configuration.history_length)

    def task(self, params: Json) -> tuple[str, View]:
        asked = _parsed(requests.TaskById, params)
        return asked.id, View(asked.history_length)

    def list(self, params: Json) -> tuple[Filter, View]:
        asked = _parsed(requests.ListTasks, params)
        wanted = Filter(
            context_id=asked.context_id or "",
            state=_state(asked.status),
            since=_instant(asked.status_timestamp_after),
            size=asked.page_size or PAGE_SIZE,
            after=asked.page_token or "",
        )
        return wanted, View(asked.history_length, artifacts=bool(asked.include_artifacts))

    def push(self, params: Json) -> PushConfig:
        return self._push(_parsed(requests.OwnPushConfig, params), "")

    def push_id(self, params: Json) -> tuple[str, str]:
        """The task's id and the config's."""
        asked = _parsed(requests.PushById, params)
        return asked.task_id, asked.id

    def pushes(self, params: Json) -> str:
        return _parsed(requests.ListPush, params).task_id

    def _message(self, said: requests.Message) -> Message:
        if said.role != "ROLE_USER":
            raise bad_field("message.role", "should be ROLE_USER: a message to an agent is its user's")
        if not 0 < len(said.parts) <= self.limits.parts:
            raise bad_field("message.parts", f"has {len(said.parts)} parts; from 1 to {self.limits.parts} are taken")
        if (hops := hops_of(said.metadata or {})) >= self.limits.hops:
            raise bad_field(
                "message.metadata",
                f"says {translate.HOPS} = {hops}: the message went through {hops} gateways; they may be in a loop",
                outcome="LOOP",
            )
        return Message(
            id=said.message_id,
            role=Role.USER,
            parts=tuple(_part(part, f"message.parts[{at}]") for at, part in enumerate(said.parts)),
            context_id=said.context_id or "",
            task_id=said.task_id or "",
            metadata=_handed_on(said.metadata or {}, "message.metadata"),
            extensions=said.extensions,
            references=said.reference_task_ids,
        )

    def _push(self, said: requests.PushConfig, path: str) -> PushConfig:
        authentication = said.authentication
        config = PushConfig(
            url=said.url,
            id=said.id or "",
            task_id=said.task_id or "",
            token=said.token or "",
            scheme=authentication.scheme if authentication else "",
            credentials=(authentication.credentials or "") if authentication else "",
        )
        try:
            outbound.check_url(said.url, outbound.OutboundPolicy(allow_private=self.allow_push_private))
        except outbound.Refused as error:
            raise bad_field(f"{path}url", f"will not be called ({error.reason})") from error
        if authentication and not _SCHEME.fullmatch(config.scheme):
            raise bad_field(f"{path}authentication.scheme", "is not the name of an HTTP authentication scheme")
        for name, value in (("authentication.credentials", config.credentials), ("token", config.token)):
            if not (value.isascii() and (value.isprintable() or not value)):
                raise bad_field(f"{path}{name}", "should be printable ASCII on one line: it goes into a header")
        return config


def hops_of(metadata: Mapping[str, Any]) -> int:
    """How many gateways a message says to have passed through; what is no number says nothing."""
    said = metadata.get(translate.HOPS)
    if isinstance(said, bool) or not isinstance(said, int | float):  # ProtoJSON has no integers: 3 may come as 3.0
        return 0
    return int(said) if 0 < said < 1 << 31 else 0


def forwarded_of(metadata: Mapping[str, Any], count: int) -> tuple[int, ...]:
    """Which of so many parts a message says to pass on only; what names no part of it says nothing."""
    said = metadata.get(translate.FORWARDED)
    if not isinstance(said, list):
        return ()
    named = {each for each in said if type(each) in (int, float)}  # ProtoJSON: 1 may come as 1.0, and True is no 1
    return tuple(at for at in range(count) if at in named)


def _parsed(model: type[R], params: Json) -> R:
    try:
        return model.model_validate(params)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise bad_fields([Violation(_path(each["loc"]), _why(each)) for each in found[:MOST_VIOLATIONS]]) from error


def _path(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).removeprefix(".")


def _why(error: Mapping[str, Any]) -> str:
    known = _WHY.get(error["type"])
    if known is not None:
        return known
    said = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return said[:1].lower() + said[1:]


def _part(said: requests.Part, path: str) -> Part:
    contents = said.contents
    if len(contents) != 1:
        named = " and ".join(contents) or "none"
        raise bad_field(path, f"should have exactly one of text, raw, url and data; it has {named}")
    if said.text is not None:
        return Text(said.text)
    if contents == ["data"]:
        return Data(_handed_on(said.data, f"{path}.data"))
    content = None if said.raw is None else _decoded(said.raw, f"{path}.raw")
    return File(
        said.filename or "",
        said.media_type or translate.OCTETS,
        said.url or "",
        size=None if content is None else len(content),
        content=content,
    )


def _handed_on(value: Any, path: str) -> Any:
    """Itself, if whoever is next will take it."""
    if nests_too_deep(value):
        raise bad_field(path, f"is nested deeper than {DEEPEST} levels")
    return value


def _decoded(raw: str, path: str) -> bytes:
    text = raw.translate(_URL_SAFE).rstrip("=")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise bad_field(path, "is not base64") from error


def _state(status: str | None) -> TaskState | None:
    if not status or status == _UNSPECIFIED:
        return None
    state = translate.STATES.get(status)
    if state is None:
        raise bad_field("status", f"{status[:40]!r} is no state of a task")
    return state


def _instant(timestamp: str | None) -> Instant | None:
    if not timestamp:
        return None
    moment = translate.instant(timestamp)
    if moment is None:
        raise bad_field("statusTimestampAfter", "is no time of RFC 3339, such as 2026-05-26T09:30:00Z")
    return moment
