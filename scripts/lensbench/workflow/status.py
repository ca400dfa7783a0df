"""The progress of a benchmark, from its files alone: `lensbench status`.

Whether a run is valid is decided by the rules of `validity`, even before that stage has run.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from lensbench.agents.services import PLACE, service_of, used_up
from lensbench.core.errors import UserError
from lensbench.core.records import Record, RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.run_status import RunStatus
from lensbench.core.store import DISCARD, Discard, State, entries, rounds, run_files, state_of
from lensbench.core.system.claim import at_work
from lensbench.core.system.program import run_verb
from lensbench.core.system.terminal import printable
from lensbench.plan.waves import read_opened_plan
from lensbench.results.chosen_runs import warnings
from lensbench.runs.attempt import gate_name
from lensbench.runs.budget import spent
from lensbench.runs.start_gate import who_is_there
from lensbench.runs.validity import Validity, decide_together, planned_runs

LAST_DISCARDS = 5


class Count(NamedTuple):
    """Runs of a condition. `valid` and `discarded` count existing runs; a discard to be repeated also counts as
    left."""

    valid: int
    discarded: int
    left: int


class _Made(NamedTuple):
    """The total time and cost of finished runs."""

    runs: int = 0
    seconds: float = 0.0
    priced: int = 0
    """Runs whose cost is known."""
    usd: float = 0.0

    def plus(self, other: _Made, sign: int = 1) -> _Made:
        """The sum of both; with a `sign` of -1, the difference."""
        runs, priced = self.runs + sign * other.runs, self.priced + sign * other.priced
        return _Made(runs, self.seconds + sign * other.seconds, priced, self.usd + sign * other.usd)


class Status:
    """The progress of a benchmark. Reads everything once; after that, `ended` updates it for each finished run.

    Raises UserError when the folder has no plan.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = read_opened_plan(folder)
        self._filed: dict[RunId, Discard] = {}
        self._made: dict[RunId, _Made] = {}
        self._together = dict.fromkeys(self.plan["conditions"], _Made())
        self._sorted_seconds: list[float] = []
        self._standing: dict[RunId, Count] = {}
        self.is_cost_estimated = False
        self.last_discard = ""
        """The last run discarded since the first read, and why."""
        self.counts = dict.fromkeys(self.plan["conditions"], Count(0, 0, 0))
        runs = planned_runs(self.plan)
        for run in runs:
            if filed := self._filing(run):
                self._filed[run] = filed
        for run in runs:
            if run not in self._standing:
                self._decide(run)

    def knows(self, run: RunId) -> bool:
        """True for runs in the waves that were open at the first read."""
        return run in self._standing

    def ended(self, run: RunId) -> None:
        """Updates the counts after a run has ended. Only runs of the same task and trial can change."""
        self._filed.pop(run, None)
        before = {each for each in self._pair(run) if each in self._standing and self._standing[each].discarded}
        for validity in self._decide(run):
            is_new = validity.run == run or validity.run not in before
            if validity.status == RunStatus.DISCARDED and is_new:
                why = f"{validity.reason} ({validity.detail})" if validity.detail else validity.reason
                self.last_discard = f"{validity.run.stem}: {why}"

    @property
    def planned(self) -> int:
        """How many runs are planned in open waves."""
        return len(self._standing)

    @property
    def left(self) -> int:
        """How many of the planned runs are still to do."""
        return sum(count.left for count in self.counts.values())

    @property
    def median_s(self) -> float | None:
        """The median time of the finished runs in seconds, with all attempts; None without any."""
        return self._sorted_seconds[len(self._sorted_seconds) // 2] if self._sorted_seconds else None

    def left_s(self, at_a_time: int) -> float | None:
        """Estimated seconds for the runs that are left; None while a condition with runs left has no finished one.

        Uses the mean of each condition, because a treatment may take many times as long as the baseline.
        """
        if any(
            count.left and not made.runs
            for count, made in zip(self.counts.values(), self._together.values(), strict=True)
        ):
            return None
        work = self._to_come(lambda made: made.seconds / made.runs if made.runs else None)
        return None if work is None else work / max(min(at_a_time, self.left), 1)

    @property
    def left_usd(self) -> float | None:
        """Estimated cost of the runs that are left, by the mean of each condition; None while no agent reports a
        cost."""
        return self._to_come(lambda made: made.usd / made.priced if made.priced else None)

    def _to_come(self, mean: Callable[[_Made], float | None]) -> float | None:
        """The estimated total for the runs that are left; a condition without its own mean gets the overall mean."""
        common = mean(reduce(_Made.plus, self._together.values(), _Made()))
        if common is None:
            return None
        means = (common if (own := mean(made)) is None else own for made in self._together.values())
        return sum(count.left * each for count, each in zip(self.counts.values(), means, strict=True))

    @property
    def waiting(self) -> str:
        """Until when the plan of the agent's service is used up; "" when it is not."""
        return used_up(service_of(self.plan["agent"]), self.folder.parent / PLACE.name)

    @property
    def running(self) -> list[str]:
        """The runs in progress on this machine, including those that wait for the other run of their pair."""
        there = set(who_is_there(str(RunFolder(self.folder).gate)))
        return [run.stem for run in self._standing if gate_name(run) in there]

    def last_discards(self) -> list[tuple[str, Discard]]:
        """The last discarded attempts, as `<run>-<n>`, newest first."""
        filed = [
            ((entry.folder / DISCARD).stat().st_mtime_ns, f"{run.stem}-{entry.number}", discard)
            for run in self._standing
            for entry, discard in rounds(entries(self.folder, run))
        ]
        return [(name, discard) for _, name, discard in sorted(filed, reverse=True)[:LAST_DISCARDS]]

    def _pair(self, run: RunId) -> list[RunId]:
        """The runs of the same task and trial, including this one."""
        return [run._replace(condition=name) for name in self.plan["conditions"]]

    def _decide(self, run: RunId) -> list[Validity]:
        together = self._pair(run)
        records = {each: record for each in together if (record := self._read(each))}
        found = list(decide_together(together, records, self.plan, self._filed))
        for validity in found:
            before, now = self._standing.get(validity.run, Count(0, 0, 0)), self._stands(validity)
            self._standing[validity.run] = now
            total = self.counts[validity.run.condition]
            self.counts[validity.run.condition] = Count(
                *(a - b + c for a, b, c in zip(total, before, now, strict=True))
            )
        return found

    def _read(self, run: RunId) -> Record | None:
        try:
            record = run_files(self.folder, run).read_record(run)
        except UserError:
            return None  # damaged: it will be repeated
        if record:
            seconds = record.attempt.waited_s + (record.attempt.duration_s or 0)
            usd = record.outcome.cost_usd
            self.is_cost_estimated |= usd is not None and record.outcome.cost_is_guess
            self._note(run, _Made(1, seconds, int(usd is not None), usd or 0.0))
        return record

    def _note(self, run: RunId, made: _Made) -> None:
        total = self._together[run.condition]
        if before := self._made.get(run):
            del self._sorted_seconds[bisect_left(self._sorted_seconds, before.seconds)]
            total = total.plus(before, -1)
        self._made[run], self._together[run.condition] = made, total.plus(made)
        insort(self._sorted_seconds, made.seconds)

    def _filing(self, run: RunId) -> Discard | None:
        newest = run_files(self.folder, run)
        return newest.read_discard() if DISCARD in newest.files else None

    def _stands(self, validity: Validity) -> Count:
        """The run's contribution to the counts."""
        run, status = validity.run, validity.status
        state = state_of(entries(self.folder, run), self.plan["max_rounds"])
        again = run in self._filed and state == State.DISCARDED
        return Count(status == RunStatus.VALID, status == RunStatus.DISCARDED, again or status == RunStatus.MISSING)


def _price(folder: Path) -> str:
    try:
        cost = spent(folder)
    except UserError:
        return "?"  # with a budget, the next attempt reports the error
    return f"${cost['usd']:.2f}" if cost["usd"] else span(cost["hours"] * 3600)


def line(status: Status, running: int, at_a_time: int) -> str:
    """The whole status on one line."""
    runs, *rest = _totals(status, running, at_a_time)
    return " | ".join([runs, *(f"{name}: {_words(count)}" for name, count in status.counts.items()), *rest])


def block(status: Status, running: Mapping[str, str], at_a_time: int, width: int) -> list[str]:
    """The status as lines that fit a terminal of this width: the totals, a line for each condition, the runs in
    progress (`running`: run -> start time) and the last discard."""
    names = max(map(len, [*status.counts, "discarded"]))
    rows = [(name, _words(count)) for name, count in status.counts.items()]
    if running:
        rows.append(("running", ", ".join(f"{run} since {since}" for run, since in running.items())))
    if status.waiting:
        rows.append(("waiting", status.waiting))
    if status.last_discard:
        rows.append(("discarded", status.last_discard))
    totals = " | ".join(_totals(status, len(running), at_a_time))
    shown = [totals, *(f"  {name:{names}}  {text}" for name, text in rows)]
    return [text if len(text) < width else f"{text[: width - 2]}…" for text in map(printable, shown)]


def _totals(status: Status, running: int, at_a_time: int) -> list[str]:
    seconds, to_come = status.left_s(at_a_time), status.left_usd
    is_left = status.left > 0
    return [
        f"{status.planned - status.left}/{status.planned} runs", f"{running} running",
        *([f"{span(seconds)} left"] if seconds is not None and is_left else []),
        f"spent {_price(status.folder)}" + (f", about ${to_come:.2f} to come" if to_come and is_left else "")
        + (" (estimated)" if status.is_cost_estimated else ""),
    ]  # fmt: skip


def _words(count: Count) -> str:
    return f"{count.valid} valid, {count.discarded} discarded, {count.left} left"


def span(seconds: float) -> str:
    """A readable duration: 45s, 3m, 2h05m."""
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f}s"
    return f"{minutes}m" if minutes < 100 else f"{minutes // 60}h{minutes % 60:02}m"


def lines(status: Status) -> Iterator[str]:
    """The lines that `lensbench status` prints."""
    worker, running = at_work(status.folder), status.running
    if worker:
        yield f"{status.folder}: Snakemake is running (process {worker.process} on {worker.host}, since {worker.since})"
    else:
        yield f"{status.folder}: no Snakemake is running on it"
    yield line(status, len(running), len(running))
    if status.median_s is not None:
        yield f"median run: {span(status.median_s)}"
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
