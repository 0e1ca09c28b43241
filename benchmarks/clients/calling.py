"""What every client under test does alike: warm up, make `--calls` calls over `--lanes` at once, print the cost.

Runs in a peer's environment too, so it needs nothing beyond the standard library.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable

WARM_UP = 20  # calls
TEXT = "Hello there, please look up the order. " + "lorem ipsum dolor sit amet " * 28

Call = Callable[[int], Awaitable[None]]
"""One message with a number; raises when the answer is not a completed task that echoes it."""


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--agent", required=True, help="the agent's URL, without a slash at the end")
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--lanes", type=int, required=True)
    parser.add_argument("--streaming", action="store_true")
    return parser.parse_args()


async def measure(call: Call, calls: int, lanes: int) -> None:
    for number in range(WARM_UP):
        await call(-1 - number)
    numbers, took = iter(range(calls)), list[float]()

    async def lane() -> None:
        for number in numbers:
            began = time.perf_counter()
            await call(number)
            took.append(time.perf_counter() - began)

    cpu, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(lanes)))
    wall, spent = time.perf_counter() - began, time.process_time() - cpu
    took.sort()
    figures = {"rate": calls / wall, "cpu": spent / calls * 1e6, "p50": took[calls // 2] * 1e3}
    print(json.dumps({**figures, "p99": took[int(calls * 0.99)] * 1e3}))
