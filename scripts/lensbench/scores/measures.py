"""Summaries of the tables for results.json: averages over tasks (of the means over trials; deltas over complete pairs),
adoption, discards, controls, and published scores of imported runs. A missing value is never 0."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import partial
from itertools import chain
from operator import sub
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from typing_extensions import TypedDict

from lensbench.core.conditions import compared
from lensbench.core.numbers import exact, mean
from lensbench.core.records import CONNECTED, Record
from lensbench.core.rows import PairRow, PublishedRow, ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import items, read_table, run_of_pair, run_of_row, yes_no
from lensbench.runs.reasons import tools_of
from lensbench.scores.differences import Comparison, groups
from lensbench.scores.quantities import QUANTITIES
from lensbench.scores.run_tables import RunValue, Tables
from lensbench.scores.scores import short_name

N = TypeVar("N")
"""A number: exact here, a float when it is read from a file."""


class Measure(TypedDict, Generic[N]):
    """A quantity in a treatment and in the baseline, and its difference over complete pairs."""

    treatment: N | None
    """The average over all runs that have it; the next one too."""
    baseline: N | None
    """The same of the baseline."""
    paired_treatment: N | None
    """The average over complete pairs alone; the next two too."""
    paired_baseline: N | None
    """The same of the baseline."""
    delta: N | None
    """Treatment minus baseline, over complete pairs, in the unit of the quantity."""
    pairs: int
    """Tasks with at least one complete pair."""
    largest: N | None
    """The share of the largest task in the treatment's total over complete pairs."""


class Count(TypedDict):
    """In how many runs something is so, of those in which it is known."""

    runs: int
    """In which it is so."""
    of: int
    """In which it is known."""


class CategoryResults(TypedDict, Generic[N]):
    """A treatment in one category of tasks."""

    tasks: int
    """How many there are."""
    score: Measure[N]
    """Shares of 1."""
    tool_calls: Measure[N]
    """Counts."""
    adoption: Count
    """Runs that called a tool."""


class ToolsOfRun(TypedDict):
    task: str
    """The id of the task."""
    trial: int
    """From 1."""
    tools: Mapping[str, int | str | None]
    """The calls of each tool; yes or no where only the report tells."""


class ControlCheck(TypedDict):
    """In how many runs a control held, of those in which it could be checked."""

    check: str
    """What was checked, in words."""
    runs: int
    """In which it held."""
    of: int
    """In which it could be checked."""
    unseen: int
    """Runs in which it could not be checked."""


def measure(
    comparison: Comparison, value: RunValue, tasks: Sequence[str] | None = None
) -> Measure[Fraction]:
    """A quantity over the given tasks, by default all."""
    if tasks is None:
        tasks = comparison.plan["order"]
    treatment, baseline = comparison.known(value)
    pairs = comparison.pairs(value)
    after = []
    before = []
    for task in tasks:
        if pairs[task]:
            with_it, without = zip(*pairs[task], strict=True)
            after.append(sum(with_it) / Fraction(len(with_it)))
            before.append(sum(without) / Fraction(len(without)))
    total = sum(after)
    return {
        "treatment": mean(mean(treatment[task]) for task in tasks),
        "baseline": mean(mean(baseline[task]) for task in tasks),
        "paired_treatment": mean(after),
        "paired_baseline": mean(before),
        "delta": mean(map(sub, after, before)),
        "pairs": len(after),
        "largest": max(after) / total if total else None,
    }


def measures(comparison: Comparison) -> dict[str, Measure[Fraction]]:
    found = {}
    for name, quantity in QUANTITIES.items():
        found[name] = measure(comparison, partial(quantity.of, comparison.tables))
    return found


def categories(comparison: Comparison) -> dict[str, CategoryResults[Fraction]]:
    """Score, tool calls and adoption by category, in the order in which the categories appear."""
    tables = comparison.tables
    found: dict[str, CategoryResults[Fraction]] = {}
    for category, tasks in groups(comparison.plan, "category").items():
        uses = []
        for row in tables.pairs:
            if row["treatment"] == comparison.treatment and row["task"] in tasks:
                uses.append(row["adopted"])
        found[category] = {
            "tasks": len(tasks),
            "score": measure(comparison, tables.score, tasks),
            "tool_calls": measure(comparison, tables.known_calls, tasks),
            "adoption": adoption(uses),
        }
    return found


