"""Reads in an error of an agent when the used-up window of its plan resets (docs/subscription.md quotes the texts)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_USED_UP = re.compile(
    r"(?i)\bhit your (?:[\w'-]+ ){0,3}?(?<!spend )limit\b|(?<!rate )\blimit reached(?:\b.{0,200}\breset|\|\d{10}\b)"
    r"|\bquota will reset\b"
)
_AFTER = re.compile(r"(?i)\b(?:in|after) ((?:\d{1,9} ?[dhms][a-z ,]{0,9}){1,4})")
_AT = re.compile(
    r"(?i)\b(?:resets?|again)(?: at| on)? (?:(?P<month>[a-z]{3}) (?P<day>\d+)(?:st|nd|rd|th)?,? (?:(?P<year>\d{4}),? )?"
    r"(?:at )?)?(?P<hour>\d+)(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)\b(?: \((?P<zone>[\w/+-]+)\))?"
)
_DATE = re.compile(r"\breset at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
JUST_NOW_S = 900.0
"""A time that passed less long ago was meant; else tomorrow's."""


def reset_in(error: str, now: float) -> float | None:
    """When the window resets that `error` calls used up, in seconds since 1970; 0 when it does not say, None when it
    speaks of no window."""
    if not _USED_UP.search(error):
        return None
    if stamp := re.search(r"\|(\d{10})\b", error):
        return float(stamp[1])
    if after := _AFTER.search(error):
        return now + sum(
            int(count) * _SECONDS[unit] for count, unit in re.findall(r"(\d{1,9}) ?([dhms])", after[1].lower())
        )
    if date := _DATE.search(error):
        return datetime.fromisoformat(f"{date[1]}+08:00").timestamp()  # Z.AI's time
    try:
        return _time_of_day(at, now) if (at := _AT.search(error)) else 0.0
    except (ValueError, KeyError):  # no such day, no such zone
        return 0.0


def _time_of_day(at: re.Match[str], now: float) -> float:
    zone: tzinfo | None = ZoneInfo(at["zone"]) if at["zone"] else None  # None: the machine's
    hour, minute = int(at["hour"]) % 12 + 12 * (at["half"].lower() == "pm"), int(at["minute"] or 0)
    today = datetime.fromtimestamp(now, zone).replace(hour=hour, minute=minute, second=0, microsecond=0)
    if not at["month"]:
        is_past = today.timestamp() < now - JUST_NOW_S
        return (today + timedelta(days=is_past)).timestamp()
    month, year = datetime.strptime(at["month"], "%b").month, int(at["year"] or today.year)
    date = today.replace(year=year, month=month, day=int(at["day"]))
    return (date.replace(year=year + 1) if not at["year"] and date.timestamp() < now - 86400 else date).timestamp()
