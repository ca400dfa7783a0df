"""The first request of every condition, as its agent sends it: to a listener on this machine, without a key and without
the network. What the treatment's has and the baseline's lacks is what the treatment adds to every request."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import Any

from lensbench.agents import load_adapter, programs
from lensbench.agents.listener import listening
from lensbench.agents.sandbox import Place, Sandbox
from lensbench.agents.start import AgentReply, start_agent
from lensbench.core.conditions import filtered_out, run_command
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.redaction import Redactor
from lensbench.runs.attempt import Job, prepare
from lensbench.runs.brought import brought, write_brought
from lensbench.runs.reasons import reason_of
from lensbench.runs.server_checks import Subject

FIRST_REQUEST_LIMIT_S = 300.0
NO_KEY = "LENSBENCH_LISTENER_KEY"
"""The variable whose value stands for the key: the listener asks for none."""
_PER_SESSION = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # an id
    r"|\b[0-9a-f]{64}\b"  # a hash
    r"|\b1\d{12}\b"  # milliseconds since 1970
)
"""What differs from session to session, whatever the condition."""


def first_request(job: Job, sandbox: Sandbox, redact: Redactor) -> bytes:
    """The body of the first request that the agent of `job` sends: the bytes as they were sent, but without secrets,
    random ids, and the names of the run's folders. Raises UserError when it sends none."""
    kind = job.agent["kind"]
    if kind not in programs():
        raise UserError(
            f"agent.kind {kind!r}: its first request cannot be read; only {', '.join(programs())} send it to an address"
            " that a config can name"
        )
    os.environ[NO_KEY] = "no-key-is-needed"
    with private_folder() as private, listening() as listener:
        job = _to(job, listener.url)
        place = Place(sandbox, private)
        assignment = replace(prepare(job, place, redact), is_trial=True)
        workspace = place.outside(assignment.workspace)
        write_brought(brought(job.plan, job.condition), Path(workspace))
        failure = run_command(job.condition, "setup", workspace)
        try:
            if failure:
                raise UserError(f"{job.run.condition}: {failure}")
            limit_s = min(FIRST_REQUEST_LIMIT_S, job.agent["timeout_s"])
            with redirect_stderr(io.StringIO()):  # the refusal, in the agent's words
                reply = start_agent(assignment, place, limit_s, redact)
        finally:
            left = run_command(job.condition, "teardown", workspace)
            if left:
                print(redact(left), file=sys.stderr)
        body = _chosen(listener.bodies, job.whole_prompt)
        if body is None:
            raise UserError(f"{job.run.condition}: {kind} sent no request: {_why(reply, job)}")
        text = redact(body.decode(errors="replace")).replace(private, "/run")
    return steady(text, kind).encode()


def excluded_tools(job: Job, place: Place, redact: Redactor) -> list[str]:
    """The tools that the filter of `job` leaves out, from its servers' lists. Raises UserError when one has none."""
    assignment = prepare(job, place, redact)
    environment = load_adapter(job.agent["kind"]).command(assignment).env
    with Subject(assignment, place).servers(assignment.mcp_servers, environment, place) as servers:
        for status in servers.statuses:
            if not status.tools:
                raise UserError(
                    f"{job.run.condition}: {status.name} lists no tools {status.detail}"
                )
        listing = [tool.full_name for tool in servers.tools]
    return filtered_out(job.condition["tools"], listing)


def steady(request: str, kind: str) -> str:
    """A request of this kind of agent without what differs from session to session."""
    unsteady = getattr(load_adapter(kind), "UNSTEADY", None)
    if unsteady:
        request = unsteady.sub("", request)
    return _PER_SESSION.sub("0", request)


def _to(job: Job, url: str) -> Job:
    """The job with an agent whose service is at `url`."""
    settings: AgentSettings = {
        **job.agent,
        "provider": job.agent["provider"] or "custom",
        "base_url": url,
        "token_env": NO_KEY,
        "pass_env": [name for name in job.agent["pass_env"] if name not in _keys(job.agent)],
    }
    conditions = {**job.plan["conditions"]}
    conditions[job.run.condition] = {**job.condition, "agent": settings}
    return job._replace(plan={**job.plan, "conditions": conditions})


def _keys(agent: AgentSettings) -> set[str]:
    """The variables with keys of the agent's own service."""
    return {programs()[agent["kind"]].key, *getattr(load_adapter(agent["kind"]), "KEYS", ())}


def _chosen(bodies: Iterable[bytes], prompt: str) -> bytes | None:
    """The first request with the prompt and with tools; programs may ask for a title before."""
    asks = [body for body in bodies if json.dumps(prompt)[1:-1] in _escaped(body)]
    return next((body for body in asks if json.loads(body).get("tools")), next(iter(asks), None))


def _escaped(body: bytes) -> str:
    """The body as `json.dumps` writes it, however its sender did; "" when it is no JSON object."""
    try:
        document: Any = json.loads(body)
    except ValueError:
        return ""
    return json.dumps(document) if isinstance(document, dict) else ""


def _why(reply: AgentReply, job: Job) -> str:
    reason, detail = reason_of(reply, job.expected)
    return "; ".join(filter(None, (reason, detail or reply.outcome.error))) or "it ended without"
