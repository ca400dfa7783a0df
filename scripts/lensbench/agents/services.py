"""Shares the pauses that model services need (429, or overloaded), and those until a used-up window of a subscription
resets, between all agents of the service: in a file next to the run folders. After a pause requests restart at
different times. While the service keeps refusing, each pause is twice as long as the last one; after an answer it is
short again."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.system.files import write_json
from lensbench.core.system.locks import locked

PLACE = Path("bench/.services")
"""Relative to the project's folder, in which every program is started."""
FIRST_S = 30.0
LONGEST_WAIT_S = 600.0
LONGEST_WINDOW_S = 86_400.0
"""Until a plan's window resets later than this, nobody waits: everything stops."""
CHECK_S = 30.0
LONGEST_BACK_OFF_S = 60.0
_NO_PAUSE = {"pause_s": 0.0, "until": 0.0, "is_window": 0.0}


def service_of(agent: AgentSettings) -> str:
    """The service of an agent: the host of `base_url`, else `provider`, else its kind."""
    address = str(agent["base_url"]).rpartition("://")[2]
    authority = re.split("[/?#]", address)[0]
    host = authority.rpartition("@")[2]
    return host or str(agent["provider"] or agent["kind"])


def wait_for(service: str, party: str, check: Callable[[], None] = lambda: None) -> float:
    """Waits during a pause of the service, with a message; returns the seconds. Members of a party continue together.
    `check` is called now and then, and may raise."""
    total_s = 0.0
    until = 0.0
    while True:
        state = _read(service)
        rest_s = pause_left(state, party)
        if rest_s <= 0:
            return round(total_s, 3)
        if until != state["until"]:
            until = state["until"]
            why = used_up(service) or f"{service} asked for a pause or is overloaded"
            print(f"{why}: waiting {rest_s:.0f} s", file=sys.stderr, flush=True)
        pause_s = min(rest_s, CHECK_S) if state["is_window"] else rest_s
        time.sleep(pause_s)
        total_s += pause_s
        check()


def used_up(service: str, place: Path = PLACE) -> str:
    """Until when the service's plan is used up, in words; "" when it is not."""
    state = _read(service, place)
    if not state["is_window"] or state["until"] <= time.time():
        return ""
    return f"{service}: the plan's window is used up until {_shown(state['until'])}"


def _shown(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def pause_left(state: Mapping[str, float], party: str) -> float:
    """Seconds until the party may continue: a time after the pause, spread over the same length again."""
    share = random.Random(f"{party} {state['until']}").random()
    return state["until"] + share * state["pause_s"] - time.time()


def record_response(
    service: str, is_refusal: bool, started_at: float, resets_at: float | None = None
) -> None:
    """Updates the pause after an attempt of `started_at` that the service refused for now, or answered; `resets_at`:
    when the plan's used-up window resets, 0 when unknown. Raises UserError when that is too far away to wait for."""
    if not is_refusal and not _file(service).exists():
        return
    if resets_at and resets_at > time.time() + LONGEST_WINDOW_S:
        raise UserError(
            f"{service}: the plan's window is used up until {_shown(resets_at)}; start again then"
        )
    PLACE.mkdir(parents=True, exist_ok=True)
    with locked(PLACE / ".lock"):
        state = _read(service)
        now = time.time()
        is_news = started_at >= state["until"]
        if is_refusal and (now >= state["until"] or (resets_at or 0) > state["until"]):
            growth = 2 if is_news else 1
            pause_s = min(max(FIRST_S, state["pause_s"] * growth), LONGEST_WAIT_S)
            pause = {
                "pause_s": pause_s,
                "until": max(now + pause_s, resets_at or 0),
                "is_window": float(resets_at is not None),
            }
            write_json(_file(service), pause)
        elif not is_refusal and is_news and state["pause_s"]:
            write_json(_file(service), {**state, "pause_s": 0.0})


def _file(service: str, place: Path = PLACE) -> Path:
    return place / f"{re.sub(r'[^A-Za-z0-9.-]', '_', service)}.json"


def _read(service: str, place: Path = PLACE) -> dict[str, float]:
    try:
        state = json.loads(_file(service, place).read_text(encoding="utf-8"))
        pause = {name: float(state.get(name, 0)) for name in _NO_PAUSE}
    except (OSError, ValueError, AttributeError, TypeError):
        return dict(_NO_PAUSE)
    longest = LONGEST_WINDOW_S if pause["is_window"] else LONGEST_WAIT_S
    is_possible = pause["until"] <= time.time() + longest  # the clock may have been wrong
    return pause if is_possible else dict(_NO_PAUSE)


def back_off(attempts: int) -> float:
    """Waits after `attempts` failed attempts, about 1, 2, 4 seconds and so on, with jitter. Returns the seconds."""
    seconds = round(min(LONGEST_BACK_OFF_S, 2.0 ** min(attempts - 1, 10) + random.random()), 3)
    time.sleep(seconds)
    return seconds
