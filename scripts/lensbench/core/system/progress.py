"""Shows how far something is that takes long: on a terminal a line in place, in a file a line a minute."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TextIO

from lensbench.core.errors import printable

SILENCE_S = 8.0
"""Until the first line in a file."""
EVERY_S = 60.0
"""Between two lines in a file."""
REDRAWN_S = 1.0
"""Between two drawings on a terminal."""
CLEAR = "\r\x1b[K"


class Progress:
    """Shows on standard error what is going on: done, left, and the minutes and dollars to come, as far as known."""

    def __init__(self, doing: str, usd: Callable[[], float] | None = None) -> None:
        """`doing`: what is going on, as in `reading the repository`; `usd`: the US dollars spent so far."""
        self._doing = doing
        self.usd = usd
        self._done = self._total = 0
        self._start = self._counted_from = time.monotonic()
        self._is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._is_drawn = False
        self._lock = threading.RLock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)

    def __enter__(self) -> Self:
        global _at_work
        _at_work = self
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _at_work
        _at_work = None
        self._is_over.set()
        self._thread.join()
        self.clear()

    def now(self, doing: str, done: int = 0, total: int = 0) -> None:
        """What is going on from now on, and how many of how many are done; 0 of 0 where nobody can count."""
        if total != self._total:
            self._counted_from = time.monotonic()
        self._doing = doing
        self._done = done
        self._total = total

    def clear(self) -> None:
        """Removes the line from the terminal, so that another can be written there."""
        with self._lock:
            if self._is_drawn:
                sys.stderr.write(CLEAR)
                sys.stderr.flush()
                self._is_drawn = False

    def line(self) -> str:
        """The progress as it is now: `3/12 | trying a-exp-04 | 45 s, about 2 min left | spent $0.12, ...`."""
        return " | ".join(self._parts(time.monotonic()))

    def _parts(self, now: float) -> Iterator[str]:
        if self._total:
            yield f"{self._done}/{self._total}"
        yield self._doing
        passed = span(now - self._start)
        left = (self._total - self._done) / self._done if self._done else 0.0
        if left:
            passed += f", about {span(left * (now - self._counted_from))} left"
        yield passed
        spent = self.usd() if self.usd else 0.0
        if spent:
            to_come = f", about ${left * spent:.2f} to come" if left else ""
            yield f"spent ${spent:.2f}{to_come}"

    def _watch(self) -> None:
        wait_s = REDRAWN_S if self._is_terminal else SILENCE_S
        while not self._is_over.wait(wait_s):
            if self._is_terminal:
                self._draw()
            else:
                say(self.line(), sys.stderr)
                wait_s = EVERY_S

    def _draw(self) -> None:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        with self._lock:
            sys.stderr.write(CLEAR + fitted(self.line(), width))
            sys.stderr.flush()
            self._is_drawn = True


_at_work: Progress | None = None
"""The progress that is shown now; a terminal has one."""


def step(doing: str, done: int = 0, total: int = 0) -> None:
    """The progress that is shown is there now, as by `Progress.now`; nothing where none is shown."""
    if _at_work:
        _at_work.now(doing, done, total)


def say(line: str, stream: TextIO | None = None) -> None:
    """Prints a line, on standard output unless `stream` is given, above the progress that is shown."""
    if _at_work:
        _at_work.clear()
    print(printable(line), file=stream or sys.stdout, flush=True)


def fitted(text: str, width: int) -> str:
    """The text as a terminal line of that width shows it, cut at its end."""
    text = printable(text)
    return text if len(text) < width else f"{text[: width - 2]}…"


def span(seconds: float) -> str:
    """A readable duration: 45 s, 3 min, 2 h 05 min."""
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
