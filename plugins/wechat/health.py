"""What may be the matter with an Official Account, and what the operator does about it."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, Literal

from core.clock import Instant
from core.delivery import Refusal
from core.health import AccountHealth
from plugins.wechat.codes import NO_PERMISSION, meaning_of
from plugins.wechat.failures import ApiFailure

State = Literal["starting", "receiving", "unreachable", "unauthorised", "no_permission"]
Unread = Literal["sealed_otherwise", "unsealed", "sealed", "stale"]

_SIGNED_OTHERWISE = (
    "{count} since {en} that are not signed with the Token: compare token with the platform's, unless strangers try "
    "the path / 自{zh}以来有 {number} 个请求不是用此 Token 签名的：请核对平台上的 Token；也可能是陌生人在试探此路径"
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
_FAULTS: tuple[State, ...] = ("unauthorised", "unreachable", "no_permission")  # of the API; the gravest first


@dataclass(slots=True)
class Health(AccountHealth[State]):
    """Faults stand beside each other, each until what disproves it; the state is the gravest of the API's."""

    kind: ClassVar[str] = "wechat"

    state: State = "starting"
    _faults: dict[State, str] = field(default_factory=dict)  # of the API that stand, each with its note
    _unread: dict[Unread, None] = field(default_factory=dict)  # why pushes could not be read since one could, in order
    _others: int = 0  # calls signed with another Token since one with ours
    _signed_at: Instant | None = None  # when the last call with ours came

    def opened(self) -> None:
        """Pushes are taken from now on."""
        if self.state == "starting":
            self.becomes("receiving")
        self._becomes_gravest()

    def failed(self, failure: ApiFailure) -> None:
        """What of a failed call is the operator's to mend; the rest is the delivery's own."""
        if failure.code is not None:
            self._faults.pop("unreachable", None)
        if failure.code == NO_PERMISSION:
            self._faults["no_permission"] = self._note(failure)
        elif failure.kind is Refusal.UNAUTHORISED:
            self._faults["unauthorised"] = self._note(failure)
        elif failure.code is None and failure.kind is not Refusal.MALFORMED:
            self._faults["unreachable"] = f"{failure.outcome.reason}: {_UNREACHABLE}"
        self._becomes_gravest()

    def succeeded(self, *, is_message: bool) -> None:
        """Any call shows that the platform is there and knows the account, only a message that it may send some."""
        self._faults.pop("unauthorised", None)
        self._faults.pop("unreachable", None)
        if is_message:
            self._faults.pop("no_permission", None)
        self._becomes_gravest()

    def unread(self, why: Unread) -> None:
        """A push was signed with the Token, so by the platform or somebody who knows it, and could not be read."""
        self.counts["unread_pushes"] += 1
        self._unread[why] = None

    def signed_otherwise(self) -> None:
        """As the platform signs, with another Token. Anybody can send that, so that it is a note and no trouble."""
        self.counts["other_tokens"] += 1
        self._others += 1

    def signed(self, now: Instant, *, is_clock_right: bool) -> None:
        """A call with our Token; where the clock here is wrong, it was good by the platform's earlier times."""
        self._others, self._signed_at = 0, now
        if is_clock_right:
            self._unread.pop("stale", None)
        else:
            self._unread["stale"] = None

    def read(self) -> None:
        """A push could be read, which says nothing of the clock."""
        self._unread = {why: None for why in self._unread if why == "stale"}

    @property
    def trouble(self) -> str:
        """The whole note, where anything in it is a trouble: the gravest comes first, and hides nothing else."""
        is_one = self._unread or "unauthorised" in self._faults or "unreachable" in self._faults
        return self._notes if is_one else ""

    def report(self) -> dict[str, object]:
        return {**AccountHealth.report(self), "note": self._notes}

    @property
    def _notes(self) -> str:
        api = {state: self._faults[state] for state in _FAULTS if state in self._faults}
        permission = api.pop("no_permission", "")
        notes = [*api.values(), *(_UNREAD[why] for why in self._unread), permission, self._otherwise]
        return "; ".join(note for note in notes if note)

    @property
    def _otherwise(self) -> str:
        if not self._others:
            return ""
        count, en, zh = "1 call" if self._others == 1 else f"{self._others} calls", "the start", "启动"
        if self._signed_at is not None:
            when = datetime.fromtimestamp(self._signed_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
            en, zh = f"the last good one ({when})", f"上次正确的请求（{when}）"
        return _SIGNED_OTHERWISE.format(count=count, number=self._others, en=en, zh=zh)

    def _becomes_gravest(self) -> None:
        gravest = next((state for state in _FAULTS if state in self._faults), None)
        if gravest is not None:
            self.becomes(gravest, self._faults[gravest])
        elif self.state != "starting":
            self.becomes("receiving")

    def _note(self, failure: ApiFailure) -> str:
        meaning = meaning_of(failure.code or 0)
        en, zh = meaning.en, meaning.zh
        if failure.code == 40164 and (found := _ADDRESS.search(failure.said)):
            en, zh = f"{en}: add {found[1]} to it", f"{zh}：请添加 {found[1]}"
        return f"{failure.code}: {en} / {zh}"
