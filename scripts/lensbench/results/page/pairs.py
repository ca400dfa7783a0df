"""The answers of a task in one trial side by side: criteria, verdicts, and the answers with marked evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from lensbench.core.numbers import exact
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow
from lensbench.core.run_status import COUNTING
from lensbench.core.store import run_files
from lensbench.judging.judges import Verdict
from lensbench.plan.names import MECHANICAL
from lensbench.results.page.answers import Evidence, MarkedAnswer, mark_answer
from lensbench.results.page.data import Inputs, criteria_of
from lensbench.runs.citations import CitedSource

if TYPE_CHECKING:
    from lensbench.results.page.changes import TestedChange

MOST_WORDS = 8_000
"""Of two answers that are compared; longer ones may take too long."""


class Judged(NamedTuple):
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
    judged: Mapping[int, Judged]
    change: TestedChange | None = None
    sources: Sequence[CitedSource] = ()
    """The source lines cited in the answer (runs/citations.py)."""


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
    reference: Sequence[tuple[str, str]] = ()
    """The reference, as lines of a patch."""


def pair_page(folder: Path, inputs: Inputs, task: str, trial: int) -> PairPage:
    """The page of a task in a trial."""
    plan = inputs.tables.plan
    conditions = sorted(plan["conditions"], key=lambda name: name != plan["baseline"])
    runs = [RunId(task, condition, trial) for condition in conditions]
    changes: Mapping[RunId, TestedChange | None] = {}
    reference: Sequence[tuple[str, str]] = ()
    if plan["tasks"][task].get("kind") == "change":
        from lensbench.results.page.changes import change_of, reference_of  # imports everything for running tests

        changes, reference = {run: change_of(folder, run) for run in runs}, reference_of(folder, task)
    columns = [_column(folder, inputs, run, changes.get(run)) for run in runs]
    base, *others = columns
    differences = {other.condition: word_changes(base.text, other.text) for other in others if base.text and other.text}
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
    )


def word_changes(before: str, after: str) -> Markup | None:
    """Two texts in one: what only the first one says in `del`, what only the second one says in `ins`; None for more
    than MOST_WORDS."""
    old, new = (re.findall(r"\s+|\w+\s*|[^\s\w]\s*", text) for text in (before, after))
    if len(old) + len(new) > MOST_WORDS:
        return None
    pieces = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        old_words, new_words = "".join(old[start:end]), "".join(new[new_start:new_end])
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
    value, seconds = exact(score["score"]), exact(score["duration_s"])
    decisions = inputs.decisions.get(run, ()) if counts else ()
    evidence = {int(row["criterion"]): _evidence(inputs, run, row) for row in decisions}
    text, answer = "", None
    if counts:
        text = run_files(folder, run).answer.read_text(errors="replace", encoding="utf-8")
        answer = mark_answer(text, filter(None, evidence.values()), f"answer-{run.condition}")
    verdicts = {
        int(row["criterion"]): Judged(
            row["verdict"], row["decided_by"], row["votes"].split(";") if ";" in row["votes"] else (),
            item.text if (item := evidence[int(row["criterion"])]) else "",
            answer.places.get(int(row["criterion"]), "") if answer else "",
            _unmatched(inputs, run, row["criterion"]),
        )
        for row in decisions
    }  # fmt: skip
    return Column(
        run.condition, score["status"], why, None if value is None else float(value * 100),
        None if seconds is None else float(seconds), text, answer, verdicts, change if counts else None,
        inputs.citations.get(run.stem, ()) if counts else (),
    )  # fmt: skip


def _unmatched(inputs: Inputs, run: RunId, criterion: str) -> str:
    """Why the mechanical judge gave Partial or Missed; empty otherwise."""
    low = Verdict.PARTIAL, Verdict.MISSED
    rows = (row for row in inputs.verdicts.get(run, ()) if (row["judge"], row["criterion"]) == (MECHANICAL, criterion))
    return next((row["reason"] for row in rows if row["verdict"] in low), "")


def _evidence(inputs: Inputs, run: RunId, decision: DecisionRow) -> Evidence | None:
    """A judge's quote, preferably of one whose verdict is the decision."""
    candidates = [
        row
        for row in inputs.verdicts.get(run, ())
        if row["criterion"] == decision["criterion"] and row["evidence"] and row["verdict"] != "Unjudged"
    ]
    best = min(candidates, key=lambda row: row["verdict"] != decision["verdict"], default=None)
    if best is None:
        return None
    return Evidence(int(best["criterion"]), best["evidence"], int(best["position"]) if best.get("position") else None)
