"""What a service's refusal means: a short pause, a used-up window of a plan, or that no request will succeed.

One table decides, from what is surest: the service's own code, words beside a time at which something resets, the HTTP
status, other words. Texts are English and Chinese, the languages of the services.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from typing import NamedTuple


class Action(StrEnum):
    """What follows from a refusal."""

    PAUSE = "pause"
    """All agents of the service wait for a moment."""
    WINDOW = "window"
    """They wait until the plan's window resets."""
    STOP = "stop"
    """Nothing else starts: the key, the account or the model is refused."""


class Refusal(NamedTuple):
    """What a refusal means."""

    action: Action
    resets_at: float | None = None
    """When the window resets, in seconds since 1970; 0 when unknown, None without a window."""


CODES: Mapping[str, Action] = {
    **dict.fromkeys(
        (
            "1000",
            "1001",
            "1002",
            "1003",
            "1004",
            "1110",
            "1111",
            "1112",
            "1113",
            "1121",
            "1309",
            "1311",
            "insufficient_quota",
            "exceeded_current_quota_error",
            "invalid_api_key",
            "authentication_error",
            "billing_error",
            "Arrearage",
            "UNAUTHENTICATED",
        ),
        Action.STOP,
    ),
    **dict.fromkeys(("1304", "1308", "1310", "usage_limit_reached"), Action.WINDOW),
    **dict.fromkeys(
        (
            "1302",
            "1303",
            "1305",
            "1312",
            "rate_limit_reached_error",
            "overloaded_error",
            "engine_overloaded_error",
            "server_overloaded",
            "rate_limit_exceeded",
            "UNAVAILABLE",
        ),
        Action.PAUSE,
    ),
}
"""The services' own codes: Z.AI's are numbers (docs.z.ai/api-reference/api-code), others have names."""

_CODE = re.compile(
    r"\"(?:code|type|status)\"\s*:\s*\"?(\w{4,40})\b|\b[45]\d\d[\s:]{1,3}\[?(\w{4,40})\b|\[(1\d{3})\]"
)
"""Where a text has a code: in JSON, after the status, in brackets."""

_STOPS = re.compile(
    r"ECONNREFUSED|EAI_AGAIN|ENOTFOUND|Not logged in|^Connection failed: "
    r"|^Cannot connect to API: (?:Unable to connect|Was there a typo)"
    r"|^Quota exceeded\. |^To use Codex|out of credits"
    r"|余额不足|欠费|无可用资源包|套餐已(?:到期|过期)"
)
"""No connection (in the words of each client), and a missing key or credit, whatever the status."""
_ABOUT_ACCESS = re.compile(
    r"(?i)\bmodel\b.{0,80}\b(?:(?:not|\w{2,9}n't) (?:found|exist|supported|available)|unavailable|deprecated|retired)"
    r"|\b(?:no such|unknown|invalid|unsupported|selected) model\b|\bAPI key (?:not|is|has)\b"
    r"|\b(?:your|this|with) account\b|\bcredit balance\b|\binsufficient[ _](?:balance|credits?|funds|quota)\b"
    r"|\bbilling (?:hard )?limit\b|\b(?:your|this) (?:subscription|organi[sz]ation)\b|模型不存在|无权访问"
)
"""What a 400 or 404 says about the model or the account, and not about the content of one request."""
_WINDOW = re.compile(
    r"(?i)\b(?:hit|reached|exceeded|exhausted) (?:your|the) (?:[\w'/-]+ ){0,4}?(?<!spend )(?<!rate )limit\b"
    r"|(?<!rate )\blimit (?:has been )?(?:reached|exhausted|exceeded)(?:\b.{0,200}\breset|\|\d{10}\b)"
    r"|\b(?:usage|session|weekly|daily|monthly) limit (?:has been |was |is )?(?:reached|exhausted|exceeded)"
    r"|\b(?:quota|limit) will reset\b"
    r"|(?:已|超)[^。]{0,20}上限|(?:限额|额度|用量|配额)[^。]{0,20}(?:用完|用尽|耗尽|重置|恢复|上限)"
)
"""The window of a plan is used up."""
_SHORT = re.compile(r"(?i)\b[RT]PM\b|\bper (?:min|second)|\bconcurren|并发|速率|频率|每分钟|每秒")
"""A limit of each minute, or of what runs at once: no window of a plan."""
_BUSY = re.compile(
    r"(?i)\boverloaded\b|\bat capacity\b|\bhigh demand\b|\btoo many requests\b|\brate[ _]limit|\bservice unavailable\b"
    r"|请求过多|访问量过大|服务器?繁忙|稍后[再重]试|请求频率"
)
_REFUSED = (401, 402, 403)
"""HTTP statuses of a wrong key or an account without credit."""
_OVERLOADED = (429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529)
OF_WINDOWS = (None, 403, *_OVERLOADED)
"""Statuses of a used-up window."""


def refusal(error: str, status: int | None, now: float) -> Refusal | None:
    """What `error` with this HTTP status means at the time `now`; None when it is about one request alone."""
    action = _by_code(error)
    resets_at = reset_in(error, now) if status in OF_WINDOWS else None
    if resets_at is not None:
        return Refusal(Action.WINDOW, resets_at)
    if action is None and (status in _REFUSED or _STOPS.search(error)):
        action = Action.STOP
    if action is None and status in (400, 404) and _ABOUT_ACCESS.search(error):
        action = Action.STOP
    if action is None and (status in _OVERLOADED or (status is None and _BUSY.search(error))):
        action = Action.PAUSE
    return None if action is None else Refusal(action)


