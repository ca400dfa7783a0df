"""Runs of the baseline that an earlier benchmark made, and that stand in for runs of this one (docs/bank.md).

Only a run that answered the same question under the same circumstances is borrowed: the same prompt, repository,
agent and sandbox, in a baseline of the same name and servers. What only shows when our own runs are there (another
model answered, or other files lay in the workspace) discards it then, and never ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from lensbench.core.borrowed import digest, ever_borrowed
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import Record, RunId, run_files
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json, write_atomic, write_json
from lensbench.plan.frozen import read_plan
from lensbench.runs.discards import is_discarded
from lensbench.runs.validity import planned_runs, read_record


def borrow(folder: Path, plan: Plan) -> str:
    """Copies the earlier benchmark's runs into a run folder and says how many; "" when that was done before.

    A start that is killed on the way does it again, with the same result. Raises UserError when the earlier benchmark
    is not there, has another baseline, or has no run that can stand in, and when the runs were borrowed elsewhere.
    """
    lender = read_json(RunFolder(folder).bank).get("baseline")
    if lender is not None and lender != (plan["bank"]["baseline"] if "bank" in plan else ""):
        raise UserError(
            f"{folder} has borrowed its baseline from {lender}, and without bank.baseline: {lender} those runs would "
            f"count as its own; write that, or take another run_id"
        )
    if "bank" not in plan or lender is not None:
        return ""
    source = Path(plan["bank"]["baseline"])
    if source.resolve() == folder.resolve():
        raise UserError(f"bank.baseline: {source} is this benchmark itself; name an earlier one")
    if not RunFolder(source).plan.exists():
        raise UserError(f"bank.baseline: there is no benchmark in {source}; write the run folder of an earlier one")
    earlier = read_plan(source)
    if found := list(_differences(earlier, plan)):
        raise UserError(f"bank.baseline: {source} was made with different settings: {'; '.join(found)}")
    wanted = [run for run in planned_runs(plan) if run.condition == plan["baseline"]]
    before = ever_borrowed(source)
    chosen: dict[str, str] = {}
    refused: Counter[str] = Counter()
    for run in wanted:
        record = read_record(source, run)
        why = _why_not(source, run, record, earlier, plan, before)
        if why or record is None:
            refused[why] += 1
        elif digest(folder, run) in ("", digest(source, run)):
            for given, target in zip(run_files(source, run), run_files(folder, run), strict=True):
                if given.exists():
                    write_atomic(target, given.read_bytes())
            chosen[run.stem] = digest(folder, run)
        else:
            refused["are made here already"] += 1
    listed = "; ".join(f"{count} {reason}" for reason, count in sorted(refused.items()))
    if not chosen:
        raise UserError(f"bank.baseline: no run of {source} can stand in ({listed}); remove bank")
    write_json(
        RunFolder(folder).bank, {"baseline": plan["bank"]["baseline"], "run_id": earlier["run_id"], "runs": chosen}
    )
    again = len(plan["bank"]["again"]) * plan["trials"]
    told = f"{len(chosen)} of {len(wanted)} runs of the baseline are borrowed, {again} are also repeated"
    return f"{source}: {told}" + (f"; not borrowed: {listed}" if listed else "")


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
