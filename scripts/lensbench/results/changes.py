"""What the tests said about the runs that were asked for a change: resolved runs, and the size of their patches."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from lensbench.changes.execute import Trouble
from lensbench.core.conditions import treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import mean
from lensbench.core.records import RunId
from lensbench.core.system.files import read_typed
from lensbench.judging.changes import Tested, tested_file
from lensbench.results.results_file import ChangedRun, Changes, ChangesOfCondition
from lensbench.scores.complete_tasks import Pair, mcnemar
from lensbench.scores.run_tables import Tables


def changes_view(folder: Path, tables: Tables) -> Changes[Fraction]:
    """By condition how many runs are resolved, and by treatment McNemar's test; empty without change tasks."""
    files = {
        record.run: tested_file(folder, record.run)
        for record in tables.valid
        if record.patch_sha256
    }
    reports = {run: read_typed(file, Tested) for run, file in files.items() if file.exists()}
    results = {run: report for run, report in reports.items() if not report.unstarted}
    if not reports:
        return {}
    return {
        "runs": [_run(run, results[run]) for run in sorted(results)],
        "unjudged": len(reports) - len(results),
        "conditions": {name: _condition(name, results) for name in tables.plan["conditions"]},
        "treatments": {
            name: mcnemar(_pairs(tables.plan, name, results), tables.plan["trials"])
            for name in treatments(tables.plan)
        },
    }


def _run(run: RunId, report: Tested) -> ChangedRun[Fraction]:
    return {
        "task": run.task,
        "condition": run.condition,
        "trial": run.trial,
        "resolved": report.resolved,
        "share": report.share,
        "reason": report.reason,
        "suspicions": list(report.suspicions),
    }


def _condition(name: str, results: Mapping[RunId, Tested]) -> ChangesOfCondition[Fraction]:
    reports = [report for run, report in results.items() if run.condition == name]
    return {
        "resolved": sum(report.resolved for report in reports),
        "runs": len(reports),
        "files": mean(Fraction(len(report.size.files)) for report in reports),
        "lines": mean(Fraction(report.size.added + report.size.removed) for report in reports),
        "reference_lines": mean(
            Fraction(report.reference.added + report.reference.removed) for report in reports
        ),
        "left_out": sum(bool(report.left_out) for report in reports),
        "untrusted": sum(
            report.trouble in (Trouble.FORGED, Trouble.WRONG_HELD) for report in reports
        ),
        "timed_out": sum(
            report.trouble in (Trouble.TIMED_OUT, Trouble.OVER_LIMIT) for report in reports
        ),
    }


def _pairs(plan: Plan, treatment: str, results: Mapping[RunId, Tested]) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = {}
    for run, report in results.items():
        base = results.get(run._replace(condition=plan["baseline"]))
        if run.condition == treatment and base:
            pairs.setdefault(run.task, []).append(
                (Fraction(report.resolved), Fraction(base.resolved))
            )
    return pairs
