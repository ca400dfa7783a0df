"""Starts an agent once for an assignment, and collects its output without secrets."""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple

from lensbench.agents import Assignment, Invocation, load_adapter, model_hosts
from lensbench.agents.adapters._events import read_event
from lensbench.agents.refusals import OF_WINDOWS, reset_in
from lensbench.agents.sandbox import Place, become
from lensbench.agents.sandbox_start import FULL, OUT_OF_MEMORY
from lensbench.agents.taps import read_taps, tap_file, tapped
from lensbench.core.errors import UserError, printable_lines, reported
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import FAILED, Outcome, Tap, bounded, completed
from lensbench.core.system.files import write_atomic
from lensbench.core.system.processes import EXIT_GRACE_S, MAX_OUTPUT, Ended, run_process
from lensbench.core.system.redaction import Redactor
from lensbench.core.system.trees import READ_FLAGS


class AgentReply(NamedTuple):
    """The result of one start of the agent."""

    outcome: Outcome
    answer: str
    transcript: str
    started_at: str
    ended: Ended
    network: str
    """`own`, or why the agent shared the machine's network."""
    over_limit: str
    """The limit that ended the agent; empty when none did."""
    unread: str = ""
    """Why its output could not be parsed completely, although `transcript` has all of it."""
    taps: dict[str, Tap] | None = None
    """What the tee saw of each server; None without one."""
    tap_lines: str = ""
    """What it noted."""

    @property
    def seen(self) -> Outcome:
        """The outcome, completed by what the tee saw."""
        return completed(self.outcome, self.taps)


def assign(
    place: Place,
    prompt: str,
    mcp: Mapping[str, Mapping[str, Any]],
    settings: AgentSettings,
    seed: int,
    **more: Any,
) -> Assignment:
    """Writes the files of a new session; its paths are those for the agent. The workspace is made by the caller."""
    session = os.path.join(place.private, "session")
    for folder in (os.path.join(session, "home", "tmp"), os.path.join(place.private, "tmp")):
        os.makedirs(folder)
    Path(session, "prompt.md").write_bytes(prompt.encode())
    Path(session, "mcp.json").write_text(json.dumps({"mcpServers": mcp}), encoding="utf-8")
    files = {
        name: place.inside(os.path.join(session, name))
        for name in ("prompt.md", "mcp.json", "answer.md", "home")
    }
    return Assignment(
        prompt=prompt,
        prompt_file=files["prompt.md"],
        workspace=place.inside(os.path.join(place.private, "repo")),
        home=files["home"],
        mcp_servers=mcp,
        mcp_file=files["mcp.json"],
        answer_file=files["answer.md"],
        settings=settings,
        seed=seed,
        **more,
    )


START_LINES = 20
"""Lines within which an agent reports its servers."""


def start_agent(
    assignment: Assignment, place: Place, timeout_s: float, redact: Redactor
) -> AgentReply:
    """Starts the agent in its prepared workspace and waits for its end. Raises UserError when it cannot start."""
    with tapped(assignment, place) as run:
        said = _start(run, place, timeout_s, redact)
    if run is assignment:
        return said
    lines = redact(read_text(tap_file(place)))
    return said._replace(
        taps=read_taps(lines, run.mcp_servers, run.errors, run.excluded), tap_lines=lines
    )


