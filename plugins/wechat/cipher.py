"""Signatures and the cipher of WeChat's messages (developer guide, "message encryption and decryption", 2024-03).

A message is sealed as AES-256-CBC of: 16 random bytes, the length of the words (4 bytes, big-endian), the words, and
the AppID; padded by PKCS#7 to blocks of 32. The key is the EncodingAESKey read as base64, and its first half the
initial vector. A signature is the SHA-1 of its members in their order as text.

Whatever is wrong with a message is the one error `BadSeal`: who could tell a wrong padding from a wrong AppID would
have an oracle. Nothing is deciphered before its signature was verified.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

BLOCK = 32  # bytes; more than the cipher's own 16
_HEAD = 16  # random bytes before the length


class BadSeal(ValueError):
    """The signature or the cipher is not good; which of them, nobody is told."""

    def __init__(self) -> None:
        super().__init__("the signature or the cipher is not good")


def signature(*members: str) -> str:
    # SHA-1 is the platform's choice; the members are joined with the Token, which only both sides know.
    return hashlib.sha1("".join(sorted(members)).encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def is_signature(given: str, *members: str) -> bool:
    return hmac.compare_digest(signature(*members).encode(), given.encode("utf-8", "surrogateescape"))


class Seal:
    """One EncodingAESKey of one account. `app_id` is what stands behind the words: the AppID."""

    def __init__(self, encoding_aes_key: str, app_id: str) -> None:
        self._key, self._app_id = base64.b64decode(encoding_aes_key + "="), app_id.encode()

    def open(self, sealed: str) -> bytes:
        """The words. Raises BadSeal."""
        try:
            cipher = base64.b64decode(sealed, validate=True)
        except (binascii.Error, ValueError):
            raise BadSeal from None
        plain = self._decrypted(cipher)
        length = int.from_bytes(plain[_HEAD : _HEAD + 4], "big")
        words, app_id = plain[_HEAD + 4 : _HEAD + 4 + length], plain[_HEAD + 4 + length :]
        if len(words) != length or not hmac.compare_digest(app_id, self._app_id):
            raise BadSeal
        return words

    def close(self, words: bytes) -> str:
        plain = secrets.token_bytes(_HEAD) + len(words).to_bytes(4, "big") + words + self._app_id
        padding = BLOCK - len(plain) % BLOCK
        encryptor = self._cipher().encryptor()
        return base64.b64encode(encryptor.update(plain + bytes([padding]) * padding) + encryptor.finalize()).decode()

    def _decrypted(self, cipher: bytes) -> bytes:
        if not cipher or len(cipher) % 16:
            raise BadSeal
        decryptor = self._cipher().decryptor()
        padded = decryptor.update(cipher) + decryptor.finalize()
        padding = padded[-1]
        if not 1 <= padding <= BLOCK or padding > len(padded) or padded[-padding:] != bytes([padding]) * padding:
            raise BadSeal
        return padded[:-padding]

    def _cipher(self) -> Cipher[modes.CBC]:
        return Cipher(algorithms.AES(self._key), modes.CBC(self._key[:16]))


def opened(seals: Sequence[Seal], sealed: str) -> tuple[bytes, Seal]:
    """The words, and the seal they came under: the present key or, while it is changed, the one before."""
    for seal in seals:
        try:
            return seal.open(sealed), seal
        except BadSeal:
            continue
    raise BadSeal
