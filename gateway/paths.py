"""One path belongs to one account: a request is told apart by where it was sent, never by which secret fits.

Were two accounts on one path, the first whose secret matched would answer, and a leaked secret would open both.
"""

from collections.abc import Iterable, Mapping

from aiohttp.web import AbstractRouteDef, RouteDef

from core.errors import ConfigurationError


def distinct_routes(routes: Mapping[str, Iterable[AbstractRouteDef]]) -> list[AbstractRouteDef]:
    """The routes of all accounts in order. Raises ConfigurationError when two would answer the same requests."""
    owners: dict[tuple[str, str], str] = {}
    together: list[AbstractRouteDef] = []
    for account, own in routes.items():
        for route in own:
            if isinstance(route, RouteDef):
                _claim(owners, account, route)
            together.append(route)
    return together


def _claim(owners: dict[tuple[str, str], str], account: str, route: RouteDef) -> None:
    other = owners.setdefault((route.method, route.path), account)
    if other != account:
        raise ConfigurationError(
            f"plugins.{account} and plugins.{other} would both answer {route.method} {route.path}; "
            "remove one of them, or give it a path of its own",
            setting=f"plugins.{account}",
        )