def adoption(cells: Iterable[object]) -> Count:
    """In how many runs a fact of adoption is true, and in how many it is known, from its column of pairs.csv."""
    return _count(cell == "yes" for cell in cells if cell)


def _count(facts: Iterable[bool]) -> Count:
    known = list(facts)
    return {"runs": sum(known), "of": len(known)}


def adoption_table(pairs: Sequence[PairRow]) -> dict[str, Count]:
    """The four facts about all tools together, the reported use of each tool, and where the pair's files differ."""
    facts = ["offered", "called", "called_without_error", "adopted", "diverged", "misdirected"]
    rows: Sequence[Mapping[str, object]] = pairs
    tools = [column for column in (rows[0] if rows else ()) if column.startswith("adopted_")]
    table = {column: adoption(row[column] for row in rows) for column in [*facts, *tools]}
    callers = [row for row in pairs if row["called"] == "yes"]
    adopters = [row for row in pairs if row["adopted"] == "yes"]
    table["all_calls_failed"] = _count(row["called_without_error"] == "no" for row in callers)
    table["misdirected_adopters"] = adoption(row["misdirected"] for row in adopters)
    return table


def tools_by_run(
    tables: Tables, pairs: Sequence[PairRow], tools: Sequence[str]
) -> list[ToolsOfRun]:
    """The calls of each of `tools` that any run used, by run; yes or no where only the report is known."""
    by_run = [_shown_calls(tables, pair, tools) for pair in pairs]
    used = [tool for tool in tools if any(calls[tool] not in (None, 0, "no") for calls in by_run)]
    if not used:
        return []
    rows: list[ToolsOfRun] = []
    for pair, calls in zip(pairs, by_run, strict=True):
        run = run_of_pair(pair)
        shown = {short_name(tool): calls[tool] for tool in used}
        rows.append({"task": run.task, "trial": run.trial, "tools": shown})
    return rows


def _shown_calls(
    tables: Tables, pair: PairRow, tools: Sequence[str]
) -> dict[str, int | str | None]:
    """The calls of each tool in a pair's treatment; yes or no where only the report is known."""
    run = run_of_pair(pair)
    calls = None
    if tables.counts(run):
        calls = tables.records[run].seen.calls
    if calls is None:
        return {tool: str(pair.get(f"adopted_{short_name(tool)}", "")) or None for tool in tools}
    counts: Counter[str] = Counter()
    for call in calls:
        counts[call.name] += call.count
    return {tool: counts[tool] for tool in tools}


