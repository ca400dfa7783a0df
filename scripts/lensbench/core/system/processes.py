"""Starts programs and ends all processes that they leave, even when one side is killed."""

from __future__ import annotations

import ctypes
import io
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    import psutil

from lensbench.core.errors import reported

TERM_GRACE_S = 2.5
"""Between SIGTERM and SIGKILL: agents end their own children; all must have ended after 5 s."""
CHILDREN_GRACE_S = 1.0
"""The same for what an agent left."""
ENDING_S = 0.1
"""Time for children to end by themselves."""
EXIT_GRACE_S = 10.0
"""Silence after an answer's end before a program that stays is ended: its servers need time to stop."""
DRAIN_S = 1.0
"""Time to read output that a child keeps open after the agent has ended."""
KILL_ROUNDS = 10
MAX_OUTPUT = 64_000_000
MAX_OUTPUT_PIECES = 3_000_000
"""Limit of lines (counted as eight each) and JSON values in the output: objects need far more memory than bytes."""

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ON_LINUX = sys.platform == "linux"

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ended:
    """How a process ended. `exit_code` is negative for a signal, None when it was killed here: at its time limit, or
    because it stayed after its last event; the duration is then that of this event."""

    exit_code: int | None
    timed_out: bool
    duration_s: float


WORKFLOW = "LENSBENCH_WORKFLOW"
"""The variable with the process id of Snakemake, for the programs that it starts."""


def die_with_parent(
    parent: int, number: int = signal.SIGKILL, then: Callable[[], None] = lambda: None
) -> None:
    """Makes Linux send this process a signal when `parent` ends; sends it now if `parent` has already ended. Then calls
    `then`."""
    if _ON_LINUX:
        _libc.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
    then()


def end_in_order() -> None:
    """Turns the first terminating signal into SystemExit, so that the program cleans up; later ones are ignored. A
    program started by Snakemake gets SIGTERM when Snakemake ends, even when it is killed."""
    for number in ENDING:
        if (
            number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN
        ):  # nohup stays in force
            signal.signal(number, _stop)
    if WORKFLOW in os.environ:
        die_with_parent(int(os.environ[WORKFLOW]), signal.SIGTERM)


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end a program with a clean-up."""


def _stop(number: int, _frame: object) -> None:
    if _DELAY.is_on:
        _DELAY.arrived = number
    else:
        _end(number)


def _end(number: int) -> NoReturn:
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


@dataclass
class _Delay:
    """Whether terminating signals wait, and the last one that does; 0 for none."""

    is_on: bool = False
    arrived: int = 0


_DELAY = _Delay()


@contextmanager
def ending_later() -> Iterator[None]:
    """Delays the end by a terminating signal until the end of the block, but not while `run_process` waits for a
    program in it. Unlike `held_signals` it blocks no signal: programs that are started in the block would inherit that.
    """
    with _delay(True):
        yield


@contextmanager
def _delay(is_on: bool) -> Iterator[None]:
    before = _DELAY.is_on
    _set_delay(is_on)
    try:
        yield
    finally:
        _set_delay(before)


def _set_delay(is_on: bool) -> None:
    _DELAY.is_on = is_on
    if _DELAY.arrived and not is_on:
        _end(_DELAY.arrived)


@contextmanager
def held_signals() -> Iterator[None]:
    """Delays terminating signals until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def show_as(argv: Sequence[str]) -> None:
    """Changes the command line that `ps` shows for this process, cut to the length of the original."""
    places = (
        Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[45:47]
    )  # arg_start, arg_end: proc(5)
    begin, end = map(int, places)
    line = b"\0".join(map(os.fsencode, argv))[: end - begin - 1]
    ctypes.memmove(begin, line.ljust(end - begin, b"\0"), end - begin)


def adopt_orphans() -> None:
    """Makes orphaned descendants children of this process, so that `end_children` finds them."""
    if _ON_LINUX:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def run_process(
    argv: Sequence[str],
    env: Mapping[str, str],
    folder: str,
    timeout_s: float,
    stderr: int,
    read: Callable[[Iterator[str]], Value],
    silence_s: Callable[[str], float | None] = lambda line: None,
    become: Callable[[], None] = lambda: None,
) -> tuple[Value, Ended]:
    """Runs a program in its own session, and passes its output to `read`, line by line as it arrives; returns what that
    returns and how the program ended, with all its processes. `silence_s`: for how long after a line the program may
    print nothing more, such as EXIT_GRACE_S after the end of an answer; None: the line changes nothing. The child calls
    `become`."""
    began = time.monotonic()
    with _delay(False):
        process = subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid(), then=become),
        )
    output = _Output(process, began + timeout_s, silence_s)
    try:
        with _delay(False):
            value = read(output.lines())
            for _ in output.lines():
                pass
            exit_code = process.poll()
            if not output.timed_out:
                with suppress(subprocess.TimeoutExpired):
                    exit_code = process.wait(max(0.0, output.until - time.monotonic()))
        over_at = output.over_at if exit_code is None else None
        return value, Ended(
            exit_code, exit_code is None and over_at is None, (over_at or time.monotonic()) - began
        )
    finally:
        with reported("ending the program"):
            _end_group(process)
        end_children()


