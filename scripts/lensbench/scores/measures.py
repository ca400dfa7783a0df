"""What the tables say together: averages, adoption, discards, and which controls held. Plain data, for results.json.

Averages are over tasks: trials are averaged inside a task first. A missing value is missing, never 0, and a delta
rests on complete pairs only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from lensbench.core.borrowed import borrowed, lenders_of
from lensbench.core.conditions import AGAIN, compared, further_baselines, lenders
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import COMPLETE, exact, mean
from lensbench.core.records import Record, RunId, sha256
from lensbench.core.rows import PairRow, ReportRow, ScoreRow, ValidityRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.run_status import COUNTING, RunStatus
from lensbench.core.tables import items, read_table, run_of_pair, run_of_row
from lensbench.plan.waves import read_opened_plan
from lensbench.runs.made_with import as_made
from lensbench.runs.reasons import tools_of
from lensbench.scores.scores import read_present_records, short_name

Value = Callable[[RunId], Fraction | None]
N = TypeVar("N")
"""A number: exact here, a float when it is read from a file."""


class Measure(NamedTuple):
    """A quantity of runs in a treatment and in the baseline, and its difference over complete pairs."""

    treatment: Fraction | None
    """The average over all runs that have it; the next one too."""
    baseline: Fraction | None
    paired_treatment: Fraction | None
    """The average over complete pairs alone; the next three too."""
    paired_baseline: Fraction | None
    delta: Fraction | None
    relative: Fraction | None
    """The difference as a share of the baseline."""
    pairs: int
    """Tasks with at least one complete pair."""
    largest: Fraction | None = None
    """The share of the treatment's total, over complete pairs, that the task with the most of it holds."""


class Count(TypedDict):
    """In how many runs something is so, of those in which it is known."""

    runs: int
    of: int


class Category(TypedDict):
    """A treatment in one category of tasks."""

    tasks: int
    score: Measure
    tool_calls: Measure
    adoption: Count


class ToolsOfRun(TypedDict):
    """The tools that a run used."""

    task: str
    trial: int
    tools: Mapping[str, int | str | None]
    """The calls of each tool; yes or no where only the report tells."""


class AdoptionGroup(TypedDict, Generic[N]):
    """The pairs of a treatment that are alike in adoption. Means are over tasks."""

    pairs: int
    complete: int
    delta: N | None
    misdirected: Count
    diverged: Count
    treatment_duration_s: N | None
    baseline_duration_s: N | None


class ControlCheck(TypedDict):
    """In how many runs a control held, of those in which it could be checked."""

    check: str
    runs: int
    of: int
    unseen: int
    """Runs in which it could not be checked."""


