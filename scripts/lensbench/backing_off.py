"""Waiting before an agent is asked again: longer each time, and never in step with others."""

from __future__ import annotations

import time
from typing import Any

RATE_LIMIT_S = 60.0
"""Added after a service asked for a pause: agents do not pass on how long it asked for."""


def back_off(reason: str, attempts: int) -> float:
    """Waits after `attempts` attempts, of which the last one failed for `reason`. Returns the seconds."""
    from types import SimpleNamespace

    from tenacity import wait_exponential_jitter  # costs a third of a quick run, and most runs need no second attempt

    state: Any = SimpleNamespace(attempt_number=attempts)
    seconds = wait_exponential_jitter(initial=1, max=60)(state)
    if reason == "rate_limited":
        seconds += RATE_LIMIT_S
    time.sleep(seconds)
    return round(seconds, 3)
