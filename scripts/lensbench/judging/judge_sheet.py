"""The judge sheet: a self-contained page on which a person judges blinded answers (protocol, section 4).

It contains the tasks' prompts and criteria and the blinded answers, and nothing that reveals a condition.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lensbench.changes.task import answer_criteria
from lensbench.core.frozen_plan import Plan
from lensbench.core.markdown import placed_html
from lensbench.core.records import sha256
from lensbench.core.rows import DecisionRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import TEMPLATES, csp_hash, template_environment
from lensbench.core.system.program import run_verb
from lensbench.core.tables import grouped, read_table
from lensbench.core.tasks import Task
from lensbench.judging.blinding import MARK
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.human import MAX_MARKED_EVIDENCE
from lensbench.judging.shown_answers import (
    ShownAnswer,
    read_shown_answers,
    read_tasks,
    sampled_pairs,
)
from lensbench.plan.waves import read_opened_plan


@dataclass(frozen=True)
class SheetPart:
    """A part of the sheet: the answers to one prompt, and the criteria (number, text) to judge for each."""

    prompt: str
    answers: tuple[ShownAnswer, ...]
    criteria: tuple[tuple[int, str], ...]


def questions(
    plan: Plan,
    tasks: Mapping[str, Task],
    answers: Iterable[ShownAnswer],
    disputes: Collection[tuple[str, int, int]],
) -> list[SheetPart]:
    """The content of the sheet in the order of the answers: the sample, and the `disputes` (task, trial, number). These
    are asked for both answers of the pair, so that the reader cannot see which one is disputed."""
    complete = (answer for answer in answers if answer.pair_complete)
    groups = grouped(complete, lambda answer: (answer.run.task, answer.run.trial))
    sample = sampled_pairs(plan, groups)
    parts = []
    for group, pair in groups.items():
        task = tasks[group[0]]
        texts: list[tuple[int, str]] = []
        for number, criterion in answer_criteria(task):
            if group in sample or (*group, number) in disputes:
                texts.append((number, criterion.text))
        if texts:
            parts.append(SheetPart(task.prompt, tuple(pair), tuple(texts)))
    return parts


def read_disputed(folder: Path) -> set[tuple[str, int, int]]:
    """The criteria (task, trial, number) on which judges disagree or have no verdict."""
    path = RunFolder(folder).decisions
    disputes: set[tuple[str, int, int]] = set()
    for row in read_table(path, DecisionRow) if path.exists() else ():
        if row["disagreement"] == "yes" or row["judges_verdict"] == Verdict.UNJUDGED:
            disputes.add((row["task"], int(row["trial"]), int(row["criterion"])))
    return disputes


def sheet_id(parts: Sequence[SheetPart]) -> str:
    """An id of the sheet's content and order: 64 hex digits."""
    content: list[object] = []
    for part in parts:
        answers = [(answer.id, answer.text) for answer in part.answers]
        content.append([part.prompt, part.criteria, answers])
    return sha256(json.dumps(content).encode())


def render_sheet(parts: Sequence[SheetPart]) -> str:
    """The page. Its content security policy allows only its own script and style, by their hashes."""
    style = (TEMPLATES / "judge_sheet.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "judge_sheet.js").read_text(encoding="utf-8")
    sheet = sheet_id(parts)
    answers = [answer for part in parts for answer in part.answers]
    texts = [{"answer": answer.id, "text": answer.text} for answer in answers]
    template = template_environment(html=True).get_template("judge_sheet.html.j2")
    return template.render(
        questions=parts,
        sheet=sheet,
        data=embedded({"sheet": sheet, "maxEvidence": MAX_MARKED_EVIDENCE, "answers": texts}),
        style=Markup(style),
        script=Markup(script),
        style_hash=csp_hash(f"\n{style}\n"),
        script_hash=csp_hash(script),
        mark=MARK,
        html={answer.id: Markup(placed_html(answer.text)) for answer in answers},
    )


def embedded(data: Mapping[str, Any]) -> Markup:
    """JSON for embedding in HTML, with `<` escaped so that no text can end the script element."""
    return Markup(json.dumps(data, sort_keys=True).replace("<", "\\u003c"))


_NOTHING_TO_JUDGE = """\
<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Nothing to judge</title>
<p>There is nothing to judge: judging.human_sample draws no pair, judges agree, or no pair counts yet.</p>
"""


def write_sheet(folder: Path) -> None:
    """Reads answers and criteria, and writes judge_sheet.html, which says so when there is nothing to judge."""
    plan = read_opened_plan(folder)
    tasks = read_tasks(folder)
    parts = questions(plan, tasks, read_shown_answers(folder, plan, tasks), read_disputed(folder))
    write_atomic(RunFolder(folder).judge_sheet, render_sheet(parts) if parts else _NOTHING_TO_JUDGE)


def main(folder: Path) -> None:
    """Write the page for human judging of blinded answers, and print its path."""
    write_sheet(folder)
    place = RunFolder(folder)
    print(
        f"open {place.judge_sheet}; save its verdict files to {place.human}/ (docs/human-judging.md)"
    )


if __name__ == "__main__":
    run_verb("judge", main)
