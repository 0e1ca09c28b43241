"""One path belongs to one account: a request is told apart by where it was sent, never by which secret fits.

Were two accounts on one path, the first whose secret matched would answer, and a leaked secret would open both.
"""

from collections.abc import Iterable, Mapping

from aiohttp.web import AbstractRouteDef, RouteDef

from config.problems import ConfigurationProblems, Problem

Routes = Mapping[str, Iterable[AbstractRouteDef]]


def distinct_routes(routes: Routes) -> list[AbstractRouteDef]:
    """The routes of all accounts in order. Raises ConfigurationProblems when two would answer the same requests."""
    kept = {account: list(own) for account, own in routes.items()}
    if found := clashes(kept):
        raise ConfigurationProblems("the accounts' paths", found)
    return [route for own in kept.values() for route in own]


def clashes(routes: Routes) -> list[Problem]:
    """One problem for each pair of accounts, however many paths they share."""
    owners: dict[tuple[str, str], str] = {}
    found: dict[tuple[str, str], Problem] = {}
    for account, own in routes.items():
        for route in own:
            if isinstance(route, RouteDef):
                other = owners.setdefault((route.method, route.path), account)
                if other != account:
                    found.setdefault((account, other), _clash(account, other, route))
    return list(found.values())


def _clash(account: str, other: str, route: RouteDef) -> Problem:
    cause = f"plugins.{other} answers {route.method} {route.path} too"
    return Problem(f"plugins.{account}", cause, "take out of one of them what both offer, or remove it")
