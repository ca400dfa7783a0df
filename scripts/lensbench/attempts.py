"""One attempt: the agent started once, in a clean workspace of its own, and everything that was seen of it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.agents import Assignment, load_adapter
from lensbench.conditions import fill_mcp_file, run_command
from lensbench.errors import UserError
from lensbench.files import write_atomic
from lensbench.processes import MAX_OUTPUT, run_process
from lensbench.reasons import Expectation, find_reason
from lensbench.records import Attempt, Outcome, RunId
from lensbench.redaction import Redactor
from lensbench.sandbox import NO_SANDBOX, Place, Sandbox
from lensbench.workspaces import READ, copy_tree, hash_tree


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
        return [gate_name(self.run._replace(condition=name)) for name in names if name != self.run.condition]


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


def make_attempt(job: Job, place: Place, number: int, waited_s: float, redact: Redactor) -> Tried:
    """Starts the agent once, in a workspace of its own that its servers are told of and that is removed afterwards."""
    assignment = prepare(job, place.private, place.sandbox)
    workspace = place.outside(assignment.workspace)
    before = hash_tree(workspace)
    if before != job.repository["tree_sha256"]:
        raise UserError(f"{job.repository['tree']} is not what was fetched; delete that folder and start again")
    failure = run_command(job.condition, "setup", workspace)
    try:
        if failure:
            not_run = Attempt(number, now(), 0.0, waited_s, None, False, "mcp_failed", redact(failure))
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
    started = now()
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


def gate_name(run: RunId) -> str:
    """What a run is called at the start gate; no task's name has the underscore."""
    return run.stem.replace("/", "_")


def now() -> str:
    """The time, UTC, as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
