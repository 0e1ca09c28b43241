"""The cipher agrees with Tencent's own library and with wechatpy, both ways, and every fault is one error."""

import asyncio
import base64
import json
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from plugins.wechat import xml
from plugins.wechat.cipher import BadSeal, Seal, is_signature, opened, signature
from tests.fakes.wechat import AES_KEY, APP_ID, TOKEN
from tests.fakes.wechat_seal import seal, sign, unseal
from tests.peers.processes import ROOT, peer_program, peer_script

SEAL = Seal(AES_KEY, APP_ID)
OTHER = Seal("ZYXWVUTSRQPONMLKJIHGFEDCBA9876543210zyxwvu8", APP_ID)
# 69 lengths in a row have each of the 32 paddings twice.
WORDS = ["x", "hello", "你好，世界", "😀" * 40, "<![CDATA[not a section", "]]>", *("a" * n for n in range(1, 70))]
AT, NONCE = "1409735669", "nonce1"
QUERY = {"nonce": NONCE, "timestamp": AT}


class Side(NamedTuple):
    """Who seals and opens beside Tencent's library."""

    close: Callable[[str], str]
    open: Callable[[str], str]
    sign: Callable[..., str]


GATEWAY = Side(lambda words: SEAL.close(words.encode()), lambda sealed: SEAL.open(sealed).decode(), signature)
PLATFORM = Side(lambda words: seal(words, AES_KEY, APP_ID), lambda sealed: unseal(sealed, AES_KEY)[0], sign)
BOTH_SIDES = pytest.mark.parametrize("side", [GATEWAY, PLATFORM], ids=["gateway", "platform of the tests"])


@BOTH_SIDES
@pytest.mark.peer("javascript")
async def test_what_was_sealed_here_tencents_library_reads_and_would_write_alike(side: Side) -> None:
    sealed = [side.close(words) for words in WORDS]
    read = await tencents([{"open": each, **QUERY} for each in sealed])
    assert [(each["words"], each["id"]) for each in read] == [(words, APP_ID) for words in WORDS]
    assert [each["signature"] for each in read] == [side.sign(TOKEN, AT, NONCE, each) for each in sealed]
    jobs = [{"seal": each["words"], "id": APP_ID, "random": each["random"], **QUERY} for each in read]
    assert [each["sealed"] for each in await tencents(jobs)] == sealed


@BOTH_SIDES
@pytest.mark.peer("javascript")
async def test_what_tencents_library_sealed_is_opened_here(side: Side) -> None:
    written = await tencents([{"seal": words, "id": APP_ID, **QUERY} for words in WORDS])
    assert [side.open(each["sealed"]) for each in written] == WORDS
    assert [side.sign(TOKEN, AT, NONCE, each["sealed"]) for each in written] == [each["signature"] for each in written]


@pytest.mark.case("WX-21")
@pytest.mark.peer("javascript")
async def test_what_tencents_library_sealed_for_another_receiver_is_refused() -> None:
    receivers = ["", "wxffffffffffffffff", APP_ID[:-1], APP_ID + "0", APP_ID.upper(), "公众号", APP_ID]
    *others, own = await tencents([{"seal": "hello", "id": receiver, **QUERY} for receiver in receivers])
    assert SEAL.open(own["sealed"]) == b"hello"
    for other in others:
        with pytest.raises(BadSeal):
            SEAL.open(other["sealed"])


@pytest.mark.peer("wechatpy")
async def test_wechatpy_opens_what_was_sealed_here_and_the_other_way_round() -> None:
    plain = [message(words) for words in WORDS]
    sealed = [SEAL.close(words.encode()) for words in plain]
    bodies = [xml.write({"ToUserName": "gh", "Encrypt": each}) for each in sealed]
    jobs = [{"open": body, "signature": of(each), **QUERY} for body, each in zip(bodies, sealed, strict=True)]
    jobs += [{"seal": words, **QUERY} for words in plain]
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
    program = [peer_program("wechatpy", "python"), "-P", str(ROOT / "tests" / "peers" / "wechatpy_reader.py")]
    return await answers([*program, TOKEN, AES_KEY, APP_ID], jobs)


async def tencents(jobs: list[dict[str, str]]) -> list[dict[str, str]]:
    return await answers([*peer_script("javascript", "wecom_crypto.mjs"), TOKEN, AES_KEY], jobs)


async def answers(program: list[str], jobs: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What the peer makes of these jobs."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe)
    out, _ = await process.communicate("".join(json.dumps(job) + "\n" for job in jobs).encode())
    return [json.loads(line) for line in out.splitlines()]


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
