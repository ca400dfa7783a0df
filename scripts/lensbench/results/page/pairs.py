"""The pages of pairs, with the answers to a task side by side, and those of runs, with the agent's steps."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from lensbench.changes.task import content_bytes, read_task, task_file
from lensbench.core.errors import printable, printable_lines
from lensbench.core.frozen_plan import MECHANICAL
from lensbench.core.handed_over import read_answer
from lensbench.core.numbers import exact
from lensbench.core.preflight_results import BYTES_A_TOKEN
from lensbench.core.records import RunId
from lensbench.core.rows import COUNTING, DecisionRow
from lensbench.core.store import run_files
from lensbench.core.system.files import read_typed
from lensbench.judging.judges import Verdict
from lensbench.results.citations import CitedSource
from lensbench.results.page.answers import Evidence, MarkedAnswer, mark_answer
from lensbench.results.page.data import Inputs, criteria_of
from lensbench.results.plain_verdict import drafts_decide
from lensbench.results.results_file import LostPair, LostRun
from lensbench.runs.timeline import Step, read_timeline

if TYPE_CHECKING:
    from lensbench.judging.changes import Tested

MOST_WORDS = 8_000
"""Of two answers that are compared; longer ones may take too long."""


class ShownVerdict(NamedTuple):
    """The decision on a criterion of a run; `place` is the HTML id of its evidence, if it has one."""

    verdict: str
    decided_by: str
    votes: Sequence[str]
    """The verdict of each judge, as `judge=verdict`; empty with a single judge."""
    evidence: str
    place: str
    patterns: str
    """What the patterns did not find, when they gave Partial or Missed."""


class Column(NamedTuple):
    """The run of a condition."""

    condition: str
    status: str
    why: str
    """Why it does not count; empty if it does."""
    score: float | None
    duration_s: float | None
    text: str
    """The answer as it was written; empty if it does not count."""
    answer: MarkedAnswer | None
    judged: Mapping[int, ShownVerdict]
    change: TestedChange | None
    sources: Sequence[CitedSource]
    """The source lines cited in the answer (results/citations.py)."""


class PairPage(NamedTuple):
    """All conditions of a task in one trial, the baseline first."""

    task: str
    trial: int
    category: str
    repository: str
    prompt: str
    criteria: Mapping[int, str]
    columns: Sequence[Column]
    differences: Mapping[str, Markup | None]
    """By condition: its answer against the baseline's; None where they are too long to be compared."""
    reference: Sequence[tuple[str, str]]
    """The reference, as lines of a patch."""
    lost: Mapping[str, Sequence[LostRow]]
    """By condition that lost the pair: what the runs show."""


def pair_page(folder: Path, inputs: Inputs, task: str, trial: int) -> PairPage:
    plan = inputs.tables.plan
    conditions = sorted(plan["conditions"], key=lambda name: name != plan["baseline"])
    runs = [RunId(task, condition, trial) for condition in conditions]
    changes: dict[RunId, TestedChange | None] = {}
    reference: Sequence[tuple[str, str]] = ()
    if plan["tasks"][task].get("kind") == "change":
        reference = reference_of(folder, task)
        for run in runs:
            changes[run] = change_of(folder, run)
    columns = [_column(folder, inputs, run, changes.get(run)) for run in runs]
    base, *others = columns
    differences = {}
    for other in others:
        if base.text and other.text:
            differences[other.condition] = word_changes(base.text, other.text)
    texts = criteria_of(inputs, task)
    numbers = sorted({*texts, *(number for column in columns for number in column.judged)})
    entry = inputs.tasks.get(task)
    return PairPage(
        task,
        trial,
        plan["tasks"][task]["category"],
        plan["tasks"][task]["repository"] or "",
        entry.prompt if entry else "",
        {number: texts.get(number, "") for number in numbers},
        columns,
        differences,
        reference,
        _lost(inputs, task, trial),
    )


def _lost(inputs: Inputs, task: str, trial: int) -> dict[str, Sequence[LostRow]]:
    """What the runs show, by condition that lost the pair."""
    rows: dict[str, Sequence[LostRow]] = {}
    for condition, losses in inputs.results["losses"].items():
        for lost in losses["pairs"]:
            if (lost["task"], lost["trial"]) == (task, trial):
                rows[condition] = lost_rows(lost)
    return rows


class LostRow(NamedTuple):
    """What the two runs of a lost pair show of one thing, the baseline first."""

    label: str
    shown: tuple[str, str]
    steps: tuple[int | None, int | None] = (None, None)
    """The steps of the runs that it is about."""


