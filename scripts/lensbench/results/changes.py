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
from lensbench.results.results_file import Changes, ChangesOfCondition
from lensbench.scores.complete_tasks import Pair, mcnemar
from lensbench.scores.run_tables import Tables


def changes_view(folder: Path, tables: Tables) -> Changes[Fraction]:
    """By condition how many runs are resolved, and by treatment McNemar's test; empty without change tasks."""
    files = {record.run: tested_file(folder, record.run) for record in tables.valid if record.patch_sha256}
    tested = {run: read_typed(file, Tested) for run, file in files.items() if file.exists()}
    judged = {run: each for run, each in tested.items() if not each.unstarted}
    if not tested:
        return {}
    return {
        "unjudged": len(tested) - len(judged),
        "conditions": {name: _condition(name, judged) for name in tables.plan["conditions"]},
        "treatments": {name: mcnemar(_pairs(tables.plan, name, judged), tables.plan["trials"])
                       for name in treatments(tables.plan)},
    }  # fmt: skip


def _condition(name: str, judged: Mapping[RunId, Tested]) -> ChangesOfCondition[Fraction]:
    found = [each for run, each in judged.items() if run.condition == name]
    return {
        "runs": len(found),
        "resolved": sum(each.resolved for each in found),
        "files": mean(Fraction(len(each.size.files)) for each in found),
        "lines": mean(Fraction(each.size.added + each.size.removed) for each in found),
        "reference_lines": mean(Fraction(each.reference.added + each.reference.removed) for each in found),
        "lint": mean(Fraction(each.lint) for each in found if each.lint is not None),
        "left_out": sum(bool(each.left_out) for each in found),
        "forged": sum(each.trouble == Trouble.FORGED for each in found),
        "timed_out": sum(each.trouble in (Trouble.TIMED_OUT, Trouble.OVER_LIMIT) for each in found),
    }


def _pairs(plan: Plan, treatment: str, judged: Mapping[RunId, Tested]) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = {}
    for run, each in judged.items():
        base = judged.get(run._replace(condition=plan["baseline"]))
        if run.condition == treatment and base:
            pairs.setdefault(run.task, []).append((Fraction(each.resolved), Fraction(base.resolved)))
    return pairs
