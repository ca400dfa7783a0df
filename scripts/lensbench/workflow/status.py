"""The progress of a benchmark, from its files alone: `lensbench status`.

Whether a run is valid is decided by the rules of `validity`, even before that stage has run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from lensbench.agents.services import PLACE, service_of, used_up
from lensbench.core.conditions import shown_names
from lensbench.core.errors import UserError, printable
from lensbench.core.records import Record, RunId
from lensbench.core.rows import RunStatus
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import (
    DISCARD,
    Discard,
    Entry,
    entries,
    rounds_spent,
    run_files,
)
from lensbench.core.system.claim import at_work
from lensbench.core.system.program import run_verb
from lensbench.core.system.progress import fitted, span
from lensbench.plan.waves import read_opened_plan
from lensbench.results.chosen_runs import warnings
from lensbench.runs.attempt import gate_name
from lensbench.runs.start_gate import who_is_there
from lensbench.runs.stopping import spent
from lensbench.runs.validity import decide, planned_runs

LAST_DISCARDS = 5


class RunCounts(NamedTuple):
    """Runs of a condition."""

    valid: int
    discarded: int
    """Those whose last attempt was discarded."""
    left: int
    """Those without an answer."""
    repeated: int
    """Of the discarded ones, those that are not given up."""
    due: int = 0
    """Of the repeated ones, those that were discarded before this start, which repeats them."""

    @property
    def to_come(self) -> int:
        """Runs that are still to do in this start."""
        return self.left + self.due


class RunCost(NamedTuple):
    """What a finished run took, with all its attempts."""

    seconds: float
    usd: float | None


class Status:
    """The progress, as the files are now. `before` is an earlier reading in this start: what is
    discarded since the first is not `due` before the next start."""

    _first: tuple[float, int]
    """When the first reading in this start was, and the runs that were left then."""

    def __init__(self, folder: Path, before: Status | None = None) -> None:
        self.folder = folder
        self.plan = read_opened_plan(folder)
        self.runs = planned_runs(self.plan)
        newest = {run: run_files(folder, run) for run in self.runs}
        records = {}
        discards = {}
        for run, entry in newest.items():
            record = _record(entry, run)
            if record:
                records[run] = record
            if DISCARD in entry.files:
                discards[run] = entry.read_discard()
        self.due: dict[RunId, int] = {run: newest[run].number for run in discards}
        if before:
            self.due = before.due
        self.is_cost_estimated = False
        self._spent: dict[str, list[RunCost]] = {name: [] for name in self.plan["conditions"]}
        for run, record in records.items():
            cost = record.outcome.cost_usd
            seconds = record.attempt.waited_s + (record.attempt.duration_s or 0)
            self._spent[run.condition].append(RunCost(seconds, cost))
            if cost is not None and record.outcome.cost_is_guess:
                self.is_cost_estimated = True
        self.counts = dict.fromkeys(self.plan["conditions"], RunCounts(0, 0, 0, 0))
        self.last_discard = ""
        for validity in decide(records, self.plan, discards):
            run = validity.run
            is_discarded = validity.status == RunStatus.DISCARDED
            is_due = run in discards and newest[run].number == self.due.get(run)
            is_repeated = is_discarded and self._is_repeated(run)
            is_missing = validity.status == RunStatus.MISSING
            count = self.counts[run.condition]
            self.counts[run.condition] = RunCounts(
                valid=count.valid + (validity.status == RunStatus.VALID),
                discarded=count.discarded + is_discarded,
                left=count.left + is_missing,
                repeated=count.repeated + is_repeated,
                due=count.due + (is_repeated and is_due),
            )
            if is_discarded and before and not is_due:
                self.last_discard = f"{run.stem}: {validity.reason}"
                if validity.detail:
                    self.last_discard += f" ({validity.detail})"
        self._first = before._first if before else (time.monotonic(), self.left)

    def _is_repeated(self, run: RunId) -> bool:
        """True for a discarded run of which a start makes another attempt. Its last discard may not be filed yet."""
        if self.plan["agent"]["kind"] == "none":
            return False
        attempts = entries(self.folder, run)
        used = rounds_spent(attempts)
        if DISCARD not in attempts[-1].files:
            used += 1
        return used <= self.plan["max_rounds"]

    @property
    def left(self) -> int:
        """How many of the planned runs are still to do."""
        return sum(count.to_come for count in self.counts.values())

    def left_s(self, at_a_time: int) -> float | None:
        """Estimated seconds for the runs that are left, by the mean of each condition, as a treatment may be slower,
        and at most at this start's pace; None while one with runs left has no finished one."""
        if any(count.to_come and not self._spent[name] for name, count in self.counts.items()):
            return None
        work = self._to_come(lambda runs: [run.seconds for run in runs])
        if work is None:
            return None
        return max(work / max(min(at_a_time, self.left), 1), self._at_this_pace)

    @property
    def _at_this_pace(self) -> float:
        """Seconds for the runs that are left if each takes as long as those of this start did, whatever takes it."""
        began, left = self._first
        done = left - self.left
        if done <= 0:
            return 0.0
        return self.left * (time.monotonic() - began) / done

    @property
    def left_usd(self) -> float | None:
        """The estimated cost of the runs that are left; None while no agent reports a cost."""
        return self._to_come(lambda runs: [run.usd for run in runs if run.usd is not None])

    def _to_come(self, amounts: Callable[[list[RunCost]], list[float]]) -> float | None:
        """The estimated total of what is left; a condition without its own mean gets the overall one."""
        values = amounts([*chain(*self._spent.values())])
        if not values:
            return None
        total = 0.0
        for name, count in self.counts.items():
            total += count.to_come * fmean(amounts(self._spent[name]) or values)
        return total

    @property
    def waiting(self) -> str:
        """Until when the plan of the agent's service is used up; "" when it is not."""
        return used_up(service_of(self.plan["agent"]), self.folder.parent / PLACE.name)

    @property
    def running(self) -> list[str]:
        """The runs in progress here, with those that wait for the other of their pair."""
        there = set(who_is_there(str(RunFolder(self.folder).gate)))
        return [run.stem for run in self.runs if gate_name(run) in there]

    def last_discards(self) -> list[tuple[str, Discard]]:
        """The last discarded attempts, as `<run>-<n>`, newest first."""
        discards = []
        for run in self.runs:
            for entry in entries(self.folder, run):
                if DISCARD in entry.files:
                    moment = (entry.folder / DISCARD).stat().st_mtime_ns
                    name = f"{run.stem}-{entry.number}"
                    discards.append((moment, name, entry.read_discard()))
        newest = sorted(discards, reverse=True)[:LAST_DISCARDS]
        return [(name, discard) for _, name, discard in newest]


