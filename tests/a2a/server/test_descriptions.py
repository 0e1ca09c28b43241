"""What a remote agent's card may say of it at the gateway: words, capped; never where or how it is called."""

import pytest

from a2a.server.cards import card
from a2a.server.descriptions import INPUT_MODES, Describer, of_card, plain
from a2a.server.settings import A2AServerSettings
from tests.doubles.clock import ManualClock

KNOWN = plain("research", "1.0", 0.0)


def test_its_words_are_taken() -> None:
    said = {
        "name": "Researcher",
        "description": "Finds out.",
        "version": "3.2",
        "provider": {"organization": "They", "url": "https://they.example"},
        "skills": [{"id": "s", "name": "S", "description": "Does s.", "tags": ["t"], "examples": ["do it"]}],
        "defaultInputModes": ["text/plain", "image/png"],
        "defaultOutputModes": ["text/markdown"],
        "iconUrl": "https://they.example/icon.png",
    }
    description = of_card(said, known=KNOWN)
    assert (description.name, description.version) == ("Researcher", "3.2")
    assert description.provider == ("They", "https://they.example")
    assert description.input_modes == ("text/plain", "image/png")
    assert description.skills[0].examples == ("do it",)
    assert description.icon_url == "https://they.example/icon.png"


@pytest.mark.case("T32")
def test_its_addresses_security_and_extensions_are_not() -> None:
    said = {
        "name": "R",
        "url": "http://10.0.0.5/rpc",
        "supportedInterfaces": [{"url": "http://10.0.0.5", "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
        "additionalInterfaces": [{"url": "http://10.0.0.5", "transport": "GRPC"}],
        "securitySchemes": {"their": {"httpAuthSecurityScheme": {"scheme": "Basic"}}},
        "securityRequirements": [{"schemes": {"their": {"list": []}}}],
        "capabilities": {"extensions": [{"uri": "urn:theirs", "required": True}], "extendedAgentCard": True},
        "signatures": [{"protected": "x", "signature": "y"}],
    }
    made = card(of_card(said, known=KNOWN), "https://desk.example/a2a/research", A2AServerSettings(agent="research"))
    assert "10.0.0.5" not in str(made)
    assert "their" not in str(made)
    assert "signatures" not in made
    assert made["capabilities"] == {"streaming": True, "pushNotifications": True, "extendedAgentCard": False}


def test_what_is_not_as_it_should_be_is_what_was_known() -> None:
    said = {
        "name": 5,
        "description": None,
        "version": [],
        "provider": {"organization": "x"},
        "skills": [5, {"name": "no id"}, {"id": "ok"}],
        "defaultInputModes": "text/plain",
        "iconUrl": "javascript:alert(1)",
    }
    description = of_card(said, known=KNOWN)
    assert (description.name, description.description) == ("research", "The agent research.")
    assert (description.provider, description.icon_url, description.input_modes) == (None, "", INPUT_MODES)
    assert [(skill.id, skill.name, skill.tags) for skill in description.skills] == [("ok", "ok", ("ok",))]


@pytest.mark.case("A2A-26")
def test_long_and_odd_words_are_cut() -> None:
    said = {"name": "a\u202e\x00" + "x" * 1000, "description": "y" * 10_000, "skills": [{"id": "s"}] * 1000}
    description = of_card(said, known=KNOWN)
    assert description.name == "a  " + "x" * 197
    assert (len(description.description), len(description.skills)) == (4000, 200)


async def test_a_description_becomes_another_only_when_the_agents_card_does() -> None:
    clock, cards = ManualClock(), [{"name": "One"}, {"name": "One"}, {"name": "Two"}]

    async def card_of(_agent: str) -> dict[str, str]:
        return cards.pop(0)

    describer = Describer(card_of, clock)
    began = clock.time
    clock.time += 60
    first, second, third = [await describer.describe("research") for _ in range(3)]

    assert first is second
    assert (first.name, first.changed) == ("One", began)
    assert (third.name, third.changed) == ("Two", began + 60)
