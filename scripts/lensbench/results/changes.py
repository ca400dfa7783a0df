"""What the tests said about the runs that were asked for a change: resolved runs, and the size of their patches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from lensbench.changes.execute import Trouble
from lensbench.changes.patches import PatchSize
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
    plan = tables.plan
    results = {}
    unjudged = 0
    for record in tables.valid:
        file = tested_file(folder, record.run)
        if record.patch_sha256 and file.exists():
            report = read_typed(file, Tested)
            unjudged += bool(report.unstarted)
            if not report.unstarted:
                results[record.run] = report
    if not results and not unjudged:
        return {}
    tests = {}
    for name in treatments(plan):
        tests[name] = mcnemar(_pairs(plan, name, results), plan["trials"])
    return {
        "runs": [_run(run, results[run]) for run in sorted(results)],
        "unjudged": unjudged,
        "conditions": {name: _condition(name, results) for name in plan["conditions"]},
        "treatments": tests,
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
    troubles = Counter(report.trouble for report in reports)
    return {
        "resolved": sum(report.resolved for report in reports),
        "runs": len(reports),
        "files": mean(Fraction(len(report.size.files)) for report in reports),
        "lines": mean(_lines(report.size) for report in reports),
        "reference_lines": mean(_lines(report.reference) for report in reports),
        "left_out": sum(bool(report.left_out) for report in reports),
        "untrusted": troubles[Trouble.FORGED] + troubles[Trouble.WRONG_HELD],
        "timed_out": troubles[Trouble.TIMED_OUT] + troubles[Trouble.OVER_LIMIT],
    }


def _lines(size: PatchSize) -> Fraction:
    return Fraction(size.added + size.removed)


def _pairs(plan: Plan, treatment: str, results: Mapping[RunId, Tested]) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = {}
    for run, report in results.items():
        base = results.get(run._replace(condition=plan["baseline"]))
        if run.condition == treatment and base:
            pair = (Fraction(report.resolved), Fraction(base.resolved))
            pairs.setdefault(run.task, []).append(pair)
    return pairs
