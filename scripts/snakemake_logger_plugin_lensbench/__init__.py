"""Snakemake's logger plugin `lensbench`: shows the progress of the benchmark (docs/faults.md).

On a terminal it rewrites a few lines; in a file it writes a line from time to time. Errors and warnings are kept; the
rest of Snakemake's output is in its log file. Dry runs, `--verbose` and `--quiet` show Snakemake's own output.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import nullcontext, suppress
from itertools import dropwhile, takewhile
from logging import INFO, LogRecord, getLogger
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.store import view_of

if TYPE_CHECKING:  # Snakemake imports every logger plugin at every start
    from lensbench.workflow.status import Status

LINE_EVERY_S = 60.0
"""Between two lines in a file."""
REDRAWN_EVERY_S = 8.0
"""Between two drawings on a terminal, while nothing happens."""
_CLEAR = "\r\x1b[J"
_UNSAID_EVENTS = frozenset(
    {
        LogEvent.JOB_INFO,
        LogEvent.JOB_STARTED,
        LogEvent.JOB_FINISHED,
        LogEvent.GROUP_INFO,
        LogEvent.PROGRESS,
        LogEvent.RESOURCES_INFO,
        LogEvent.RUN_INFO,
        LogEvent.WORKFLOW_STARTED,
        LogEvent.RULEGRAPH,
    }
)
_UNSAID = (
    "Building DAG of jobs",
    "Using shell:",
    "Assuming unrestricted shared filesystem",
    "host: ",
    "Select jobs to exec",
    "Updating checkpoint dependencies",
    "DAG of jobs will be updated",
    "Group jobs: inactive",
    "Elapsed time:",
    "Conda environments: ignored",
    "Singularity containers: ignored",
)
_ON_FAILURE = "Complete log"
_BROKEN_CONFIG = (
    "Config file is not valid JSON or YAML",
    "Config file must be given as JSON or YAML",
    "in load_configfile",
)
"""Snakemake's messages for a broken --configfile, which name neither the file nor the line, or are a traceback."""
_NOTHING = "Nothing to be done"
_END = "Shutting down"
_OF_A_STOP = (
    "Will exit after finishing",
    _END,
    _ON_FAILURE,
    "WorkflowError:\nAt least one job did not complete",
)
"""Snakemake's messages about a stop, whose reason is in the results."""
_finished_folder: Path | None = None
"""The run folder whose headline is printed when there is nothing to do, since Snakemake then calls no hook."""


