"""Pauses between attempts of an agent: longer each time, with random jitter."""

from __future__ import annotations

import time
from typing import Any

LONGEST_S = 60.0


def back_off(attempts: int) -> float:
    """Waits after `attempts` failed attempts. Returns the seconds."""
    from types import SimpleNamespace

    from tenacity import wait_exponential_jitter  # a third of a quick run's time; most runs need no second attempt

    state: Any = SimpleNamespace(attempt_number=attempts)
    seconds = wait_exponential_jitter(initial=1, max=LONGEST_S)(state)
    time.sleep(seconds)
    return round(seconds, 3)
