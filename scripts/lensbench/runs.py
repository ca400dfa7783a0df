"""One run: a task in a condition, by an agent in a clean workspace, up to `retries` attempts (protocol, sections 1-3).

Writes the answer, the transcript and the record; the record states facts, `validity` decides later what counts.
A run that is there and was not discarded is kept, whatever made Snakemake ask for it again: it was paid for.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from lensbench import __version__
from lensbench.agents import Assignment, load_adapter, secret_names
from lensbench.budget import check_budget, spend
from lensbench.conditions import fill_mcp_file, run_command
from lensbench.discards import is_discarded
from lensbench.errors import UserError
from lensbench.files import write_atomic
from lensbench.processes import MAX_OUTPUT, adopt_orphans, end_children, held_signals, run_process
from lensbench.program import run_program
from lensbench.reasons import REASONS, Expectation, find_reason, stops
from lensbench.records import Attempt, Outcome, Record, RunFiles, RunId, from_json, run_files, sha256, to_json
from lensbench.redaction import Redactor
from lensbench.sandbox import NO_SANDBOX, Place, Sandbox, find_sandbox
from lensbench.start_gate import at_the_gate
from lensbench.stopping import StopEverything, check_not_stopped, stop_everything
from lensbench.workspaces import READ, copy_tree, hash_tree, remove_tree

RATE_LIMIT_S = 60.0
"""Before another attempt after a service asked for a pause: agents do not pass on how long it asked for."""


class Job(NamedTuple):
    """A run and all that it needs, read from the frozen plan."""

    folder: Path
    run: RunId
    plan: dict[str, Any]
    prompt: str
    repository: dict[str, Any]
    gate_s: float

    @property
    def agent(self) -> dict[str, Any]:
        """The agent's settings."""
        settings: dict[str, Any] = self.plan["agent"]
        return settings

    @property
    def condition(self) -> dict[str, Any]:
        """The run's condition, as planned."""
        condition: dict[str, Any] = self.plan["conditions"][self.run.condition]
        return condition

    @property
    def expected(self) -> Expectation:
        """The MCP servers that this condition has, and those that only others have."""
        servers = self.condition["servers"]
        everywhere = {server for condition in self.plan["conditions"].values() for server in condition["servers"]}
        return Expectation(servers, sorted(everywhere - set(servers)), self.agent.get("tool_search", False))

    @property
    def partners(self) -> list[str]:
        """The other runs of the task in this trial, by the names they have at the start gate."""
        names = self.plan["conditions"]
        return [_gate_name(self.run._replace(condition=name)) for name in names if name != self.run.condition]


class Tried(NamedTuple):
    """What an attempt left."""

    attempt: Attempt
    outcome: Outcome
    answer: str
    transcript: str
    tree_before: str
    tree_after: str
    workspace: str
    server_calls: dict[str, int] | None


def make_run(job: Job) -> str:
    """Makes the run and writes its files; returns a sentence that says what happened.

    Raises UserError for what no attempt can mend: no such program, a damaged cache, a refused key.
    """
    files = run_files(job.folder, job.run)
    if is_kept(job.folder, job.run):
        return "kept: it was finished before and is not discarded. Delete its answer to have it made again."
    arrived = _now()
    redact = Redactor(secret_names(job.agent), os.environ)
    sandbox = find_sandbox(job.plan.get("sandbox"))
    if sandbox.reason:
        print(f"{job.run.stem}: made without a sandbox: {sandbox.reason}", file=sys.stderr)
    attempts: list[Attempt] = []
    with at_the_gate(str(job.folder / ".gate"), _gate_name(job.run), job.partners, job.gate_s):
        opened = _now()
        while True:
            waited_s = _back_off(attempts)
            check_not_stopped(job.folder)
            check_budget(job.folder, job.plan.get("budget", {}))
            spend(job.folder, runs=1)
            with tempfile.TemporaryDirectory(prefix="lb-", ignore_cleanup_errors=True) as private:
                tried = _attempt(job, Place(sandbox, private), len(attempts) + 1, waited_s, redact)
                remove_tree(private)
            attempts.append(tried.attempt)
            spend(job.folder, hours=(tried.attempt.duration_s or 0) / 3600, usd=tried.outcome.cost_usd or 0)
            policy = REASONS[tried.attempt.reason].policy if tried.attempt.reason else ""
            if stops(tried.outcome):
                raise StopEverything(f"the agent was refused ({tried.outcome.error}); mend that, then start again")
            if policy != "again" or len(attempts) >= job.agent["retries"]:
                break
    _write(files, tried, Record(
        task=job.run.task, condition=job.run.condition, trial=job.run.trial, source="run",
        attempts=tuple(attempts), outcome=replace(tried.outcome, answer="", error=redact(tried.outcome.error)),
        answer_sha256=sha256(tried.answer.encode()), answer_bytes=len(tried.answer.encode()),
        prompt_sha256=sha256(job.prompt.encode()), settings_sha256=job.plan["settings_sha256"],
        workspace=tried.workspace, tree_before=tried.tree_before, tree_after=tried.tree_after,
        revision=job.repository["revision"], server_calls=tried.server_calls,
        arrived_at=arrived, opened_at=opened, lensbench=__version__, sandbox=sandbox.name,
    ))  # fmt: skip
    last = attempts[-1]
    return f"{last.reason or 'answered'} after {last.duration_s:.1f} s, attempt {last.attempt}"


