"""One call to a remote agent, whole or as a stream of server-sent events, over whichever binding its endpoint has.

Everything goes out through the guarded client with the credential of the moment; what comes back is bounded, checked
and handed to the call's reader, and whatever else happens is a `CallFailed`. A call is made once: only after an answer
that comes before any work - a 401 that led to another credential, a 405 where two methods are usual - it is made a
second time. An interface that is away is not called (circuit.py).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

import orjson

from a2a import bindings, failures, wire
from a2a.bindings import Binding, Form, HttpRequest
from a2a.card import Endpoint
from a2a.circuit import Circuits, Passage, called_at
from a2a.credentials import Credential, Credentials
from a2a.settings import A2AAgentSettings
from a2a.sse import EventTooLarge, ServerEvent, SseParser
from a2a.wire import OffProtocol, Verb
from core.doors import outbound
from core.doors.strict_json import check_json_bytes
from core.ids import new_id
from core.values import value

R = TypeVar("R")
T = TypeVar("T")

_EVENT_STREAM = "text/event-stream"
_SENDS = frozenset({Verb.SEND, Verb.SEND_STREAMING})


@value(frozen=True, slots=True)
class Call(Generic[R, T]):
    """What is asked, and how its answer, or each event of it, is read."""

    verb: Verb
    params: Mapping[str, Any]
    form: Form[R]
    read: Callable[[R], T]  # may raise OffProtocol
    seconds: float  # for the whole of a plain answer; for the head of a streamed one


@value(frozen=True, slots=True)
class _Question(Generic[R, T]):
    """A call on its way over one interface."""

    endpoint: Endpoint
    call: Call[R, T]
    binding: Binding
    id: str
    request: HttpRequest

    def answered(self, raw: bytes, credential: Credential, *, status: int, headers: Mapping[str, str]) -> T:
        """What the call's reader makes of an answer or event; raises the CallFailed that it is otherwise."""

        def sample() -> str:
            return failures.sample_of(raw, *credential.secrets)

        try:
            answer = self._parsed(raw)
            if isinstance(answer, wire.RpcError):
                failure = failures.of_rpc(answer, status, headers, sample())
                if isinstance(failure, failures.RpcFailed):
                    failure.code = self.binding.meant(failure.code, self.call.verb, self.call.params)
                raise failure
            if answer is None or not 200 <= status < 300:
                raise failures.of_status(status, headers, sample())
            return self.call.read(answer)
        except OffProtocol as error:
            raise failures.MaybeTaken(f"broke the protocol: {error}", sample=sample()) from None

    def _parsed(self, raw: bytes) -> R | wire.RpcError | None:
        try:
            check_json_bytes(raw)
            return self.binding.read(self.call.form, raw, self.id)
        except OffProtocol:
            raise
        except ValueError:
            return None


