"""The parameters of A2A 1.0 as callers send them, in the protocol's own words (section 4 and 3.1).

Unknown members are ignored, null counts as absent, and a member may be spelled as in the .proto file, as ProtoJSON has
it. What the members mean is reading.py's business.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

LONGEST_ID = 256  # characters of an id that a caller makes
LONGEST_URL = 8192  # characters
_ID = rf"^[^\x00-\x1f\x7f]{{1,{LONGEST_ID}}}$"
_MAYBE_ID = rf"^[^\x00-\x1f\x7f]{{0,{LONGEST_ID}}}$"


def _number(value: Any) -> Any:
    """ProtoJSON takes an integer as a string too; what is true or a fraction is none."""
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return value


def _nothing(value: Any) -> Any:
    return () if value is None else value


Id = Annotated[str, Field(pattern=_ID)]
MaybeId = Annotated[str | None, Field(pattern=_MAYBE_ID)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=0, le=(1 << 31) - 1)]
PageSize = Annotated[int, BeforeValidator(_number), Field(ge=1, le=100)]  # section 3.1.4
Ids = Annotated[tuple[Id, ...], BeforeValidator(_nothing), Field(max_length=100)]
Words = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], BeforeValidator(_nothing), Field(max_length=100)]
Metadata = dict[str, Any] | None


class Incoming(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_name=True, validate_by_alias=True)


class Part(Incoming):
    """Exactly one of text, raw, url and data (section 4.1.6); `data` may be null, so only its presence tells."""

    text: str | None = None
    raw: str | None = None  # base64
    url: str | None = Field(None, max_length=LONGEST_URL)
    data: Any = None
    filename: str | None = Field(None, max_length=1000)
    media_type: str | None = Field(None, alias="mediaType", max_length=255)
    metadata: Metadata = None  # only looked at: nothing here keeps it

    @property
    def contents(self) -> list[str]:
        """Which of the four it has."""
        said = [
            name for name, value in (("text", self.text), ("raw", self.raw), ("url", self.url)) if value is not None
        ]
        return [*said, "data"] if "data" in self.model_fields_set else said


class Message(Incoming):
    message_id: Id = Field(alias="messageId")
    context_id: MaybeId = Field(None, alias="contextId")
    task_id: MaybeId = Field(None, alias="taskId")
    role: str
    parts: tuple[Part, ...]
    metadata: Metadata = None
    extensions: Words = ()
    reference_task_ids: Ids = Field((), alias="referenceTaskIds")


class Authentication(Incoming):
    scheme: str = Field(max_length=100)
    credentials: str | None = Field(None, max_length=8192)


class PushConfig(Incoming):
    url: str = Field(min_length=1, max_length=LONGEST_URL)
    id: MaybeId = None
    task_id: MaybeId = Field(None, alias="taskId")
    token: str | None = Field(None, max_length=8192)
    authentication: Authentication | None = None


class Configuration(Incoming):
    accepted_output_modes: Words = Field((), alias="acceptedOutputModes")
    push: PushConfig | None = Field(None, alias="taskPushNotificationConfig")
    history_length: Count | None = Field(None, alias="historyLength")
    return_immediately: StrictBool | None = Field(None, alias="returnImmediately")


class SendMessage(Incoming):
    message: Message
    configuration: Configuration | None = None
    metadata: Metadata = None


class TaskById(Incoming):
    """Of GetTask, CancelTask and SubscribeToTask."""

    id: Id
    history_length: Count | None = Field(None, alias="historyLength")


class ListTasks(Incoming):
    context_id: MaybeId = Field(None, alias="contextId")
    status: str | None = None
    page_size: PageSize | None = Field(None, alias="pageSize")
    page_token: str | None = Field(None, alias="pageToken", max_length=2048)
    history_length: Count | None = Field(None, alias="historyLength")
    status_timestamp_after: str | None = Field(None, alias="statusTimestampAfter", max_length=64)
    include_artifacts: StrictBool | None = Field(None, alias="includeArtifacts")


class OwnPushConfig(PushConfig):
    """Of CreateTaskPushNotificationConfig."""

    task_id: Id = Field(alias="taskId")


class PushById(Incoming):
    task_id: Id = Field(alias="taskId")
    id: Id


class ListPush(Incoming):
    task_id: Id = Field(alias="taskId")
    page_size: PageSize | None = Field(None, alias="pageSize")
    page_token: str | None = Field(None, alias="pageToken", max_length=2048)
