"""Environment variables that look like ours and that nothing reads: most are a setting with one underscore too few."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches

from pydantic import BaseModel

from config.settings import GatewaySettings
from config.shape import fields_of
from config.sources import OVERRIDE, as_variable

PREFIX = "FRONTDESK_"
OTHERS = frozenset({"FRONTDESK_CONFIG", "FRONTDESK_CRASHPOINT"})
# What Kubernetes gives every container beside a service called frontdesk (documentation, "Service environment
# variables"); FRONTDESK_PORT is then an address.
_OF_A_CLUSTER = re.compile(r"FRONTDESK_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def unread(
    environ: Mapping[str, str], referred: Collection[str], entries: Mapping[str, Mapping[str, type[BaseModel]]]
) -> Iterator[str]:
    """A warning for each. `referred` are those named by `env:`; `entries` the models of each section, by name."""
    known = [*sorted(OTHERS), *_settings("gateway", GatewaySettings)]
    for section, models in entries.items():
        for name, model in models.items():
            known += _settings(f"{section}__{as_variable(name)}", model)
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and not _is_read(variable, environ[variable], referred):
            close = _meant(variable, known)
            hint = f"did you mean {close}?" if close else "a setting is written FRONTDESK_GATEWAY__KEY"
            yield f"the environment variable {variable} is read by nothing; {hint}"


def _is_read(variable: str, value: str, referred: Collection[str]) -> bool:
    is_of_a_cluster = _OF_A_CLUSTER.fullmatch(variable) or (variable == "FRONTDESK_PORT" and _ADDRESS.match(value))
    is_ours = variable in OTHERS or variable in referred or OVERRIDE.fullmatch(variable)
    return bool(is_ours or is_of_a_cluster)


def _settings(path: str, model: type[BaseModel]) -> Iterable[str]:
    return [f"{PREFIX}{path.upper()}__{key.upper()}" for key in fields_of((model,))]


def _meant(variable: str, known: Iterable[str]) -> str:
    """The one that differs by underscores, by its section left out, or a little; "" where none does."""
    flat = {_flat(each): each for each in known}
    key = variable.removeprefix(PREFIX).strip("_").upper()
    section_left_out = next((each for each in flat.values() if each.endswith(f"GATEWAY__{key}")), "")
    close = get_close_matches(_flat(variable.upper()), flat, n=1, cutoff=0.8)
    return flat.get(_flat(variable.upper())) or section_left_out or (flat[close[0]] if close else "")


def _flat(variable: str) -> str:
    return re.sub("_+", "_", variable)
