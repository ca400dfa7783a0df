"""Reads scores that were made elsewhere, for `lensbench verdict`: a CSV with a row for each run (docs/verdict.md).

A value that is missing or unclear is refused with its line and column; nothing is guessed.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import CLOSED_BOOK, MAX_CONDITION
from lensbench.core.errors import UserError, did_you_mean, some_of
from lensbench.core.handed_over import read_handed_over
from lensbench.core.names import plain_name
from lensbench.core.records import RunId

NEEDED_COLUMNS = ("task", "condition", "score")
USUAL_BASELINES = ("without", "baseline")
"""Names of conditions that are the baseline if no other is named."""
MAX_TRIALS = 99
MAX_TASK = 64
SHARES = 1
PERCENT = 100
"""The largest score of each scale."""
LARGEST_OF_SMALL_SCALE = 10
"""If no score is above it, though one is above 1, the scale is hardly 0 to 100."""

_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


class GivenRun(NamedTuple):
    """A row: what is known of a run. None is not given."""

    line: int
    run: RunId
    score: Fraction
    """A share of 1."""
    repository: str
    cost_usd: Fraction | None
    tokens: Fraction | None
    duration_s: Fraction | None
    """Seconds."""
    calls: Fraction | None


class GivenScores(NamedTuple):
    """All rows, in their order, with names that are fit for files."""

    runs: Sequence[GivenRun]
    conditions: Sequence[str]
    """The baseline first."""

    @property
    def tasks(self) -> dict[str, str]:
        """Task -> its repository; "" where none is given."""
        return {given.run.task: given.repository for given in self.runs}

    @property
    def trials(self) -> int:
        return max(given.run.trial for given in self.runs)


class _Row(NamedTuple):
    """A line of the file, by column."""

    place: str
    line: int
    cells: Mapping[str, str]

    def refusal(self, column: str, problem: str) -> UserError:
        return UserError(f"{self.place}:{self.line}: column {column}: {problem}")

    def text(self, column: str) -> str:
        """The cell. Raises UserError when it is empty."""
        if not self.cells[column]:
            raise self.refusal(column, "is empty; fill it in, or leave this task out everywhere")
        return self.cells[column]

    def number(self, column: str) -> Fraction | None:
        """The number of an optional column; None where it is not given. Raises UserError for text."""
        cell = self.cells.get(column, "")
        if not cell:
            return None
        if not _NUMBER.fullmatch(cell):
            raise self.refusal(column, f"{cell[:40]!r} is no number of 0 or more; {_advice(cell)}")
        return Fraction(cell)

    def whole(self, column: str) -> Fraction | None:
        number = self.number(column)
        if number is not None and number.denominator != 1:
            raise self.refusal(column, f"{self.cells[column]!r} is no whole number; write a count")
        return number


def _advice(cell: str) -> str:
    if re.fullmatch(r"[0-9]+,[0-9]+", cell):
        return "write a point for the comma"
    if cell.endswith("%"):
        return "write it without the sign"
    if cell.lower() in ("nan", "inf", "none", "null", "n/a", "-"):
        return "decide what the run counts, such as 0, or leave this task out everywhere"
    return "write digits only, such as 0.85"


def read_given(path: Path, baseline: str | None = None) -> GivenScores:
    """The runs in a CSV. `baseline`: its name there, else one of USUAL_BASELINES. Raises UserError with line and column
    for what cannot be read, is there twice or is missing on one side."""
    rows = [*_rows(path)]
    if not rows:
        raise UserError(
            f"{path}: has no rows; write one for each run below {','.join(NEEDED_COLUMNS)}"
        )
    conditions = _fit(rows, "condition", fit_condition)
    tasks = _fit(rows, "task", fit_task)
    scale = _scale(rows)
    first = _baseline(path, conditions, baseline)
    runs: dict[RunId, GivenRun] = {}
    for row in rows:
        run = RunId(tasks[row.text("task")], conditions[row.text("condition")], _trial(row))
        if run in runs:
            advice = "keep one" if "trial" in row.cells else "keep one, or add a column trial"
            raise row.refusal(
                "task", f"this run is in line {runs[run].line}, too: the row is doubled; {advice}"
            )
        runs[run] = _given(row, run, scale)
    _check_repositories(rows)
    _check_pairs(path, runs, {fit: name for name, fit in tasks.items()}, conditions)
    others = [name for name in conditions.values() if name != first]
    return GivenScores([*runs.values()], [first, *others])


def _rows(path: Path) -> Iterator[_Row]:
    """The lines that are not empty, with the names of columns in lower case."""
    text = read_handed_over(path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] = []
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not any(cells):
                continue
            line = reader.line_num
            if not columns:
                columns = _columns(path, line, cells)
                continue
            if len(cells) != len(columns):
                raise UserError(
                    f"{path}:{line}: column {min(len(cells), len(columns)) + 1}: has {len(cells)} cells, and the first "
                    f"line names {len(columns)} columns; quote cells with commas, and fill in what is missing"
                )
            yield _Row(str(path), line, dict(zip(columns, cells, strict=True)))
    except csv.Error as error:
        raise UserError(
            f"{path}:{reader.line_num}: column 1: {error}; close the quotes, and save it as CSV"
        ) from None


def _columns(path: Path, line: int, cells: Sequence[str]) -> list[str]:
    """The names in the first line. Raises UserError when one is missing, unnamed or there twice."""
    names = [cell.lower() for cell in cells]
    place = f"{path}:{line}: column"
    for separator, word in _SEPARATORS.items():
        if len(names) == 1 and separator in names[0]:
            raise UserError(f"{place} 1: columns are separated by {word}; save it with commas")
    for number, name in enumerate(names, 1):
        if not name:
            raise UserError(f"{place} {number}: has no name; name it, or delete it")
        if name in names[: number - 1]:
            raise UserError(f"{place} {number}: {name} is there twice; keep one")
    for name in NEEDED_COLUMNS:
        if name not in names:
            hint = did_you_mean(name, names) or f"; the first line names {some_of(names, 5)}"
            raise UserError(
                f"{place} {name}: is missing{hint}; name the columns {','.join(NEEDED_COLUMNS)}"
            )
    return names


def _fit(rows: Sequence[_Row], column: str, fit: Callable[[str], str]) -> dict[str, str]:
    """The names of a column -> names that are fit for files. Raises UserError where two become one."""
    names: dict[str, str] = {}
    originals: dict[str, str] = {}
    for row in rows:
        name = row.text(column)
        fitted = fit(name)
        if not fitted:
            raise row.refusal(column, f"{name[:40]!r} has no letter or digit; give it a name")
        if originals.setdefault(fitted, name) != name:
            text = f"{name!r} and {originals[fitted]!r} both become {fitted!r}; rename one"
            raise row.refusal(column, text)
        names[name] = fitted
    return names


def fit_task(name: str) -> str:
    """`django-django-11099` for `django__django-11099`: a task's name as lensbench writes it."""
    return plain_name(name)[:MAX_TASK]


