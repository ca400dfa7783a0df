"""One run: a task in a condition, with an agent in a clean workspace, in up to `retries` attempts (protocol, 1-3).

Writes the answer, the transcript and the record. The record states facts; `validity` decides later which runs are
valid. An existing run that was not discarded is always kept, because it was paid for.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from lensbench import __version__
from lensbench.agents import known_kinds, load_adapter, secret_names
from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.agents.services import service_of, tell, wait_for
from lensbench.agents.start import now
from lensbench.core.conditions import mcp_secrets
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import RepositoryFacts
from lensbench.core.records import Attempt, Record, RunFiles, RunId, from_json, patch_file, run_files, sha256, to_json
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.backoff import back_off
from lensbench.core.system.files import write_atomic
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, end_children, held_signals
from lensbench.core.system.program import run_program
from lensbench.core.system.redaction import Redactor
from lensbench.core.system.terminal import printable
from lensbench.runs.attempt import Job, Tried, gate_name, make_attempt
from lensbench.runs.budget import check_budget, spend
from lensbench.runs.discards import describes, discard_files_of, is_discarded
from lensbench.runs.reasons import REASONS, DiscardReason, stops
from lensbench.runs.start_gate import GRACE_S, at_the_gate
from lensbench.runs.stopping import StopEverything, check_not_stopped, stop_everything

KEPT = "kept: it is finished and not discarded. Delete its answer to repeat it."


def make_run(job: Job) -> str:
    """Does the run and writes its files; returns a sentence about what happened.

    Raises UserError for errors that no attempt can fix: a missing program, a damaged cache, a rejected key.
    """
    files = run_files(job.folder, job.run)
    paid = run_files(RunFolder(job.folder).paid, job.run)
    if is_kept(job.folder, job.run):
        _forget(paid)
        return KEPT
    if _take_over(job, paid, files):
        return "recovered from a killed job whose agent had finished"
    arrived = now()
    redact = Redactor(secret_names(job.agent), os.environ, mcp_secrets(job.plan))
    sandbox = find_sandbox(job.plan.get("sandbox"), RunFolder(job.folder).sandbox_trials)
    if sandbox.reason:
        print(f"{job.run.stem}: made without a sandbox: {sandbox.reason}", file=sys.stderr)
    attempts: list[Attempt] = []
    service = service_of(job.agent)
    gate = str(RunFolder(job.folder).gate)
    settings = job.settings

    def record_of(tried: Tried) -> Record:
        return Record(
            task=job.run.task, condition=job.run.condition, trial=job.run.trial, source="run",
            attempts=(*attempts, tried.attempt),
            outcome=replace(tried.outcome, answer="", error=redact(tried.outcome.error)),
            answer_sha256=sha256(tried.answer.encode()), answer_bytes=len(tried.answer.encode()),
            prompt_sha256=sha256(job.prompt.encode()), settings_sha256=job.plan["settings_sha256"],
            agent_sha256=job.plan.get("agent_sha256", ""), patch_sha256=sha256(tried.patch) if job.is_change else "",
            workspace=tried.workspace, tree_before=tried.tree_before, tree_after=tried.tree_after,
            revision=job.repository["revision"], server_calls=tried.server_calls,
            arrived_at=arrived, opened_at=opened, lensbench=__version__, sandbox=sandbox.name,
            network=tried.network, direct_calls=tried.direct_calls, made_with=settings,
        )  # fmt: skip

    def keep(tried: Tried) -> None:
        _write(job.folder, paid, tried, record_of(tried))

    def is_due() -> bool:
        return not is_kept(job.folder, job.run)

    with at_the_gate(gate, gate_name(job.run), job.partners, job.gate_s, job.grace_s, is_due):
        if not is_due():  # a job of an earlier start may have finished it on another machine
            return KEPT
        opened = now()
        while True:
            waited_s = back_off(len(attempts)) if attempts else 0.0
            waited_s += wait_for(service, f"{job.run.task} {job.run.trial}")
            check_not_stopped(job.folder)
            check_budget(job.folder, job.plan.get("budget", {}))
            spend(job.folder, runs=1)
            asked = time.time()
            with private_folder() as private:
                place = Place(sandbox, private, job.environment)
                tried = make_attempt(job, place, len(attempts) + 1, waited_s, redact, keep)
            tell(service, tried.attempt.reason, asked)
            policy = REASONS[tried.attempt.reason].policy if tried.attempt.reason else ""
            if stops(tried.outcome):
                raise StopEverything(f"the agent was refused ({tried.outcome.error}); fix that, then start again")
            if policy != "again" or len(attempts) + 1 >= job.agent["retries"]:
                break
            attempts.append(tried.attempt)
        record = record_of(tried)
        _write(job.folder, files, tried, record)
        _forget(paid)
    last = record.last
    return f"{last.reason or 'answered'} after {last.duration_s:.1f} s, attempt {last.attempt}"


def _take_over(job: Job, paid: RunFiles, files: RunFiles) -> bool:
    """Recovers the run of a job that was killed after its agent had ended; False when there is nothing to recover.

    An attempt is not recovered when another one should follow, when its settings differ, or when it is already
    discarded. An attempt that was killed before it was checked is set aside and repeated at once the first time; the
    second time it is a discard.
    """
    if not _is_due_to_be_taken(job, paid):
        _forget(paid)
        return False
    aside = run_files(RunFolder(job.folder).paid / "unchecked", job.run)
    is_checked = from_json(paid.record.read_text(encoding="utf-8")).last.reason != DiscardReason.HARNESS_FAILED
    is_taken = is_checked or aside.record.exists()
    with held_signals():
        for left, place in zip(paid, files if is_taken else aside, strict=True):
            write_atomic(place, left.read_bytes())  # copied, not moved: the folders may be on different disks
    _forget(paid)
    return is_taken


def _is_due_to_be_taken(job: Job, paid: RunFiles) -> bool:
    try:
        record = from_json(paid.record.read_text(encoding="utf-8"))
        if sha256(paid.answer.read_bytes()) != record.answer_sha256 or not paid.transcript.exists():
            return False
    except (OSError, ValueError):
        return False
    if record.last.reason and REASONS[record.last.reason].policy == "again":
        return False
    asked = (record.prompt_sha256, record.settings_sha256)
    earlier = discard_files_of(job.folder, job.run)
    is_asked_for = asked == (sha256(job.prompt.encode()), job.plan["settings_sha256"])
    return is_asked_for and not (earlier and describes(earlier[-1], paid.record))


def _forget(paid: RunFiles) -> None:
    for path in (
        paid.record,
        paid.answer,
        paid.transcript,
    ):  # the record first: without it, the other files are not a run
        path.unlink(missing_ok=True)


def is_kept(folder: Path, run: RunId) -> bool:
    """True when the run is finished, undamaged and not discarded, so that it must not be repeated."""
    files = run_files(folder, run)
    try:
        record = from_json(files.record.read_text(encoding="utf-8"))
        whole = record.run == run and sha256(files.answer.read_bytes()) == record.answer_sha256
        if record.patch_sha256:
            whole = whole and sha256(patch_file(folder, run).read_bytes()) == record.patch_sha256
    except (OSError, ValueError):
        return False
    return whole and not is_discarded(folder, run)


def _write(folder: Path, files: RunFiles, tried: Tried, record: Record) -> None:
    with held_signals():  # an answer without its record would be paid for again
        if record.patch_sha256:
            write_atomic(patch_file(folder, record.run), tried.patch)
        write_atomic(files.transcript, gzip.compress(tried.transcript.encode(), 6, mtime=0))
        write_atomic(files.answer, tried.answer)
        write_atomic(files.record, to_json(record))


def read_job(folder: Path, run: RunId, gate_s: float, grace_s: float = GRACE_S) -> Job:
    """The run's job from the plan. Raises UserError when the plan has no such run."""
    try:
        plan = json.loads(RunFolder(folder).plan.read_text(encoding="utf-8"))
        repositories = json.loads(RunFolder(folder).repositories.read_text(encoding="utf-8"))
        prompt = (RunFolder(folder).prompts / f"{run.task}.md").read_bytes().decode()
        source = plan["tasks"][run.task]["repository"]
        repository: RepositoryFacts = repositories[source] if source else {}
        return Job(folder, run, plan, prompt, repository, gate_s, grace_s)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder} has no plan for {run.stem} ({error}); start Snakemake, which writes it") from None


