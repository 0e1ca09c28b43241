"""The gateway's seal: AES-256-GCM with a key made of `gateway.secret_key`, as configured or kept beside the database.

The place a secret belongs to is authenticated with it, so that what is stored for one cannot be put in the place of
another.
"""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.seal import SealBroken
from gateway.kept_secret import KeptSecret

SECRET_KEY = KeptSecret("secret-key", "secret_key", "key")
_NONCE = 12  # bytes, random: NIST SP 800-38D, 8.2.2 allows 2^32 of them for one key
_VERSION = "1."


class KeySeal:
    """As a core.seal.Seal."""

    def __init__(self, secret_key: str) -> None:
        derived = HKDF(SHA256(), length=32, salt=None, info=b"frontdesk stored secrets").derive(secret_key.encode())
        self._cipher = AESGCM(derived)

    def close(self, secret: str, place: str) -> str:
        nonce = os.urandom(_NONCE)
        closed = self._cipher.encrypt(nonce, secret.encode(), place.encode())
        return _VERSION + urlsafe_b64encode(nonce + closed).decode()

    def open(self, closed: str, place: str) -> str:
        try:
            if not closed.startswith(_VERSION):
                raise ValueError("it was closed in no known way")
            raw = urlsafe_b64decode(closed.removeprefix(_VERSION))
            return self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], place.encode()).decode()
        except (ValueError, InvalidTag) as error:
            raise SealBroken("it cannot be read with the present gateway.secret_key") from error
