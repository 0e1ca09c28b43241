"""The calls of an A2A client as the driver sends them, and what a right answer to each is (JSON-RPC, protocol 1.0)."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from benchmarks.load import Plan, Requests
from benchmarks.responses import Response
from benchmarks.series import FILLER

TEXT_SIZE = 800  # characters; with the rest a message of about 1 KB
COMPLETED = b"TASK_STATE_COMPLETED"
BARE = b'"result":{"message":'
_NUMBER = "7777777777"  # as many digits as every number of a series has


@dataclass(frozen=True, slots=True)
class Call:
    """A method, and how many artifact events its stream carries; 0 for an answer at once."""

    name: str
    method: str
    agent: str  # of Frontdesk's two: the one that answers whole, or in pieces
    chunks: int = 0

    def requests(self, plan: Plan) -> Requests:
        parts = urlsplit(plan.url)
        template, number = self._body(plan.series.run), plan.series.number
        secret = f"Authorization: Bearer {plan.secret}\r\n" if plan.secret else ""
        head = (
            f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
            f"A2A-Version: 1.0\r\n{secret}Content-Length: {len(template)}\r\n\r\n"
        ).encode()
        return lambda index: head + template.replace(_NUMBER.encode(), b"%d" % number(index))

    def judge(self, plan_number: Callable[[int], int]) -> Callable[[int, Response], str]:
        """Right is: the call's own id, its marker in what comes back, a completed task (or a bare message, which needs
        none), and every chunk of a stream."""

        def problem(index: int, response: Response) -> str:
            number = b"%d" % plan_number(index)
            if b'"error"' in response.body or b"fd:" not in response.body or number not in response.body:
                return "wrong_answer"
            if COMPLETED not in response.body and BARE not in response.body:
                return "not_completed"
            frames = response.body.count(b"data:")
            if self.chunks and (frames < self.chunks or "event-stream" not in response.header("content-type")):
                return "wrong_stream"
            return ""

        return problem

    def _body(self, run: str) -> bytes:
        text = f"fd:{run}:{_NUMBER} "
        text += (FILLER * (TEXT_SIZE // len(FILLER) + 1))[: TEXT_SIZE - len(text)]
        message = {"messageId": f"m-{_NUMBER}", "role": "ROLE_USER", "parts": [{"text": text}]}
        call = {"jsonrpc": "2.0", "id": int(_NUMBER), "method": self.method, "params": {"message": message}}
        return orjson.dumps(call)


SEND = Call("SendMessage", "SendMessage", "echo")
STREAM = Call("a stream of 20 events", "SendStreamingMessage", "pieces", chunks=20)
