"""The A2A protocol: remote agents as agents of the gateway."""

from a2a.card import CardView
from a2a.client import RemoteAgent, make
from a2a.settings import A2AAgentSettings

KIND = "a2a"

__all__ = ("KIND", "A2AAgentSettings", "CardView", "RemoteAgent", "make")
