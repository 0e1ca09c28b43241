"""The cards of exposed agents (A2A 1.0, sections 4.4 and 8): of 1.0, with the fields of 0.3 beside them if wished.

Callers of either version find what they look for: `supportedInterfaces` those of 1.0; `url`, `preferredTransport` and
`additionalInterfaces` those of 0.3. A scheme of `securitySchemes` holds both forms in one object.
"""

from collections.abc import Iterable
from typing import Any

from a2a import wire, wire_03
from a2a.server.descriptions import Description, Skill
from a2a.server.settings import A2AServerSettings

Json = dict[str, Any]

WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")  # the second until 0.2

_OLD_VERSION = "0.3.0"  # as cards of 0.3 write it
_BINDINGS = ("JSONRPC", "HTTP+JSON")  # best first


def path_of(agent: str) -> str:
    """Where the agent is called: JSON-RPC at it, HTTP+JSON below it."""
    return f"/a2a/{agent}"


def card(description: Description, url: str, settings: A2AServerSettings, *, is_extended: bool = False) -> Json:
    """`url` is the agent's, under which every interface of it is."""
    skills = description.skills + (description.extended_skills if is_extended else ())
    said: Json = {
        "name": description.name,
        "description": description.description,
        "version": description.version,
        "supportedInterfaces": [_interface(url, *each) for each in _interfaces()],
        "capabilities": _capabilities(settings),
        "defaultInputModes": list(description.input_modes),
        "defaultOutputModes": list(description.output_modes),
        "skills": [_skill(each) for each in skills or (_only_skill(description),)],
        **(_old_interfaces(url) if settings.hybrid_card else {}),
        **_security(settings),
    }
    if description.provider is not None:
        said["provider"] = dict(zip(("organization", "url"), description.provider, strict=True))
    if description.documentation_url:
        said["documentationUrl"] = description.documentation_url
    if description.icon_url:
        said["iconUrl"] = description.icon_url
    if settings.extended_card and settings.hybrid_card:
        said["supportsAuthenticatedExtendedCard"] = True
    return said


def _interfaces() -> Iterable[tuple[str, str]]:
    """Best first (section 4.4.6)."""
    for version in (wire.PROTOCOL_VERSION, wire_03.PROTOCOL_VERSION):
        for binding in _BINDINGS:
            yield binding, version


def _interface(url: str, binding: str, version: str) -> Json:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def _old_interfaces(url: str) -> Json:
    """The preferred one is listed again, as 0.3 wishes (its section 5.6.2)."""
    listed = [{"url": url, "transport": binding} for binding in _BINDINGS]
    return {
        "url": url,
        "preferredTransport": _BINDINGS[0],
        "additionalInterfaces": listed,
        "protocolVersion": _OLD_VERSION,
    }


def _capabilities(settings: A2AServerSettings) -> Json:
    said: Json = {
        "streaming": settings.streaming,
        "pushNotifications": settings.push,
        "extendedAgentCard": settings.extended_card,
    }
    if settings.extensions:
        said["extensions"] = [
            {
                "uri": each.uri,
                "required": each.required,
                **({"description": each.description} if each.description else {}),
                **({"params": each.params} if each.params else {}),
            }
            for each in settings.extensions
        ]
    return said


def _security(settings: A2AServerSettings) -> Json:
    """What is accepted. Where strangers are let in, nothing is required, but what is known is told all the same."""
    schemes: Json = {}
    old: Json = {}
    if any(each.bearer for each in settings.callers):
        schemes["bearer"] = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
        old["bearer"] = {"type": "http", "scheme": "Bearer"}
    if any(each.key for each in settings.callers):
        key = settings.key_header
        schemes["apiKey"] = {"apiKeySecurityScheme": {"location": "header", "name": key}}
        old["apiKey"] = {"type": "apiKey", "in": "header", "name": key}
    if not schemes:
        return {}
    hybrid = {name: {**scheme, **old[name]} for name, scheme in schemes.items()}
    said: Json = {"securitySchemes": hybrid if settings.hybrid_card else schemes}
    if settings.anonymous == "off":
        said["securityRequirements"] = [{"schemes": {name: {"list": []}}} for name in schemes]
        if settings.hybrid_card:
            said["security"] = [{name: []} for name in schemes]
    return said


def _skill(skill: Skill) -> Json:
    said: Json = {"id": skill.id, "name": skill.name, "description": skill.description, "tags": list(skill.tags)}
    for name, values in (
        ("examples", skill.examples),
        ("inputModes", skill.input_modes),
        ("outputModes", skill.output_modes),
    ):
        if values:
            said[name] = list(values)
    return said


def _only_skill(description: Description) -> Skill:
    """A card has at least one skill (section 4.4.1)."""
    return Skill("chat", description.name, description.description, ("chat",))
