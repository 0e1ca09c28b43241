"""What can be wrong with the routes of an account that no single setting of them shows."""

from collections.abc import Iterator, Mapping

from config.problems import Problem, unknown
from config.settings import NAME, AccountSettings, RouteSettings


def routing_problems(path: str, account: AccountSettings, agents: Mapping[str, object]) -> Iterator[Problem]:
    """`path` is the account's own; `agents` are those that the configuration names."""
    standing_in: dict[str, str] = {}
    for place, route in _places(path, account):
        for setting, name in (("agent", route.agent), ("fallback", route.fallback)):
            if name not in agents and (name or setting == "agent"):
                yield _unknown_agent(f"{place}.{setting}", name, agents)
        if route.fallback and route.fallback == route.agent:
            yield Problem(f"{place}.fallback", "it is the agent itself", "name another one, or leave it out")
        elif route.fallback and standing_in.setdefault(route.agent, route.fallback) != route.fallback:
            cause = f"{route.agent} has the fallback {standing_in[route.agent]} already"
            yield Problem(f"{place}.fallback", cause, "give an agent one fallback in an account")
    yield from _unreachable(path, account.routes)


def exposure_problems(path: str, settings: object, agents: Mapping[str, object]) -> Iterator[Problem]:
    """Agents that an account shows by their own names, where its kind knows such; its `agent` is a route's business."""
    for name in getattr(settings, "expose", ()):
        if name not in agents:
            yield _unknown_agent(f"{path}.expose", name, agents)


def _unknown_agent(setting: str, name: str, agents: Mapping[str, object]) -> Problem:
    """A setting that names an agent is right to be there: what is missing may be the agent, and never goes away."""
    if not name:
        return Problem(setting, "it names no agent", "name one of [agents.*]")
    missing = f"configure it as [agents.{name}]" if NAME.fullmatch(name) else "name one of [agents.*]"
    return unknown(setting, name, agents, "agent", missing=missing)


def _places(path: str, account: AccountSettings) -> Iterator[tuple[str, AccountSettings | RouteSettings]]:
    yield path, account
    for number, route in enumerate(account.routes):
        yield f"{path}.routes.{number}", route


def _unreachable(path: str, routes: tuple[RouteSettings, ...]) -> Iterator[Problem]:
    for number, route in enumerate(routes):
        earlier = next((n for n, other in enumerate(routes[:number]) if other.takes_all_of(route)), None)
        if earlier is not None:
            cause = f"it can never take a message: {path}.routes.{earlier} above takes all of them"
            yield Problem(f"{path}.routes.{number}", cause, "put it above that one, or remove it")
