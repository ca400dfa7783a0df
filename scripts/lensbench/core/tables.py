"""The csv tables between the stages: one row per run, criterion or pair; a missing value is an empty cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.rows import PairRow, RunRow
from lensbench.core.system.files import write_atomic

Row = dict[str, str]
R = TypeVar("R", bound=Mapping[str, object])
_Item = TypeVar("_Item")
Name = TypeVar("Name", bound=Hashable)
Cell = str | int | Sequence[str] | None
"""The value of a cell before it is written as text; truth is an int, too."""

MAX_CELL = 1 << 24
"""Maximum characters of a cell: an agent may cite thousands of files."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Writes the rows; every row has every column. Lists are joined with `;`. A text that a spreadsheet would read as a
    formula gets a leading apostrophe, which `read_table` removes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    write_atomic(path, text.getvalue())


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return yes_no(value)
    if isinstance(value, (list, tuple)):
        value = joined(value)
    if isinstance(value, str):
        value = value.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
        return f"'{value}" if value.startswith((*_FORMULA_STARTS, "'")) else value
    return str(value)


@overload
def read_table(path: Path) -> list[Row]: ...


@overload
def read_table(path: Path, row: type[R]) -> list[R]: ...


def read_table(path: Path, row: type[Any] = dict) -> list[Any]:
    """The rows as strings; `row` is their type. Raises UserError for a missing or incomplete file."""
    csv.field_size_limit(MAX_CELL)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows: list[Any] = list(csv.DictReader(file))
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); delete it, and the next start rebuilds it"
        ) from None
    if any(None in line or None in line.values() for line in rows):
        raise UserError(
            f"{path}: a row is cut off; delete the file, and the next start rebuilds it"
        )
    for line in rows:
        line.update({key: value[1:] for key, value in line.items() if value.startswith("'")})
    return rows


def grouped(items: Iterable[_Item], name: Callable[[_Item], Name]) -> dict[Name, list[_Item]]:
    """The items by name, in the order in which the names occur."""
    groups: dict[Name, list[_Item]] = {}
    for item in items:
        groups.setdefault(name(item), []).append(item)
    return groups


def run_of_row(row: RunRow) -> RunId:
    """The run of a row. Raises UserError when its trial is not a number."""
    if not row["trial"].isdecimal():
        raise UserError(
            f"a table has {row['trial'][:40]!r} where a trial must be; delete the file to have it rebuilt"
        )
    return RunId(row["task"], row["condition"], int(row["trial"]))


def row_of_run(run: RunId) -> RunRow:
    """The columns that name a run."""
    return {"task": run.task, "condition": run.condition, "trial": str(run.trial)}


def run_of_pair(pair: PairRow) -> RunId:
    return RunId(pair["task"], pair["treatment"], int(pair["trial"]))


NONE = "none"
"""An empty list, as opposed to a missing one."""


def yes_no(value: bool | None) -> str:
    """Truth as a cell; empty when it is missing."""
    return "" if value is None else "yes" if value else "no"


def joined(values: Iterable[object]) -> str:
    return ";".join(str(value).replace(";", ",") for value in values) or NONE


def items(cell: str) -> list[str] | None:
    """The items of a joined list; None when it is missing."""
    return None if not cell else [] if cell == NONE else cell.split(";")