class _Output:
    """The lines of a program's output until it ends, times out, or exceeds the limit of output."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        deadline: float,
        silence_s: Callable[[str], float | None],
    ) -> None:
        assert process.stdout is not None
        self._process = process
        self._pipe = process.stdout.fileno()
        self._deadline = deadline
        self._silence_s = silence_s
        self._silence = math.inf
        self._heard_at = 0.0
        self.over_at: float | None = None
        """When the answer ended; None while the program works."""
        self.timed_out = False
        self._chunks = self._read()
        self._rest: list[bytes] = []

    @property
    def until(self) -> float:
        return min(self._deadline, self._heard_at + self._silence)

    def lines(self) -> Iterator[str]:
        for chunk in self._chunks:
            for part in io.BytesIO(chunk):
                self._rest.append(part)
                if part.endswith(b"\n"):
                    yield self._take_line()
        if self._rest:
            yield self._take_line()

    def _take_line(self) -> str:
        line = b"".join(self._rest).decode(errors="replace")
        self._rest.clear()
        if (silence := self._silence_s(line)) is not None:
            self._silence = silence
            self.over_at = None if silence == math.inf else self._heard_at
        return line

    def _read(self) -> Iterator[bytes]:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN | select.POLLHUP)
        ended_at = 0.0
        size = 0
        pieces = 0
        while size < MAX_OUTPUT and pieces < MAX_OUTPUT_PIECES:
            now = time.monotonic()
            if now >= self.until:
                self.timed_out = True
                return
            if poll.poll(min(DRAIN_S / 4, self.until - now) * 1000):
                chunk = os.read(self._pipe, 1 << 18)
                if not chunk:
                    return
                self._heard_at = time.monotonic()
                size += len(chunk)
                pieces += 8 * chunk.count(b"\n") + sum(map(chunk.count, (b"[", b"{", b",")))
                yield chunk
            elif self._process.poll() is not None:
                ended_at = ended_at or now
                if now - ended_at > DRAIN_S:
                    return


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the whole group, then SIGKILL. SIGKILL first would not end children in their own sessions. A program
    that took another user's rights cannot be ended, and is not waited for."""
    if process.stdout:
        process.stdout.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if number == signal.SIGKILL or process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(TERM_GRACE_S)


def reap_children(grace_s: float = ENDING_S) -> bool:
    """Reaps the children that have ended, and adopted orphans; True when no child is left. Waits for those that are
    about to end, such as the sandbox's watcher."""
    until = time.monotonic() + grace_s
    while True:
        try:
            threads = Path("/proc/self/task").iterdir()
            children = [
                int(child) for one in threads for child in (one / "children").read_bytes().split()
            ]
        except OSError:
            return False
        for child in children:
            with suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        if not children or time.monotonic() > until:
            return not children
        time.sleep(0.001)


def descendants(top: int) -> list[psutil.Process]:
    """The living processes below the process `top`, parents first. Those that this user may not see are none of them:
    psutil's own search fails where /proc is mounted with `hidepid=1`."""
    import psutil  # its import takes longer than a whole quick run

    children: dict[int, list[psutil.Process]] = {}
    for number in psutil.pids():
        with suppress(psutil.Error):
            process = psutil.Process(number)
            children.setdefault(process.ppid(), []).append(process)
    found = list[psutil.Process]()
    parents = [top]
    for parent in parents:  # grows while it is walked
        below = children.pop(parent, [])
        found += below
        parents += [child.pid for child in below]
    return found


def end_children(grace_s: float = ENDING_S) -> None:
    """Ends every descendant of this process that is left after `grace_s`: SIGTERM, a pause, SIGKILL. Raises nothing,
    because it follows an answer that was paid for."""
    if reap_children(grace_s):
        return

    with reported("ending what the program left"):
        _signal_and_wait(signal.SIGTERM, CHILDREN_GRACE_S)
        for _ in range(KILL_ROUNDS):  # a child may start another one meanwhile
            if not _signal_and_wait(signal.SIGKILL, CHILDREN_GRACE_S / KILL_ROUNDS):
                return


def _signal_and_wait(number: signal.Signals, seconds: float) -> bool:
    """Sends a signal to every descendant, and waits for their ends; False when there is none."""
    import psutil

    children = descendants(os.getpid())
    for child in children:
        with suppress(psutil.Error):
            child.send_signal(number)
    psutil.wait_procs(children, timeout=seconds)
    return bool(children)
