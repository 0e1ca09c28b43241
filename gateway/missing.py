"""Work that was left by the last process for an agent or an account that is not configured any more.

What is for a missing agent is answered as soon as it is taken up, in words that say so; what is for a missing account
waits, since its answers have no way out. Both are told at the start, once for each name, and to the doctor.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from core.telemetry import Telemetry

Missing = Mapping[str, Any]  # what (agent or account), name, threads, messages


class Left(Protocol):
    async def left(self) -> Sequence[Mapping[str, Any]]:
        """Active threads with their queued messages, counted by agent and account."""
        ...


async def missing(records: Left, agents: Mapping[str, object], accounts: Mapping[str, object]) -> list[Missing]:
    """Each agent and account that work is left for and that is not there; work of both counts as the account's."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in await records.left():
        what, name = ("account", row["account"]) if row["account"] not in accounts else ("agent", row["agent"])
        if name not in (accounts if what == "account" else agents):
            count = counts.setdefault((what, name), [0, 0])
            count[0] += row["threads"]
            count[1] += row["messages"]
    return [
        {"what": what, "name": name, "threads": threads, "messages": messages}
        for (what, name), (threads, messages) in counts.items()
    ]


def tell(found: Sequence[Missing], telemetry: Telemetry) -> None:
    for each in found:
        fields = {"threads": each["threads"], "messages": each["messages"]}
        if each["what"] == "agent":
            telemetry.event("agent.missing", level="warning", agent=each["name"], **fields)
        else:
            telemetry.event("account.missing", level="warning", account=each["name"], **fields)