def _record(entry: Entry, run: RunId) -> Record | None:
    try:
        return entry.read_record(run)
    except UserError:
        return None  # damaged: it will be repeated


def _spent(folder: Path) -> str:
    try:
        cost = spent(folder)
    except UserError:
        return "spent ?"  # with a budget, the next attempt reports the error
    shows_dollars = cost.usd_known > 0 or any(usd for usd, _ in cost.cut)
    if shows_dollars:
        return f"spent ${cost.usd_so_far:.2f}"
    return f"agents worked {span(cost.hours * 3600)}"


def line(status: Status, running: int, at_a_time: int) -> str:
    runs, *others = _totals(status, running, at_a_time)
    conditions = [f"{name}: {count}" for name, count in _conditions(status).items()]
    return " | ".join([runs, *conditions, *others])


def block(status: Status, running: Mapping[str, str], at_a_time: int, width: int) -> list[str]:
    """Lines that fit a terminal of this width. `running`: run -> start time."""
    rows = [*_conditions(status).items()]
    names = max(len(name) for name, _ in [*rows, ("discarded", "")])
    if running:
        since = [f"{run} since {start}" for run, start in running.items()]
        rows.append(("running", ", ".join(since)))
    if status.waiting:
        rows.append(("waiting", status.waiting))
    if status.last_discard:
        rows.append(("discarded", status.last_discard))
    totals = " | ".join(_totals(status, len(running), at_a_time))
    texts = [totals, *(f"  {name:{names}}  {text}" for name, text in rows)]
    return [fitted(text, width) for text in texts]


def _totals(status: Status, running: int, at_a_time: int) -> list[str]:
    totals = [f"{len(status.runs) - status.left}/{len(status.runs)} runs", f"{running} running"]
    seconds = status.left_s(at_a_time)
    if seconds is not None and status.left:
        totals.append(f"{span(seconds)} left")
    money = _spent(status.folder)
    if status.left_usd and status.left:
        money += f", about ${status.left_usd:.2f} to come"
    if status.is_cost_estimated:
        money += " (estimated)"
    return [*totals, money]


def _conditions(status: Status) -> dict[str, str]:
    """What readers call each condition -> its runs, in words."""
    names = shown_names(status.plan)
    return {names[condition]: _words(count) for condition, count in status.counts.items()}


def _words(count: RunCounts) -> str:
    again = f" ({count.repeated} to repeat)" if count.repeated else ""
    return f"{count.valid} valid, {count.discarded} discarded{again}, {count.left} left"


def lines(status: Status) -> Iterator[str]:
    worker = at_work(status.folder)
    running = status.running
    if worker:
        yield f"{status.folder}: running (process {worker.process} on {worker.host}, since {worker.since})"
    else:
        yield f"{status.folder}: not running"
    yield line(status, len(running), len(running))
    if status.waiting:
        yield f"waiting: {status.waiting}"
    if running:
        yield f"running now: {', '.join(running)}"
    yield from warnings(status.folder)
    for name, discard in status.last_discards():
        yield f"discarded: {name}: {discard.reason} {discard.detail}"


def print_status(folder: Path) -> None:
    """Print the progress of a benchmark: runs per condition, what is running, time and cost, the last discards."""
    print(*map(printable, lines(Status(folder))), sep="\n")


if __name__ == "__main__":
    run_verb("status", print_status)