def discard_counts(validity: Iterable[ValidityRow]) -> dict[str, Counter[str]]:
    """The discarded rounds so far by reason and condition, also of repeated runs. A refused attempt ends no round."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in validity:
        for reason in items(row["discards"]) or filter(None, [row["reason"]]):
            counts[reason][row["condition"]] += 1
    return dict(sorted(counts.items()))


def disagreements(tables: Tables) -> dict[str, Count]:
    """In how many runs the report differs from the transcript, of those with both values."""
    calls = ((tables.reported_calls(run), tables.observed_calls(run)) for run in tables.scores)
    files = ((tables.reported_files(run), tables.observed_files(run)) for run in tables.scores)
    uses = ((row["adopted"] or None, row["called"] or None) for row in tables.pairs)
    return {
        "tool calls": _differing(calls),
        "files read": _differing(files),
        "adoption": _differing(uses),
    }


def _differing(both: Iterable[tuple[object, object]]) -> Count:
    return _count(a != b for a, b in both if None not in (a, b))


def controls(tables: Tables) -> list[ControlCheck]:
    """The protocol's controls (sections 1, 5 and 7), and in how many valid runs that show it each held."""
    servers = {name: condition["servers"] for name, condition in tables.plan["conditions"].items()}
    everywhere = set(chain(*servers.values()))
    at_first = {run_of_row(row) for row in tables.validity if row["attempts"] == "1"}
    denied = {name: [*everywhere.difference(own)] for name, own in servers.items()}

    def unoffered(record: Record) -> bool | None:
        tools = record.outcome.tools_offered
        return None if tools is None else not tools_of(denied[record.condition], tools)

    def connected(record: Record) -> bool | None:
        states = record.outcome.servers
        if states is None:
            return None
        return all(states.get(name) == CONNECTED for name in servers[record.condition])

    def offered(record: Record) -> bool | None:
        tools = record.seen.tools_offered
        if tools is None:
            return None
        return all(tools_of([name], tools) for name in servers[record.condition])

    runs = [record for record in tables.valid if record.source == "run"]
    with_servers = [record for record in runs if servers[record.condition]]
    without = [record for record in runs if denied[record.condition]]
    tasks = tables.plan["tasks"]
    checks: list[tuple[str, list[Record], Callable[[Record], bool | None]]] = [
        (
            "the prompt is the planned one, byte for byte",
            runs,
            lambda record: record.prompt_sha256 == tasks[record.task]["prompt_sha256"],
        ),
        (
            "nothing else differs than what the conditions state: the agent's settings, servers and files",
            runs,
            lambda record: record.settings_sha256 == tables.plan["settings_sha256"],
        ),
        (
            "the workspace is unchanged after the run",
            runs,
            lambda record: record.tree_before == record.tree_after,
        ),
        (
            "one model answered throughout",
            runs,
            lambda record: (
                None if record.outcome.models is None else len(set(record.outcome.models)) == 1
            ),
        ),
        ("no tool of another condition was offered", without, unoffered),
        ("the condition's MCP servers were connected", with_servers, connected),
        ("the condition's tools were offered", with_servers, offered),
        (
            "the agent ran in a sandbox",
            runs,
            lambda record: record.sandbox != "none" if record.sandbox else None,
        ),
        (
            "the agent reached only its model, its servers and sandbox_hosts (a network of its own)",
            runs,
            lambda record: record.network == "own" if record.network else None,
        ),
        (
            "no call went to another condition's server by its address (looked for in transcripts, where the network"
            " is shared)",
            [record for record in without if record.network != "own"],
            lambda record: None if record.direct_calls is None else record.direct_calls == 0,
        ),
        (
            "no call named the program of another condition's server (it may have run it, where there is no sandbox)",
            without,
            lambda record: None if record.naming_calls is None else record.naming_calls == 0,
        ),
        ("the first attempt gave the answer", runs, lambda record: record.run in at_first),
    ]
    rows: list[ControlCheck] = []
    for name, records, holds in checks:
        count = _count(value for value in map(holds, records) if value is not None)
        rows.append({"check": name, **count, "unseen": len(records) - count["of"]})
    return rows


def start_skews(tables: Tables) -> list[Fraction]:
    """Seconds between the first and the last start inside each task and trial, over valid runs, sorted."""
    starts: dict[tuple[str, int], list[datetime]] = {}
    for record in tables.valid:
        if record.source == "run" and record.condition in compared(tables.plan):
            start = datetime.fromisoformat(record.attempt.started_at)
            starts.setdefault((record.task, record.trial), []).append(start)
    skews = []
    for times in starts.values():
        if len(times) > 1:
            skew = max(times) - min(times)
            skews.append(Fraction(round(skew.total_seconds() * 1000), 1000))
    return sorted(skews)


class PublishedPair(NamedTuple):
    """The published scores of a task, and those by our judges; scores are shares of 1."""

    task: str
    treatment: str
    scores: tuple[Fraction | None, Fraction | None]
    """Published, of the treatment and of the baseline."""
    ours: tuple[Fraction | None, Fraction | None]
    delta: Fraction | None
    misdirected: str
    """yes: the two runs cite different files, and the treatment's published score is the lower one."""


def published_pairs(folder: Path, tables: Tables) -> list[PublishedPair]:
    """The published scores of an imported run; empty when there are none."""
    if not RunFolder(folder).published.exists():
        return []
    scores = {
        (row["task"], row["condition"]): exact(row["score"])
        for row in read_table(RunFolder(folder).published, PublishedRow)
    }
    baseline = tables.plan["baseline"]
    return [_pair(row, scores, baseline) for row in tables.pairs]


def _pair(
    row: PairRow, scores: Mapping[tuple[str, str], Fraction | None], baseline: str
) -> PublishedPair:
    with_it = scores.get((row["task"], row["treatment"]))
    without = scores.get((row["task"], baseline))
    delta = None
    misdirected = ""
    if with_it is not None and without is not None:
        delta = with_it - without
        if row["diverged"]:
            misdirected = yes_no(row["diverged"] == "yes" and delta < 0)
    ours = exact(row["treatment_score"]), exact(row["baseline_score"])
    return PublishedPair(
        row["task"], row["treatment"], (with_it, without), ours, delta, misdirected
    )


def mean_delta(pairs: Sequence[PublishedPair], treatment: str) -> Fraction | None:
    """The mean of the published deltas of a treatment."""
    return mean(pair.delta for pair in pairs if pair.treatment == treatment)
