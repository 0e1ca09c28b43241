"""The operator's token: as configured, else one made at the first start and kept beside the database.

Whoever can read the file can operate the gateway, so it is made unreadable for others from its first instant, and a
file that others can read is refused. It appears whole or not at all: two processes that start together agree on one.
"""

import errno
import hmac
import os
import secrets
import stat
from pathlib import Path

from config.settings import LEAST_TOKEN, GatewaySettings
from core.errors import ConfigurationError

FILE_NAME = "operator-token"
TOKEN_BYTES = 32  # random bytes; 256 bits cannot be guessed over a network
_READ_LIMIT = 4096  # bytes


def token_path(gateway: GatewaySettings) -> Path:
    return gateway.database.parent / FILE_NAME


def ensure_token(gateway: GatewaySettings) -> str:
    """The token of this gateway, made now if there is none. Raises ConfigurationError when its file is unsafe."""
    return find_token(gateway) or _create(token_path(gateway))


def find_token(gateway: GatewaySettings) -> str | None:
    """The token as configured or as kept; None when none was made yet. Raises ConfigurationError for an unsafe file."""
    if gateway.operator_token is not None:
        return gateway.operator_token.get_secret_value()
    path = token_path(gateway)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read(_READ_LIMIT).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror}", "correct its permissions") from error
    if stat.S_IMODE(mode) & 0o077:
        raise _unusable(path, "can be read by others", f"chmod 600 {path}")
    if len(token) < LEAST_TOKEN or not token.isascii():
        raise _unusable(path, "holds no token", f"remove {path}; the next start makes a new one")
    return token


def check_token(gateway: GatewaySettings) -> None:
    """Whether the start would have a token; makes none. Raises ConfigurationError as `ensure_token` does."""
    path = token_path(gateway)
    if find_token(gateway) is None and path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK):
        raise _unusable(path, f"cannot be written: {os.strerror(errno.EACCES)}", "make its folder writable")


def is_operator(presented: str, token: str) -> bool:
    """Takes equally long for every wrong token of one length."""
    return hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), token.encode())


def _create(path: Path) -> str:
    token = secrets.token_urlsafe(TOKEN_BYTES)
    draft = path.with_name(f".{FILE_NAME}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        return _publish(draft, path, token)
    except OSError as error:
        raise _unusable(path, f"cannot be written: {error.strerror}", "make its folder writable") from error
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path, token: str) -> str:
    """A link fails when the name is taken, where a rename would replace the token another process already uses."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_text().strip()
    return token


def _unusable(path: Path, cause: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path} {cause}; {remedy}, or set gateway.operator_token", setting="gateway.operator_token"
    )