class Tables(NamedTuple):
    """All that is known about a benchmark, as the stages left it."""

    plan: Plan
    validity: Sequence[ValidityRow]
    scores: Mapping[RunId, ScoreRow]
    reports: Mapping[RunId, ReportRow]
    pairs: Sequence[PairRow]
    verdicts: Sequence[VerdictRow]
    records: Mapping[RunId, Record]
    borrowed: frozenset[RunId] = frozenset()
    """The runs of the baseline that earlier benchmarks made."""
    lenders: Mapping[RunId, str] = MappingProxyType({})
    """The run folders that these are from."""

    @property
    def valid(self) -> list[Record]:
        """The records of the runs that count."""
        return [self.records[run_of_row(row)] for row in self.validity if row["status"] == RunStatus.VALID]

    @property
    def lost(self) -> list[RunId]:
        """The runs that were given up: no start makes them again."""
        return [run_of_row(row) for row in self.validity if row["given_up"] == "yes"]

    def identity(self, run: RunId) -> str:
        """What tells a run from another one in its place."""
        return identity(self.records[run].last.started_at, self.records[run].answer_sha256)

    def score(self, run: RunId) -> Fraction | None:
        """The score of a run."""
        return exact(self.scores[run]["score"])

    def compared_score(self, run: RunId) -> Fraction | None:
        """The score of a run as it is compared: that of the baseline is the mean over all its runs of this task and
        trial, where earlier benchmarks made several."""
        own = self.score(run)
        if own is None or run.condition != self.plan["baseline"]:
            return own
        return mean(map(self.score, self.compared_runs(run)))

    def compared_runs(self, run: RunId) -> list[RunId]:
        """The runs that the compared score of a run rests on."""
        further = further_baselines(self.plan) if run.condition == self.plan["baseline"] else ()
        others = (run._replace(condition=name) for name in further)
        return [run, *(other for other in others if other in self.scores and self.score(other) is not None)]

    def against(self, treatment: str) -> Tables:
        """The same with a treatment in the baseline's place; no run of it is borrowed."""
        plan: Any = {name: value for name, value in self.plan.items() if name != "bank"} | {"baseline": treatment}
        return self._replace(plan=plan)

    def complete(self, run: RunId) -> Fraction | None:
        """1 for a complete run, 0 for another, None without a score."""
        score = self.score(run)
        return None if score is None else Fraction(score >= COMPLETE)

    def duration(self, run: RunId) -> Fraction | None:
        """Seconds of the attempt that gave the answer."""
        return exact(self.scores[run]["duration_s"])

    def reported_calls(self, run: RunId) -> Fraction | None:
        """Tool calls that the agent reports."""
        return self._reported(run, "tool_calls")

    def reported_files(self, run: RunId) -> Fraction | None:
        """Files read that the agent reports."""
        return self._reported(run, "files_read")

    def observed_calls(self, run: RunId) -> Fraction | None:
        """Tool calls in the transcript."""
        calls = self.records[run].outcome.calls if self._counts(run) else None
        return None if calls is None else Fraction(sum(call.count for call in calls))

    def known_calls(self, run: RunId) -> Fraction | None:
        """Tool calls in the transcript; those that the agent reports where there is none."""
        observed = self.observed_calls(run)
        return self.reported_calls(run) if observed is None else observed

    def observed_files(self, run: RunId) -> Fraction | None:
        """Files read in the transcript."""
        files = self.records[run].outcome.files_read if self._counts(run) else None
        return None if files is None else Fraction(len(files))

    def tokens(self, run: RunId, *names: str) -> Fraction | None:
        """Tokens of the named kinds together; None when the agent does not show them."""
        tokens = self.records[run].outcome.tokens if self._counts(run) else None
        return None if tokens is None else Fraction(sum(tokens.get(name, 0) for name in names))

    def cost(self, run: RunId) -> Fraction | None:
        """US dollars, as the agent reports them."""
        cost = self.records[run].outcome.cost_usd if self._counts(run) else None
        return None if cost is None else Fraction(str(cost))

    def turns(self, run: RunId) -> Fraction | None:
        """Turns of the agent."""
        turns = self.records[run].outcome.turns if self._counts(run) else None
        return None if turns is None else Fraction(turns)

    def first_token(self, run: RunId) -> Fraction | None:
        """Seconds from the agent's start to the first word of the model."""
        seconds = self.records[run].outcome.first_token_s if self._counts(run) else None
        return None if seconds is None else Fraction(str(seconds))

    def outside_agent(self, run: RunId) -> Fraction | None:
        """Seconds of the duration that the agent does not count as its own: its start, MCP start-up and end."""
        seconds, wall = self.records[run].outcome.agent_s if self._counts(run) else None, self.duration(run)
        return None if seconds is None or wall is None else wall - Fraction(str(seconds))

    def timed(self, value: Value) -> Value:
        """A quantity of time, which is only comparable with runs of the same days: for a borrowed run, the value of the
        one that was made again; None where there is none."""

        def of(run: RunId) -> Fraction | None:
            again = run._replace(condition=AGAIN) if run in self.borrowed else run
            return value(again) if again in self.scores else None

        return of

    def _reported(self, run: RunId, column: Literal["tool_calls", "files_read"]) -> Fraction | None:
        return exact(self.reports[run][column]) if self._counts(run) and run in self.reports else None

    def _counts(self, run: RunId) -> bool:
        return self.scores[run]["status"] in COUNTING


def identity(started_at: str, answer_sha256: str) -> str:
    """A short hash of when a run's last attempt began and of what it answered."""
    return sha256(f"{started_at} {answer_sha256}".encode())[:10]


