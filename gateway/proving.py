"""Everything a start would refuse, found without starting: `frontdesk check`, `frontdesk run` and SIGHUP ask the same.

`proved` makes every agent and account of the settings as the start does, and puts their paths together; making them
does no I/O. `surroundings` looks at what the machine has to give: the store's place, the token's file, the address.
Whatever is found bears the words that the start itself would end with.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from config.loading import load
from config.problems import ConfigurationProblems, Problem
from config.settings import GatewaySettings, Settings
from core.clock import SystemClock
from core.doors.ingress import Ingress
from core.doors.outbound import GuardedClient
from core.errors import ConfigurationError
from core.followed import FollowedWork
from core.ids import new_id
from core.plugin import Host
from gateway import catalogue
from gateway.composition import lent, make_delegate, make_plugin
from gateway.operator_token import OPERATOR_TOKEN
from gateway.paths import clashes
from gateway.sealing import SECRET_KEY
from gateway.store.sqlite import SqliteStore
from gateway.store.sqlite.opening import look


def proved(config: Path | None) -> Settings:
    """Settings from which a gateway can be made. Raises ConfigurationProblems with all that is wrong."""
    settings = load(catalogue.kinds(), config=config)
    if found := list(_rehearsal(settings)):
        raise ConfigurationProblems(settings.origin, found)
    return settings


def surroundings(settings: Settings) -> None:
    """Raises ConfigurationProblems for what this machine would refuse the start.

    A port that is taken is no such thing: the gateway itself may be running.
    """
    gateway = settings.gateway
    looks = (
        lambda: look(gateway.database),
        lambda: OPERATOR_TOKEN.check(gateway),
        lambda: SECRET_KEY.check(gateway),
        lambda: _address(gateway),
    )
    if found := [problem for each in looks for problem in _refused(each)]:
        raise ConfigurationProblems(settings.origin, found)


def not_listening(gateway: GatewaySettings, error: OSError) -> str:
    """The words for a socket that cannot be opened."""
    cause = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
    return (
        f"cannot listen on {gateway.host}:{gateway.port}: {cause}; stop what uses it, or set gateway.host and "
        "gateway.port (FRONTDESK_GATEWAY__PORT) to what is free on this machine"
    )


def _rehearsal(settings: Settings) -> Iterator[Problem]:
    """Each agent and each account is made, and their paths put together, as the start does it."""
    host, tasks = _host(settings), asyncio.TaskGroup()
    for agent in settings.agents.values():
        yield from _refused(lambda agent=agent: make_delegate(agent, host, tasks))  # type: ignore[misc]
    routes = {}
    for name, own in lent(settings.plugins, host).items():
        try:
            routes[name] = list(make_plugin(settings.plugins[name], own).routes(Ingress()))
        except ConfigurationError as error:
            yield from _problems(error)
    yield from clashes(routes)


def _host(settings: Settings) -> Host:
    """What accounts are lent at a start; nothing of it is opened, and nothing runs."""
    store, clock = SqliteStore(settings.gateway.database), SystemClock()
    host = Host(GuardedClient(), store, store, store, clock, new_id(), settings.gateway.public_url)
    return replace(host, following=FollowedWork(store, _nobody, _nobody, clock))


def _nobody() -> NoReturn:
    raise RuntimeError("a plugin asked for work to be followed while it was made; that is for its `run`")


def _address(gateway: GatewaySettings) -> None:
    """Binds and closes; it never listens, so that nobody is kept from the port."""
    try:
        found = socket.getaddrinfo(gateway.host, gateway.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with closing(socket.socket(family, kind, protocol)) as place:
                place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                place.bind(address)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise ConfigurationError(not_listening(gateway, error), setting="gateway.host") from error


def _refused(make: Callable[[], object]) -> list[Problem]:
    try:
        make()
    except ConfigurationError as error:
        return _problems(error)
    return []


def _problems(error: ConfigurationError) -> list[Problem]:
    if isinstance(error, ConfigurationProblems):
        return list(error.problems)
    cause, _, remedy = str(error).removeprefix(f"{error.setting}: ").partition("; ")
    return [Problem(error.setting, cause, remedy)]