class Calls:
    """The calls to one agent, `max_calls` of them at once and `max_streams` streams."""

    def __init__(
        self,
        settings: A2AAgentSettings,
        client: outbound.GuardedClient,
        credentials: Credentials,
        circuits: Circuits,
    ) -> None:
        self._settings = settings
        self._circuits = circuits
        self._client = client
        self._credentials = credentials
        self._bindings = bindings.bindings(settings.extensions)
        self._policy = outbound.OutboundPolicy(
            allow_private=settings.allow_private_network, body_limit=settings.max_body
        )
        self._calls = asyncio.Semaphore(settings.max_calls)
        self._streams = asyncio.Semaphore(settings.max_streams)

    @property
    def has_credentials(self) -> bool:
        return self._credentials.has_any

    @property
    def has_free_stream(self) -> bool:
        return not self._streams.locked()

    def _question(self, endpoint: Endpoint, call: Call[R, T]) -> _Question[R, T]:
        binding, id = self._bindings[endpoint.binding], new_id()
        if not binding.offers(call.verb):
            raise failures.RpcFailed(f"{binding.name} has no {call.verb}", code=wire.METHOD_NOT_FOUND)
        try:
            request = binding.request(endpoint.url, endpoint.tenant, call.verb, call.params, id)
        except orjson.JSONEncodeError as error:
            raise failures.Unusable(f"the message cannot be written as JSON: {error}") from None
        except ValueError as error:
            raise failures.Unusable(str(error)) from None
        return _Question(endpoint, call, binding, id, request)

    async def call(self, endpoint: Endpoint, call: Call[R, T]) -> T:
        """Waiting for a free slot and the exchange have `call.seconds` each."""
        question = self._question(endpoint, call)
        await self._probe(endpoint, call.verb)
        await self._take_slot(call.seconds)
        try:
            credential = await self._credentials.current(endpoint.security)
            answer = await self._exchanged(question, credential)
            if answer.status == 401 and await self._credentials.refused(credential, endpoint.security):
                credential = await self._credentials.current(endpoint.security)
                answer = await self._exchanged(question, credential)
        finally:
            self._calls.release()
        return question.answered(answer.body, credential, status=answer.status, headers=answer.headers)

    async def _exchanged(self, question: _Question[Any, Any], credential: Credential) -> outbound.Answer:
        request, seconds = question.request, question.call.seconds
        try:
            with self._passage(question) as passage:
                answer = await self._client.request(
                    request.method,
                    credential.url(request.url),
                    policy=self._policy,
                    headers=credential.beside(request.headers),
                    body=request.body,
                    timeouts=outbound.Timeouts(head=seconds, idle=seconds, whole=seconds),
                )
                passage.answered(answer.status, answer.headers)
                return answer
        except outbound.OutboundError as error:
            raise failures.of_outbound(error) from error

    def _passage(self, question: _Question[Any, Any]) -> Passage:
        """A cancel is a person's wish, and tried at once."""
        return self._circuits.passage(called_at(question.endpoint), insists=question.call.verb is Verb.CANCEL)

    async def _probe(self, endpoint: Endpoint, verb: Verb) -> None:
        """No message is risked on an interface that is away: what is asked first is a task that cannot exist."""
        if verb in _SENDS and self._circuits.wants_probe(called_at(endpoint)):
            params = {"id": f"frontdesk-probe-{new_id()}", "historyLength": 0}
            probe = Call(Verb.GET, params, bindings.TASK, lambda task: task, seconds=self._settings.read_timeout)
            with suppress(failures.CallFailed):  # the circuit knows what came of it
                await self.call(endpoint, probe)

    async def _take_slot(self, seconds: float) -> None:
        if not self._calls.locked():
            await self._calls.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._calls.acquire()
        except TimeoutError:
            raise failures.NotTaken(f"all {self._settings.max_calls} calls at once (max_calls) are busy") from None

    async def stream(
        self,
        endpoint: Endpoint,
        call: Call[wire.StreamResponse, T],
        *,
        whole: Callable[[], Awaitable[T]] | None = None,
    ) -> AsyncGenerator[T, None]:
        """The events until a clean end; raises any CallFailed before the first one and only Broken after it.

        `whole` asks for the whole task: it comes first, asked for once nothing can be missed any more, where the
        binding's subscriptions do not begin with it.
        """
        question = self._question(endpoint, call)
        if self._streams.locked():
            raise failures.NotTaken(f"all {self._settings.max_streams} streams at once (max_streams) are busy")
        await self._probe(endpoint, call.verb)
        has_begun = False
        try:
            async with aclosing(self._said(question, whole)) as said:
                async for each in said:
                    has_begun = True
                    yield each
        except failures.CallFailed as failure:
            if has_begun:
                raise failures.Broken(f"the stream broke: {failure}", sample=failure.sample) from failure
            raise
        if not has_begun:
            raise failures.MaybeTaken("the stream ended before its first event")

    async def _said(
        self, question: _Question[wire.StreamResponse, T], whole: Callable[[], Awaitable[T]] | None
    ) -> AsyncGenerator[T, None]:
        with _named_failures():
            async with self._streams, self._opened(question) as (answer, credential):
                if whole is not None and not question.binding.joins_with_snapshot and _is_stream(answer):
                    yield await whole()
                async with aclosing(self._events(answer, question.call.seconds)) as events:
                    async for event in events:
                        # An `event: error` with an error body is told by its code; any other is no event.
                        status = 500 if event.name == "error" else answer.status
                        yield question.answered(event.data, credential, status=status, headers=answer.headers)

    @asynccontextmanager
    async def _opened(self, question: _Question[R, T]) -> AsyncIterator[tuple[outbound.StreamedAnswer, Credential]]:
        """The answer and the credential it was had with."""
        credential = await self._credentials.current(question.endpoint.security)
        async with self._open(question, credential) as answer:
            if not await self._is_worth_repeating(answer, question, credential):
                yield answer, credential
                return
            if answer.status == 405:
                request = replace(question.request, method=question.request.other_method)
                question = replace(question, request=request)
        credential = await self._credentials.current(question.endpoint.security)
        async with self._open(question, credential) as answer:
            yield answer, credential

    async def _is_worth_repeating(
        self, answer: outbound.StreamedAnswer, question: _Question[Any, Any], credential: Credential
    ) -> bool:
        if answer.status == 401:
            return await self._credentials.refused(credential, question.endpoint.security)
        return answer.status == 405 and bool(question.request.other_method)

    @asynccontextmanager
    async def _open(
        self, question: _Question[Any, Any], credential: Credential
    ) -> AsyncIterator[outbound.StreamedAnswer]:
        request = question.request
        stream = self._client.stream(
            request.method,
            credential.url(request.url),
            policy=self._policy,
            headers=credential.beside(request.headers),
            body=request.body,
            timeouts=outbound.Timeouts(head=question.call.seconds, idle=self._settings.idle_timeout),
        )
        async with AsyncExitStack() as stack:
            with self._passage(question) as passage:
                answer = await stack.enter_async_context(stream)
                passage.answered(answer.status, answer.headers)
            yield answer

    async def _events(self, answer: outbound.StreamedAnswer, seconds: float) -> AsyncGenerator[ServerEvent, None]:
        """The events, or the whole of a plain answer as one: that is how a call fails before its stream begins."""
        if not _is_stream(answer):
            async with asyncio.timeout(seconds):
                body = await answer.read()
            yield ServerEvent(body)
            return
        parser = SseParser(limit=self._settings.max_event)
        async for chunk in answer.chunks():
            for event in parser.feed(chunk):
                yield event


def _is_stream(answer: outbound.StreamedAnswer) -> bool:
    media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return answer.status == 200 and media_type == _EVENT_STREAM


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