def read_tables(folder: Path, records: Mapping[RunId, Record] | None = None) -> Tables:
    """Everything that the stages before left in the run folder; `records` are those of all runs that have one, where
    they were read before."""
    plan = read_opened_plan(folder)
    validity = read_table(RunFolder(folder).validity, ValidityRow)
    if records is None:
        records = read_present_records(folder, validity)
    valid = [records[run_of_row(row)] for row in validity if row["status"] == RunStatus.VALID]
    loans = borrowed(folder, records) if "bank" in plan else frozenset()
    return Tables(
        plan=as_made(plan, valid),
        validity=validity,
        scores={run_of_row(row): row for row in read_table(RunFolder(folder).scores, ScoreRow)},
        reports={run_of_row(row): row for row in read_table(RunFolder(folder).reports, ReportRow)},
        pairs=read_table(RunFolder(folder).pairs, PairRow),
        verdicts=read_table(RunFolder(folder).verdicts, VerdictRow),
        records=records,
        borrowed=loans,
        lenders=lenders_of(folder, loans, lenders(plan["bank"])[0]) if loans else {},
    )


def measure(tables: Tables, value: Value, treatment: str, tasks: Iterable[str]) -> Measure:
    """A quantity over the given tasks."""
    sides: list[tuple[Fraction | None, Fraction | None]] = []
    complete: list[tuple[Fraction, Fraction]] = []
    for task in tasks:
        trials = range(1, tables.plan["trials"] + 1)
        treated = [value(RunId(task, treatment, trial)) for trial in trials]
        base = [value(RunId(task, tables.plan["baseline"], trial)) for trial in trials]
        sides.append((mean(treated), mean(base)))
        both = [(a, b) for a, b in zip(treated, base, strict=True) if a is not None and b is not None]
        if both:
            complete.append(
                (sum(a for a, _ in both) / Fraction(len(both)), sum(b for _, b in both) / Fraction(len(both)))
            )
    after, before = mean(a for a, _ in complete), mean(b for _, b in complete)
    delta = None if after is None or before is None else after - before
    share = delta / before if delta is not None and before else None
    total = sum((a for a, _ in complete), Fraction(0))
    largest = max(a for a, _ in complete) / total if total else None
    return Measure(
        mean(a for a, _ in sides), mean(b for _, b in sides), after, before, delta, share, len(complete), largest
    )


def measures(tables: Tables, treatment: str) -> dict[str, Measure]:
    """All quantities of a treatment against the baseline, over all tasks."""
    values: dict[str, Value] = {
        "score": tables.compared_score,
        "complete": tables.complete,
        "duration_s": tables.timed(tables.duration),
        "tool_calls_reported": tables.reported_calls,
        "tool_calls_observed": tables.observed_calls,
        "files_read_reported": tables.reported_files,
        "files_read_observed": tables.observed_files,
        "turns": tables.turns,
        "tokens_input": lambda run: tables.tokens(run, "input", "cache_read", "cache_write"),
        "tokens_cached": lambda run: tables.tokens(run, "cache_read"),
        "tokens_output": lambda run: tables.tokens(run, "output"),
        "cost_usd": tables.cost,
        "first_token_s": tables.timed(tables.first_token),
        "outside_agent_s": tables.timed(tables.outside_agent),
    }
    return {name: measure(tables, value, treatment, tables.plan["order"]) for name, value in values.items()}


def categories(tables: Tables, treatment: str) -> dict[str, Category]:
    """Score, tool calls and adoption by category, in the order in which the categories appear."""
    found: dict[str, list[str]] = {}
    for task in tables.plan["order"]:
        found.setdefault(tables.plan["tasks"][task]["category"], []).append(task)
    return {
        category: {
            "tasks": len(tasks),
            "score": measure(tables, tables.compared_score, treatment, tasks),
            "tool_calls": measure(tables, tables.known_calls, treatment, tasks),
            "adoption": adoption(
                row["adopted"] for row in tables.pairs if row["treatment"] == treatment and row["task"] in tasks
            ),
        }
        for category, tasks in found.items()
    }


