"""Shares the pauses that model services request (429): one pause applies to all agents of the service.

No request is sent during a pause, and after it requests restart at different times. While the service keeps refusing,
each pause is twice as long as the last one; after an answer it is short again. The pause is stored in a file next to
the run folders, so benchmarks and machines that share this folder share the pauses.
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
"""Relative to the project's folder, in which every program is started."""
FIRST_S = 30.0
LONGEST_S = 600.0


def service_of(agent: AgentSettings) -> str:
    """The service of an agent: the host of `base_url`, else `provider`, else its kind."""
    address = str(agent["base_url"]).rpartition("://")[2]
    return re.split("[/?#]", address)[0].rpartition("@")[2] or str(agent["provider"] or agent["kind"])


def wait_for(service: str, party: str) -> float:
    """Waits during a pause of the service, with a message; returns the seconds. Members of a party continue
    together."""
    waited = 0.0
    while (left := _left(_read(service), party)) > 0:
        print(f"{service} asked for a pause (429): waiting {left:.0f} s", file=sys.stderr, flush=True)
        time.sleep(left)
        waited += left
    return round(waited, 3)


def _left(state: Mapping[str, float], party: str) -> float:
    """Seconds until the party may continue: a time after the pause, spread over the same length again."""
    share = random.Random(f"{party} {state['until']}").random()
    return state["until"] + share * state["pause_s"] - time.time()


def tell(service: str, reason: str, started: float) -> None:
    """Updates the pause after an attempt that `started` then and failed for `reason` ("" for success)."""
    refused = reason == "rate_limited"
    if not refused and (reason or not _file(service).exists()):
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / ".lock").open("ab") as lock:
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
        state = json.loads(_file(service).read_text(encoding="utf-8"))
        found = {name: float(state[name]) for name in ("pause_s", "until")}
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    is_possible = found and found["until"] <= time.time() + LONGEST_S  # the clock may have been wrong
    return found if is_possible else {"pause_s": 0.0, "until": 0.0}