def _by_code(error: str) -> Action | None:
    """What the first known code in the text means."""
    for match in _CODE.finditer(error):
        code = next(filter(None, match.groups()))
        if code in CODES:
            return CODES[code]
    return None


def reset_in(error: str, now: float) -> float | None:
    """When the window that `error` calls used up resets (0: not said), in seconds since 1970; None without one."""
    action = _by_code(error)
    has_words = bool(_WINDOW.search(error)) and not _SHORT.search(error)
    if action in (Action.PAUSE, Action.STOP) or not (action or has_words):
        return None
    try:
        reset = _time_in(error, now)
    except (ValueError, KeyError, OverflowError):  # no such day, no such zone
        return 0.0
    return reset if 0 < reset < now + FARTHEST_S else 0.0


FARTHEST_S = 400 * 86400.0
"""A reset later than this was misread."""
JUST_NOW_S = 900.0
"""A time that passed less long ago was meant; else tomorrow's."""
BEIJING = timezone(timedelta(hours=8))
"""The zone of times that name none, as Z.AI's."""
_UNITS = {
    **{"d": 86400, "h": 3600, "m": 60, "s": 1},
    **{"天": 86400, "日": 86400, "小时": 3600, "个小时": 3600, "分": 60, "分钟": 60, "秒": 1},
}
_STAMP = re.compile(r"(?:\||\"resets?_at\"\s*:\s*)(\d{10})\b")
_SECONDS = re.compile(r"\"resets?_in_seconds\"\s*:\s*(\d{1,9})\b")
_AFTER = re.compile(r"(?i)\b(?:in|after) ((?:\d{1,9} ?[dhms][a-z ,]{0,9}){1,4})")
_AFTER_CHINESE = re.compile(r"((?:\d{1,9} ?(?:天|日|个?小时|分钟?|秒) ?){1,4})[之以]?后")
_PART = re.compile(r"(\d{1,9}) ?([dhms]|天|日|个?小时|分钟?|秒)")
_DATE = re.compile(
    r"\b(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?[T ]{0,2}(\d{1,2})[:\uff1a时](\d\d)分?(?:[:\uff1a](\d\d)秒?)?"
    r"(?:\.\d{1,9})? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_DAILY = re.compile(
    r"(今[天日]|明[天日]|次日)? ?(\d{1,2})[:\uff1a](\d\d)[^。\d]{0,6}(?:重置|恢复|刷新)"
)
_AT = re.compile(
    r"(?i)\b(?:resets?|again)(?: at| on)? (?:(?P<month>[a-z]{3}) (?P<day>\d+)(?:st|nd|rd|th)?,? (?:(?P<year>\d{4}),? )?"
    r"(?:at )?)?(?P<hour>\d+)(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)\b(?: \((?P<zone>[\w/+-]+)\))?"
)


def _time_in(error: str, now: float) -> float:
    """The time that a text names, in seconds since 1970; 0 when it names none. Raises ValueError and KeyError."""
    if stamp := _STAMP.search(error):
        return float(stamp[1])
    if seconds := _SECONDS.search(error):
        return now + int(seconds[1])
    if after := _AFTER.search(error) or _AFTER_CHINESE.search(error):
        return now + sum(
            int(count) * _UNITS[unit] for count, unit in _PART.findall(after[1].lower())
        )
    if date := _DATE.search(error):
        year, month, day, hour, minute, second = (int(part or 0) for part in date.groups()[:6])
        return datetime(year, month, day, hour, minute, second, tzinfo=_zone(date[7])).timestamp()
    if at := _AT.search(error):
        return _time_of_day(at, now)
    if daily := _DAILY.search(error):
        today = datetime.fromtimestamp(now, BEIJING)
        moment = today.replace(hour=int(daily[2]), minute=int(daily[3]), second=0, microsecond=0)
        is_tomorrow = daily[1] in ("明天", "明日", "次日") or moment.timestamp() < now - JUST_NOW_S
        return (moment + timedelta(days=1)).timestamp() if is_tomorrow else moment.timestamp()
    return 0.0


def _zone(name: str | None) -> tzinfo:
    if not name:
        return BEIJING
    if name[0] not in "+-":
        return UTC
    minutes = int(name[1:3]) * 60 + int(name[-2:])
    return timezone(timedelta(minutes=-minutes if name[0] == "-" else minutes))


def _time_of_day(at: re.Match[str], now: float) -> float:
    from zoneinfo import ZoneInfo  # few runs need it

    zone: tzinfo | None = ZoneInfo(at["zone"]) if at["zone"] else None  # None: the machine's
    hour = int(at["hour"]) % 12
    minute = int(at["minute"] or 0)
    if at["half"].lower() == "pm":
        hour += 12
    today = datetime.fromtimestamp(now, zone).replace(
        hour=hour, minute=minute, second=0, microsecond=0
    )
    if not at["month"]:
        is_past = today.timestamp() < now - JUST_NOW_S
        return (today + timedelta(days=1)).timestamp() if is_past else today.timestamp()
    month = datetime.strptime(at["month"], "%b").month
    year = int(at["year"] or today.year)
    date = today.replace(year=year, month=month, day=int(at["day"]))
    is_next_year = not at["year"] and date.timestamp() < now - 86400
    return date.replace(year=year + 1).timestamp() if is_next_year else date.timestamp()
