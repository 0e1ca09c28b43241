"""A secret that the gateway made for itself: as configured, else one made at the first start beside the database.

Whoever can read the file has the secret, so it is made unreadable for others from its first instant, and a file that
others can read is refused. It appears whole or not at all: two processes that start together agree on one.
"""

import errno
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from config.settings import LEAST_TOKEN, GatewaySettings
from core.errors import ConfigurationError

RANDOM_BYTES = 32  # 256 bits cannot be guessed over a network
_READ_LIMIT = 4096  # bytes


@dataclass(frozen=True, slots=True)
class KeptSecret:
    file: str  # its name, beside the database
    setting: str  # of `[gateway]`, in which it may stand instead
    noun: str

    def path(self, gateway: GatewaySettings) -> Path:
        return gateway.database.parent / self.file

    def ensure(self, gateway: GatewaySettings) -> str:
        """The secret of this gateway, made now if there is none. Raises ConfigurationError when its file is unsafe."""
        return self.find(gateway) or self._create(self.path(gateway))

    def find(self, gateway: GatewaySettings) -> str | None:
        """As configured or as kept; None when none was made yet. Raises ConfigurationError for an unsafe file."""
        configured = getattr(gateway, self.setting)
        if isinstance(configured, SecretStr):
            return configured.get_secret_value()
        path = self.path(gateway)
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                secret = file.read(_READ_LIMIT).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(path, f"cannot be read: {error.strerror}", "let the gateway's user read it") from error
        if stat.S_IMODE(mode) & 0o077:
            raise self._unusable(path, "can be read by others", f"chmod 600 {path}")
        if len(secret) < LEAST_TOKEN or not secret.isascii():
            raise self._unusable(path, f"holds no {self.noun}", f"remove {path}; the next start makes a new one")
        return secret

    def check(self, gateway: GatewaySettings) -> None:
        """Whether the start would have one; makes none. Raises ConfigurationError as `ensure` does."""
        path = self.path(gateway)
        if self.find(gateway) is None and path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK):
            raise self._unusable(path, f"cannot be written: {os.strerror(errno.EACCES)}", "make its folder writable")

    def _create(self, path: Path) -> str:
        secret = secrets.token_urlsafe(RANDOM_BYTES)
        draft = path.with_name(f".{self.file}.{secrets.token_hex(8)}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secret + "\n")
                file.flush()
                os.fsync(file.fileno())
            return _publish(draft, path, secret)
        except OSError as error:
            raise self._unusable(path, f"cannot be written: {error.strerror}", "make its folder writable") from error
        finally:
            draft.unlink(missing_ok=True)

    def _unusable(self, path: Path, cause: str, remedy: str) -> ConfigurationError:
        setting = f"gateway.{self.setting}"
        return ConfigurationError(f"{path} {cause}; {remedy}, or set {setting}", setting=setting)


def _publish(draft: Path, path: Path, secret: str) -> str:
    """A link fails when the name is taken, where a rename would replace the secret another process already uses."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_text().strip()
    return secret
