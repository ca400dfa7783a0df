"""Messages while something takes long, so that nothing is silent for more than ten seconds."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from lensbench.core.errors import printable

SILENCE_S = 8.0


class Progress:
    """Prints to standard error what is going on when nothing else was printed for a while."""

    def __init__(self, doing: str) -> None:
        """`doing`: what is going on, as in `reading the repository`."""
        self._doing = doing
        self._silence_s = SILENCE_S
        self._start = time.monotonic()
        self._printed = self._start
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def now(self, doing: str) -> None:
        """Something else is going on."""
        self._doing = doing

    def say(self, line: str) -> None:
        """Prints a line at once."""
        self._printed = time.monotonic()
        print(printable(line), file=sys.stderr, flush=True)

    def _watch(self) -> None:
        while not self._is_over.wait(self._silence_s / 8):
            if time.monotonic() - self._printed >= self._silence_s:
                self.say(f"{self._doing}, {time.monotonic() - self._start:.0f} s ...")