class LogHandler(LogHandlerBase):
    """Replaces Snakemake's own handler; called from one thread. Filter, formatter and log file are Snakemake's."""

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        from snakemake.logging import ColorizingTextHandler
        from snakemake.settings.enums import Quietness

        told = self.common_settings
        self._stream = sys.stdout if told.stdout else sys.stderr
        nocolor = told.nocolor or bool(os.environ.get("NO_COLOR"))
        self._snakemake = ColorizingTextHandler(nocolor=nocolor, stream=self._stream)
        self._is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        quiet = {Quietness.ALL, Quietness.PROGRESS, Quietness.RULES} & set(told.quiet or ())
        self._is_snakemakes = bool(told.dryrun or told.verbose or told.debug_dag or quiet)
        self._status: Status | None = None
        self._folder: Path | None = None
        self._read_at = 0.0
        """When the run folder is read again."""
        self._runs: dict[int, tuple[RunId, str]] = {}
        self._at_a_time = 1
        self._has_failed = False
        self._is_over = False
        self._drawn = 0  # lines
        self._drawn_at = 0.0
        self._shown: list[str] = []
        """The progress that stays on the screen."""
        self._others: dict[int, tuple[str, float]] = {}
        """Jobs that are no run: what they do, and since when."""
        self._ticking: Thread | None = None
        self._ended = Event()

    def emit(self, record: LogRecord) -> None:
        """Updates the state from an event, prints messages that must be shown, and redraws the line."""
        try:
            self._snakemake.setFormatter(self.formatter)
            if any(words in str(record.msg) for words in _BROKEN_CONFIG):
                record.msg = _why_broken() or record.msg
            foreign = re.search(r"No rule to produce (bench/\S+)", str(record.msg))
            if foreign and (mine := _finished_folder) and mine not in Path(foreign[1]).parents:
                record.msg = (
                    f"error: {foreign[1]}: this config makes {mine}; name another by --configfile"
                )
            if self._is_snakemakes:
                self._snakemake.emit(record)
                return
            was_over = self._is_over
            has_ended = self._note(record)
            if self._is_said(record):
                self._has_failed |= record.levelno > INFO
                self._clear()
                self._snakemake.emit(record)
            if str(record.msg or "").startswith(_NOTHING) and _finished_folder:
                _print_headline(_finished_folder)
            if not was_over and self._is_due(has_ended):
                self._draw()
        except Exception:
            self.handleError(record)

    def _is_due(self, has_ended: bool) -> bool:
        if self._is_over or self._is_terminal:
            return self._is_over or has_ended or bool(self._runs)
        return has_ended and time.monotonic() - self._drawn_at >= LINE_EVERY_S

    def _is_said(self, record: LogRecord) -> bool:
        text = str(record.msg or "")
        if self._is_of_a_stop(record, text):
            return False
        if record.levelno > INFO:
            return True
        if text.startswith(_ON_FAILURE):
            return self._has_failed
        return getattr(record, "event", None) not in _UNSAID_EVENTS and not text.startswith(_UNSAID)

    def _is_of_a_stop(self, record: LogRecord, text: str) -> bool:
        """True for a run that failed because everything was stopped, and for messages that follow from only that."""
        is_error = getattr(record, "event", None) == LogEvent.JOB_ERROR
        if not self._folder or not (is_error or text.startswith(_OF_A_STOP)):
            return False
        from lensbench.runs.stopping import why_stopped

        why = why_stopped(self._folder)
        if why and is_error:
            return any(
                why in Path(log).read_text("utf-8", "replace") for log in vars(record)["log"]
            )
        return bool(why) and not self._has_failed

    def _note(self, record: LogRecord) -> bool:
        """Notes the event; True when a run has ended."""
        match getattr(record, "event", None), vars(record):
            case LogEvent.RESOURCES_INFO, {"cores": int(count)} | {"nodes": int(count)}:
                self._at_a_time = count
            case LogEvent.JOB_INFO, {"jobid": job, **told}:
                self._began(job, told)
            case (LogEvent.JOB_FINISHED, {"job_id": job}) | (LogEvent.JOB_ERROR, {"jobid": job}):
                self._others.pop(job, None)
                return self._runs.pop(job, None) is not None
            case LogEvent.PROGRESS, {"done": done, "total": total}:
                self._is_over = done == total
            case _, {"msg": str(text)} if text.startswith(_END):
                self._is_over = True
        return False

    def _began(self, job: int, told: dict[str, Any]) -> None:
        place = _run_of(told)
        self._tick()
        if place is None:
            if message := told["rule_msg"]:
                self._end_line()
                self._write(message)  # on its own line: its program may write to the terminal, too
                self._others[job] = message, time.monotonic()
            return
        self._folder, run = place
        self._runs[job] = run, time.strftime("%H:%M:%S")
        self._read()

    def _tick(self) -> None:
        """Begins to show the progress from time to time, also while nothing happens."""
        if self._ticking is None:
            self._ticking = Thread(target=self._redraw, name="progress", daemon=True)
            self._ticking.start()

    def _redraw(self) -> None:
        every_s = REDRAWN_EVERY_S if self._is_terminal else LINE_EVERY_S
        while not self._ended.wait(every_s / 8):
            with self.lock or nullcontext():
                if self._is_over:
                    continue
                if self._runs and time.monotonic() - self._drawn_at >= every_s:
                    self._draw()
                elif self._others and not self._runs:
                    self._say_what_takes_long(every_s)

    def _say_what_takes_long(self, every_s: float) -> None:
        now = time.monotonic()
        newest = max(began for _, began in self._others.values())
        if now - max(self._drawn_at, newest) < every_s:
            return
        self._drawn_at = now
        for message, began in self._others.values():
            self._write(f"{message}, {now - began:.0f} s")

    def _draw(self) -> None:
        self._read()
        if not self._status:
            return
        from lensbench.workflow.status import block, line

        self._drawn_at = time.monotonic()
        if self._is_terminal:
            width = os.get_terminal_size(self._stream.fileno()).columns or 80
            running = {run.stem: since for run, since in self._runs.values()}
            lines = block(self._status, running, self._at_a_time, width)
        else:
            lines = [line(self._status, len(self._runs), self._at_a_time)]
        if lines != self._shown:
            if self._is_terminal:
                self._clear()
                self._stream.write("\n".join(lines))
                self._drawn = len(lines)
            else:
                self._write(lines[0])
            self._shown = lines
        if self._is_over:
            self._end_line()
        self._stream.flush()

    def _read(self) -> None:
        """Reads the run folder, and again if that takes a twentieth of the time at most, or no run is at work."""
        began = time.monotonic()
        if self._folder and (began >= self._read_at or not self._runs):
            from lensbench.workflow.status import Status

            with suppress(OSError, UserError):
                self._status = Status(self._folder, self._status)
            self._read_at = began + 20 * (time.monotonic() - began)

    def _write(self, text: str) -> None:
        moment = ""
        if not self._is_terminal:
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime())
        print(moment, text, sep="", file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._drawn:
            up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
            self._stream.write(f"{up}{_CLEAR}")
            self._drawn = 0
            self._shown = []

    def _end_line(self) -> None:
        if self._drawn:
            self._stream.write("\n")
            self._drawn = 0

    def close(self) -> None:
        """Prints the final progress, and leaves the cursor on a new line."""
        self._ended.set()
        was_over = self._is_over
        self._is_over = True
        if not self._is_terminal and not was_over:
            self._draw()
        self._end_line()
        super().close()


def _run_of(told: dict[str, Any]) -> tuple[Path, RunId] | None:
    """The run folder and the run of a job, from its file names, since another workflow may rename the rule."""
    names = told["wildcards"]
    if not {"trial", "task", "condition"} <= names.keys() or not told["output"]:
        return None
    run = RunId(names["task"], names["condition"], int(names["trial"].strip("t/") or 1))
    view = Path(told["output"][0])
    folder = Path(str(view).removesuffix(f"/runs/{run.stem}.md"))
    return (folder, run) if view_of(folder, run) == view else None


def _print_headline(folder: Path) -> None:
    from lensbench.workflow.finish import print_headline

    with suppress(UserError):
        print_headline(folder)


def _why_broken() -> str:
    """What is wrong with the config files on the command line, file and line first; "" when nothing is."""
    from lensbench.plan.reading import read_file

    named = dropwhile(lambda word: not word.startswith("--configf"), sys.argv[1:])
    for word in takewhile(
        lambda word: not word.startswith("-") or word.startswith("--configf"), named
    ):
        name = word.partition("=")[2] if word.startswith("-") else word
        try:
            if name:
                read_file(name)
        except UserError as error:
            return f"error: {error}"
    return ""


def says_when_nothing_is_to_be_done(folder: Path) -> None:
    """Makes a start with nothing to do print the headline of this run folder."""
    global _finished_folder
    _finished_folder = folder


def catch_up() -> None:
    """Waits until Snakemake's output so far is written, so that output of programs on the same terminal follows it."""
    for handler in getLogger("snakemake.logging").handlers:
        if queue := getattr(handler, "queue", None):
            queue.join()
