"""How the account is doing, for the operator: one state, a note on the last trouble, and counts."""

import logging
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from core.delivery import Refusal, Rejected
from plugins.wechat.codes import meaning_of
from plugins.wechat.failures import ApiFailure

State = Literal["starting", "receiving", "unreachable", "unauthorised", "no_permission"]

_SEALED_OTHERWISE = (
    "a push had the right token and could not be opened: check encoding_aes_key and app_id / "
    "推送的 Token 正确但无法解密：请检查 encoding_aes_key 与 app_id"
)
_ADDRESS = re.compile(r"invalid ip ([0-9a-fA-F.:]{3,45})")
_log = logging.getLogger("frontdesk.wechat")


@dataclass(slots=True)
class Health:
    account: str
    mode: str
    state: State = "starting"
    note: str = ""  # what an operator should know or do; "" when all is well
    counts: Counter[str] = field(default_factory=Counter)

    def becomes(self, state: State, note: str = "") -> None:
        """Say a change once, however often it is found again."""
        if state == self.state and note == self.note:
            return
        is_news = state != self.state
        self.state, self.note = state, note
        if is_news and state not in ("receiving", "starting"):
            _log.warning("wechat account %s is %s: %s", self.account, state, note)
        elif is_news:
            _log.info("wechat account %s is %s", self.account, state)

    def failed(self, failure: ApiFailure) -> None:
        """What of a failed call is the operator's to mend; the rest is the delivery's own."""
        if failure.code == 48001:
            self.becomes("no_permission", self._note(failure))
        elif isinstance(failure.outcome, Rejected) and failure.outcome.kind is Refusal.UNAUTHORISED:
            self.becomes("unauthorised", self._note(failure))
        elif failure.code is None:
            self.becomes("unreachable", failure.outcome.reason)

    def succeeded(self) -> None:
        if self.state in ("unreachable", "unauthorised", "no_permission"):
            self.becomes("receiving")

    def sealed_otherwise(self) -> None:
        """A push was signed with the Token, so by the platform or somebody who knows it, and could not be opened."""
        self.counts["unopened_pushes"] += 1
        self.note = _SEALED_OTHERWISE

    def opened(self) -> None:
        if self.note is _SEALED_OTHERWISE:
            self.note = ""

    @property
    def trouble(self) -> str:
        """What keeps it from receiving or showing, with the remedy; "" when nothing does."""
        return self.note if self.state in ("unreachable", "unauthorised") or self.note is _SEALED_OTHERWISE else ""

    def report(self) -> dict[str, object]:
        counts = dict(self.counts)
        return {"state": self.state, "mode": self.mode, "note": self.note, "trouble": self.trouble, "counts": counts}

    def _note(self, failure: ApiFailure) -> str:
        meaning = meaning_of(failure.code or 0)
        note = f"{failure.code}: {meaning.en} / {meaning.zh}"
        if failure.code == 40164 and (found := _ADDRESS.search(failure.said)):
            note += f"; add {found[1]} there (basic configuration, IP allow-list)"
        return note
