"""What closes the secrets that the gateway has to store and to show again, such as the ones of a push address.

The process lends it to the accounts; the key is the gateway's own and stays there.
"""

from typing import Protocol


class SealBroken(Exception):
    """What was stored cannot be read: it was closed with another key or for another place, or was changed."""


class Seal(Protocol):
    def close(self, secret: str, place: str) -> str:
        """Text that says nothing without the key. `place` names the one thing whose secret it is."""
        ...

    def open(self, closed: str, place: str) -> str:
        """Raises SealBroken."""
        ...


class NoSeal:
    """Closes nothing: for a host without a key."""

    def close(self, secret: str, place: str) -> str:
        del place
        return secret

    def open(self, closed: str, place: str) -> str:
        del place
        return closed
