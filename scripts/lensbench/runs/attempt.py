"""One attempt: starts the agent once, in its own clean workspace, and records everything observed."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.agents import Assignment, Program, is_stock, load_adapter
from lensbench.agents.prices import priced
from lensbench.agents.reach import read_host
from lensbench.agents.sandbox import Place
from lensbench.agents.start import AgentReply, assign, now, place_of, read_text, start_agent
from lensbench.changes import CHANGE
from lensbench.changes.patches import make_patch
from lensbench.core.conditions import (
    CLOSED_BOOK,
    LONGEST_LINE,
    compared,
    fill_mcp_file,
    filled_command,
    run_command,
)
from lensbench.core.error_texts import ErrorTexts
from lensbench.core.errors import UserError, printable, reported, some_of
from lensbench.core.frozen_plan import AgentSettings, Plan, PlannedCondition, RepositoryFacts
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import (
    CONNECTED,
    FAILED,
    Outcome,
    Record,
    RunId,
    completed,
    cut_answer,
    sha256,
    to_json,
)
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Entry, note_made
from lensbench.core.system.files import read_json, write_atomic
from lensbench.core.system.private_folders import TEARDOWN
from lensbench.core.system.processes import ending_later, held_signals
from lensbench.core.system.redaction import Redactor
from lensbench.core.system.trees import (
    MOST_WORKSPACE_BYTES,
    changed_paths,
    copy_tree,
    exceeds,
    hash_tree,
    remove_tree,
)
from lensbench.runs.brought import brought, take_back, words_of, write_brought
from lensbench.runs.foreign_servers import (
    direct_calls,
    foreign_hosts,
    foreign_programs,
    naming_calls,
)
from lensbench.runs.made_with import portable
from lensbench.runs.reasons import DiscardReason, Expectation, find_reason, tools_of
from lensbench.runs.server_checks import unreachable
from lensbench.runs.server_logins import login_ended, logins, said_by, with_tokens
from lensbench.runs.stopping import NOT_STARTED, free_if_it_fails, spend

_MENTION = re.compile(r"@\"?([^\s\"#,;!?()\[\]{}]+)")
EDIT_TOOLS = ("Edit", "Write")
"""Built-in tools that agents have in change tasks, in every condition."""


class Job(NamedTuple):
    """A run and everything that it needs, from the frozen plan."""

    folder: Path
    run: RunId
    plan: Plan
    whole_prompt: str
    """What the agent gets: the task's text and the suffix of its kind."""
    repository: RepositoryFacts
    gate_s: float
    grace_s: float = 0.0
    wave: int = 1
    """The wave of runs that it belongs to."""

    @property
    def agent(self) -> AgentSettings:
        return {**self.plan["agent"], **self.condition.get("agent", {})}

    @property
    def condition(self) -> PlannedCondition:
        return self.plan["conditions"][self.run.condition]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the run that are kept in its record."""
        keys = (
            "mcp_sha256",
            "servers",
            "setup",
            "teardown",
            "errors",
            "files",
            "writes",
            "agent",
            "without",
            "tools",
            "describe",
        )
        condition = {key: value for key, value in self.condition.items() if key in keys}
        settings: dict[str, Any] = portable({"agent": self.plan["agent"], "condition": condition})
        return settings

    @property
    def expected(self) -> Expectation:
        """The MCP servers of this condition, and those that only other conditions have."""
        servers = self.condition["servers"]
        findings = PreflightFindings.read(self.folder)
        tasks = self.plan["tasks"]
        tools = findings.tools.get(self.run.condition, {})
        if tools:
            first = self.plan["order"][0]
            if tasks[self.run.task]["repository"] != tasks[first]["repository"]:
                # the preflight saw another repository, whose files a schema may name
                tools = dict.fromkeys(tools, "")
        everywhere = set[str]()
        for condition in self.plan["conditions"].values():
            everywhere.update(condition["servers"])
        return Expectation(
            servers,
            sorted(everywhere - set(servers)),
            self.agent.get("tool_search", False),
            self.agent.get("served", ""),
            self.agent.get("version", ""),
            tools,
            is_stock(self.agent),
            findings.excluded.get(self.run.condition, ()),
        )

    @property
    def is_change(self) -> bool:
        """True when the task asks for a change of the workspace."""
        return bool(self.plan["tasks"][self.run.task].get("kind") == CHANGE)

    @property
    def environment(self) -> str:
        """The folder with the dependencies of a change task's tests; "" when there are none."""
        if not self.is_change:
            return ""
        entry = read_json(RunFolder(self.folder).environments, needed=True)[self.run.task]
        return str(entry["folder"])

    @property
    def is_closed_book(self) -> bool:
        """True for a closed-book control: its workspace is empty, and it waits for no partner."""
        return self.run.condition == CLOSED_BOOK

    @property
    def partners(self) -> list[str]:
        """The other runs of the task in this trial, by their names at the start gate."""
        if self.is_closed_book:
            return []
        others = [name for name in compared(self.plan) if name != self.run.condition]
        return [gate_name(self.run._replace(condition=name)) for name in others]


