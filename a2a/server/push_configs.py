"""Push notification configs as they are stored: an address with its settings, and the secrets among them closed."""

import json
from typing import Any

from msgspec.structs import asdict

from a2a.server.port import PushConfig
from core.followed import Target
from core.seal import Seal, SealBroken

_SECRETS = ("token", "credentials")
_ELSEWHERE = frozenset({"id", "task_id", "is_readable", *_SECRETS})


def settings_of(config: PushConfig, seal: Seal) -> dict[str, Any]:
    settings = {name: value for name, value in asdict(config).items() if name not in _ELSEWHERE and value}
    shown = {name: value for name in _SECRETS if (value := getattr(config, name))}
    sealed = {"sealed": seal.close(json.dumps(shown), _place(config.task_id, config.id))} if shown else {}
    return settings | sealed


def config_of(target: Target, seal: Seal) -> PushConfig:
    """Without its secrets, and not readable, where they do not open."""
    settings = {**target.settings, "setter": setter_of(target)}
    sealed = settings.pop("sealed", "")
    try:
        shown = json.loads(seal.open(sealed, _place(target.thread, target.id))) if sealed else {}
    except SealBroken:
        shown = {"is_readable": False}
    return PushConfig(id=target.id, task_id=target.thread, **settings, **shown)


def setter_of(target: Target) -> tuple[str, str]:
    """The caller who set it, by owner and name."""
    owner, name = target.settings.get("setter", ("", ""))
    return owner, name


def _place(task_id: str, config_id: str) -> str:
    return f"push config {config_id} of {task_id}"
