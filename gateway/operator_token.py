"""The operator's token: whoever has it can operate the gateway."""

import hmac
from pathlib import Path

from config.settings import GatewaySettings
from gateway.kept_secret import KeptSecret

OPERATOR_TOKEN = KeptSecret("operator-token", "operator_token", "token")


def token_path(gateway: GatewaySettings) -> Path:
    return OPERATOR_TOKEN.path(gateway)


def ensure_token(gateway: GatewaySettings) -> str:
    return OPERATOR_TOKEN.ensure(gateway)


def find_token(gateway: GatewaySettings) -> str | None:
    return OPERATOR_TOKEN.find(gateway)


def check_token(gateway: GatewaySettings) -> None:
    OPERATOR_TOKEN.check(gateway)


def is_operator(presented: str, token: str) -> bool:
    """Takes equally long for every wrong token of one length."""
    return hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), token.encode())
