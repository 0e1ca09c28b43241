"""What is said of an agent to its callers: a plain value, out of settings or out of a remote agent's own card.

A remote agent's card is data from a stranger. Its words are kept as words, capped; its URLs, security and extensions
are not: callers come to the gateway, authenticate with it, and get from it what it offers.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from a2a.server.settings import CardSettings, SkillSettings
from core.clock import Clock, Instant
from core.followed import CardOf

INPUT_MODES = ("text/plain", "application/json", "*/*")
OUTPUT_MODES = ("text/plain", "application/json")
VERSION = version("frontdesk")
MOST_SKILLS = 200
_LINE, _TEXT, _URL = 200, 4000, 2048  # characters kept of a name, of a description, of a URL


@dataclass(frozen=True, slots=True)
class Skill:
    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()  # () for those of the agent
    output_modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """`changed` is when it last became another, as far as is known."""

    name: str
    description: str
    version: str
    changed: Instant
    provider: tuple[str, str] | None = None  # organization and URL
    documentation_url: str = ""
    icon_url: str = ""
    skills: tuple[Skill, ...] = ()
    extended_skills: tuple[Skill, ...] = ()  # besides, for callers that are known
    input_modes: tuple[str, ...] = INPUT_MODES
    output_modes: tuple[str, ...] = OUTPUT_MODES


Describe = Callable[[str], Awaitable[Description]]
"""What is known of the agent of this name; does not raise, and answers fast: it keeps what it had to look for."""


class Describer:
    """Descriptions of agents out of the cards of their own, made anew only when these change."""

    def __init__(self, card_of: CardOf, clock: Clock) -> None:
        self._card_of, self._clock, self._began = card_of, clock, clock.now()
        self._known: dict[str, tuple[Mapping[str, Any], Description]] = {}

    async def describe(self, agent: str) -> Description:
        said = await self._card_of(agent)
        known = self._known.get(agent)
        if known is None or known[0] != said:
            changed = self._began if known is None else self._clock.now()
            known = self._known[agent] = said, of_card(said, known=plain(agent, VERSION, changed))
        return known[1]


def plain(agent: str, version: str, changed: Instant) -> Description:
    """Of an agent that nobody described, such as a local one."""
    return Description(name=agent, description=f"The agent {agent}.", version=version, changed=changed)


def of_card(card: Mapping[str, Any], *, known: Description) -> Description:
    """What a remote agent says of itself in its card, of 1.0 or 0.3; where it says nothing usable, what is known."""
    return replace(
        known,
        name=_words(card.get("name"), _LINE) or known.name,
        description=_words(card.get("description"), _TEXT) or known.description,
        version=_words(card.get("version"), _LINE) or known.version,
        provider=_provider(card.get("provider")) or known.provider,
        documentation_url=_url(card.get("documentationUrl")) or known.documentation_url,
        icon_url=_url(card.get("iconUrl")) or known.icon_url,
        skills=_skills(card.get("skills")) or known.skills,
        input_modes=_lines(card.get("defaultInputModes")) or known.input_modes,
        output_modes=_lines(card.get("defaultOutputModes")) or known.output_modes,
    )


def with_settings(known: Description, settings: CardSettings) -> Description:
    """What the operator wrote holds."""
    provider = settings.provider
    return replace(
        known,
        name=settings.name or known.name,
        description=settings.description or known.description,
        version=settings.version or known.version,
        provider=(provider.organization, provider.url) if provider else known.provider,
        documentation_url=settings.documentation_url or known.documentation_url,
        icon_url=settings.icon_url or known.icon_url,
        skills=_own(settings.skills) or known.skills,
        extended_skills=_own(settings.extended_skills) or known.extended_skills,
        input_modes=settings.input_modes or known.input_modes,
        output_modes=settings.output_modes or known.output_modes,
    )


def _own(skills: Iterable[SkillSettings]) -> tuple[Skill, ...]:
    return tuple(Skill(each.id, each.name, each.description, each.tags, each.examples) for each in skills)


def _skills(said: Any) -> tuple[Skill, ...]:
    listed = said[:MOST_SKILLS] if isinstance(said, list) else []
    return tuple(skill for each in listed if isinstance(each, dict) and (skill := _skill(each)) is not None)


def _skill(said: Mapping[str, Any]) -> Skill | None:
    """None for one without what a card must have of it (section 4.4.5)."""
    id, name = _words(said.get("id"), _LINE), _words(said.get("name"), _LINE)
    if not id:
        return None
    return Skill(
        id,
        name or id,
        _words(said.get("description"), _TEXT) or name or id,
        _lines(said.get("tags")) or (id,),
        _lines(said.get("examples"), longest=_TEXT),
        _lines(said.get("inputModes")),
        _lines(said.get("outputModes")),
    )


def _provider(said: Any) -> tuple[str, str] | None:
    if not isinstance(said, dict):
        return None
    organization, url = _words(said.get("organization"), _LINE), _url(said.get("url"))
    return (organization, url) if organization and url else None


def _lines(said: Any, *, longest: int = _LINE) -> tuple[str, ...]:
    listed = said[:50] if isinstance(said, list) else []
    return tuple(words for each in listed if (words := _words(each, longest)))


def _words(said: Any, longest: int) -> str:
    """Without what could change how the text around it is read or shown."""
    if not isinstance(said, str):
        return ""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in said[:longest]).strip()


def _url(said: Any) -> str:
    words = _words(said, _URL)
    return words if words.startswith(("https://", "http://")) and " " not in words else ""
