"""The cipher agrees with Tencent's own library and with wechatpy, both ways, and every fault is one error."""

import asyncio
import base64
import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from plugins.wechat import xml
from plugins.wechat.cipher import BadSeal, Seal, is_signature, opened, signature
from tests.fakes.wechat import AES_KEY, APP_ID, TOKEN
from tests.peers.processes import ROOT, peer_program

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "tencent_vectors.json").read_text("utf-8"))
SEAL = Seal(VECTORS["aes_key"], VECTORS["app_id"])
OTHER = Seal("ZYXWVUTSRQPONMLKJIHGFEDCBA9876543210zyxwvu8", APP_ID)
WORDS = ["x", "hello", "你好，世界", "😀" * 40, "<![CDATA[not a section", "]]>", *("a" * n for n in range(1, 70))]
AT, NONCE = "1409735669", "nonce1"


def signed(sealed: str) -> str:
    return signature(VECTORS["token"], VECTORS["timestamp"], VECTORS["nonce"], sealed)


@pytest.mark.parametrize("vector", VECTORS["sealed"], ids=lambda vector: vector["words"][:8])
def test_what_tencents_library_sealed_is_opened(vector: dict[str, str]) -> None:
    assert SEAL.open(vector["sealed"]).decode() == vector["words"]
    assert signed(vector["sealed"]) == vector["signature"]


@pytest.mark.parametrize("vector", VECTORS["read"], ids=lambda vector: vector["words"][:8])
def test_what_was_sealed_here_tencents_library_read_alike(vector: dict[str, str]) -> None:
    assert (SEAL.open(vector["sealed"]).decode(), vector["app_id"]) == (vector["words"], APP_ID)
    assert signed(vector["sealed"]) == vector["signature"]


@pytest.mark.peer("wechatpy")
async def test_wechatpy_opens_what_was_sealed_here_and_the_other_way_round() -> None:
    plain = [message(words) for words in WORDS]
    sealed = [SEAL.close(words.encode()) for words in plain]
    bodies = [xml.write({"ToUserName": "gh", "Encrypt": each}) for each in sealed]
    query = {"nonce": NONCE, "timestamp": AT}
    jobs = [{"open": body, "signature": of(each), **query} for body, each in zip(bodies, sealed, strict=True)]
    jobs += [{"seal": words, **query} for words in plain]
    jobs.append({**jobs[0], "signature": "0" * 40})
    *done, refused = await wechatpy(jobs)
    assert [each["words"] for each in done[: len(plain)]] == plain
    assert [each["content"] for each in done[: len(plain)]] == WORDS
    theirs = [xml.read(each["body"].encode()) for each in done[len(plain) :]]
    assert [SEAL.open(each["Encrypt"]).decode() for each in theirs] == plain
    assert all(is_signature(each["MsgSignature"], TOKEN, AT, NONCE, each["Encrypt"]) for each in theirs)
    assert refused == {"refused": "InvalidSignatureException"}


def message(words: str) -> str:
    fields: dict[str, str | int] = {
        "ToUserName": "gh_1",
        "FromUserName": "oU",
        "CreateTime": 1,
        "MsgType": "text",
        "Content": words,
    }
    return xml.write({**fields, "MsgType": "text", "Content": words, "MsgId": 7})


def of(sealed: str) -> str:
    return signature(TOKEN, AT, NONCE, sealed)


async def wechatpy(jobs: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What the peer makes of these jobs."""
    program = [peer_program("wechatpy", "python"), "-P", str(ROOT / "tests" / "peers" / "wechatpy_reader.py")]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, TOKEN, AES_KEY, APP_ID, stdin=pipe, stdout=pipe)
    out, _ = await process.communicate("".join(json.dumps(job) + "\n" for job in jobs).encode())
    return [json.loads(line) for line in out.decode().splitlines()]


def padded(plain: bytes, padding: bytes) -> str:
    encryptor = SEAL._cipher().encryptor()
    return base64.b64encode(encryptor.update(plain + padding) + encryptor.finalize()).decode()


GOOD = secrets.token_bytes(16) + (1).to_bytes(4, "big") + b"x" + APP_ID.encode()  # 39 bytes: 25 of padding


@pytest.mark.case("T13")
@pytest.mark.parametrize(
    "sealed",
    [
        "",
        "AAAA",
        "no base64",
        "汉",
        SEAL.close(b"x")[:-4],
        OTHER.close(b"x"),
        Seal(AES_KEY, "wxffffffffffffffff").close(b"x"),
        Seal(AES_KEY, "").close(b"x"),
        padded(GOOD, bytes(25)),
        padded(GOOD, bytes([40]) * 25),
        padded(GOOD, bytes([1]) * 24 + bytes([25])),
        padded(GOOD[:16] + (1 << 30).to_bytes(4, "big") + GOOD[20:], bytes([25]) * 25),
        padded(b"x" * 16, bytes([16]) * 16),
    ],
    ids=map(str, range(13)),  # since each run seals anew
)
def test_whatever_is_wrong_with_a_cipher_is_one_error(sealed: str) -> None:
    with pytest.raises(BadSeal, match="the signature or the cipher is not good"):
        SEAL.open(sealed)


def test_the_key_before_the_present_one_opens_what_it_sealed() -> None:
    assert opened([SEAL, OTHER], OTHER.close(b"old")) == (b"old", OTHER)
    with pytest.raises(BadSeal):
        opened([SEAL], OTHER.close(b"old"))


def test_two_seals_of_the_same_words_differ() -> None:
    assert SEAL.close(b"x") != SEAL.close(b"x")