def preload() -> None:
    """Imports all adapters, one of which the run will need."""
    for kind in known_kinds():
        if kind != "none":
            load_adapter(kind)


def main() -> None:
    """Do one run of a planned benchmark."""
    parser = argparse.ArgumentParser(prog="python -m lensbench.runs.run", description=main.__doc__)
    parser.add_argument("--folder", required=True, type=Path, help="bench/<run_id>")
    parser.add_argument("--task", required=True)
    parser.add_argument("--condition", required=True)
    parser.add_argument("--trial", type=int, default=1)
    parser.add_argument("--gate-s", type=float, default=0.0, help="seconds to wait for the pair's other run")
    parser.add_argument(
        "--grace-s", type=float, default=GRACE_S, help="seconds without any running agent before it stops waiting"
    )
    arguments = parser.parse_args()
    adopt_orphans()
    run = RunId(arguments.task, arguments.condition, arguments.trial)
    job = read_job(arguments.folder, run, arguments.gate_s, arguments.grace_s)
    if job.agent["kind"] == "none":
        if not run_files(job.folder, job.run).record.exists():
            raise UserError(f"{job.run.stem}: its record is gone, and agent.kind is 'none'; import the run again")
        return
    try:
        print(printable(f"{job.run.stem}: {make_run(job)}"), file=sys.stderr)
    except StopEverything as error:
        stop_everything(job.folder, str(error))
        raise
    finally:
        end_children()  # a signal may arrive while an agent is being started


if __name__ == "__main__":
    run_program(main)