def fit_condition(name: str) -> str:
    """`gpt_5_tools` for `GPT-5 (tools)`: a condition's name as lensbench writes it."""
    fitted = plain_name(name, "_")
    if not fitted[:1].isalpha() or fitted == CLOSED_BOOK:
        fitted = f"c_{fitted}" if fitted else ""
    return fitted[:MAX_CONDITION]


def _baseline(path: Path, conditions: Mapping[str, str], baseline: str | None) -> str:
    names = some_of([*conditions], 5)
    if len(conditions) == 1:
        raise UserError(
            f"{path}: column condition: has only {names}; a verdict compares two: add the other's rows"
        )
    if baseline is not None and baseline not in conditions:
        hint = did_you_mean(baseline, conditions)
        raise UserError(f"{path}: column condition: no row has --baseline {baseline!r}{hint}")
    for name in (baseline,) if baseline is not None else USUAL_BASELINES:
        if name in conditions:
            return conditions[name]
    raise UserError(
        f"{path}: column condition: has {names}; name the one to compare with: --baseline NAME"
    )


def _scale(rows: Sequence[_Row]) -> int:
    """SHARES or PERCENT. Raises UserError for scores that may be either, or neither."""
    scores: list[tuple[Fraction, _Row]] = []
    for row in rows:
        row.text("score")
        number = row.number("score")
        if number is not None:
            scores.append((number, row))
    largest, row = max(scores, key=lambda scored: scored[0])
    if largest <= SHARES:
        return SHARES
    if largest > PERCENT:
        raise row.refusal("score", f"{float(largest):g} is above 100; write 0 to 1, or 0 to 100")
    if largest <= LARGEST_OF_SMALL_SCALE:
        text = f"{float(largest):g} is the largest: is it of 0 to {math.ceil(largest)}? Divide, and write 0 to 1"
        raise row.refusal("score", text)
    for score, other in scores:
        if 0 < score <= SHARES:
            text = f"{float(score):g} is of 0 to 1, and {float(largest):g} in line {row.line} of 0 to 100"
            raise other.refusal("score", f"{text}; write all of them 0 to 1")
    return PERCENT


def _trial(row: _Row) -> int:
    if "trial" not in row.cells:
        return 1
    row.text("trial")
    number = row.whole("trial") or Fraction(0)
    if not 1 <= number <= MAX_TRIALS:
        raise row.refusal("trial", f"{number} is not from 1 to {MAX_TRIALS}; count from 1")
    return int(number)


def _given(row: _Row, run: RunId, scale: int) -> GivenRun:
    return GivenRun(
        row.line,
        run,
        (row.number("score") or Fraction(0)) / scale,
        row.cells.get("repository", ""),
        row.number("cost_usd"),
        row.whole("tokens"),
        row.number("duration_s"),
        row.whole("calls"),
    )


def _check_repositories(rows: Sequence[_Row]) -> None:
    """Raises UserError when a task has two repositories."""
    seen: dict[str, _Row] = {}
    for row in rows:
        name = row.cells.get("repository", "")
        before = seen.setdefault(row.cells["task"], row)
        then = before.cells.get("repository", "")
        if name != then:
            text = f"is {name!r}, and {then!r} in line {before.line}; a task has one repository"
            raise row.refusal("repository", text)


def _check_pairs(
    path: Path,
    runs: Mapping[RunId, GivenRun],
    tasks: Mapping[str, str],
    conditions: Mapping[str, str],
) -> None:
    """Raises UserError when a run lacks its counterpart, or a task has fewer trials than another."""
    trials = max(run.trial for run in runs)
    for run, given in runs.items():
        for trial in range(1, trials + 1):
            for name, condition in conditions.items():
                if RunId(run.task, condition, trial) in runs:
                    continue
                number = f", trial {trial}" if trials > 1 else ""
                raise UserError(
                    f"{path}:{given.line}: column condition: {tasks[run.task]} has no row of {name}{number}; "
                    "add it with a score, such as 0, or leave this task out everywhere"
                )