def adoption(cells: Iterable[object]) -> Count:
    """In how many runs a fact of adoption is so, and in how many it is known, by its column of pairs.csv."""
    known = [cell == "yes" for cell in cells if cell]
    return {"runs": sum(known), "of": len(known)}


def adoption_table(pairs: Sequence[PairRow]) -> dict[str, Count]:
    """The four facts of any tool, and what is reported tool by tool."""
    facts = ["offered", "called", "called_without_error", "adopted"]
    rows: Sequence[Mapping[str, object]] = pairs
    tools = [column for column in (rows[0] if rows else ()) if column.startswith("adopted_")]
    failed = [row["called_without_error"] == "no" for row in pairs if row["called"] == "yes"]
    table = {column: adoption(row[column] for row in rows) for column in [*facts, *tools]}
    return {**table, "all_calls_failed": {"runs": sum(failed), "of": len(failed)}}


def tools_by_run(tables: Tables, pairs: Sequence[PairRow], tools: Sequence[str]) -> list[ToolsOfRun]:
    """How often each run called each of `tools` that any run used; yes or no where only the report tells."""
    rows: list[ToolsOfRun] = []
    for pair in pairs:
        outcome = tables.records[run].outcome if (run := run_of_pair(pair)) in tables.records else None
        calls = outcome.calls if outcome and tables.scores[run]["status"] in COUNTING else None
        reported = {tool: str(pair.get(f"adopted_{short_name(tool)}", "")) or None for tool in tools}
        seen = {tool: sum(call.count for call in calls or () if call.name == tool) for tool in tools}
        rows.append({"task": run.task, "trial": run.trial, "tools": reported if calls is None else seen})
    used = [tool for tool in tools if any(row["tools"][tool] not in (None, 0, "no") for row in rows)]
    return [{**row, "tools": {short_name(tool): row["tools"][tool] for tool in used}} for row in rows] if used else []


def by_adoption(tables: Tables, treatment: str) -> dict[str, AdoptionGroup[Fraction]]:
    """Delta, misdirection and durations over the pairs that adopted, that did not, that do not say, and over all."""
    pairs = [row for row in tables.pairs if row["treatment"] == treatment]
    groups = {
        "adopted": [row for row in pairs if row["adopted"] == "yes"],
        "not adopted": [row for row in pairs if row["adopted"] == "no"],
        "not known": [row for row in pairs if not row["adopted"]],
        "all": pairs,
    }
    return {name: _group(tables, treatment, rows) for name, rows in groups.items()}


def _group(tables: Tables, treatment: str, rows: Sequence[PairRow]) -> AdoptionGroup[Fraction]:
    runs = {run_of_pair(row): row for row in rows}
    baseline = tables.plan["baseline"]
    return {
        "pairs": len(rows),
        "complete": sum(row["delta"] != "" for row in rows),
        "delta": _task_mean(runs, lambda run: exact(runs[run]["delta"])),
        "misdirected": adoption(row["misdirected"] for row in rows),
        "diverged": adoption(row["diverged"] for row in rows),
        "treatment_duration_s": _task_mean(runs, tables.duration),
        "baseline_duration_s": _task_mean(
            runs, lambda run: tables.timed(tables.duration)(run._replace(condition=baseline))
        ),
    }