def is_kept(folder: Path, run: RunId) -> bool:
    """True when the run is finished, undamaged and not discarded: it must not be paid for twice."""
    files = run_files(folder, run)
    try:
        record = from_json(files.record.read_text())
        whole = record.run == run and sha256(files.answer.read_bytes()) == record.answer_sha256
    except (OSError, ValueError):
        return False
    return whole and not is_discarded(folder, run)


def _attempt(job: Job, place: Place, number: int, waited_s: float, redact: Redactor) -> Tried:
    """Starts the agent once, in a workspace of its own that its servers are told of and that is removed afterwards."""
    assignment = prepare(job, place.private, place.sandbox)
    workspace = place.outside(assignment.workspace)
    before = hash_tree(workspace)
    if before != job.repository["tree_sha256"]:
        raise UserError(f"{job.repository['tree']} is not what was fetched; delete that folder and start again")
    failure = run_command(job.condition, "setup", workspace)
    try:
        if failure:
            not_run = Attempt(number, _now(), 0.0, waited_s, None, False, "mcp_failed", redact(failure))
            tried = Tried(not_run, Outcome(finished=False), "", "", before, before, assignment.workspace, None)
        else:
            tried = _ask(job, place, assignment, before, Attempt(number, "", None, waited_s, None, False), redact)
    finally:
        left = redact(run_command(job.condition, "teardown", workspace))
        if left:
            print(left, file=sys.stderr)
    return tried._replace(attempt=replace(tried.attempt, teardown=left))


def _ask(job: Job, place: Place, assignment: Assignment, before: str, attempt: Attempt, redact: Redactor) -> Tried:
    """Starts the agent in its prepared workspace, and completes the attempt with what became of it."""
    adapter = load_adapter(job.agent["kind"])
    lines: list[str] = []

    def read(stream: Iterator[str]) -> Outcome:
        def seen() -> Iterator[str]:
            for line in stream:
                line = redact(line)
                lines.append(line)
                yield line

        return adapter.read(seen())

    invocation, workspace = adapter.command(assignment), place.outside(assignment.workspace)
    for path, content in invocation.files.items():
        write_atomic(Path(place.outside(path)), content)
    started = _now()
    with _redacted_log(os.path.join(place.private, "stderr"), redact) as log:
        try:
            argv = place.wrap(invocation.argv, invocation.env, assignment.mcp_file)
            outcome, ended = run_process(argv, invocation.env, workspace, job.agent["timeout_s"], log, read)
        except OSError as error:
            raise UserError(f"the agent cannot be started: {invocation.argv[0]}: {error.strerror}") from None
    answer = redact(_read_text(place.outside(assignment.answer_file)) or outcome.answer)
    answer = answer.encode(errors="replace").decode()  # half characters cannot be written
    after = hash_tree(workspace)
    attempt = replace(
        attempt, started_at=started, duration_s=round(ended.duration_s, 3), exit_code=ended.exit_code,
        timed_out=ended.timed_out,
    )  # fmt: skip
    reason, detail = find_reason(attempt, outcome, answer, job.expected)
    if not reason and after != before:
        reason, detail = "workspace_changed", "its hash is another one after the run"
    return Tried(
        replace(attempt, reason=reason, detail=redact(detail)),
        outcome,
        answer,
        redact("".join(lines)),
        before,
        after,
        assignment.workspace,
        _server_calls(os.path.join(place.private, "session", "server.jsonl")),
    )


@contextmanager
def _redacted_log(path: str, redact: Redactor) -> Iterator[int]:
    """A file for what the agent says on its standard error; it reaches ours without secrets, whatever happens."""
    with open(path, "w+b") as file:
        try:
            yield file.fileno()
        finally:
            file.seek(0)
            sys.stderr.write(redact(file.read(MAX_OUTPUT).decode(errors="replace")))