def _start(assignment: Assignment, place: Place, timeout_s: float, redact: Redactor) -> AgentReply:
    adapter = load_adapter(assignment.settings["kind"])
    parse = partial(adapter.read, errors=assignment.errors)
    lines: list[str] = []
    unread = ""

    def read(stream: Iterator[str]) -> Outcome:
        nonlocal unread

        def seen() -> Iterator[str]:
            for line in stream:
                line = redact(line)
                lines.append(line)
                yield line

        try:
            return parse(seen())
        except (
            Exception
        ) as error:  # on any error, still read the rest, because the answer was paid for
            unread = place_of(error)
            deque(seen(), maxlen=0)
            return Outcome(finished=False)

    is_over: Callable[[dict[str, object]], bool | None] = getattr(
        adapter, "is_over", lambda event: None
    )

    def silence_s(line: str) -> float | None:
        with suppress(
            Exception
        ):  # an error here must not lose an answer that is paid for; `read` reports it
            if len(lines) < START_LINES and _has_failed_server(
                parse([*lines, line]), assignment.servers
            ):
                return 0.0
            event = read_event(line)
            over = None if event is None else is_over(event)
            return None if over is None else EXIT_GRACE_S if over else math.inf
        return None

    invocation = adapter.command(assignment)
    workspace = place.outside(assignment.workspace)
    hosts = model_hosts(assignment.settings)
    write_files(invocation, assignment, place)
    network = place.network(invocation.env, assignment.mcp_file, hosts).name
    started_at = now()
    with _redacted_log(os.path.join(place.private, "stderr"), redact) as log:
        try:
            env = {
                **invocation.env,
                **place.environment_variables(invocation.env.get("PATH", os.defpath)),
            }
            argv = place.wrap(invocation.argv, env, assignment.mcp_file, agents=hosts)
            outcome, end = run_process(
                argv, env, workspace, timeout_s, log, read, silence_s, partial(become, argv, env)
            )
        except OSError as error:
            if lines:
                raise  # it was started, and is paid for
            raise UserError(
                f"the agent cannot be started: {invocation.argv[0]}: {error.strerror}"
            ) from None
    # Agent and servers can write any file in the session, so only a file that the program was told of counts.
    file_answer = read_text(place.outside(invocation.answer_file)) if invocation.answer_file else ""
    answer = redact(file_answer or outcome.answer)
    answer = answer.encode(errors="replace").decode()  # lone surrogates cannot be written
    over = read_text(os.path.join(place.private, FULL))
    if end.exit_code or not outcome.finished:
        over = over or read_text(os.path.join(place.private, OUT_OF_MEMORY))
    outcome = bounded(outcome)
    if outcome.error and outcome.resets_at is None and outcome.error_status in OF_WINDOWS:
        outcome = replace(outcome, resets_at=reset_in(outcome.error, time.time()))
    return AgentReply(
        outcome, answer, redact("".join(lines)), started_at, end, network, over, unread
    )


def write_files(invocation: Invocation, run: Assignment, place: Place) -> None:
    """Writes the program's configuration. Raises UserError for a path that is not below the run's HOME: it would be
    written on this machine, outside of the run."""
    for path in invocation.files:
        if not os.path.normpath(path).startswith(f"{run.home}/"):
            kind = run.settings["kind"]
            raise UserError(
                f"the adapter of {kind} writes {path!r}, which is not below the run's HOME; "
                "name its files by f'{run.home}/...'"
            )
    for path, content in invocation.files.items():
        write_atomic(Path(place.outside(path)), content)


def _has_failed_server(outcome: Outcome, servers: Iterable[str]) -> bool:
    """True when a server of the condition failed at the start: the run cannot count, so it is not paid to its end.
    After a call it is not known: a server that answers one with an error may answer the next."""
    statuses = outcome.servers or {}
    return not outcome.calls and any(statuses.get(name) == FAILED for name in servers)


@contextmanager
def _redacted_log(path: str, redact: Redactor) -> Iterator[int]:
    """A file for the agent's standard error, which is always copied to our standard error without secrets."""
    with open(path, "w+b") as file:
        try:
            yield file.fileno()
        finally:
            with reported("copying the agent's standard error"):
                file.seek(0)
                output = redact(file.read(MAX_OUTPUT).decode(errors="replace"))
                sys.stderr.write(printable_lines(output))  # Snakemake shows the log of a failed run


def place_of(error: BaseException) -> str:
    """The error and its place on one line: `RecursionError in lensbench/attempts.py, server_calls`."""
    frames = [frame for frame in extract_tb(error.__traceback__) if "lensbench" in frame.filename]
    place = f" in lensbench/{Path(frames[-1].filename).name}, {frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{place}"


def read_text(path: str) -> str:
    """The text of a file written by the agent; "" for a link, which could lead to files that the agent cannot read."""
    try:
        with open(
            os.open(path, READ_FLAGS), encoding="utf-8", errors="replace", newline=""
        ) as file:
            return file.read(MAX_OUTPUT) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else ""
    except OSError:
        return ""


def now() -> str:
    """The current time in UTC, in the format of records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