def _task_mean(runs: Iterable[RunId], value: Value) -> Fraction | None:
    """The mean over tasks, of the means over each task's trials."""
    by_task: dict[str, list[Fraction | None]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(value(run))
    return mean(map(mean, by_task.values()))


def discard_counts(validity: Iterable[ValidityRow]) -> dict[str, Counter[str]]:
    """Discards by reason and condition: every one so far, repeated runs included."""
    counts: dict[str, Counter[str]] = {}
    for row in validity:
        for reason in items(row["discards"]) or ():
            counts.setdefault(reason, Counter())[row["condition"]] += 1
    return dict(sorted(counts.items()))


def disagreements(tables: Tables) -> dict[str, Count]:
    """In how many runs the report differs from the transcript, of those in which both say something."""
    compared = {
        "tool calls": (tables.reported_calls, tables.observed_calls),
        "files read": (tables.reported_files, tables.observed_files),
    }
    found: dict[str, Count] = {}
    for name, (reported, observed) in compared.items():
        values = ((reported(run), observed(run)) for run in tables.scores)
        both = [(said, seen) for said, seen in values if said is not None and seen is not None]
        found[name] = {"runs": sum(a != b for a, b in both), "of": len(both)}
    adopted = [(row["adopted"], row["called"]) for row in tables.pairs if row["adopted"] and row["called"]]
    found["adoption"] = {"runs": sum(a != b for a, b in adopted), "of": len(adopted)}
    return found


def controls(tables: Tables) -> list[ControlCheck]:
    """What had to be the same or absent (protocol, sections 1, 5 and 7), and in how many valid runs it was seen to be.

    `of` counts the runs in which it could be seen at all.
    """
    servers = {name: condition["servers"] for name, condition in tables.plan["conditions"].items()}
    everywhere = sorted({server for names in servers.values() for server in names})

    def denied(record: Record) -> list[str]:
        return sorted(set(everywhere) - set(servers[record.condition]))

    def unoffered(record: Record) -> bool | None:
        tools = record.outcome.tools_offered
        return None if tools is None else not tools_of(denied(record), tools)

    def connected(record: Record) -> bool | None:
        known = record.outcome.servers
        return None if known is None else all(known.get(name) == "connected" for name in servers[record.condition])

    def offered(record: Record) -> bool | None:
        tools = record.outcome.tools_offered
        return None if tools is None else all(tools_of([name], tools) for name in servers[record.condition])

    def same_model(record: Record) -> bool | None:
        return None if record.outcome.models is None else len(set(record.outcome.models)) == 1

    made = [record for record in tables.valid if record.source == "run"]
    own = [record for record in made if record.run not in tables.borrowed]
    with_servers = [record for record in made if servers[record.condition]]
    without = [record for record in made if denied(record)]
    planned = tables.plan["tasks"]
    checks: list[tuple[str, list[Record], Callable[[Record], bool | None]]] = [
        ("the prompt is the planned one, byte for byte", made,
         lambda record: record.prompt_sha256 == planned[record.task]["prompt_sha256"]),
        ("the agent's settings are the planned ones", own,
         lambda record: record.settings_sha256 == tables.plan["settings_sha256"]),
        ("the workspace is unchanged after the run", made, lambda record: record.tree_before == record.tree_after),
        ("one model answered throughout", made, same_model),
        ("no tool of another condition was offered", without, unoffered),
        ("the condition's MCP servers were connected", with_servers, connected),
        ("the condition's tools were offered", with_servers, offered),
        ("the agent ran in a sandbox", made, lambda record: record.sandbox != "none" if record.sandbox else None),
        ("the agent reached only its model, its servers and sandbox_hosts (a network of its own)", made,
         lambda record: record.network == "own" if record.network else None),
        ("no call went to another condition's server by its address (looked for in transcripts, where the network is "
         "shared)", without, lambda record: None if record.direct_calls is None else record.direct_calls == 0),
        ("the first attempt gave the answer", made, lambda record: len(record.attempts) == 1),
    ]  # fmt: skip
    found: list[ControlCheck] = []
    for name, records, holds in checks:
        known = [value for value in map(holds, records) if value is not None]
        found.append({"check": name, "runs": sum(known), "of": len(known), "unseen": len(records) - len(known)})
    return found


def start_skews(tables: Tables) -> list[Fraction]:
    """Seconds between the first and the last start inside each task and trial, over valid runs, sorted."""
    starts: dict[tuple[str, int], list[str]] = {}
    for record in tables.valid:
        if record.source == "run" and record.condition in compared(tables.plan) and record.run not in tables.borrowed:
            starts.setdefault((record.task, record.trial), []).append(record.attempts[0].started_at)
    return sorted(_seconds_between(min(times), max(times)) for times in starts.values() if len(times) > 1)


def _seconds_between(first: str, last: str) -> Fraction:
    from datetime import datetime

    difference = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    return Fraction(round(difference.total_seconds() * 1000), 1000)
