"""Reads the scores that were published of finished runs, for published.csv.

They come from the raw results of the protocol's results.md, or from a CSV with the columns `task,condition,score` or
`task,condition,criterion,verdict`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.handed_over import read_handed_over
from lensbench.core.numbers import nearest_5_percent, score_of
from lensbench.core.rows import PublishedRow
from lensbench.judging.judges import POINTS, Verdict

COLUMNS = ("task", "condition", "score")
Run = tuple[str, str]
"""A task and a condition."""


def read_scores(path: Path) -> dict[Run, Fraction]:
    """The scores (0..1) in results.md or a CSV. Raises UserError with file and line for what cannot be read."""
    text = read_handed_over(path)
    rows = list(_csv_rows(text) if path.suffix.lower() == ".csv" else _table_rows(text))
    if not rows:
        raise UserError(
            f"{path}: has no scores; give a table with Task, Condition and Score, or a CSV with task,condition,score "
            "or task,condition,criterion,verdict"
        )
    points: dict[Run, list[Fraction]] = {}
    for line, row in rows:
        value = _points(row)
        if value is None:
            entry = row.get("verdict", row.get("score", ""))
            raise UserError(
                f"{path}:{line}: {entry!r} is neither a score of 0 to 100% nor a verdict"
            )
        points.setdefault(
            (row["task"].strip("`* "), row["condition"].strip("`* ").lower()), []
        ).append(value)
    twice = (
        [run for run, given in points.items() if len(given) > 1]
        if "verdict" not in rows[0][1]
        else []
    )
    if twice:
        raise UserError(f"{path}: several scores of {'-'.join(twice[0])}; keep one")
    by_verdict = "verdict" in rows[0][1]
    return {
        run: score_of(given, len(given)) if by_verdict else given[0]
        for run, given in points.items()
    }


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
            found = {name: heads.index([name]) for name in COLUMNS if [name] in heads}
            columns = found if len(found) == len(COLUMNS) else {}
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


def impossible(scores: Mapping[Run, Fraction], criteria: Mapping[str, int]) -> Iterator[str]:
    """Runs whose score is impossible with the number of criteria, with that score; `criteria` by task."""
    for (task, condition), score in sorted(scores.items()):
        count = criteria.get(task)
        sums = [Fraction(half, 2 * count) for half in range(2 * count + 1)] if count else []
        near = (
            abs(each - score) <= Fraction(1, 200) or nearest_5_percent(each) == score
            for each in sums
        )
        if count and not any(near):
            yield f"{task}-{condition} {float(score * 100):g}% of {count} criteria"


def rows_of(scores: Mapping[Run, Fraction]) -> Iterable[PublishedRow]:
    return (
        {"task": task, "condition": name, "score": f"{float(score):g}"}
        for (task, name), score in scores.items()
    )
