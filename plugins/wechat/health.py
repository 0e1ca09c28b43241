"""What may be the matter with an Official Account, and what the operator does about it."""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from core.delivery import Refusal
from core.health import AccountHealth
from plugins.wechat.codes import meaning_of
from plugins.wechat.failures import ApiFailure

State = Literal["starting", "receiving", "unreachable", "unauthorised", "no_permission"]
Unread = Literal["sealed_otherwise", "unsealed", "sealed", "stale"]

_SIGNED_OTHERWISE = (
    "calls come that are not signed with the Token: compare token with the platform's, unless strangers try the path / "
    "收到的请求不是用此 Token 签名的：请核对平台上的 Token；也可能是陌生人在试探此路径"
)
_UNREAD = {  # by what is wrong with a push that the platform signed
    "sealed_otherwise": "a push had the right token and could not be opened: check encoding_aes_key and app_id / "
    "推送的 Token 正确但无法解密：请检查 encoding_aes_key 与 app_id",
    "unsealed": "pushes come unencrypted: choose safe mode on the platform, as mode says here / "
    "推送未加密：请在平台选择安全模式，与此处的 mode 一致",
    "sealed": 'pushes come encrypted, and mode is "plain": set mode = "safe" and encoding_aes_key / '
    '推送已加密，而 mode 是 "plain"：请设置 mode = "safe" 和 encoding_aes_key',
    "stale": "pushes were signed more than 5 minutes ago or ahead by the clock here: set this machine's clock / "
    "按本机时钟，推送的签名时间相差超过 5 分钟：请校准本机时钟",
}
_UNREACHABLE = (
    "the API does not answer; look at the network and api_base, it is tried again by itself / "
    "平台接口没有应答：请检查网络和 api_base，会自动重试"
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
        elif failure.kind is Refusal.UNAUTHORISED:
            self.becomes("unauthorised", self._note(failure))
        elif failure.code is None and failure.kind is not Refusal.MALFORMED:
            self.becomes("unreachable", failure.outcome.reason)

    def succeeded(self, *, is_message: bool) -> None:
        """Any call shows that the platform is there and knows the account, only a message that it may send some."""
        if self.state in ("unreachable", "unauthorised") or (is_message and self.state == "no_permission"):
            self.becomes("receiving")

    def unread(self, why: Unread) -> None:
        """A push was signed with the Token, so by the platform or somebody who knows it, and could not be read."""
        self.counts["unread_pushes"] += 1
        self.note = _UNREAD[why]

    def signed_otherwise(self) -> None:
        """As the platform signs, with another Token. Anybody can send that, so that it is a note and no trouble."""
        self.counts["other_tokens"] += 1
        self.note = self.note or _SIGNED_OTHERWISE

    def signed(self) -> None:
        if self.note == _SIGNED_OTHERWISE:
            self.note = ""

    def read(self) -> None:
        if self._is_unread:
            self.note = ""

    @property
    def trouble(self) -> str:
        if self.state == "unreachable" and not self._is_unread:
            return f"{self.note}: {_UNREACHABLE}"
        return self.note if self.state in ("unreachable", "unauthorised") or self._is_unread else ""

    @property
    def _is_unread(self) -> bool:
        return self.note in _UNREAD.values()

    def _note(self, failure: ApiFailure) -> str:
        meaning = meaning_of(failure.code or 0)
        en, zh = meaning.en, meaning.zh
        if failure.code == 40164 and (found := _ADDRESS.search(failure.said)):
            en, zh = f"{en}: add {found[1]} to it", f"{zh}：请添加 {found[1]}"
        return f"{failure.code}: {en} / {zh}"
