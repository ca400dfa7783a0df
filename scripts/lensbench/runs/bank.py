"""Runs of the baseline that earlier benchmarks made, and that stand in for runs of this one (docs/bank.md).

Only a run that answered the same question under the same circumstances is borrowed: the same prompt, repository,
agent and sandbox, in a baseline of the same name and servers. What only shows when our own runs are there (another
model answered, or other files lay in the workspace) discards it then, and never ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from lensbench.core.borrowed import digest, ever_borrowed
from lensbench.core.conditions import lenders
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import Record, RunId, run_files, sha256, to_json
from lensbench.core.run_folder import RunFolder, names_of_run
from lensbench.core.system.files import read_json, write_atomic, write_json
from lensbench.plan.frozen import read_plan
from lensbench.runs.discards import is_discarded
from lensbench.runs.validity import planned_runs, read_record


class Loan(NamedTuple):
    """A run of an earlier benchmark, and the one of ours that it stands in for."""

    source: Path
    record: Record
    target: RunId

    @property
    def record_bytes(self) -> bytes:
        """Its record, with the name that the run has here."""
        if self.record.run == self.target:
            return run_files(self.source, self.target).record.read_bytes()
        return to_json(replace(self.record, condition=self.target.condition, trial=self.target.trial)).encode()


def borrow(folder: Path, plan: Plan) -> str:
    """Copies runs of the earlier benchmarks into a run folder and says how many; "" when that was done before.

    A start that is killed on the way does it again, with the same result. Raises UserError when an earlier benchmark
    is not there, has another baseline, or has no run that can stand in, and when the runs were borrowed elsewhere.
    """
    known = read_json(RunFolder(folder).bank)
    sources = lenders(plan["bank"]) if "bank" in plan else ()
    before = lenders({"baseline": known["baseline"], "drift": 0, "again": []}) if known else ()
    if known and before != sources:
        told = ", ".join(before)
        raise UserError(
            f"{folder} has borrowed its baseline from {told}, and without bank.baseline: {told} those runs would "
            f"count as its own; write that, or take another run_id"
        )
    if not sources or known:
        return ""
    found = [_offered(folder, Path(source), plan) for source in sources]
    loans, further = _chosen(plan, [each.runs for each in found])
    loans = [loan for loan in loans if digest(folder, loan.target) in ("", sha256(loan.record_bytes))]
    taken = {loan.target for loan in loans}
    missing = (run for run in planned_runs(plan) if run.condition == plan["baseline"] and run not in taken)
    reasons = Counter(found[0].refused.get(run, "are made here already") for run in missing)
    listed = "; ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    if not any(run.condition == plan["baseline"] for run in taken):
        raise UserError(f"bank.baseline: no run of {' or '.join(sources)} can stand in ({listed}); remove bank")
    for loan in loans:
        _copy(loan, folder)
    write_json(
        RunFolder(folder).bank,
        {
            "baseline": list(sources), "run_ids": [each.plan["run_id"] for each in found],
            "runs": {loan.target.stem: digest(folder, loan.target) for loan in loans},
            "lenders": {loan.target.stem: str(loan.source) for loan in loans}, "further": further,
        },
    )  # fmt: skip
    return _told(plan, loans, listed)


class Offered(NamedTuple):
    """What an earlier benchmark has for ours."""

    plan: Plan
    runs: Mapping[str, Mapping[int, Loan]]
    """By task and trial."""
    refused: Mapping[RunId, str]
    """Why runs that we want cannot stand in."""


def _offered(folder: Path, source: Path, plan: Plan) -> Offered:
    if source.resolve() == folder.resolve():
        raise UserError(f"bank.baseline: {source} is this benchmark itself; name an earlier one")
    if not RunFolder(source).plan.exists():
        raise UserError(f"bank.baseline: there is no benchmark in {source}; write the run folder of an earlier one")
    earlier = read_plan(source)
    if found := list(_differences(earlier, plan)):
        raise UserError(f"bank.baseline: {source} was made with different settings: {'; '.join(found)}")
    before = ever_borrowed(source)
    runs: dict[str, dict[int, Loan]] = {}
    refused: dict[RunId, str] = {}
    for task in plan["order"]:
        for trial in range(1, max(plan["trials"], earlier["trials"]) + 1):
            run = RunId(task, plan["baseline"], trial)
            record = read_record(source, run)
            why = _why_not(source, run, record, earlier, plan, before)
            if record is not None and not why:
                runs.setdefault(task, {})[trial] = Loan(source, record, run)
            elif trial <= plan["trials"]:
                refused[run] = why
    return Offered(earlier, runs, refused)


def _chosen(plan: Plan, offered: Sequence[Mapping[str, Mapping[int, Loan]]]) -> tuple[list[Loan], dict[str, list[str]]]:
    """The loans: for each run of the baseline that of the first benchmark that has it, and for the controls all others
    that make up whole baselines of a task; and the tasks of each control."""
    chosen: list[Loan] = []
    further: dict[str, list[str]] = {}
    trials = range(1, plan["trials"] + 1)
    for task in plan["order"]:
        of_task = [dict(runs.get(task, {})) for runs in offered]
        for trial in trials:
            if loan := next((runs.pop(trial) for runs in of_task if trial in runs), None):
                chosen.append(loan)
        rest = [list(runs.values()) for runs in of_task]
        whole = [runs[at : at + len(trials)] for runs in rest for at in range(0, len(runs), len(trials))]
        for number, baseline in enumerate((runs for runs in whole if len(runs) == len(trials)), 2):
            name = f"baseline_{number}"
            further.setdefault(name, []).append(task)
            chosen += [
                loan._replace(target=RunId(task, name, trial)) for trial, loan in zip(trials, baseline, strict=True)
            ]
    return chosen, further


def _copy(loan: Loan, folder: Path) -> None:
    names = zip(names_of_run(loan.record.run.stem), names_of_run(loan.target.stem), strict=True)
    for given, target in names:
        if (loan.source / given).exists():
            write_atomic(folder / target, (loan.source / given).read_bytes())
    write_atomic(run_files(folder, loan.target).record, loan.record_bytes)


def _told(plan: Plan, loans: Iterable[Loan], listed: str) -> str:
    """How many runs were borrowed from where."""
    first, further = Counter[Path](), Counter[Path]()
    for loan in loans:
        (first if loan.target.condition == plan["baseline"] else further)[loan.source] += 1
    wanted, again = (len(tasks) * plan["trials"] for tasks in (plan["order"], plan["bank"]["again"]))
    told = [f"{source}: {count} of {wanted} runs of the baseline are borrowed" for source, count in first.items()]
    told[-1] += f", {again} are also repeated"
    told += [f"{source}: {count} further runs are averaged with them" for source, count in further.items()]
    return "; ".join([*told, *([f"not borrowed: {listed}"] if listed else [])])


_SANDBOX = ("mode", "network", "hosts", "limits", "visible")


def _differences(earlier: Plan, plan: Plan) -> Iterator[str]:
    """What two benchmarks do not have in common that every run of the baseline depends on."""
    if earlier["baseline"] != plan["baseline"]:
        yield f"its baseline is {earlier['baseline']}, not {plan['baseline']}"
        return
    before, now = (each["conditions"][each["baseline"]] for each in (earlier, plan))
    if json.dumps({**before, "mcp": None}, sort_keys=True) != json.dumps({**now, "mcp": None}, sort_keys=True):
        yield f"{plan['baseline']} has other servers or commands"
    boxes = earlier.get("sandbox", {}), plan.get("sandbox", {})
    for key in _SANDBOX:
        if boxes[0].get(key) != boxes[1].get(key):
            yield f"sandbox.{key} was {boxes[0].get(key)!r}, is {boxes[1].get(key)!r}"


def _why_not(
    source: Path, run: RunId, record: Record | None, earlier: Plan, plan: Plan, borrowed: Collection[str]
) -> str:
    """Why the run of an earlier benchmark cannot stand in for ours; "" when it can."""
    if record is None:
        return "were not made there"
    if record.last.reason or is_discarded(source, run):
        return "do not count there"
    if run.stem in borrowed:
        return "were borrowed there"
    if record.source != "run":
        return "were imported there"
    planned = plan["tasks"][run.task]
    if record.prompt_sha256 != planned["prompt_sha256"]:
        return "have another prompt"
    if run.task not in earlier["tasks"] or earlier["tasks"][run.task]["repository"] != planned["repository"]:
        return "have another repository"
    if record.agent_sha256 != plan.get("agent_sha256"):
        return "have other settings of the agent"
    return ""
