"""Rebuilds all figures of a benchmark from its answers, records, discards and judges' replies.

Nobody is asked again: patterns are evaluated again, and models' and people's verdicts are taken from their replies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GIVEN, HUMAN, MECHANICAL
from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.core.tables import read_table
from lensbench.judging.judges import Verdict
from lensbench.judging.verdicts import judge_all
from lensbench.results.page.page import write_page
from lensbench.results.results import write_results
from lensbench.scores.rescore import estimate_present

DERIVED = frozenset(
    {
        RunFolder.validity,
        RunFolder.timing,
        RunFolder.reports,
        RunFolder.verdicts,
        RunFolder.decisions,
        RunFolder.escalations,
        RunFolder.scores,
        RunFolder.pairs,
        RunFolder.judge_reliability,
        RunFolder.estimates,
        RunFolder.results_json,
        RunFolder.results,
        RunFolder.summary,
        RunFolder.junit,
        RunFolder.badge,
    }
)


def is_derived(name: str) -> bool:
    """True when `rebuild` writes the file with this path in the run folder."""
    folder, _, rest = name.partition("/")
    if folder == RunFolder.judge_verdicts and rest:
        return rest in (f"{MECHANICAL}.csv", f"{GIVEN}.csv") or rest.startswith(f"{HUMAN}-")
    return name in DERIVED or is_page(name)


def is_page(name: str) -> bool:
    """True for the page of the results, and the pages of answers that belong to it."""
    folder, _, rest = name.partition("/")
    return name == RunFolder.page or (folder == RunFolder.answers and bool(rest))


def rebuild(folder: Path, has_pages: bool = True) -> list[str]:
    """Runs all stages after the runs, that of pages only with `has_pages`. Returns the model verdicts that no stored
    reply supports.

    Raises UserError for input that the stages cannot read.
    """
    problems: list[str] = []

    def judge(name: str) -> None:
        if name in (MECHANICAL, GIVEN):
            judge_all(folder, name)
        else:
            problems.extend(unsupported(folder, name))

    estimate_present(folder, judge)
    write_results(folder)
    if has_pages:
        write_page(folder)
    return problems


def unsupported(folder: Path, judge: str) -> Iterator[str]:
    """The verdicts of a model judge that differ from its stored replies (judging/), one sentence each.

    Its table is kept, because the reasons for missing verdicts are stored only there.
    """
    path = RunFolder(folder).judge_verdicts / f"{judge}.csv"
    if not path.exists():
        raise UserError(
            f"{path}: is missing; a model's verdicts cannot be rebuilt without asking it"
        )
    before = read_table(path, VerdictRow)
    content = path.read_bytes()
    judge_all(folder, judge, ask=False)
    again = {tuple(row.items()) for row in read_table(path, VerdictRow)}
    write_atomic(path, content)
    for row in before:
        if row["verdict"] != Verdict.UNJUDGED and tuple(row.items()) not in again:
            where = f"{row['task']}, {row['condition']}, trial {row['trial']}, criterion {row['criterion']}"
            name = path.relative_to(folder).as_posix()
            yield f"{name}: the verdict on {where} differs from the judge's reply ({RunFolder.judging}/)"
