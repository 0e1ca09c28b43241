"""wechatpy as a peer: runs inside .peers/wechatpy, reads jobs as lines of JSON, and writes what it made of each.

{"seal": words, "nonce": ..., "timestamp": ...} gives the reply that wechatpy would send; {"open": body, "signature":
..., "nonce": ..., "timestamp": ...} what it reads of one of ours, as a message where it is one.
"""

import json
import sys

import xmltodict
from wechatpy import parse_message
from wechatpy.crypto import WeChatCrypto
from wechatpy.exceptions import InvalidAppIdException, InvalidSignatureException


def main() -> None:
    token, aes_key, app_id = sys.argv[1:4]
    crypto = WeChatCrypto(token, aes_key, app_id)
    for line in sys.stdin:
        print(json.dumps(done(crypto, json.loads(line))), flush=True)


def done(crypto: WeChatCrypto, job: dict[str, str]) -> dict[str, object]:
    if "seal" in job:
        return {"body": crypto.encrypt_message(job["seal"], job["nonce"], job["timestamp"])}
    try:
        words = crypto.decrypt_message(job["open"], job["signature"], job["timestamp"], job["nonce"])
    except (InvalidSignatureException, InvalidAppIdException) as error:
        return {"refused": type(error).__name__}
    words = words if isinstance(words, str) else words.decode()
    message = parse_message(words)
    said = {"type": message.type, "content": getattr(message, "content", None), "source": message.source}
    return {"words": words, "fields": xmltodict.parse(words)["xml"], **said}


main()
