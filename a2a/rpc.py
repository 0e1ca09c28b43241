"""One JSON-RPC call to a remote agent, whole or as a stream of server-sent events (A2A 1.0, section 9).

Everything goes out through the guarded client with the version header and the credential of the moment; what comes back
is bounded, checked and handed to the call's reader, and whatever else happens is a `CallFailed`. A call is made once:
only after a 401 that led to another credential it is made a second time, since a 401 comes before any work.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
from pydantic import ValidationError

from a2a import failures, wire
from a2a.card import Endpoint
from a2a.credentials import Credential, CredentialSource
from a2a.settings import A2AAgentSettings
from a2a.sse import EventTooLarge, ServerEvent, SseParser
from a2a.translate import OffProtocol
from core.doors import outbound
from core.doors.strict_json import BadJson, check_json_bytes
from core.ids import new_id

R = TypeVar("R", bound=wire.Wire)
T = TypeVar("T")

_HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "A2A-Version": wire.PROTOCOL_VERSION,
}
_STREAM_HEADERS = {**_HEADERS, "Accept": "text/event-stream, application/json"}
_EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Call(Generic[R, T]):
    """What is asked, and how its answer, or each event of it, is read."""

    method: str
    params: Mapping[str, Any]
    form: type[wire.Answer[R]]
    read: Callable[[R], T]  # may raise OffProtocol
    seconds: float  # for the whole of a plain answer; for the head of a streamed one

    def body(self, request_id: str, tenant: str) -> bytes:
        """The tenant is the interface's, sent only where it names one (section 3.2.1)."""
        params = {"tenant": tenant, **self.params} if tenant else self.params
        request = {"jsonrpc": "2.0", "id": request_id, "method": self.method, "params": params}
        try:
            return orjson.dumps(request)
        except orjson.JSONEncodeError as error:
            raise failures.Unusable(f"the message cannot be written as JSON: {error}") from None

    def result(self, raw: bytes, request_id: str, secret: str, *, status: int, headers: Mapping[str, str]) -> T:
        """What `read` makes of the result in an answer or event; raises the CallFailed that it is otherwise."""
        answer = _parsed(raw, self.form)
        if answer is not None and answer.error is not None and answer.id in (request_id, None):
            raise failures.of_rpc(answer.error, status, headers, failures.sample_of(raw, secret))
        if answer is None or answer.result is None or not 200 <= status < 300:
            raise failures.of_status(status, headers, failures.sample_of(raw, secret))
        if answer.id != request_id:
            raise failures.MaybeTaken("answered another request", sample=failures.sample_of(raw, secret))
        try:
            return self.read(answer.result)
        except OffProtocol as error:
            raise failures.MaybeTaken(f"broke the protocol: {error}", sample=failures.sample_of(raw, secret)) from None


def _parsed(raw: bytes, form: type[wire.Answer[R]]) -> wire.Answer[R] | None:
    try:
        check_json_bytes(raw)
        return form.model_validate_json(raw)
    except (BadJson, ValidationError):
        return None


