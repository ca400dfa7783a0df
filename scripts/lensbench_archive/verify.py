"""Verifies an archive of a benchmark: is it complete and unchanged, and do its figures follow from its runs?

    lensbench verify bench.zip

No code in the archive is run, and no model is asked. Prints a line for each problem; then the exit code is 1.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from lensbench import __version__
from lensbench.core.errors import CheckFailed, UserError, printable, some_of
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.places import ROOT
from lensbench.core.system.program import Parser, run_program
from lensbench.core.system.progress import Progress, say, step
from lensbench.core.tables import read_table
from lensbench_archive import PROJECT, REDACTIONS, RUN, VERSIONS_FILE, completeness
from lensbench_archive.archive import foreign_parts
from lensbench_archive.bag import check_bag
from lensbench_archive.code import code_hash
from lensbench_archive.rebuilding import is_derived, is_page, rebuild
from lensbench_archive.unpacking import files_in, unpack

MAX_SHOWN = 50
MAX_NAMED = 5


def verify(archive: Path) -> Iterator[str]:
    """The problems of the archive, one line each; empty when everything is correct.

    Damaged or foreign files end the check, because figures are rebuilt only from the original files. Raises UserError
    when the archive cannot be unpacked.
    """
    with tempfile.TemporaryDirectory(prefix="lensbench-verify-") as temporary:
        yield from problems_of(archive, Path(temporary))


def problems_of(archive: Path, place: Path, has_pages: bool = True) -> Iterator[str]:
    """The same with the empty folder `place`, in which the files of `rebuilt` stay. Without `has_pages`, pages are only
    checked against their checksums: rebuilding them is half of the work."""
    bag = unpack(archive, place)
    step("comparing the files with their checksums")
    problems = check_bag(bag)
    yield from problems
    if not problems:
        yield from number_problems(bag / "data", rebuilt(place), has_pages)


def rebuilt(place: Path) -> Path:
    """The run folder in `place` with the numbers that follow from an archive's runs."""
    return place / "again"


def number_problems(data: Path, again: Path, has_pages: bool = True) -> Iterator[str]:
    """Problems of the archive's figures, found by rebuilding them in the new folder `again`."""
    try:
        is_same_code = _compare_versions(
            json.loads((data / VERSIONS_FILE).read_text(encoding="utf-8"))
        )
        if (data / REDACTIONS).exists():
            say(f"note: {_redacted(data / REDACTIONS)}")
        plan = completeness.check_plan(data / RUN)
        settings = yaml.safe_load(RunFolder(data / RUN).config.read_text(encoding="utf-8"))
        foreign = [
            *completeness.foreign_files(data, plan),
            *foreign_parts(data / PROJECT, settings),
        ]
        for note in foreign[:MAX_SHOWN]:
            say(f"note: {note}; no figure uses it")
        yield from completeness.missing_prompts(data / RUN, plan)
        yield from completeness.attempt_problems(data / RUN, plan)
        _copy_kept(data / RUN, again)
        step("rebuilding the figures and pages")
        for problem in rebuild(again, has_pages):
            if is_same_code:
                yield f"run/{problem}"
            else:
                say(f"note: run/{problem}; other code may have sent a different request")
        yield from completeness.missing_runs(again, plan)
        yield from differences(data / RUN, again, is_same_code, has_pages)
    except UserError as error:
        yield f"the figures cannot be rebuilt: {str(error).replace(f'{again}/', 'run/')}"
    except (
        Exception
    ) as error:  # the files may contain anything, and templates and libraries read them
        yield f"the figures cannot be rebuilt: {type(error).__name__}: {error}"


def _compare_versions(version: Mapping[str, Any]) -> bool:
    """True when this code wrote the archive; otherwise prints a note, as other code may write other files and
    columns."""
    if version["code_sha256"] == code_hash(ROOT):
        return True
    maker = printable(f"lensbench {version['lensbench']}, commit {version['commit']}")
    say(
        f"note: written by {maker}; this is {__version__} with other code, so only tables are compared, not pages"
    )
    return False


def _redacted(file: Path) -> str:
    """What was replaced in an archive, as a sentence."""
    replaced = json.loads(file.read_text(encoding="utf-8"))["replaced"]
    places = sum(map(int, replaced.values()))
    return (
        f"redacted (texts: {len(replaced)}, places: {places}); the numbers follow from what is left"
    )


def _copy_kept(source: Path, target: Path) -> None:
    for name, path in files_in(source).items():
        if not is_derived(name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, target / name)


def differences(original: Path, copy: Path, is_same_code: bool, has_pages: bool) -> Iterator[str]:
    """What differs after a rebuild, by the paths in the archive. Of other code only tables are compared, in common
    columns; a note lists the other files, since pages and results.json change with the code."""
    before = files_in(original)
    after = files_in(copy)
    left = []
    for name in sorted({*before, *after}):
        if is_page(name) and not has_pages:
            continue
        if name not in before:
            problem = "is missing, although it follows from the runs"
        elif name not in after:
            problem = "does not follow from the runs"
        elif before[name].read_bytes() == after[name].read_bytes():
            continue
        else:
            problem = "does not follow from answers, records and verdicts"
        is_table = name in before and name in after and name.endswith(".csv")
        if is_same_code or (is_table and not _have_same_values(before[name], after[name])):
            yield f"run/{name}: {problem}"
        elif not is_table:
            left.append(name)
    if left:
        names = some_of(left, MAX_NAMED)
        say(f"note: {len(left)} other files differ with this code and were not compared: {names}")


def _have_same_values(table: Path, again: Path) -> bool:
    """True when two tables have the same rows, in the columns of the first."""
    rows = read_table(table)
    rows_again = read_table(again)
    columns = (rows or rows_again or [{}])[0].keys()
    return rows == [{key: row.get(key) for key in columns} for row in rows_again]


def main() -> None:
    """Verify an archive: check its files, rebuild its figures and compare them."""
    parser = Parser(prog="lensbench verify", description=main.__doc__)
    parser.add_argument("archive", type=Path, help="the archive, <run_id>.zip")
    arguments = parser.parse_args()
    try:
        with Progress(f"unpacking {arguments.archive}"):
            problems = list(dict.fromkeys(verify(arguments.archive)))
    except UserError as error:
        if not arguments.archive.is_file():
            raise
        raise CheckFailed(str(error)) from None  # it is there, and not as it should be
    for problem in problems[:MAX_SHOWN]:
        print(f"FAIL: {printable(problem)}")
    if len(problems) > MAX_SHOWN:
        print(f"FAIL: and {len(problems) - MAX_SHOWN} more")
    if problems:
        sys.exit(1)
    print(
        f"ok: {arguments.archive}: unchanged since it was written, and everything compared follows from its runs,"
        " according to its own checksums; who wrote it, and whether the runs took place, cannot be verified"
    )


if __name__ == "__main__":
    run_program(main)
