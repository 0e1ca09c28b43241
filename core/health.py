"""How an account is doing, for the operator: one state, a note on the last trouble, and counts."""

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

S = TypeVar("S", bound=str)

QUIET = frozenset({"starting", "receiving"})  # states that ask nothing of the operator


@dataclass(slots=True)
class AccountHealth(Generic[S]):
    """What channels have in common; each names its kind and its states, and says what its trouble is."""

    kind: ClassVar[str]

    account: str
    mode: str
    state: S
    note: str = ""  # what an operator should know or do; "" when all is well
    counts: Counter[str] = field(default_factory=Counter)

    def becomes(self, state: S, note: str = "") -> None:
        """Say a change once, however often it is found again."""
        if state == self.state and note == self.note:
            return
        is_news = state != self.state
        self.state, self.note = state, note
        if is_news and state not in QUIET:
            self.log.warning("%s account %s is %s: %s", self.kind, self.account, state, note)
        elif is_news:
            self.log.info("%s account %s is %s", self.kind, self.account, state)

    @property
    def log(self) -> logging.Logger:
        return logging.getLogger(f"frontdesk.{self.kind}")

    @property
    def trouble(self) -> str:
        """What keeps the account from receiving or showing, with the remedy; "" when nothing does."""
        return ""

    def report(self) -> dict[str, object]:
        said = {"state": self.state, "mode": self.mode, "note": self.note, "trouble": self.trouble}
        return {**said, "counts": dict(self.counts)}