class AttemptResult(NamedTuple):
    """An attempt: its record, and what it left."""

    record: Record
    answer: str = ""
    transcript: str = ""
    patch: bytes = b""
    """The patch of a change task: what the run changed in the repository."""
    taps: str = ""
    """What the tee noted."""

    @property
    def is_refused(self) -> bool:
        """True when the window of the agent's plan was used up: this is no attempt."""
        return self.record.outcome.resets_at is not None


MOST_NAMED = 5
"""Of the changed files, how many are named."""


def keep_answer(job: Job, entry: Entry, tried: AttemptResult) -> None:
    """Stores what was paid for, as soon as the agent has ended. Without an answer if the plan's window was used up: the
    entry is no attempt."""
    with held_signals():
        write_atomic(entry.transcript, gzip.compress(tried.transcript.encode(), 6, mtime=0))
        if tried.taps:
            write_atomic(RunFolder(job.folder).taps / f"{job.run.stem}.jsonl", tried.taps)
        if not tried.is_refused:
            write_atomic(entry.answer, tried.answer)


def keep_record(job: Job, entry: Entry, tried: AttemptResult) -> None:
    """Stores the record of an attempt, after all checks: without it the answer would be paid for again."""
    if tried.is_refused:
        return
    with held_signals():
        if tried.record.patch_sha256:
            write_atomic(entry.patch, tried.patch)
        note_made(job.folder, job.wave, entry)
        write_atomic(entry.record, to_json(tried.record))


def add_teardown(entry: Entry, tried: AttemptResult, why: str) -> AttemptResult:
    """The attempt whose teardown failed; its record says so, too."""
    attempt = replace(tried.record.attempt, teardown=why)
    record = replace(tried.record, attempt=attempt)
    if not tried.is_refused:
        write_atomic(entry.record, to_json(record))
    return tried._replace(record=record)


def make_attempt(
    job: Job, place: Place, entry: Entry, record: Record, redact: Redactor
) -> AttemptResult:
    """Starts the agent once, in its own workspace, which is registered with its servers and removed afterwards;
    completes the record, and stores what there is in the order of core/store.py."""
    with free_if_it_fails(job.folder):
        if place.sandbox.program:
            place = replace(place, foreign=foreign_programs(job.plan, job.run.condition).paths)
        assignment = prepare(job, place, redact)
        workspace = place.outside(assignment.workspace)
        before = hash_tree(workspace)
        if not job.is_closed_book and before != job.repository["tree_sha256"]:
            raise UserError(
                f"{job.repository['tree']} differs from what was fetched; delete that folder and start again"
            )
        if job.condition.get("files"):
            write_brought(brought(job.plan, job.condition), Path(workspace))
        if teardown := filled_command(job.condition.get("teardown", ()), workspace):
            # The next start runs it if this process is killed.
            Path(place.private, TEARDOWN).write_text(
                json.dumps([job.condition["setup_s"], teardown]), encoding="utf-8"
            )
        record = replace(
            record, workspace=assignment.workspace, tree_before=before, tree_after=before
        )
        failure = run_command(job.condition, "setup", workspace)
        failure = failure or unreachable(assignment, place, _by_url(assignment), {}, False)
    try:
        if failure:
            attempt = replace(record.attempt, started_at=now(), duration_s=0.0)
            spend(job.folder, NOT_STARTED, 0.0)
            tried = AttemptResult(
                _because(
                    replace(record, attempt=attempt), DiscardReason.MCP_FAILED, redact(failure)
                )
            )
            keep_answer(job, entry, tried)
            keep_record(job, entry, tried)
        else:
            with ending_later():  # a paid answer without its record would be paid for again
                tried = _ask(job, place, entry, assignment, record, redact)
    finally:
        left = redact(run_command(job.condition, "teardown", workspace))
        with reported("the teardown"):
            if left:
                print(printable(left), file=sys.stderr)
    if left:
        tried = add_teardown(entry, tried, left)
    return tried


