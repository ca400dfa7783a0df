"""One run: a task in a condition, with an agent in a clean workspace, in up to `retries` attempts (protocol, 1-3).

Each attempt is an entry of the store (core/store.py). Its record states facts; `validity` decides later which runs are
valid. No agent is asked for a run that counts, whoever starts this program: it was paid for.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lensbench import __version__
from lensbench.agents import load_adapter, own_kinds, secret_names
from lensbench.agents.refusals import Action
from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.agents.services import back_off, record_response, service_of, wait_for
from lensbench.agents.start import now
from lensbench.core.conditions import mcp_secrets
from lensbench.core.errors import UserError, printable
from lensbench.core.frozen_plan import RepositoryFacts
from lensbench.core.records import Attempt, Outcome, Record, RunId, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import (
    CUT_SHORT,
    Discard,
    State,
    entries,
    new_entry,
    show,
    state_of,
)
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, end_children
from lensbench.core.system.program import run_parser, run_program
from lensbench.core.system.redaction import Redactor
from lensbench.runs.attempt import Job, gate_name, make_attempt
from lensbench.runs.reasons import REASONS, meaning_of, stops
from lensbench.runs.start_gate import GRACE_S, at_the_gate
from lensbench.runs.stopping import (
    StopEverything,
    check_budget,
    check_not_stopped,
    repeated,
    start_attempt,
    stop_everything,
    uncount_attempt,
)

KEPT_ANSWER = "kept: an agent has answered already, and its answer was copied; `lensbench discard` repeats a run"


def make_run(job: Job) -> str:
    """Does the run, stores each attempt, and shows the answer; returns a sentence about what happened. Raises UserError
    for errors that no attempt can fix: a missing program, a damaged cache, a rejected key."""
    arrived_at = now()
    redact = Redactor(secret_names(job.agent), os.environ, mcp_secrets(job.plan))
    sandbox = find_sandbox(job.plan.get("sandbox"))
    service = service_of(job.agent)
    gate = str(RunFolder(job.folder).gate)
    with at_the_gate(
        gate, gate_name(job.run), job.partners, job.gate_s, job.grace_s, lambda: not is_done(job)
    ):
        attempts = entries(job.folder, job.run)
        if (
            state_of(attempts, job.plan["max_rounds"]) == State.CUT_SHORT
        ):  # killed after its agent had ended
            attempts[-1].discard(
                Discard(CUT_SHORT, "it was killed before the run was checked", "runner")
            )
        if is_done(job):  # a job of an earlier start may have finished it on another machine
            show(job.folder, job.run)
            return KEPT_ANSWER
        if sandbox.reason:
            print(f"{job.run.stem}: made without a sandbox: {sandbox.reason}", file=sys.stderr)
        opened_at = now()
        number = 1
        while True:
            waited_s = back_off(number - 1) if number > 1 else 0.0
            waited_s += wait_for(
                service, f"{job.run.task} {job.run.trial}", partial(check_not_stopped, job.folder)
            )
            check_not_stopped(job.folder)
            check_budget(job.folder, job.plan.get("budget", {}))
            start_attempt(job.folder)
            asked_at = time.time()
            entry = new_entry(job.folder, job.run)
            record = _record(job, Attempt(number, "", None, waited_s, None, False))
            record = replace(
                record, arrived_at=arrived_at, opened_at=opened_at, sandbox=sandbox.name
            )
            with private_folder() as private:
                place = Place(sandbox, private, job.environment)
                tried = make_attempt(job, place, entry, record, redact)
            last = tried.record.attempt
            outcome = tried.record.outcome
            is_used_up = outcome.resets_at is not None
            if is_used_up:
                uncount_attempt(job.folder)
            is_refusal = is_used_up or meaning_of(outcome) == Action.PAUSE
            try:
                if is_refusal or not last.reason:
                    record_response(service, is_refusal, asked_at, outcome.resets_at)
            except UserError as error:
                raise StopEverything(str(error)) from None
            if is_used_up:
                continue
            again = Discard(last.reason, last.detail, "runner")
            why = repeated(job.folder, job.plan, job.run.condition, again)
            if stops(outcome):
                why = f"the agent was refused ({outcome.error})"
            if why:
                entry.discard(again)
                raise StopEverything(f"{why}; fix that, then start again")
            if (
                not last.reason
                or REASONS[last.reason].policy != "again"
                or number >= job.agent["retries"]
            ):
                break
            entry.discard(again)
            number += 1
        show(job.folder, job.run)
    return f"{last.reason or 'answered'} after {last.duration_s:.1f} s, attempt {entry.number}"


def _record(job: Job, attempt: Attempt) -> Record:
    """What is known of an attempt before it begins."""
    return Record(
        task=job.run.task,
        condition=job.run.condition,
        trial=job.run.trial,
        source="run",
        attempt=attempt,
        outcome=Outcome(finished=False),
        answer_sha256=sha256(b""),
        prompt_sha256=sha256(job.whole_prompt.encode()),
        patch_sha256=sha256(b"") if job.is_change else "",
        settings_sha256=job.plan["settings_sha256"],
        agent_sha256=job.plan.get("agent_sha256", ""),
        revision=job.repository["revision"],
        lensbench=__version__,
        made_with=job.settings,
    )


def is_done(job: Job) -> bool:
    """True when no agent must be asked, because the run counts or was given up."""
    return state_of(entries(job.folder, job.run), job.plan["max_rounds"]).is_final


def read_job(
    folder: Path, run: RunId, gate_s: float, grace_s: float = GRACE_S, wave: int = 1
) -> Job:
    """The run's job from the plan. Raises UserError when the plan has no such run."""
    try:
        plan = json.loads(RunFolder(folder).plan.read_text(encoding="utf-8"))
        repositories = json.loads(RunFolder(folder).repositories.read_text(encoding="utf-8"))
        prompt = (RunFolder(folder).prompts / f"{run.task}.md").read_bytes().decode()
        source = plan["tasks"][run.task]["repository"]
        repository: RepositoryFacts = repositories[source] if source else {}
        return Job(folder, run, plan, prompt, repository, gate_s, grace_s, wave)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{folder} has no plan for {run.stem} ({error}); the next start writes it"
        ) from None


