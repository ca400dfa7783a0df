"""What `lensbench check --requests` does: sends each condition's first request to a listener of its own, and shows what
the treatments' requests have that the baseline's lacks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from lensbench.agents import load_adapter, secret_names
from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.core.conditions import (
    compared,
    left_out,
    mcp_secrets,
    shown_names,
    treatments,
)
from lensbench.core.errors import CheckFailed, UserError, printable
from lensbench.core.frozen_plan import Plan, RepositoryFacts
from lensbench.core.preflight_results import BYTES_A_TOKEN, PreflightFindings
from lensbench.core.records import RunId
from lensbench.core.request_differences import Difference, differences
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, end_children
from lensbench.core.system.progress import Progress
from lensbench.core.system.redaction import Redactor
from lensbench.plan.config import Config
from lensbench.plan.freeze import make_plan, prompt_of
from lensbench.plan.own_files import run_folder
from lensbench.plan.reading import load_config, read_file
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import facts_of, prepare, servers_of_stock
from lensbench.runs.attempt import Job
from lensbench.runs.first_requests import excluded_tools, first_request
from lensbench.runs.requests_file import Addition, RequestFindings
from lensbench.runs.server_packages import fetch_packages

SHOWN_CHARS = 160
"""Characters of a part that a line on the terminal has; the whole part is in the file."""


def check_requests(config_file: Path) -> None:
    """Sends, stores and compares the first requests of the config's conditions. Raises UserError when one cannot be
    sent, or when the baseline's request has a part that a treatment's lacks, which is to have all of it."""
    _, document = read_file(str(config_file))
    config = load_config(document.value, [str(config_file)])
    folder = run_folder(config)
    adopt_orphans()
    try:
        with Progress("sending the first requests"):
            plan, bodies = _bodies(config, folder)
    finally:
        end_children()
    baseline = plan["baseline"]
    names = shown_names(plan)
    additions: dict[str, Addition] = {}
    for name in treatments(plan):
        found = list(differences(json.loads(bodies[baseline]), json.loads(bodies[name])))
        removed = sum(not part.is_added for part in found)
        additions[name] = Addition(len(bodies[name]) - len(bodies[baseline]), removed)
        file = RunFolder(folder).requests / f"{name}.diff"
        write_atomic(file, _patch(baseline, name, bodies))
        print(*_lines(names[name], found, additions[name], file), sep="\n")
    version = getattr(load_adapter(config.agent.kind), "version", lambda settings: None)
    agent = f"{config.agent.kind} {version(plan['agent']) or ''}".strip()
    RequestFindings(agent, plan["settings_sha256"], additions).write(folder)
    changed = []
    for name, addition in additions.items():
        own = plan["conditions"][name]
        is_part = left_out(plan, name) or {"tools", "describe"} & own.keys()
        if addition.changed and not is_part:
            changed.append(names[name])
    if changed:
        raise CheckFailed(
            f"the requests of {', '.join(changed)} lack parts of the baseline's, so not only the treatment differs: "
            "see the lines with - above"
        )


def _bodies(config: Config, folder: Path) -> tuple[Plan, Mapping[str, bytes]]:
    """The plan, and the first request of each condition, which is stored."""
    scenarios = read_scenarios(
        config.scenario_files, config.repository, config.imported, config.agent.kind
    )
    task = next((task for task in scenarios.tasks if task.repository), None)
    if task is None or task.repository is None:
        raise UserError("no task has a repository, so no agent can be started")
    plan = make_plan(config, scenarios, [])
    repository: RepositoryFacts = facts_of(
        prepare(task.repository, Path(config.cache), servers_of_stock(plan))
    )
    packages: dict[str, str] = {}
    for check, programs in fetch_packages(plan["conditions"], Path(config.cache)):
        if check.outcome == "failed":
            raise UserError(f"{check.name}: {check.detail}")
        packages |= programs
    if packages:
        findings = PreflightFindings.read(folder)
        findings.packages |= packages
        findings.write(folder)  # where runs look for them
    sandbox = find_sandbox(plan["sandbox"])
    bodies = {}
    redact = Redactor(secret_names(plan["agent"]), os.environ, mcp_secrets(plan))
    for name in compared(plan):
        prompt = prompt_of(task, config.agent)
        job = Job(folder, RunId(task.id, name), plan, prompt, repository, 0.0)
        if "tools" in job.condition:
            with private_folder() as private:
                excluded = excluded_tools(job, Place(sandbox, private), redact)
            findings = PreflightFindings.read(folder)
            findings.excluded[name] = excluded
            findings.write(folder)
        bodies[name] = first_request(job, sandbox, redact)
        write_atomic(RunFolder(folder).requests / f"{name}.json", bodies[name])
        print(f"{printable(shown_names(plan)[name])}: {len(bodies[name]):,} bytes", flush=True)
    return plan, bodies


def _patch(baseline: str, name: str, bodies: Mapping[str, bytes]) -> str:
    """The difference of two requests, one value a line, as a patch."""
    before, after = (_laid_out(bodies[condition]) for condition in (baseline, name))
    return "".join(unified_diff(before, after, f"{baseline}.json", f"{name}.json"))


def _laid_out(body: bytes) -> list[str]:
    text = json.dumps(json.loads(body), ensure_ascii=False, indent=1)
    return [f"{line}\n" for line in text.split("\n")]


def _lines(name: str, found: list[Difference], addition: Addition, file: Path) -> Iterator[str]:
    yield f"\n{printable(name)}:"
    for part in found:
        line = printable(part.line)
        more = f" ... ({len(part.text.encode()):,} bytes)" if len(line) > SHOWN_CHARS else ""
        yield f"  {line[:SHOWN_CHARS]}{more}"
    if not found:
        yield "  no difference: the requests are the same"
    yield (
        f"  adds {addition.bytes:,} bytes, about {addition.tokens:,} tokens ({BYTES_A_TOKEN} bytes a token), to every"
        f" request; all of it: {file}"
    )
