"""Models' services, and the pauses that they ask for: whoever is told to wait tells everybody who asks the same one.

Nobody asks a service during its pause, and after it not all at the same moment. A pause doubles the last one while the
service goes on refusing, and is short again after an answer. Its file lies beside the run folders: whoever shares that
folder, benchmarks or machines, shares the pauses.
"""

from __future__ import annotations

import fcntl
import json
import random
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.system.files import write_json

PLACE = Path("bench/.services")
"""In the project's folder, in which every program is started."""
FIRST_S = 30.0
LONGEST_S = 600.0


def service_of(agent: AgentSettings) -> str:
    """The service that an agent asks by its settings: the host of `base_url`, else `provider`, else its kind."""
    address = str(agent["base_url"]).rpartition("://")[2]
    return re.split("[/?#]", address)[0].rpartition("@")[2] or str(agent["provider"] or agent["kind"])


def wait_for(service: str, party: str) -> float:
    """Waits while the service pauses, and says so; returns the seconds. Members of a party go on together."""
    waited = 0.0
    while (left := _left(_read(service), party)) > 0:
        print(f"{service} asked for a pause (429): waiting {left:.0f} s", file=sys.stderr, flush=True)
        time.sleep(left)
        waited += left
    return round(waited, 3)


def _left(state: Mapping[str, float], party: str) -> float:
    """Seconds until the party's turn, which lies in the span after the pause that is as long as the pause."""
    share = random.Random(f"{party} {state['until']}").random()
    return state["until"] + share * state["pause_s"] - time.time()


def tell(service: str, reason: str, started: float) -> None:
    """Tells everybody why an attempt failed ("" when it did not) that was `started` then; most reasons tell nothing."""
    refused = reason == "rate_limited"
    if not refused and (reason or not _file(service).exists()):
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state, now = _read(service), time.time()
        is_news = started >= state["until"]
        if refused and now >= state["until"]:
            pause_s = min(max(FIRST_S, state["pause_s"] * (2 if is_news else 1)), LONGEST_S)
            write_json(_file(service), {"pause_s": pause_s, "until": now + pause_s})
        elif not refused and is_news and state["pause_s"]:
            write_json(_file(service), {**state, "pause_s": 0.0})


def _file(service: str) -> Path:
    return PLACE / f"{re.sub(r'[^A-Za-z0-9.-]', '_', service)}.json"


def _read(service: str) -> dict[str, float]:
    try:
        state = json.loads(_file(service).read_text())
        found = {name: float(state[name]) for name in ("pause_s", "until")}
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    is_possible = found and found["until"] <= time.time() + LONGEST_S  # the clock may have been ahead
    return found if is_possible else {"pause_s": 0.0, "until": 0.0}
