"""Pauses between attempts of an agent: longer each time, with random jitter."""

import random
import time

LONGEST_S = 60.0


def back_off(attempts: int) -> float:
    """Waits after `attempts` failed attempts, about 1, 2, 4 seconds and so on. Returns the seconds."""
    seconds = round(min(LONGEST_S, 2.0 ** min(attempts - 1, 10) + random.random()), 3)
    time.sleep(seconds)
    return seconds
