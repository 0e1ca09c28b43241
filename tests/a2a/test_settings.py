"""The table of one remote agent: what is accepted, what is refused, and what is never shown."""

from typing import Any

import pytest
from pydantic import ValidationError

from a2a import A2AAgentSettings
from a2a.bindings import bindings
from a2a.card import SPOKEN
from a2a.credentials import configured

CARD = "https://agents.example.com/.well-known/agent-card.json"


def settings(**given: Any) -> A2AAgentSettings:
    return A2AAgentSettings.model_validate({"kind": "a2a", "card": CARD, **given})


def test_only_the_card_must_be_given_and_the_rest_is_closed() -> None:
    known = settings()
    assert (known.allow_private_network, known.resubmit, known.auth) == (False, "never", None)
    assert (known.fallback, known.allow_origins, known.extensions) == (False, (), ())


def test_every_binding_that_is_spoken_may_be_used_and_the_newest_json_rpc_first() -> None:
    assert settings().interfaces == SPOKEN == tuple(bindings())


@pytest.mark.parametrize(
    "given",
    [
        {"card": "file:///etc/hosts"},
        {"card": "https://user:word@agents.example.com/"},
        {"card": "https://agents.example.com/#part"},
        {"url": "agents.example.com"},
        {"resubmit": "always"},
        {"idle_timeout": 0},
        {"max_calls": 0},
        {"interfaces": []},
        {"interfaces": ["GRPC/1.0"]},
        {"interfaces": ["JSONRPC/1.0", "JSONRPC/1.0"]},
        {"allow_origins": ["agents.example.com"]},
        {"allow_origins": ["https://agents.example.com/a2a"]},
        {"extensions": ["https://ext.example/a,https://ext.example/b"]},
        {"extensions": ["https://ext.example/a\r\nX-Evil: line"]},
        {"autn": {"kind": "bearer", "token": "x"}},
        {"auth": {"kind": "bearer", "token": ""}},
        {"auth": {"kind": "bearer", "token": "two\r\nX-Evil: lines"}},
        {"auth": {"kind": "api_key", "name": "Host", "value": "k"}},
        {"auth": {"kind": "api_key", "name": "a b", "value": "k"}},
        {"auth": {"kind": "api_key", "in": "query", "name": "a&b", "value": "k"}},
        {"auth": {"kind": "api_key", "in": "cookie", "name": "k", "value": "a; b=c"}},
        {"auth": {"kind": "api_key", "in": "body", "name": "k", "value": "k"}},
        {"auth": {"kind": "api_key", "name": "A2A-Extensions", "value": "k"}},
        {"auth": {"kind": "several", "of": []}},
        {"auth": {"kind": "several", "of": [{"kind": "several", "of": [{"kind": "bearer", "token": "x"}]}]}},
    ],
    ids=str,
)
def test_what_cannot_work_is_refused_when_it_is_read(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings(**given)


@pytest.mark.parametrize(
    "auth",
    [
        {"kind": "bearer", "token": "s3cret-value"},
        {"kind": "api_key", "name": "X-API-Key", "in": "header", "value": "s3cret-value"},
        {"kind": "api_key", "name": "key", "in": "query", "value": "s3cret-value"},
        {"kind": "api_key", "name": "key", "in": "cookie", "value": "s3cret-value"},
        {"kind": "several", "of": [{"kind": "bearer", "token": "s3cret-value"}]},
    ],
    ids=lambda auth: f"{auth['kind']} {auth.get('in', '')}",
)
async def test_a_secret_is_in_no_repr(auth: dict[str, Any]) -> None:
    known = settings(auth=auth)
    credentials = configured(known.auth)
    shown = f"{known!r} {known} {known.model_dump_json()} {credentials!r} {await credentials.current(())!r}"
    assert "s3cret" not in shown


def test_a_secret_is_not_in_the_error_about_it() -> None:
    with pytest.raises(ValidationError) as raised:
        settings(auth={"kind": "api_key", "in": "cookie", "name": "k", "value": "s3cret value"})
    assert "s3cret" not in str(raised.value)
