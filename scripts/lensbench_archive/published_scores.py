"""Reads the scores that were published of finished runs, for published.csv.

They come from the raw results of the protocol's results.md, or from a CSV with the columns `task,condition,score` or
`task,condition,criterion,verdict`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.handed_over import read_handed_over
from lensbench.core.numbers import nearest_5_percent, score_of
from lensbench.core.rows import PublishedRow
from lensbench.judging.judges import POINTS, Verdict

SCORE_COLUMNS = ("task", "condition", "score")
TaskAndCondition = tuple[str, str]
"""A task and a condition."""


def read_scores(path: Path) -> dict[TaskAndCondition, Fraction]:
    """The scores (0..1) in results.md or a CSV. Raises UserError with file and line for what cannot be read."""
    text = read_handed_over(path)
    rows = list(_csv_rows(text) if path.suffix.lower() == ".csv" else _table_rows(text))
    if not rows:
        raise UserError(
            f"{path}: has no scores; give a table with Task, Condition and Score, or a CSV with task,condition,score "
            "or task,condition,criterion,verdict"
        )
    points: dict[TaskAndCondition, list[Fraction]] = {}
    for line, row in rows:
        value = _points(row)
        if value is None:
            entry = row.get("verdict", row.get("score", ""))
            raise UserError(
                f"{path}:{line}: {entry!r} is neither a score of 0 to 100% nor a verdict"
            )
        task = row["task"].strip("`* ")
        condition = row["condition"].strip("`* ").lower()
        points.setdefault((task, condition), []).append(value)
    if "verdict" in rows[0][1]:
        return {run: score_of(given, len(given)) for run, given in points.items()}
    scores = {}
    for run, given in points.items():
        if len(given) > 1:
            raise UserError(f"{path}: several scores of {'-'.join(run)}; keep one")
        scores[run] = given[0]
    return scores


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    names = {name.strip().lower(): name for name in reader.fieldnames or ()}
    wanted = {"task", "condition", "verdict" if "verdict" in names else "score"}
    if wanted <= names.keys():
        for row in reader:
            yield reader.line_num, {name: (row[names[name]] or "").strip() for name in wanted}


def _table_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of the first Markdown table that has a task, a condition and a score in each row."""
    columns: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("|"):
            if columns:
                return
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not columns:
            heads = [re.sub(r"[^a-z]+", " ", cell.lower()).split()[:1] for cell in cells]
            found = {name: heads.index([name]) for name in SCORE_COLUMNS if [name] in heads}
            columns = found if len(found) == len(SCORE_COLUMNS) else {}
        elif not re.fullmatch(r"[\s|:-]+", line) and len(cells) > max(columns.values()):
            yield number, {name: cells[place] for name, place in columns.items()}


def _points(row: Mapping[str, str]) -> Fraction | None:
    if "verdict" in row:
        named = {
            str(verdict).lower(): points
            for verdict, points in POINTS.items()
            if verdict is not Verdict.UNJUDGED
        }
        return named.get(row["verdict"].lower())
    text = row["score"].strip("*` ")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?\s?%?", text):
        return None
    value = Fraction(text.removesuffix("%").strip())
    share = value / 100 if text.endswith("%") or value > 1 else value
    return share if 0 <= share <= 1 else None


def impossible(
    scores: Mapping[TaskAndCondition, Fraction], criteria: Mapping[str, int]
) -> Iterator[str]:
    """Runs whose score is impossible with the number of criteria, with that score; `criteria` by task."""
    for (task, condition), score in sorted(scores.items()):
        count = criteria.get(task)
        if count and not _is_possible(score, count):
            yield f"{task}-{condition} {float(score * 100):g}% of {count} criteria"


def _is_possible(score: Fraction, count: int) -> bool:
    """True when half and whole points of this many criteria give the score, rounded as people round it."""
    for half_points in range(2 * count + 1):
        share = Fraction(half_points, 2 * count)
        if abs(share - score) <= Fraction(1, 200) or nearest_5_percent(share) == score:
            return True
    return False


def rows_of(scores: Mapping[TaskAndCondition, Fraction]) -> Iterator[PublishedRow]:
    for (task, condition), score in scores.items():
        yield {"task": task, "condition": condition, "score": f"{float(score):g}"}
