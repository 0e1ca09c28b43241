"""WeChat's error codes: what each means, and what the host is to do about it.

From the global list of return codes and the pages of the calls (read 2026-08). A code that is not here is a definite no
to this very content.
"""

from dataclasses import dataclass

from core.clock import Instant
from core.delivery import Refusal, Rejected

DAY = 86_400
BEIJING = 8 * 3600  # seconds; daily quotas begin anew at midnight there


@dataclass(frozen=True, slots=True)
class Meaning:
    name: str  # a machine word, for metrics and reasons
    kind: Refusal
    en: str
    zh: str


NO_PERMISSION = 48001
BAD_MEDIA = 40007
STALE = frozenset({40001, 40014, 42001})  # the access_token is not good (any more): fetch it anew, repeat once

MEANINGS: dict[int, Meaning] = {
    -1: Meaning("busy", Refusal.UNAVAILABLE, "the platform is busy", "系统繁忙"),
    40001: Meaning("bad_token", Refusal.UNAUTHORISED, "the access_token or AppSecret is refused", "凭证无效"),
    40002: Meaning("bad_grant", Refusal.UNAUTHORISED, "the grant type is refused", "不合法的凭证类型"),
    40003: Meaning("bad_openid", Refusal.BLOCKED, "this account knows no such OpenID", "不合法的 OpenID"),
    40004: Meaning("bad_media_type", Refusal.MALFORMED, "the kind of the file is refused", "不合法的媒体文件类型"),
    40005: Meaning("bad_file_type", Refusal.MALFORMED, "the type of the file is refused", "不合法的文件类型"),
    40006: Meaning("bad_file_size", Refusal.MALFORMED, "the file is too large", "不合法的文件大小"),
    40007: Meaning("bad_media", Refusal.MALFORMED, "the platform has no such file (any more)", "不合法的媒体文件 id"),
    40013: Meaning("bad_app_id", Refusal.UNAUTHORISED, "the AppID is refused: see app_id", "AppID 无效"),
    40014: Meaning("bad_token", Refusal.UNAUTHORISED, "the access_token is refused", "不合法的 access_token"),
    40125: Meaning(
        "bad_secret",
        Refusal.UNAUTHORISED,
        "the AppSecret is refused: see app_secret",
        "AppSecret 无效",
    ),
    40164: Meaning(
        "address_not_listed",
        Refusal.UNAUTHORISED,
        "this machine's address is not on the platform's IP allow-list",
        "本机 IP 不在平台的 IP 白名单中",
    ),
    41002: Meaning("no_app_id", Refusal.UNAUTHORISED, "the AppID is missing: see app_id", "缺少 AppID"),
    41004: Meaning("no_secret", Refusal.UNAUTHORISED, "the AppSecret is missing: see app_secret", "缺少 AppSecret"),
    42001: Meaning("token_expired", Refusal.UNAUTHORISED, "the access_token has expired", "access_token 已过期"),
    43004: Meaning("not_followed", Refusal.BLOCKED, "the person does not follow the account", "用户未关注公众号"),
    43019: Meaning("blacklisted", Refusal.BLOCKED, "the person is on the account's blacklist", "用户在黑名单中"),
    45001: Meaning("file_too_large", Refusal.MALFORMED, "the file is too large", "多媒体文件大小超过限制"),
    45002: Meaning("too_long", Refusal.MALFORMED, "the message is too long", "消息内容超过限制"),
    45009: Meaning(
        "daily_quota", Refusal.THROTTLED, "the account's calls of the day are used up", "当日调用次数已用完"
    ),
    45011: Meaning("too_fast", Refusal.THROTTLED, "the calls come too fast", "接口调用太频繁"),
    45015: Meaning(
        "window_closed", Refusal.WINDOW_CLOSED, "the person was silent for 48 hours", "用户超过 48 小时未发言"
    ),
    45047: Meaning("quota", Refusal.WINDOW_CLOSED, "the person must write before more is sent", "客服消息已达上限"),
    45072: Meaning("bad_command", Refusal.MALFORMED, "the typing command is refused", "客服输入状态命令错误"),
    45080: Meaning("no_recent_message", Refusal.WINDOW_CLOSED, "the person has not written just now", "用户近期未发言"),
    45081: Meaning("already_typing", Refusal.MALFORMED, "the typing state is shown already", "已在输入状态"),
    48001: Meaning(
        "no_permission",
        Refusal.WINDOW_CLOSED,
        "the account has no permission for this call: set customer_service = false, or have it granted",
        "公众号没有该接口权限：请设置 customer_service = false 或申请权限",
    ),
    48004: Meaning("call_banned", Refusal.UNAUTHORISED, "the platform has banned this call", "接口被封禁"),
    50002: Meaning("account_frozen", Refusal.UNAUTHORISED, "the account is limited by the platform", "账号被限制"),
}

UNNAMED = Meaning("refused", Refusal.MALFORMED, "the platform refuses it", "平台拒绝")


def meaning_of(code: int) -> Meaning:
    return MEANINGS.get(code, UNNAMED)


def rejected(code: int, now: Instant, said: str = "") -> Rejected:
    """`said` is what the platform says itself, without secrets; kept for codes that have no words here."""
    meaning = meaning_of(code)
    words = f"{meaning.en} / {meaning.zh}"
    if meaning is UNNAMED and said:
        words += f": {said[:120]}"
    retry_after = None
    if code == 45009:
        retry_after = DAY - (now + BEIJING) % DAY
    elif code == 45011:
        retry_after = 60.0
    return Rejected(meaning.kind, f"{meaning.name} ({code}): {words}", retry_after)
