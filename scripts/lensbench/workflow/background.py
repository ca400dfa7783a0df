"""Background programs that outlive the shell and the terminal that started them."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_PAUSE_S = 0.1


class Detached:
    """A program in its own session that ignores SIGHUP and appends its output to a log."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("ab") as file:
            self._begin = file.tell()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
            )  # fmt: skip

    def said(self) -> str:
        """The output so far."""
        with self.log.open("rb") as file:
            file.seek(self._begin)
            return file.read().decode(errors="replace")

    def wait(self, until: Callable[[], bool]) -> int | None:
        """Waits until the program ends or `until` returns True; returns the exit code, None while it runs."""
        while self.process.poll() is None and not until():
            time.sleep(_PAUSE_S)
        return self.process.returncode

    def follow(self) -> int:
        """Prints the output, by lines, until the program ends; returns the exit code."""
        start, code = 0, None
        while code is None:
            time.sleep(_PAUSE_S)
            code, text = self.process.poll(), self.said()
            end = text.rfind("\n") + 1 if code is None else len(text)
            print(text[start:end], end="", flush=True)
            start = end
        return code
