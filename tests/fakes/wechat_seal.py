"""The platform's side of signatures and cipher, written anew, so that the gateway's is not checked by itself."""

import base64
import hashlib
import os
import re
import struct
from xml.sax.saxutils import escape

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def sign(*members: str) -> str:
    return hashlib.sha1("".join(sorted(members)).encode()).hexdigest()


def seal(words: str, aes_key: str, app_id: str) -> str:
    key = base64.b64decode(aes_key + "=")
    body = words.encode()
    plain = os.urandom(16) + struct.pack(">I", len(body)) + body + app_id.encode()
    padder = padding.PKCS7(256).padder()
    encryptor = Cipher(algorithms.AES(key), modes.CBC(key[:16])).encryptor()
    return base64.b64encode(encryptor.update(padder.update(plain) + padder.finalize()) + encryptor.finalize()).decode()


def unseal(sealed: str, aes_key: str) -> tuple[str, str]:
    """The words and the AppID behind them."""
    key = base64.b64decode(aes_key + "=")
    decryptor = Cipher(algorithms.AES(key), modes.CBC(key[:16])).decryptor()
    unpadder = padding.PKCS7(256).unpadder()
    padded = decryptor.update(base64.b64decode(sealed)) + decryptor.finalize()
    plain = unpadder.update(padded) + unpadder.finalize()
    (length,) = struct.unpack(">I", plain[16:20])
    return plain[20 : 20 + length].decode(), plain[20 + length :].decode()


def element(name: str, value: object) -> str:
    """Numbers bare and words in CDATA, as the platform writes them; nested elements are given as dictionaries."""
    if isinstance(value, dict):
        return f"<{name}>{''.join(element(*item) for item in value.items())}</{name}>"
    if isinstance(value, int | float):
        return f"<{name}>{value}</{name}>"
    text = str(value)
    return f"<{name}>{escape(text)}</{name}>" if "]]>" in text else f"<{name}><![CDATA[{text}]]></{name}>"


def field(xml: str, name: str) -> str | None:
    """The words of an element in a reply; CDATA sections that were split are one again."""
    match = re.search(rf"<{name}>(.*?)</{name}>", xml, re.DOTALL)
    if match is None:
        return None
    return "".join(re.findall(r"<!\[CDATA\[(.*?)\]\]>", match[1], re.DOTALL)) or match[1]
