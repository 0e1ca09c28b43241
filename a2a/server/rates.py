"""How often one caller may write to one agent: what stops two agents that answer each other's answers.

A message that goes through gateways counts them (`limits.hops`); agents that are none forget to. But they go on in one
context, faster than anybody talks. So a context takes so many messages in a minute, and after one more none, until it
was left alone for a minute: whoever runs into that and goes on has not waited, and would not by itself.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from a2a.server.port import Caller, Overloaded

MINUTE = 60.0  # seconds
KNOWN = 1000  # pairs that are watched; the one that was quiet for longest is forgotten first

Key = tuple[str, str, str, str]  # owner, name, agent, context; "" for all contexts


@dataclass(slots=True)
class _Pair:
    times: deque[float] = field(default_factory=deque)  # monotonic, of what was taken
    last: float = 0.0  # when the newest message came, taken or not
    is_broken: bool = False


class Rates:
    """`told` hears of each pair that is broken off: the caller's name, the agent, and the context."""

    def __init__(
        self, in_context: int, of_pair: int, monotonic: Callable[[], float], told: Callable[[str, str, str], None]
    ) -> None:
        """Messages in a minute, 0 for any number."""
        self._in_context, self._of_pair, self._monotonic, self._told = in_context, of_pair, monotonic, told
        self._pairs: OrderedDict[Key, _Pair] = OrderedDict()

    def take(self, caller: Caller, agent: str, context: str) -> None:
        """`context` is the one that the message goes on in, "" where it begins one. Raises Overloaded."""
        if context and self._in_context:
            self._take((caller.owner, caller.name, agent, context), self._in_context)
        if self._of_pair:
            self._take((caller.owner, caller.name, agent, ""), self._of_pair)

    def _take(self, key: Key, most: int) -> None:
        now, pair = self._monotonic(), self._pair(key)
        if pair.is_broken and now - pair.last >= MINUTE:
            pair.is_broken = False
        while pair.times and now - pair.times[0] >= MINUTE:
            pair.times.popleft()
        pair.last = now
        if len(pair.times) < most and not pair.is_broken:
            pair.times.append(now)
            return
        if not pair.is_broken:
            pair.is_broken = True
            self._told(key[1], key[2], key[3])
        where = "this context" if key[3] else "this agent"
        raise Overloaded(
            f"{where} got {most} messages from this caller within a minute, as if two agents answered each other; "
            "nothing is taken until it was left alone for a minute",
            retry_after=MINUTE,
        )

    def _pair(self, key: Key) -> _Pair:
        pair = self._pairs.get(key)
        if pair is None:
            pair = self._pairs[key] = _Pair()
            if len(self._pairs) > KNOWN:
                self._pairs.popitem(last=False)
        self._pairs.move_to_end(key)
        return pair
