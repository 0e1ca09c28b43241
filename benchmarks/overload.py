"""Past the bound of its queue the gateway sends senders away, and says when to come again."""

from benchmarks.connection import Connection
from benchmarks.gates import Gate
from benchmarks.line import Line, line
from benchmarks.load import REQUEST_TIMEOUT, webhook_request
from benchmarks.outcome import Effort, Outcome
from benchmarks.programs import FRONTDESK
from benchmarks.responses import Response
from benchmarks.series import Series
from benchmarks.serving import LOOPBACK
from benchmarks.tables import Table

BOUND = 500  # messages that are admitted and not answered
WARM_UP = 1  # message; what comes before the account is ready is refused for another reason
BEYOND = 600  # messages sent at most; a gateway without a bound is found out soon


async def run(effort: Effort) -> Outcome:  # noqa: ARG001 - the shape of every benchmark
    async with line(FRONTDESK, is_parked=True, max_queued=BOUND) as running:
        accepted, refusal = await _until_refused(running)
    status, retry_after = (refusal.status, refusal.header("retry-after")) if refusal else (0, "")
    row = (FRONTDESK.name, str(accepted), str(status), retry_after or "-")
    table = Table(f"A queue of {BOUND}, the agent silent", ("Program", "accepted", "then", "Retry-After s"), (row,))
    gates = (
        Gate(f"accepted with max_queued = {BOUND}", accepted, "exactly", BOUND),
        Gate("status of the next one", status, "exactly", 503),
        Gate("seconds in its Retry-After", float(retry_after) if retry_after.isdigit() else 0.0, "at least", 1),
    )
    return Outcome("overload", (table,), gates, {"accepted": accepted, "status": status, "retry_after": retry_after})


async def _until_refused(running: Line) -> tuple[int, Response | None]:
    """How many were accepted, one after the other, each in a chat of its own, and the first other answer."""
    await running.warm_up(WARM_UP)
    series = Series.fresh(running.numbering, "over", BEYOND, BEYOND)
    request = webhook_request(running.plan(series, 1))
    connection = Connection(LOOPBACK, running.server.port, REQUEST_TIMEOUT)
    try:
        for index in range(BEYOND):
            response = await connection.ask(request(index))
            if response.status != 200:
                return WARM_UP + index, response
    finally:
        connection.close()
    return WARM_UP + BEYOND, None