def lost_rows(lost: LostPair[float]) -> list[LostRow]:
    """What stands on the page about a lost pair."""
    before = lost["baseline"]
    after = lost["treatment"]

    def row(label: str, show: Callable[[LostRun[float]], str]) -> LostRow:
        return LostRow(label, (show(before), show(after)))

    calls = row("The first call in which they differ", _call)
    if (before["call"], after["call"]) == ("", ""):
        calls = LostRow(calls.label, ("the same calls in both runs",) * 2)
    rows = [calls._replace(steps=(before["step"], after["step"]))]
    if lost["files"]:
        names = ", ".join(lost["files"])
        label = f"Not opened, of the files that the lost criteria name: {names}"
        rows.append(row(label, lambda run: _listed(run["unopened"])))
    return [
        *rows,
        row("Results of tools, estimated", _results),
        row("Results that were cut", lambda run: _listed(run["cut"])),
        row("Calls that failed", lambda run: _listed(run["failed"])),
    ]


NOT_SHOWN = "not shown"


def _call(run: LostRun[float]) -> str:
    if run["call"] is None:
        return NOT_SHOWN
    return run["call"] or "no further call"


def _listed(names: Sequence[str] | None) -> str:
    """Each name once, with how often it occurs if that is more than once."""
    if names is None:
        return NOT_SHOWN
    parts = []
    for name, count in Counter(names).items():
        parts.append(f"{name} ({count} times)" if count > 1 else name)
    return ", ".join(parts) or "none"


def _results(run: LostRun[float]) -> str:
    if run["results_tokens"] is None:
        return NOT_SHOWN
    tokens = f"about {run['results_tokens']:,} tokens"
    if run["share"] is None:
        return f"{tokens}; their part of the context is not shown"
    return f"{tokens}, {run['share']:.0%} of the context"


def word_changes(before: str, after: str) -> Markup | None:
    """Two texts in one, with `del` and `ins`; None for more than MOST_WORDS."""
    old, new = (re.findall(r"\s+|\w+\s*|[^\s\w]\s*", text) for text in (before, after))
    if len(old) + len(new) > MOST_WORDS:
        return None
    pieces = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        old_words = "".join(old[start:end])
        new_words = "".join(new[new_start:new_end])
        if kind == "equal":
            pieces.append(escape(old_words))
        else:
            pieces += [Markup("<del>{}</del>").format(old_words)] if old_words else []
            pieces += [Markup("<ins>{}</ins>").format(new_words)] if new_words else []
    return Markup("").join(pieces)


def _column(folder: Path, inputs: Inputs, run: RunId, change: TestedChange | None) -> Column:
    score = inputs.tables.scores[run]
    counts = score["status"] in COUNTING
    validity = inputs.validity[run]
    why = "" if counts else ": ".join(filter(None, (validity["reason"], validity["detail"])))
    value = exact(score["score"])
    seconds = exact(score["duration_s"])
    decisions = inputs.decisions.get(run, ()) if counts else ()
    is_secret = drafts_decide(inputs.results)
    evidence = {
        int(row["criterion"]): None if is_secret else _evidence(inputs, run, row)
        for row in decisions
    }
    text = ""
    answer = None
    if counts:
        text = read_answer(run_files(folder, run).answer)
        answer = mark_answer(text, filter(None, evidence.values()), f"answer-{run.condition}")
    verdicts = {}
    for row in decisions:
        number = int(row["criterion"])
        item = evidence[number]
        is_voted = ";" in row["votes"] and not is_secret
        verdicts[number] = ShownVerdict(
            row["verdict"],
            row["decided_by"],
            row["votes"].split(";") if is_voted else (),
            item.text if item else "",
            answer.places.get(number, "") if answer else "",
            "" if is_secret else _unmatched(inputs, run, row["criterion"]),
        )
    return Column(
        run.condition,
        score["status"],
        why,
        None if value is None else float(value * 100),
        None if seconds is None else float(seconds),
        text,
        answer,
        verdicts,
        change if counts else None,
        inputs.citations.get(run.stem, ()) if counts else (),
    )


def _unmatched(inputs: Inputs, run: RunId, criterion: str) -> str:
    """Why the mechanical judge gave Partial or Missed; empty otherwise."""
    for row in inputs.verdicts.get(run, ()):
        is_low = row["verdict"] in (Verdict.PARTIAL, Verdict.MISSED)
        if is_low and row["judge"] == MECHANICAL and row["criterion"] == criterion:
            return row["reason"]
    return ""


def _evidence(inputs: Inputs, run: RunId, decision: DecisionRow) -> Evidence | None:
    """A judge's quote, preferably of one whose verdict is the decision."""
    candidates = [
        row
        for row in inputs.verdicts.get(run, ())
        if row["criterion"] == decision["criterion"]
        and row["evidence"]
        and row["verdict"] != "Unjudged"
    ]
    best = min(candidates, key=lambda row: row["verdict"] != decision["verdict"], default=None)
    if best is None:
        return None
    return Evidence(
        int(best["criterion"]),
        best["evidence"],
        int(best["position"]) if best.get("position") else None,
    )


