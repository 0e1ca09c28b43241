"""Over which interface of an agent a call goes.

A task is asked over the interface that created it (A2A 1.0, section 3.6): that is stored with the task, and where the
card has it no more and has no more of it when read anew, the task cannot be asked. Of a task begun before that was
stored the preferred interface is asked first, and when it does not know the task the others are, for such a refusal
means that nothing was done. New work never moves by itself.

With `fallback` new work goes to the next configured interface when the one before certainly did not take it: nobody
there, version or method unknown, a refusal by HTTP alone. What failed is passed over for a while, and that is shown.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from a2a import failures, wire
from a2a.agreement import Agreement
from a2a.card import CardView, Endpoint, origin_of
from a2a.card_keeping import CardKeeper
from a2a.settings import A2AAgentSettings
from a2a.wire import Verb
from core.agent import TaskRef
from core.clock import Clock

REMEMBERED = 50_000  # tasks; about 15 MB. One that fell out is found again, by asking around
PASSED_OVER = 300.0  # seconds; then the preferred interface has another chance

# HTTP answers that a moved agent gives, and one whose authentication changed.
_MOVED = frozenset({301, 302, 307, 308, 404, 405, 410, 421})
# Those that say "not here, not so", never "not now" or "not this".
_NOT_SERVED = frozenset({400, 404, 405, 406, 410, 415, 421, 426, 501, 505})
_SENDS = frozenset({Verb.SEND, Verb.SEND_STREAMING})


def doubts_card(failure: failures.CallFailed, verb: Verb) -> bool:
    """Whether the card may have changed: listing, cancelling and subscribing may be missing from a good agent."""
    if isinstance(failure, failures.HttpRefused):
        return failure.status in _MOVED
    if isinstance(failure, failures.Unauthorised):
        return True
    if not isinstance(failure, failures.RpcFailed):
        return False
    switched_off = verb is Verb.SEND_STREAMING and failure.code == wire.UNSUPPORTED_OPERATION
    missing = (verb in _SENDS or verb is Verb.GET) and failure.code == wire.METHOD_NOT_FOUND
    return failure.code == wire.VERSION_NOT_SUPPORTED or switched_off or missing


def is_not_served(failure: failures.CallFailed) -> bool:
    """Whether the interface, rather than the agent, certainly did not take the message."""
    match failure:
        case failures.NoConnection():
            return True
        case failures.HttpRefused(status=status):
            return status in _NOT_SERVED
        case failures.RpcFailed(code=code):
            return code in (wire.METHOD_NOT_FOUND, wire.VERSION_NOT_SUPPORTED)
    return False


class Interfaces:
    """Of one agent. `on_fallback` is told which binding stands in for which, and why."""

    def __init__(
        self,
        settings: A2AAgentSettings,
        cards: CardKeeper,
        clock: Clock,
        on_fallback: Callable[[str, str, failures.CallFailed], None],
        agreement: Agreement,
    ) -> None:
        self._agreement = agreement
        self._settings = settings
        self._cards = cards
        self._clock = clock
        self._on_fallback = on_fallback
        self._pins: OrderedDict[str, str] = OrderedDict()  # task id: binding
        self._passed_over: dict[str, tuple[float, str]] = {}  # binding: until when (monotonic), and why

    def pin(self, task_id: str, endpoint: Endpoint) -> None:
        """The first word counts: a task never moves."""
        if task_id not in self._pins:
            self._pins[task_id] = endpoint.binding
            if len(self._pins) > REMEMBERED:
                self._pins.popitem(last=False)

    def pinned(self, task_id: str) -> str | None:
        return self._pins.get(task_id)

    async def view(self) -> CardView:
        """Raises CallFailed where no card was ever had, or the one that is known was not agreed to."""
        view = await self._cards.view()
        await self._agreement.check(view)
        return view

    async def route(self, task: TaskRef | None = None) -> "Route":
        """Of new work for None. Raises CallFailed where no card was ever had, NotOffered as the module says."""
        view = await self.view()
        if task is None:
            return Route(self, view, self.preferred(view))
        pin = task.binding or self._pins.get(task.task_id)
        if not pin:
            return Route(self, view, self.preferred(view), task_id=task.task_id)
        if task.task_id in self._pins:
            self._pins.move_to_end(task.task_id)
        if not _has(view, pin):
            view = await self.looked_again(view)
        return Route(self, view, self.named(view, pin), task_id=task.task_id, is_pinned=True)

    def preferred(self, view: CardView) -> Endpoint:
        if not self._passed_over:
            return view.endpoint
        now = self._clock.monotonic()
        self._passed_over = {name: (until, why) for name, (until, why) in self._passed_over.items() if until > now}
        usable = (each for each in self.candidates(view) if each.binding not in self._passed_over)
        return next(usable, view.endpoint)

    def candidates(self, view: CardView) -> list[Endpoint]:
        return [each for each in view.interfaces if each.binding in self._settings.interfaces]

    @staticmethod
    def named(view: CardView, binding: str) -> Endpoint:
        """Raises NotOffered."""
        for each in view.interfaces:
            if each.binding == binding:
                return each
        raise failures.NotOffered(f"its card no longer names {binding}, over which the task was created")

    def shown(self, view: CardView) -> CardView:
        """The view as things stand: what is passed over, and what stands in."""
        used = self.preferred(view)
        told = [
            f"{name} does not serve ({why}); {used.binding} is used" for name, (_, why) in self._passed_over.items()
        ]
        return replace(view, endpoint=used, warnings=(*view.warnings, *told)) if told else view

    async def looked_again(self, view: CardView) -> CardView:
        view = await self._cards.second_look(view)
        await self._agreement.check(view)
        return view

    def standing_in(
        self, view: CardView, used: Endpoint, asked: set[str], failure: failures.CallFailed
    ) -> Endpoint | None:
        """Passes over `used`, and says where to go; None where nothing else is configured and offered.

        Where nobody is there, neither are that origin's other interfaces.
        """
        others = [each for each in self.candidates(view) if each.binding not in asked]
        if isinstance(failure, failures.NoConnection):
            others = [each for each in others if origin_of(each.url) != origin_of(used.url)]
        if not self._settings.fallback or not others:
            return None
        chosen = min(others, key=lambda each: each.binding in self._passed_over)
        self._passed_over.pop(chosen.binding, None)
        self._passed_over[used.binding] = (self._clock.monotonic() + PASSED_OVER, str(failure))
        self._on_fallback(used.binding, chosen.binding, failure)
        return chosen


class Route:
    """The way of one call, which may lead over several endpoints, one after the other."""

    def __init__(
        self,
        interfaces: Interfaces,
        view: CardView,
        endpoint: Endpoint,
        *,
        task_id: str | None = None,
        is_pinned: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self._interfaces = interfaces
        self._view = view
        self._task_id = task_id
        self._is_pinned = is_pinned
        self._has_looked = False
        self._asked = {endpoint.binding}
        self._refusals: list[failures.CallFailed] = []

    async def after(self, failure: failures.CallFailed, verb: Verb) -> None:
        """Returns where the call shall be made once more, at `endpoint`; else raises what it comes to."""
        if not self._refusals and doubts_card(failure, verb) and await self._is_explained():
            return
        following = self._following(failure, verb)
        if following is None:
            raise self._verdict(failure, verb)
        self._refusals.append(failure)
        self._asked.add(following.binding)
        self.endpoint = following

    async def _is_explained(self) -> bool:
        """Whether the card, read anew, names another endpoint than the one that refused; asked once."""
        if self._has_looked:
            return False
        self._has_looked, used = True, self.endpoint
        self._view = await self._interfaces.looked_again(self._view)
        if self._is_pinned:
            self.endpoint = self._interfaces.named(self._view, used.binding)
        elif self._task_id is None or not _has(self._view, used.binding):
            self.endpoint = self._interfaces.preferred(self._view)
        else:
            self.endpoint = self._interfaces.named(self._view, used.binding)
        return self.endpoint != used

    def _following(self, failure: failures.CallFailed, verb: Verb) -> Endpoint | None:
        if self._task_id is None:
            may_move = verb in _SENDS and is_not_served(failure)
            return self._interfaces.standing_in(self._view, self.endpoint, self._asked, failure) if may_move else None
        goes_on = _does_not_know(failure) or (bool(self._refusals) and verb not in _SENDS)
        if self._is_pinned or not goes_on:
            return None
        return next((each for each in self._view.interfaces if each.binding not in self._asked), None)

    def _verdict(self, failure: failures.CallFailed, verb: Verb) -> failures.CallFailed:
        """Of several failures the one to act on.

        A send whose outcome is open is just that, whatever was refused before it; else what time may heal counts, so
        that no task is given up for an interface that is down. A look comes to what the likeliest interface said.
        """
        if not self._refusals or (verb in _SENDS and not _does_not_know(failure)):
            return failure
        every = (*self._refusals, failure)
        if verb in _SENDS:
            return next((each for each in every if isinstance(each, failures.NotTaken)), every[0])
        return every[0]


def _has(view: CardView, binding: str) -> bool:
    return any(each.binding == binding for each in view.interfaces)


def _does_not_know(failure: failures.CallFailed) -> bool:
    """Whether the task may well be another interface's."""
    return is_not_served(failure) or (isinstance(failure, failures.RpcFailed) and failure.code == wire.TASK_NOT_FOUND)