class RpcClient:
    """The calls to one agent, `max_calls` of them at once and `max_streams` streams."""

    def __init__(self, settings: A2AAgentSettings, client: outbound.GuardedClient, source: CredentialSource) -> None:
        self._settings = settings
        self._client = client
        self._source = source
        self._policy = outbound.OutboundPolicy(
            allow_private=settings.allow_private_network, body_limit=settings.max_body
        )
        self._calls = asyncio.Semaphore(settings.max_calls)
        self._streams = asyncio.Semaphore(settings.max_streams)

    @property
    def has_free_stream(self) -> bool:
        return not self._streams.locked()

    async def call(self, endpoint: Endpoint, call: Call[R, T]) -> T:
        """Waiting for a free slot and the exchange have `call.seconds` each."""
        request_id = new_id()
        body = call.body(request_id, endpoint.tenant)
        await self._take_slot(call.seconds)
        try:
            credential = await self._source.current()
            answer = await self._post(endpoint, body, credential, call.seconds)
            if answer.status == 401 and await self._source.refused(credential):
                credential = await self._source.current()
                answer = await self._post(endpoint, body, credential, call.seconds)
        finally:
            self._calls.release()
        return call.result(answer.body, request_id, credential.secret, status=answer.status, headers=answer.headers)

    async def _post(self, endpoint: Endpoint, body: bytes, credential: Credential, seconds: float) -> outbound.Answer:
        try:
            return await self._client.request(
                "POST",
                credential.url(endpoint.url),
                policy=self._policy,
                headers={**_HEADERS, **credential.headers},
                body=body,
                timeouts=outbound.Timeouts(head=seconds, idle=seconds, whole=seconds),
            )
        except outbound.OutboundError as error:
            raise failures.of_outbound(error) from error

    async def _take_slot(self, seconds: float) -> None:
        if not self._calls.locked():
            await self._calls.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._calls.acquire()
        except TimeoutError:
            raise failures.NotTaken(f"all {self._settings.max_calls} calls at once (max_calls) are busy") from None

    async def stream(self, endpoint: Endpoint, call: Call[wire.StreamResponse, T]) -> AsyncGenerator[T, None]:
        """The events until a clean end; raises any CallFailed before the first one and only Broken after it."""
        if self._streams.locked():
            raise failures.NotTaken(f"all {self._settings.max_streams} streams at once (max_streams) are busy")
        request_id = new_id()
        has_begun = False
        try:
            with _named_failures():
                async with (
                    self._streams,
                    self._opened(endpoint, call, request_id) as (answer, secret),
                    aclosing(self._events(answer, call.seconds)) as events,
                ):
                    async for event in events:
                        # An `event: error` with a JSON-RPC error is told by its code; any other is no event.
                        status = 500 if event.name == "error" else answer.status
                        said = call.result(event.data, request_id, secret, status=status, headers=answer.headers)
                        has_begun = True
                        yield said
        except failures.CallFailed as failure:
            if has_begun:
                raise failures.Broken(f"the stream broke: {failure}", sample=failure.sample) from failure
            raise
        if not has_begun:
            raise failures.MaybeTaken("the stream ended before its first event")

    @asynccontextmanager
    async def _opened(
        self, endpoint: Endpoint, call: Call[wire.StreamResponse, T], request_id: str
    ) -> AsyncIterator[tuple[outbound.StreamedAnswer, str]]:
        """The answer and the secret it was had with."""
        body = call.body(request_id, endpoint.tenant)
        credential = await self._source.current()
        async with self._open(endpoint, body, credential, call.seconds) as answer:
            if answer.status != 401 or not await self._source.refused(credential):
                yield answer, credential.secret
                return
        credential = await self._source.current()
        async with self._open(endpoint, body, credential, call.seconds) as answer:
            yield answer, credential.secret

    def _open(
        self, endpoint: Endpoint, body: bytes, credential: Credential, seconds: float
    ) -> AbstractAsyncContextManager[outbound.StreamedAnswer]:
        return self._client.stream(
            "POST",
            credential.url(endpoint.url),
            policy=self._policy,
            headers={**_STREAM_HEADERS, **credential.headers},
            body=body,
            timeouts=outbound.Timeouts(head=seconds, idle=self._settings.idle_timeout),
        )

    async def _events(self, answer: outbound.StreamedAnswer, seconds: float) -> AsyncGenerator[ServerEvent, None]:
        """The events, or the whole of a plain answer as one: that is how a call fails before its stream begins."""
        media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if answer.status != 200 or media_type != _EVENT_STREAM:
            async with asyncio.timeout(seconds):
                body = await answer.read()
            yield ServerEvent(body)
            return
        parser = SseParser(limit=self._settings.max_event)
        async for chunk in answer.chunks():
            for event in parser.feed(chunk):
                yield event


@contextmanager
def _named_failures() -> Iterator[None]:
    try:
        yield
    except outbound.OutboundError as error:
        raise failures.of_outbound(error) from error
    except EventTooLarge as error:
        raise failures.MaybeTaken(f"{error} (max_event)") from error
    except TimeoutError as error:
        raise failures.MaybeTaken("the answer took too long") from error