class TestedChange(NamedTuple):
    """The change of a run as lines (kind `added`, `removed`, `place` or "", and text), and the test results."""

    patch: Sequence[tuple[str, str]]
    report: Tested


_MOST_PATCH_LINES = 2000
"""The maximum length of a patch on a page."""


def _lines(patch: bytes) -> list[tuple[str, str]]:
    lines = []
    for line in patch.decode(errors="replace").removesuffix("\n").split("\n")[:_MOST_PATCH_LINES]:
        kind = {"+": "added", "-": "removed"}.get(line[:1], "")
        if line.startswith(("diff ", "index ", "@@", "+++", "---")):
            kind = "place"
        lines.append((kind, line))
    return lines


def reference_of(folder: Path, task: str) -> list[tuple[str, str]]:
    """The reference as lines of a patch; empty when it is not in the run folder."""
    file = task_file(folder, task)
    return _lines(content_bytes(read_task(folder, task).reference)) if file.exists() else []


def change_of(folder: Path, run: RunId) -> TestedChange | None:
    """The change of a run; None for a question, and before the tests have run."""
    from lensbench.judging.changes import (
        Tested,
        tested_file,
    )  # imports everything for running tests

    patch = run_files(folder, run).patch
    file = tested_file(folder, run)
    if not (patch.exists() and file.exists()):
        return None
    return TestedChange(_lines(patch.read_bytes()), read_typed(file, Tested))


TEXT_LIMIT = 20_000
"""The maximum characters of a text on the page; a tool can return megabytes."""
MOST_STEPS = 2_000


class RunPage(NamedTuple):
    """A run with its steps."""

    run: RunId
    steps: list[Step]
    left_out: int
    """The number of steps that are only in the transcript."""
    problem: str
    """Why there is no timeline; empty when there is one."""
    transcript: str
    """The path of the whole output, relative to the run folder."""
    spent: Sequence[SpentBy] = ()
    """Where its time and its tokens went; the most time first."""
    longest: Sequence[tuple[int, Step]] = ()
    """The steps that took longest, with their numbers."""


class SpentBy(NamedTuple):
    """What the model, or a tool, took of a run; None is not shown."""

    who: str
    """The tool; empty for the model."""
    calls: int
    seconds: float | None
    tokens: float | None
    """Those of its results, estimated."""


def spent_by(steps: Sequence[Step]) -> list[SpentBy]:
    """What the model and each tool took, the most time first, and the most tokens where no times are shown."""
    by_tool: dict[str, list[Step]] = {}
    for step in steps:
        if step.kind == "call":
            by_tool.setdefault(step.title, []).append(step)
    rows = [SpentBy("", 0, _sum(step.model_s for step in steps if step.kind != "end"), None)]
    for tool, calls in by_tool.items():
        seconds = _sum(step.tool_s for step in calls)
        rows.append(SpentBy(tool, len(calls), seconds, _sum(step.result_tokens for step in calls)))
    return sorted(rows, key=lambda row: (-(row.seconds or 0), -(row.tokens or 0)))


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum; None where one is not known, or there is none."""
    total: float | None = None
    for value in values:
        if value is None:
            return None
        total = (total or 0.0) + value
    return total


def run_page(folder: Path, run: RunId) -> RunPage | None:
    """The page of a run; None when it has no transcript."""
    path = run_files(folder, run).transcript
    name = path.relative_to(folder).as_posix()
    if not path.exists():
        return None
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            steps = read_timeline(lines)
    except (OSError, EOFError, zlib.error) as error:
        return RunPage(run, [], 0, f"the transcript cannot be read ({error})", name)
    problem = "" if steps else "this agent's output shows no single steps"
    rows = (
        replace(
            step,
            title=printable(step.title),
            given=_cut(step.given),
            got=_cut(step.got),
            size=round((step.result_tokens or 0) * BYTES_A_TOKEN),
        )
        for step in steps
    )
    return RunPage(
        run,
        [*islice(rows, MOST_STEPS)],
        max(len(steps) - MOST_STEPS, 0),
        problem,
        name,
        spent_by(steps),
        longest_steps(steps[:MOST_STEPS]),
    )


def longest_steps(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    """The three steps that took most time, with their numbers; none where the stream shows no times."""
    timed = [(number, step) for number, step in enumerate(steps, 1) if step.seconds]
    return sorted(timed, key=lambda item: -(item[1].seconds or 0.0))[:3]


def _cut(text: str) -> str:
    more = len(text) - TEXT_LIMIT
    return printable_lines(text[:TEXT_LIMIT]) + (
        f"\n… {more} more characters in the transcript" if more > 0 else ""
    )