def _because(record: Record, reason: str, detail: str) -> Record:
    return replace(record, attempt=replace(record.attempt, reason=reason, detail=detail))


def _by_url(assignment: Assignment) -> list[str]:
    """The servers with a URL, whose failure agents do not always report."""
    return [name for name, entry in assignment.mcp_servers.items() if "url" in entry]


def _with_asked_servers(outcome: Outcome, assignment: Assignment, place: Place) -> Outcome:
    """The outcome, in which a server that only the texts of failed calls speak against is connected if it responds: to
    discard a tool's own error, or its crash in a call, would repeat only runs of the treatment, until they go well."""
    offer = [call.name for call in outcome.calls or ()]
    if outcome.tools_offered is not None:
        offer = [*outcome.tools_offered]
    servers = {**(outcome.servers or {})}
    for name, status in servers.items():
        is_suspect = status == FAILED and name in assignment.mcp_servers
        if (
            is_suspect
            and tools_of([name], offer)
            and not unreachable(assignment, place, [name], {}, True)
        ):
            servers[name] = CONNECTED
    return outcome if outcome.servers is None else replace(outcome, servers=servers)


def _ask(
    job: Job,
    place: Place,
    entry: Entry,
    assignment: Assignment,
    record: Record,
    redact: Redactor,
) -> AttemptResult:
    """Starts the agent in its prepared workspace, and completes the record with the outcome and all checks."""
    with free_if_it_fails(job.folder):
        reply = start_agent(assignment, place, job.agent["timeout_s"], redact)
    end = reply.ended
    given = reply.answer.encode()
    kept = cut_answer(given)
    reply = reply._replace(answer=kept.decode())
    record = replace(
        record,
        outcome=replace(reply.outcome, answer="", error=redact(reply.outcome.error)),
        network=reply.network,
        tree_after="",
        answer_sha256=sha256(kept),
        answer_bytes=len(kept),
        answer_cut=len(given) - len(kept),
        taps=reply.taps,
        attempt=replace(
            record.attempt,
            started_at=reply.started_at,
            duration_s=round(end.duration_s, 3),
            exit_code=end.exit_code,
            timed_out=end.timed_out,
        ),
    )
    tried = AttemptResult(record, reply.answer, reply.transcript, taps=reply.tap_lines)
    keep_answer(job, entry, tried)
    with reported("counting what the run cost"):
        tried = tried._replace(record=_with_cost(job, record))
    try:
        tried = _checked(job, place, assignment, tried, reply, redact)
    except (
        Exception
    ) as error:  # any error: the run is invalid, and must not be paid for again and again
        traceback.print_exc()
        tried = tried._replace(
            record=_because(record, DiscardReason.HARNESS_FAILED, place_of(error))
        )
    keep_record(job, entry, tried)
    return tried


def _with_cost(job: Job, record: Record) -> Record:
    """The record with the agent's version and the price of its tokens; what it cost is noted as spent."""
    outcome = record.outcome
    hours = (record.attempt.duration_s or 0.0) / 3600
    ask = getattr(load_adapter(job.agent["kind"]), "version", None)
    if ask and outcome.finished and not outcome.agent_version:  # not shown by its output
        outcome = replace(outcome, agent_version=ask(job.agent))
    outcome = priced(outcome, job.plan.get("prices", {}))
    spend(job.folder, outcome, hours)
    return replace(record, outcome=outcome)