def preload(arguments: Sequence[str]) -> None:
    """Imports all adapters, one of which the run will need, and tries the sandbox once for the runs of a start."""
    for kind in own_kinds():
        load_adapter(kind)
    folder = Path(arguments[arguments.index("--folder") + 1])
    find_sandbox(json.loads(RunFolder(folder).plan.read_text(encoding="utf-8"))["sandbox"])


def main() -> None:
    """Do one run of a planned benchmark."""
    parser = run_parser(main.__doc__)
    parser.add_argument(
        "--gate-s", type=float, default=0.0, help="seconds to wait for the pair's other run"
    )
    parser.add_argument("--wave", type=int, default=1, help="the wave of runs that it belongs to")
    parser.add_argument(
        "--grace-s",
        type=float,
        default=GRACE_S,
        help="seconds without any running agent before it stops waiting",
    )
    arguments = parser.parse_args()
    adopt_orphans()
    run = RunId(arguments.task, arguments.condition, arguments.trial)
    job = read_job(arguments.folder, run, arguments.gate_s, arguments.grace_s, arguments.wave)
    if job.agent["kind"] == "none" and not is_done(job):
        raise UserError(
            f"{job.run.stem}: its answer is gone, and agent.kind is 'none'; import the run again"
        )
    try:
        print(printable(f"{job.run.stem}: {make_run(job)}"), file=sys.stderr)
    except StopEverything as error:
        stop_everything(job.folder, str(error))
        raise
    finally:
        end_children()  # a signal may arrive while an agent is being started


if __name__ == "__main__":
    run_program(main)
