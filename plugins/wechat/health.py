"""What may be the matter with an Official Account, and what the operator does about it."""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from core.delivery import Refusal, Rejected
from core.health import AccountHealth
from plugins.wechat.codes import meaning_of
from plugins.wechat.failures import ApiFailure

State = Literal["starting", "receiving", "unreachable", "unauthorised", "no_permission"]

_SEALED_OTHERWISE = (
    "a push had the right token and could not be opened: check encoding_aes_key and app_id / "
    "推送的 Token 正确但无法解密：请检查 encoding_aes_key 与 app_id"
)
_ADDRESS = re.compile(r"invalid ip ([0-9a-fA-F.:]{3,45})")


@dataclass(slots=True)
class Health(AccountHealth[State]):
    kind: ClassVar[str] = "wechat"

    state: State = "starting"

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
        return self.note if self.state in ("unreachable", "unauthorised") or self.note is _SEALED_OTHERWISE else ""

    def _note(self, failure: ApiFailure) -> str:
        meaning = meaning_of(failure.code or 0)
        note = f"{failure.code}: {meaning.en} / {meaning.zh}"
        if failure.code == 40164 and (found := _ADDRESS.search(failure.said)):
            note += f"; add {found[1]} there (basic configuration, IP allow-list)"
        return note