def _checked(
    job: Job,
    place: Place,
    assignment: Assignment,
    tried: AttemptResult,
    reply: AgentReply,
    redact: Redactor,
) -> AttemptResult:
    """The attempt with the results of all checks, including the reason why it is invalid, if there is one."""
    workspace = place.outside(assignment.workspace)
    log = os.path.join(place.private, "session", "server.jsonl")
    after = ""
    patch = b""
    # while what they keep is there
    outcome = _with_asked_servers(tried.record.outcome, assignment, place)
    seen = completed(outcome, reply.taps)
    reason, detail = find_reason(tried.record.attempt, seen, reply.answer, job.expected)
    silent = _by_url(assignment)
    if job.expected.tools:
        silent = [*assignment.mcp_servers]  # agents show no schemas
    gone = ""
    with_login = logins(job.condition)
    if not reason:
        gone = unreachable(assignment, place, silent, job.expected.tools, True)
    if with_login and not reason:
        gone = gone or unreachable(assignment, place, with_login, {}, True)
    if not exceeds(workspace):
        _restore(job, Path(workspace))
        after = hash_tree(workspace)
        if job.is_change and not job.is_closed_book:
            patch = _patch(job, place, redact)
    direct = _direct_calls(job, place, reply)
    record = replace(
        tried.record,
        outcome=outcome,
        tree_after=after,
        direct_calls=None if direct is None else len(direct),
        naming_calls=_naming_calls(job, reply),
        patch_sha256=sha256(patch) if job.is_change else "",
    )
    reason, detail = _fault(job, place, record, reply, direct, reason, detail)
    if gone and not reason:
        reason = DiscardReason.MCP_GONE
        detail = gone
    is_of_servers = reason in ("", DiscardReason.MCP_FAILED, DiscardReason.MCP_GONE)
    if with_login and is_of_servers:
        said = said_by(with_login, read_text(log), reply.tap_lines)
        ended = login_ended(detail, said)
        if ended:
            reason = DiscardReason.LOGIN_ENDED
            detail = ended[:LONGEST_LINE]
    return tried._replace(record=_because(record, reason, redact(detail)), patch=patch)


def _restore(job: Job, workspace: Path) -> None:
    """Removes from the workspace what the condition, its servers and the agent's own program put there."""
    if job.is_closed_book:
        return
    tree = Path(job.repository["tree"])
    program: Program | None = getattr(load_adapter(job.agent["kind"]), "PROGRAM", None)
    writes = program.writes if program else ()
    remove_written([*writes, *job.condition.get("writes", ())], workspace, tree)
    if job.condition.get("files"):
        take_back(brought(job.plan, job.condition), workspace, tree, job.is_change)


def _fault(
    job: Job,
    place: Place,
    record: Record,
    reply: AgentReply,
    direct: Sequence[str] | None,
    reason: str,
    detail: str,
) -> tuple[str, str]:
    """The first reason why the run is invalid, if not its servers."""
    if not record.tree_after:
        large = f"its workspace has more than {MOST_WORKSPACE_BYTES / 1e9:g} GB after the run and was not checked"
        return DiscardReason.OVER_LIMIT, large
    if reply.over_limit:
        return DiscardReason.OVER_LIMIT, reply.over_limit
    if reply.unread and reason != DiscardReason.TIMED_OUT:
        return DiscardReason.HARNESS_FAILED, reply.unread
    if reason == DiscardReason.CRASHED:
        errors = read_text(os.path.join(place.private, "stderr")).strip()
        last = (errors or reply.transcript.strip()).rpartition("\n")[2]
        if last:
            detail += f": {printable(last[:LONGEST_LINE])}"
    if reason:
        return reason, detail
    if direct:
        return DiscardReason.CONTAMINATED, f"by the address of a server: {direct[0]}"
    if record.tree_after != record.tree_before and not job.is_change:
        tree = job.repository["tree"]
        workspace = place.outside(record.workspace)
        names = [] if job.is_closed_book else changed_paths(tree, workspace)
        named = printable(some_of(names, MOST_NAMED)) or "files in an empty folder"
        return DiscardReason.WORKSPACE_CHANGED, f"changed: {named}"
    return "", ""


def _direct_calls(job: Job, place: Place, reply: AgentReply) -> list[str] | None:
    """Calls to servers of other conditions by their URL; None when none can be seen, or none can be made."""
    if reply.outcome.calls is None:
        return None
    hosts = foreign_hosts(job.plan, job.run.condition)
    if (
        reply.network == "own"
    ):  # hosts that the config allows for all conditions are reachable even so
        hosts = [host for host in hosts if host in map(read_host, place.sandbox.hosts)]
    return direct_calls(reply.transcript.split("\n"), hosts) if hosts else None


