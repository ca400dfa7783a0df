"""Writes one table of many benchmarks: `lensbench table bench/* archives/*.zip` (docs/history.md).

A page without requests, table.csv and table.md, from the files of the benchmarks alone. The numbers of an archive are
those that its runs give when they are rebuilt, and an archive that does not verify is omitted, with the reason.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import CheckFailed, UserError, printable, some_of
from lensbench.core.records import sha256
from lensbench.core.system.files import write_atomic
from lensbench.core.system.program import Parser, run_program
from lensbench.core.system.progress import Progress, step
from lensbench.core.tables import write_table
from lensbench.results.charts import Chart, ForestLine, forest
from lensbench.results.markdown import as_html
from lensbench.results.markdown import render as render_markdown
from lensbench.results.page.page import page_environment, script_of_tables, style_of_the_page
from lensbench_archive.matrix import Matrix, matrices_of
from lensbench_archive.run_rows import RunTableRow, read_runs
from lensbench_archive.series import Series, series_of
from lensbench_archive.table_rows import EFFORTS, TableRow, read_rows
from lensbench_archive.verify import problems_of, rebuilt

TABLE_PAGE = "index.html"
CSV = "table.csv"
MARKDOWN = "table.md"
MOST_PROBLEMS = 2
"""Problems of an archive that are named."""
MOST_LINES = 60
"""Rows in the picture, the newest ones; the table has all."""


class FoundBenchmark(NamedTuple):
    """What was found at a path: rows, or why there are none."""

    rows: Sequence[TableRow]
    runs: Sequence[RunTableRow] = ()
    problem: str = ""


def read_entry(path: Path) -> FoundBenchmark:
    """The rows of a run folder or an archive; a problem instead of an error."""
    try:
        return read_folder(path, "folder") if path.is_dir() else read_archive(path)
    except (UserError, OSError) as error:
        return FoundBenchmark((), problem=printable(str(error)))


def read_folder(folder: Path, source: str) -> FoundBenchmark:
    """The rows of a run folder. Raises UserError for one without results."""
    return FoundBenchmark(read_rows(folder, source), read_runs(folder, source))


def read_archive(path: Path) -> FoundBenchmark:
    """The rows of an archive as they follow from its runs. Raises UserError when it does not verify."""
    with (
        tempfile.TemporaryDirectory(prefix="lensbench-table-") as temporary,
        redirect_stdout(
            StringIO()
        ),  # notes on what is only compared in part; what is read here is rebuilt
    ):
        problems = [*problems_of(path, Path(temporary), has_pages=False)]
        if problems:
            raise UserError(f"{path}: does not verify: {some_of(problems, MOST_PROBLEMS)}")
        return read_folder(rebuilt(Path(temporary)), sha256(path.read_bytes()))


def read_all(paths: Sequence[Path]) -> list[FoundBenchmark]:
    """All entries in the order of the paths, several archives at a time."""
    workers = min(len(paths), os.cpu_count() or 1)
    if workers < 2 or all(path.is_dir() for path in paths):
        return [*map(read_entry, paths)]
    with ProcessPoolExecutor(workers) as pool:
        found = pool.map(read_entry, paths)
        with Progress("rebuilding archives"):  # the workers are forked by now, and have no thread
            entries = []
            for entry in found:
                entries.append(entry)
                step("rebuilding archives", len(entries), len(paths))
            return entries


def write_site(
    entries: Iterable[FoundBenchmark], output: Path
) -> tuple[list[Series], list[Matrix]]:
    """Writes the page, the CSV and the Markdown; returns what was compared. At least one entry has rows."""
    entries = [*entries]
    rows = [row for entry in entries for row in entry.rows]
    rows.sort(key=lambda row: (row.started, row.benchmark, row.treatment))
    matrices = matrices_of(rows)
    found, apart = series_of(rows, matrices)
    facts = {
        "columns": [*rows[0].cells],
        "figures": ("score", "interval", *EFFORTS),
        "rows": rows,
        "matrices": matrices,
        "series": found,
        "apart": apart,
        "problems": [entry for entry in entries if entry.problem],
    }
    write_table(output / CSV, [*rows[0].record], [row.record for row in rows])
    write_atomic(output / MARKDOWN, render_markdown(facts, "table.md.j2"))
    environment = page_environment()
    environment.globals |= {**style_of_the_page(), **script_of_tables()}
    template = environment.get_template("table.html.j2")
    page = template.render(
        **facts,
        picture=_picture(rows),
        compared=as_html(render_markdown(facts, "compared.md.j2")),
        link=partial(os.path.relpath, start=output),
    )
    write_atomic(output / TABLE_PAGE, page)
    return found, matrices


def _picture(rows: Sequence[TableRow]) -> Chart | None:
    """The intervals in order of time."""
    lines = []
    for row in rows[-MOST_LINES:]:
        value, low, high = (None if end is None else 100 * end for end in row.score)
        if value is not None:
            label = f"{row.date} {row.server} {row.label}"
            line = ForestLine(label, "overall", row.tasks, value, low, high)
            lines.append(line)
    return forest(lines, None, "Differences in score, in order of time") if lines else None


def _say(name: str, sentences: Iterable[str]) -> None:
    print(printable(name))
    for sentence in sentences:
        print(printable(f"  {sentence}"))


def main() -> None:
    """Write one table of many benchmarks, with the steps of a server over its versions."""
    parser = Parser(prog="lensbench table", description=main.__doc__)
    parser.add_argument("paths", type=Path, nargs="+", help="run folders, and archives (.zip)")
    parser.add_argument("--output", type=Path, default=Path("site"), help="default: site/")
    parser.add_argument(
        "--fail-on", choices=["worse"], help="exit code 1 if the last step of a series is worse"
    )
    parser.add_argument("--runs", type=Path, metavar="FILE", help="also a CSV, a row for each run")
    arguments = parser.parse_args()
    entries = read_all(arguments.paths)
    if not any(entry.rows for entry in entries):
        first, *_ = entries
        raise UserError(first.problem)
    found, matrices = write_site(entries, arguments.output)
    if arguments.runs:
        runs = [row for entry in entries for row in entry.runs]
        write_table(arguments.runs, [*runs[0]], runs)
        print(f"written: {arguments.runs}, {len(runs)} runs")
    for entry in entries:
        if entry.problem:
            print(f"omitted: {entry.problem}", file=sys.stderr)
    for matrix in matrices:
        _say(f"{matrix.name}: {len(matrix.rows)} agents and models", matrix.sentences)
    for series in found:
        _say(f"{series.name}: {len(series.rows)} benchmarks", series.sentences or ["no step"])
    print(f"written: {arguments.output / TABLE_PAGE}, {CSV}, {MARKDOWN}")
    worse = [series for series in found if series.is_worse]
    if worse and arguments.fail_on:
        raise CheckFailed(f"worse: {worse[0].name}: {worse[0].sentences[-1]}")


if __name__ == "__main__":
    run_program(main)
