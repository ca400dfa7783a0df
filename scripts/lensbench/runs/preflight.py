"""The preflight: tries everything that runs need once, before any run costs money, at each start that has runs to do.
Writes `preflight.json`: the checks, and the tools that each condition's servers list."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lensbench.agents import Adapter, Assignment, Invocation, load_adapter, secret_names
from lensbench.agents.prices import in_words, price_of, priced, unexpected
from lensbench.agents.sandbox import Place, Sandbox, find_sandbox, in_container
from lensbench.agents.start import read_text, start_agent
from lensbench.core.conditions import (
    Command,
    last_line,
    mcp_secrets,
    missing_variables,
    run_command,
    treatment_words,
)
from lensbench.core.errors import UserError, some_of
from lensbench.core.frozen_plan import AgentSettings, Plan, PlannedCondition, RepositoryFacts
from lensbench.core.preflight_results import Check, Cure, PreflightFindings, table
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import all_entries
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, end_children, run_process
from lensbench.core.system.program import run_program, stage_parser
from lensbench.core.system.progress import Progress, step
from lensbench.core.system.redaction import Redactor
from lensbench.core.system.trees import changed_paths
from lensbench.core.tasks import Task
from lensbench.plan.config import Condition, Config
from lensbench.plan.freeze import make_plan, prompt_of, source_name
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import ScenarioSet, read_scenarios
from lensbench.repositories.prepare import NO_HISTORY, Prepared, servers_of_stock
from lensbench.repositories.prepare import prepare as prepare_repository
from lensbench.repositories.sources.cleaning import indexes
from lensbench.runs.attempt import MOST_NAMED, Job, prepare, remove_written
from lensbench.runs.reasons import reason_of
from lensbench.runs.server_checks import (
    Advise,
    Listing,
    check_listing,
    check_servers,
    name_doctor,
)
from lensbench.runs.server_packages import fetch_packages
from lensbench.runs.stopping import StopEverything, check_budget, spend_on_request


def preflight(
    config: Config, scenarios: ScenarioSet, folder: Path, advise: Advise = name_doctor
) -> PreflightFindings:
    """Runs all checks; the findings contain no secrets. `advise` is asked about servers that do not start."""
    plan = make_plan(config, scenarios, [])
    adapter = load_adapter(config.agent.kind)
    agents = [plan["agent"], *(judge["agent"] for judge in plan["judges"] if "agent" in judge)]
    findings = PreflightFindings(
        [check for agent in agents for check in _variables(agent, os.environ)]
    )
    findings.checks += [
        Check("variables", "failed", text)
        for text in missing_variables(plan["conditions"].values())
    ]
    redact = Redactor(secret_names(plan["agent"]), os.environ, mcp_secrets(plan))
    findings.checks += budget(plan, agents)
    if not findings.failed:
        trial = _try_runs(
            config, plan, scenarios.tasks[0], adapter, folder, findings, advise, redact
        )
        if trial and hasattr(adapter, "version") and not findings.failed:
            with suppress(StopEverything):
                check_budget(folder, plan["budget"])
                skipped = Check("model", "skipped", "preflight.request is false")
                findings.checks.append(
                    ask_model(*trial, redact) if config.preflight.request else skipped
                )
    findings.checks = [replace(check, detail=redact(check.detail)) for check in findings.checks]
    findings.descriptions = {
        name: redact(text) for name, text in sorted(findings.descriptions.items())
    }
    return findings


def _variables(settings: AgentSettings, environment: Mapping[str, str]) -> Iterator[Check]:
    names = secret_names(settings)
    missing = [name for name in names if not environment.get(name)]
    if missing:
        detail = (
            f"not set: {', '.join(missing)}; write `export {missing[0]}=...` in the shell"
            " that starts lensbench, or"
        )
        yield Check(
            "variables", "failed", f"{detail} remove them from agent.pass_env and agent.token_env"
        )
    elif names:
        yield Check("variables", "ok", f"set: {', '.join(names)}")


def budget(plan: Plan, agents: Sequence[AgentSettings]) -> Iterator[Check]:
    """Whether `budget.max_usd` can hold for each agent: one that reports no dollars needs tokens and a price."""
    limit = plan["budget"]["max_usd"]
    for agent in agents if limit else ():
        adapter = load_adapter(agent["kind"])
        kind = agent["kind"]
        model = agent["model"]
        shows = getattr(adapter, "COST", "")
        is_foreign = bool(agent["provider"] or agent["base_url"])
        names = filter(None, (agent["served"], agent["models"].get(model), model))
        price = next(
            (in_words(name, rate) for name in names if (rate := price_of(name, plan["prices"]))), ""
        )
        missing = f"no price of model {model!r} is known: add it under prices (docs/limits.md), or use max_runs"
        if getattr(adapter, "HOSTS", None) == ():
            continue
        why = ""
        if shows == "nothing":
            why = f"kind {kind!r} shows neither dollars nor tokens; use command-events, or max_runs"
        elif shows == "tokens" and not price:
            why = f"{kind} shows no dollars, and {missing}"
        elif not price and is_foreign:
            why = f"{kind} does not know what this service costs, and {missing}"
        elif not price and shows != "dollars":
            why = f"not every run of {kind} shows dollars, and {missing}"
        if why:
            yield Check("budget", "failed", f"budget.max_usd cannot hold: {why}")
        else:
            own = (
                ""
                if shows == "tokens"
                else f"as {kind} reports them" + (", else " if price else "")
            )
            yield Check(
                "budget", "ok", f"{limit:g} USD, {own}{f'estimated by {price}' if price else ''}"
            )


def _try_runs(
    config: Config,
    plan: Plan,
    task: Task,
    adapter: Adapter,
    folder: Path,
    findings: PreflightFindings,
    advise: Advise,
    redact: Redactor,
) -> tuple[Job, Sandbox] | None:
    """Prepares a run of `task` in every condition that has servers, but starts no agent. Returns one of these runs and
    its sandbox; None without a repository or a sandbox."""
    assert task.repository
    step(f"fetching {source_name(task.repository)}")
    try:
        repository = prepare_repository(task.repository, Path(config.cache), servers_of_stock(plan))
    except UserError as error:
        findings.checks.append(Check("repository", "failed", str(error)))
        return None
    findings.checks += [
        _repository(source_name(task.repository), repository),
        *_indexes(plan, repository.tree),
    ]
    try:
        sandbox = find_sandbox(plan["sandbox"])
    except UserError as error:
        findings.checks.append(Check("sandbox", "failed", str(error)))
        return None
    findings.checks += check_sandbox(sandbox)
    step("fetching the servers' packages")
    for check, programs in fetch_packages(plan["conditions"], Path(config.cache)):
        findings.checks.append(check)
        findings.packages |= programs
    if findings.packages:
        replace(PreflightFindings.read(folder), packages=findings.packages).write(
            folder
        )  # where runs look for them
    if findings.failed:
        return None
    facts: RepositoryFacts = {"tree": str(repository.tree), "tree_sha256": repository.tree_sha256}
    first, *others = [
        name for name, condition in plan["conditions"].items() if _brings(condition)
    ] or [config.baseline]
    tried: dict[str, Listing] = {}
    for condition in (first, *(others if config.preflight.servers else ())):
        settings = config.conditions[condition]
        key = _starting(settings)
        known = tried[key].part(plan["conditions"][condition]["servers"]) if key in tried else None
        if known:
            check_listing(condition, settings, known, findings)
            continue
        step(f"starting the servers of {condition}")
        with private_folder() as private:
            job = Job(
                folder, RunId(task.id, condition), plan, prompt_of(task, config.agent), facts, 0.0
            )
            try:
                place = Place(sandbox, private)
                is_first = condition == first
                listing = _try_run(config, job, place, adapter, is_first, findings, advise, redact)
                if listing:
                    check_listing(condition, settings, listing, findings)
                    tried[key] = listing
            except StopEverything as error:
                findings.checks.append(Check(f"{condition}: login", "failed", str(error)))
            except UserError as error:
                findings.checks.append(Check("agent", "failed", str(error)))
    if not config.preflight.servers:
        findings.checks.append(Check("servers", "skipped", "preflight.servers is false"))
    return job, sandbox


def _starting(settings: Condition) -> str:
    """What decides how the servers of a condition start, and what they list: conditions in which it is equal need one
    start of each server."""
    return settings.model_dump_json(exclude={"without", "tools", "files", "skills"})


def _repository(name: str, repository: Prepared) -> Check:
    """A check of the git history, which packages do not have, and of the submodules."""
    detail = name
    loss = ""
    if not repository.has_history and repository.history != NO_HISTORY:
        loss = f" (history {repository.history})"
    if not repository.has_history:
        detail += (
            f"; it has no git history{loss}, so tools that use it (blame, co-change) see one commit"
        )
    elif repository.history != "kept":
        detail += f"; history {repository.history}"
    if repository.empty:
        again = f"make them available and delete {repository.tree.parent}"
        detail += f"; submodules that are empty folders for the agent: {', '.join(repository.empty)}; {again}"
    return Check("repository", "warning" if loss or repository.empty else "ok", detail)


def _indexes(plan: Plan, tree: Path) -> Iterator[Check]:
    for name in indexes(tree, treatment_words(plan["conditions"].values())):
        what = f"{name} in the repository has the name of a server; if it is an index, agents without it read it"
        yield Check("index", "warning", f"{what}, too; {_REMOVE}")


_REMOVE = "remove it there, or git-ignore it"


def _brings(condition: PlannedCondition) -> bool:
    return bool(condition["servers"] or condition.get("setup"))


MORE_ISOLATION = (
    "podman's `--security-opt unmask=ALL`, or docker's `--security-opt seccomp=unconfined --security-opt "
    "systempaths=unconfined`, and a uid that is not 0,"
)
"""What lets bubblewrap make namespaces in a container."""


def check_sandbox(sandbox: Sandbox) -> Iterator[Check]:
    """What it keeps."""
    if sandbox.program:
        network = (
            f"the machine's network: {sandbox.shared_network}"
            if sandbox.shared_network
            else "its own network"
        )
        yield Check("sandbox", "ok", f"{sandbox.name}, {network}")
    elif sandbox.reason:
        text = f"none, so agents can read and change your files: {sandbox.reason} (docs/sandbox.md)"
        if in_container():
            text = (
                "this container alone: agents see what is mounted into it, with task sets and other answers, and reach"
                f" the whole network. {MORE_ISOLATION} give each its own sandbox ({sandbox.reason})"
            )
        yield Check("sandbox", "warning", text)


def _try_run(
    config: Config,
    job: Job,
    place: Place,
    adapter: Adapter,
    is_first: bool,
    findings: PreflightFindings,
    advise: Advise,
    redact: Redactor,
) -> Listing | None:
    """Checks a run without an agent; returns what its servers list, if they were started."""
    assignment = prepare(job, place, redact)
    workspace = place.outside(assignment.workspace)
    invocation = adapter.command(assignment)
    if is_first:
        findings.checks += _agent(adapter, invocation, job.agent, workspace)
        if job.agent["command"] and not findings.failed:
            asks = config.preflight.request and hasattr(adapter, "version")  # which starts it, too
            findings.checks += [] if asks else _start(invocation, job.agent, place, assignment)
    if not config.preflight.servers or not _brings(job.condition):
        return None
    listing = None
    name = job.run.condition
    condition = config.conditions[job.run.condition]
    try:
        results = _command(job, "setup", workspace)
        findings.checks += results
        if not any(check.outcome == "failed" for check in results):
            each_tool = config.preflight.tools
            env = invocation.env
            listing = check_servers(
                name, condition, assignment, env, place, each_tool, findings, advise
            )
    finally:
        findings.checks += _command(job, "teardown", workspace)
    findings.checks += _workspace(job, Path(workspace), findings.cures)
    return listing


def _workspace(job: Job, workspace: Path, cures: list[Cure]) -> Iterator[Check]:
    """Whether setup and servers left the repository as it was; new folders may be an index."""
    tree = Path(job.repository["tree"])
    name = f"{job.run.condition}: workspace"
    writes = job.condition.get("writes", ())
    for path in writes:
        if os.path.lexists(tree / path):
            yield Check(
                name,
                "failed",
                f"writes: {path} is in the repository, where all conditions see it; {_REMOVE}",
            )
            return
    remove_written(writes, workspace, tree)
    if changes := changed_paths(str(tree), str(workspace)):
        new = sorted({path.partition("/")[0] for path in changes})
        if not any(os.path.lexists(tree / top) for top in new):
            cures.append(Cure({f"conditions.{job.run.condition}.writes": new}))
        where = f"if that is an index, add it to conditions.{job.run.condition}.writes"
        detail = f"setup or the servers changed {some_of(changes, MOST_NAMED)}; every run would be invalid; {where}"
        yield Check(name, "failed", detail)


def _command(job: Job, word: Command, workspace: str) -> list[Check]:
    if not job.condition.get(word):
        return []
    name = job.run.condition
    failure = run_command(job.condition, word, workspace)
    if failure:
        return [Check(f"{name}: {word}", "failed", f"{failure}; check conditions.{name}.{word}")]
    return [Check(f"{name}: {word}", "ok", job.condition[word][0])]


def _agent(
    adapter: Adapter, invocation: Invocation, settings: AgentSettings, workspace: str
) -> Iterator[Check]:
    """Checks that the program exists, starts, and has the version that the config pins."""
    own = getattr(adapter, "PROGRAM", None)
    pin = settings["version"]
    program = (
        (settings["command"] or [own.name])[0] if own else invocation.argv[0]
    )  # it may be started by a shell
    # Relative paths start in the workspace, as for the run.
    file = os.path.join(workspace, program) if os.sep in program else program
    if not shutil.which(file, path=invocation.env.get("PATH")):
        yield Check(
            "agent", "failed", f"there is no program {program}; install it, or set agent.command"
        )
        return
    ask = getattr(adapter, "version", None)
    if ask is None:
        note = (
            f"{program}; agent.version is {pin}, but kind {settings['kind']!r} reports no version"
        )
        yield Check("agent", "warning", note) if pin else Check("agent", "ok", program)
        return
    version = ask(settings)
    if version is None:
        detail = f"{program} does not start, or is another program: it reports no name and version; start it by hand"
        yield Check("agent", "failed", detail)
    elif pin and version != pin:
        detail = f"{program} is version {version}, agent.version is {pin}; install that version, or change the pin"
        yield Check("agent", "failed", detail)
    elif pin:
        yield Check("agent", "ok", f"{program} {version}, as pinned")
    else:
        detail = f"{program} {version} is not pinned: other versions may behave differently; set agent.version"
        yield Check("agent", "warning", detail)


STARTS_S = 20.0
"""Time for a program to print its version; it need not have one."""
PROGRAM_MISSING = (126, 127)
"""Exit codes of shells and launchers that find no program."""


def _start(
    invocation: Invocation, agent: AgentSettings, place: Place, assignment: Assignment
) -> Iterator[Check]:
    """Starts the program once where runs start it, with `--version`: a launcher on PATH may find nothing there."""
    program = agent["command"][0]
    try:
        argv = place.wrap([program, "--version"], invocation.env, assignment.mcp_file)
        with tempfile.TemporaryFile() as errors:
            workspace = place.outside(assignment.workspace)
            last, end = run_process(
                argv, invocation.env, workspace, STARTS_S, errors.fileno(), last_line
            )
            errors.seek(0)
            said = last_line(io.TextIOWrapper(errors, encoding="utf-8", errors="replace")) or last
    except OSError as error:
        yield Check("agent", "failed", f"{program} does not start: {error.strerror}")
        return
    if end.exit_code in PROGRAM_MISSING:
        where = "in the sandbox" if place.sandbox.program else "here"
        remedy = (
            "; name the program itself in agent.command, or add what it needs to sandbox_visible"
        )
        detail = (
            f"{program} does not start {where}, exit code {end.exit_code}: {said or 'no output'}"
        )
        yield Check("agent", "failed", f"{detail}{remedy}")


def _keep_tools(
    config: Config, folder: Path, former: dict[str, dict[str, str]], findings: PreflightFindings
) -> None:
    """Adds a check for each condition whose tools changed since its runs; those of the runs stay known."""
    for name in former.keys() & findings.tools.keys():
        old = former[name]
        if any(
            check.outcome == "failed" and check.name.startswith(f"{name}: ")
            for check in findings.checks
        ):
            findings.tools[name] = old  # a server that did not start has changed nothing
        if (new := findings.tools[name]) == old or not any(
            RunFolder(folder).runs.glob(f"**/*-{name}.md")
        ):
            continue
        changes = ", ".join(
            sorted(tool for tool in old.keys() | new.keys() if old.get(tool) != new.get(tool))
        )
        detail = f"changed since runs were made: {changes}; take a new run_id, or the server that they had"
        findings.checks.append(
            Check(f"{name}: tools", "warning" if config.accept_changes else "failed", detail)
        )
        if not config.accept_changes:
            findings.tools[name] = old
    findings.tools = {
        **{name: tools for name, tools in former.items() if name in config.conditions},
        **findings.tools,
    }


def all_versions(
    folder: Path, former: dict[str, dict[str, str]], now: dict[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """The versions of servers now, after those with which runs were made before."""
    versions = {**former, **now}
    if any(all_entries(folder)):
        for condition, servers in former.items():
            for name, old in servers.items():
                new = versions[condition].get(name, old)
                is_new = new not in old.split(", ")
                versions[condition][name] = f"{old}, {new}" if is_new else old
    return versions


def require(config: Config, scenarios: ScenarioSet, folder: Path) -> None:
    """Runs all checks, saves and prints the findings. Raises UserError when runs would fail."""
    adopt_orphans()
    try:
        with Progress("checking what runs need"):
            findings = preflight(config, scenarios, folder)
    finally:
        end_children()
    former = PreflightFindings.read(folder)
    _keep_tools(config, folder, former.tools, findings)
    # blinding depends on these tools, and this start may not have asked any server
    findings.descriptions = {**former.descriptions, **findings.descriptions}
    findings.list_tokens = {**former.list_tokens, **findings.list_tokens}
    findings.versions = all_versions(folder, former.versions, findings.versions)
    findings.write(folder)
    print("preflight:", *table(findings.checks), sep="\n", flush=True)
    if findings.failed:
        raise UserError(
            "the preflight failed, and nothing was started; fix what is FAILED above, then start again"
        )


def main() -> None:
    """Try everything that runs need. The exit code is 1 when runs would fail."""
    parser = stage_parser(main.__doc__)
    parser.add_argument("--settings", required=True, help="the config as JSON")
    arguments = parser.parse_args()
    config = load_config(json.loads(arguments.settings))
    scenarios = read_scenarios(config.scenario_files, config.repository, config.imported)
    require(config, scenarios, arguments.folder)


REQUEST_PROMPT = "Reply with the word OK, and do nothing else."
REQUEST_LIMIT_S = 120.0
BUSY = {408, 429, 500, 502, 503, 504, 529}
"""Temporary HTTP statuses; runs retry these by themselves."""
LOOK_AT = {
    400: "the model's name (agent.model, agent.models)",
    401: "the key in agent.token_env or agent.pass_env",
    402: "the account's credit",
    403: "the key's rights and quota",
    404: "agent.base_url, and the model's name (agent.model, agent.models)",
}


def ask_model(job: Job, sandbox: Sandbox, redact: Redactor) -> Check:
    """Starts the agent of `job` with REQUEST_PROMPT, without servers; it costs money. The check has model or error."""
    conditions = {job.run.condition: PlannedCondition(mcp=None, mcp_sha256="", servers=())}
    asking = job._replace(whole_prompt=REQUEST_PROMPT, plan={**job.plan, "conditions": conditions})
    step(f"asking {job.agent['kind']} a short question")
    with private_folder() as private:
        place = Place(sandbox, private)
        assignment = replace(prepare(asking, place, redact), is_trial=True)
        try:
            reply = start_agent(
                assignment, place, min(REQUEST_LIMIT_S, job.agent["timeout_s"]), redact
            )
        except UserError as error:
            return Check("model", "failed", str(error))
        last = (read_text(f"{private}/stderr").strip().splitlines() or [""])[-1]
    job.folder.mkdir(parents=True, exist_ok=True)  # it does not exist before the first run
    spend_on_request(job.folder, priced(reply.outcome, job.plan.get("prices", {})))
    reason, detail = reason_of(reply, asking.expected)
    if not reason:
        if others := unexpected(reply.outcome, job.agent):
            what = f"{', '.join(others)} answered, but {job.agent['model']} was requested"
            return Check("model", "warning", f"{what}; if that is correct, set agent.served")
        models = ", ".join(sorted(reply.outcome.models or ())) or "not shown"
        cost = "" if reply.outcome.cost_usd is None else f", {reply.outcome.cost_usd:.4f} USD"
        where = "in the sandbox" if sandbox.program else "without a sandbox"
        return Check("model", "ok", f"answered a short question {where}: {models}{cost}")
    why = "; ".join(filter(None, (reason, detail, last)))
    status = reply.outcome.error_status
    if status in BUSY:
        return Check("model", "warning", f"the agent got no answer ({why}); runs will try again")
    inside = (
        "; add the files and programs it needs to sandbox_visible, and its hosts to sandbox_hosts; for a version "
        "manager's launcher, name the program itself in agent.command"
    )
    advice = (
        f"; check {LOOK_AT[status]}" if status in LOOK_AT else inside if sandbox.program else ""
    )
    return Check("model", "failed", f"the agent gave no answer to a short question ({why}){advice}")


if __name__ == "__main__":
    run_program(main)