def _naming_calls(job: Job, reply: AgentReply) -> int | None:
    """Calls that name a program of a server of other conditions; None when there is none, or no call is shown."""
    program = foreign_programs(job.plan, job.run.condition)
    if reply.outcome.calls is None or not any(program):
        return None
    return len(naming_calls(reply.transcript.split("\n"), program))


def _patch(job: Job, place: Place, redact: Redactor) -> bytes:
    scratch = Path(place.private, "patch")
    scratch.mkdir()
    patch = make_patch(Path(job.repository["tree"]), Path(place.private, "repo"), scratch)
    return redact(patch.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def remove_written(paths: Sequence[str], workspace: Path, tree: Path) -> None:
    """Removes what servers keep in the workspace (`writes`), which belongs to the treatment; not what the repository
    has there, and nothing behind a link."""
    for path in paths:
        folder = (workspace / path).parent
        if (
            not os.path.lexists(tree / path)
            and folder.resolve() == workspace.resolve() / Path(path).parent
            and os.path.lexists(workspace / path)
        ):
            folder.chmod(folder.stat().st_mode | 0o700)  # the agent may have made it read-only
            remove_tree(str(workspace / path))


def prepare(job: Job, place: Place, redact: Redactor) -> Assignment:
    """The folders and files of an attempt, by their paths for the agent, which are the same in every condition. Fetches
    the tokens of servers with a login, which `redact` hides; raises StopEverything when there is none."""
    repo = os.path.join(place.private, "repo")
    session = os.path.join(place.private, "session")
    if job.is_closed_book:
        os.mkdir(repo)
    else:
        copy_tree(job.repository["tree"], repo)
    workspace = place.inside(repo)
    agent = job.agent
    expected = job.expected
    program: Program | None = getattr(load_adapter(agent["kind"]), "PROGRAM", None)
    has_mentions = program is not None and "@" in program.commands
    for mention in _MENTION.findall(job.whole_prompt):
        if has_mentions and os.path.exists(os.path.join(repo, mention.rstrip(".:"))):
            how = f"which {agent['kind']} replaces by that file; write it without @"
            raise UserError(f"task {job.run.task!r}: its prompt has @{mention}, {how}")
    log = place.inside(os.path.join(session, "server.jsonl"))
    values = {"workspace": workspace, "python": sys.executable, "server_log": log}
    packages = PreflightFindings.read(job.folder).packages
    mcp = json.loads(fill_mcp_file(job.condition, values))
    entries = with_tokens(mcp["mcpServers"], redact)
    servers = {name: _launched(entry, packages) for name, entry in entries.items()}
    everywhere = set[str]()
    for condition in job.plan["conditions"].values():
        everywhere.update(condition.get("files", ()))
    brings_skills = False
    if program:
        skills = f"{program.skills}/"
        brings_skills = any(path.startswith(skills) for path in everywhere)
    if job.is_change:
        agent = {**agent, "tools": [*dict.fromkeys([*agent["tools"], *EDIT_TOOLS])]}
    return assign(
        place,
        job.whole_prompt,
        servers,
        agent,
        job.plan["seed"],
        servers=tuple(expected.servers),
        denied_servers=tuple(expected.denied_servers),
        errors=ErrorTexts(job.condition.get("errors", {})),
        reads_files=bool(everywhere) or is_stock(agent),
        reads_skills=is_stock(agent) or brings_skills,
        excluded=tuple(expected.excluded),
        words=words_of(job.plan, job.condition),
    )


def _launched(entry: dict[str, Any], packages: Mapping[str, str]) -> dict[str, Any]:
    """The server with a program of the preflight's `packages` in place of the launcher that would fetch it."""
    command = [entry.get("command"), *entry.get("args", ())]
    for line, program in packages.items():
        words = shlex.split(line)
        if command[: len(words)] == words:
            arguments = command[len(words) :]
            return {**entry, "command": os.path.abspath(program), "args": arguments}
    return entry


def gate_name(run: RunId) -> str:
    """The name of a run at the start gate; unique, because task ids have no underscore."""
    return run.stem.replace("/", "_")