def prepare(job: Job, private: str, sandbox: Sandbox = NO_SANDBOX) -> Assignment:
    """The folders and files of an attempt, by the names that the agent knows: the same in every condition."""
    repo, session = os.path.join(private, "repo"), os.path.join(private, "session")
    os.makedirs(os.path.join(session, "home", "tmp"))
    os.mkdir(os.path.join(private, "tmp"))
    copy_tree(job.repository["tree"], repo)
    place = Place(sandbox, private)
    workspace, own = place.inside(repo), place.inside(session)
    values = {"workspace": workspace, "python": sys.executable, "server_log": os.path.join(own, "server.jsonl")}
    mcp = fill_mcp_file(job.condition, values)
    assignment = Assignment(
        prompt=job.prompt,
        prompt_file=os.path.join(own, "prompt.md"),
        workspace=workspace,
        home=os.path.join(own, "home"),
        mcp_servers=json.loads(mcp)["mcpServers"],
        mcp_file=os.path.join(own, "mcp.json"),
        answer_file=os.path.join(own, "answer.md"),
        servers=tuple(job.expected.servers),
        denied_servers=tuple(job.expected.denied_servers),
        settings=job.agent,
        seed=job.plan["seed"],
    )
    Path(session, "prompt.md").write_bytes(job.prompt.encode())
    Path(session, "mcp.json").write_text(mcp)
    return assignment


def _server_calls(log: str) -> dict[str, int] | None:
    """How often each tool was called by the server's own log; None when the server kept none."""
    if not os.path.exists(log):
        return None
    counts: dict[str, int] = {}
    for line in _read_text(log).splitlines():
        try:
            tool = json.loads(line)["tool"]
        except (ValueError, KeyError, TypeError):
            continue
        counts[str(tool)] = counts.get(str(tool), 0) + 1
    return counts


def _read_text(path: str) -> str:
    """A file that the agent may have written; "" for a link, which could lead to what the agent itself cannot read."""
    try:
        with open(os.open(path, READ), encoding="utf-8", errors="replace", newline="") as file:
            return file.read(MAX_OUTPUT) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else ""
    except OSError:
        return ""


def _write(files: RunFiles, tried: Tried, record: Record) -> None:
    with held_signals():  # an answer without its record would be paid for again
        write_atomic(files.transcript, gzip.compress(tried.transcript.encode(), 6, mtime=0))
        write_atomic(files.answer, tried.answer)
        write_atomic(files.record, to_json(record))


def _back_off(attempts: list[Attempt]) -> float:
    """Waits before another attempt, longer each time and never in step with other runs. Returns the seconds."""
    if not attempts:
        return 0.0
    from types import SimpleNamespace

    from tenacity import wait_exponential_jitter  # costs a third of a quick run, and most runs need no second attempt

    state: Any = SimpleNamespace(attempt_number=len(attempts))
    seconds = wait_exponential_jitter(initial=1, max=60)(state)
    if attempts[-1].reason == "rate_limited":
        seconds += RATE_LIMIT_S
    time.sleep(seconds)
    return round(seconds, 3)


def _gate_name(run: RunId) -> str:
    return run.stem.replace("/", "-")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_job(folder: Path, run: RunId, gate_s: float) -> Job:
    """What the plan says about a run. Raises UserError when the plan does not know it."""
    try:
        plan = json.loads((folder / "plan.json").read_text())
        repositories = json.loads((folder / "repositories.json").read_text())
        prompt = (folder / "prompts" / f"{run.task}.md").read_bytes().decode()
        source = plan["tasks"][run.task]["repository"]
        return Job(folder, run, plan, prompt, repositories[source] if source else {}, gate_s)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder} has no plan for {run.stem} ({error}); start Snakemake, which writes it") from None


def main() -> None:
    """Makes one run of a planned benchmark."""
    parser = argparse.ArgumentParser(prog="python -m lensbench.runs", description=main.__doc__)
    parser.add_argument("--folder", required=True, type=Path, help="bench/<run_id>")
    parser.add_argument("--task", required=True)
    parser.add_argument("--condition", required=True)
    parser.add_argument("--trial", type=int, default=1)
    parser.add_argument("--gate-s", type=float, default=0.0, help="how long to wait for the pair's other run")
    arguments = parser.parse_args()
    adopt_orphans()
    job = read_job(arguments.folder, RunId(arguments.task, arguments.condition, arguments.trial), arguments.gate_s)
    if job.agent["kind"] == "none":
        if not run_files(job.folder, job.run).record.exists():
            raise UserError(f"{job.run.stem}: its record is gone, and agent.kind is 'none'; import the run again")
        return
    try:
        print(f"{job.run.stem}: {make_run(job)}", file=sys.stderr)
    except StopEverything as error:
        stop_everything(job.folder, str(error))
        raise
    finally:
        end_children()  # a signal may come while an agent is being started


if __name__ == "__main__":
    run_program(main)
