"""Freezes an experiment in a plan: tasks, agent and tools (protocol, sections 1, 5 and 6). A change after the first
valid run is an error unless the user accepts it: runs before and after would not be comparable."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from lensbench.agents.sandbox import DEFAULT_LIMITS
from lensbench.changes import CHANGE
from lensbench.changes.hidden_files import with_files
from lensbench.changes.task import ChangeTask, changes_of, write_task
from lensbench.core.conditions import CLOSED_BOOK, compared, read_jsonc
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import (
    GIVEN,
    TESTS,
    Plan,
    PlannedCondition,
    PlannedJudge,
    PlannedTask,
    SandboxSettings,
)
from lensbench.core.handed_over import read_handed_over
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.places import PACKAGE, PROTOCOL, TEMPLATES
from lensbench.core.system.program import run_program, stage_parser
from lensbench.core.system.trees import hash_tree
from lensbench.core.tasks import Folder, Git, Npm, Pypi, Source, Task
from lensbench.plan import task_markdown
from lensbench.plan.config import Agent, Condition, Config, ModelJudge
from lensbench.plan.frozen import FORMAT, first_plan, keep_plan
from lensbench.plan.holdout import held_out, kept_out
from lensbench.plan.own_files import condition_files, local_paths, place_of_tasks, texts
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import ScenarioSet, read_scenarios
from lensbench.plan.words import words_text


def prompt_of(task: Task, agent: Agent | None = None) -> str:
    """The prompt, the same bytes in every condition: the task's text and its kind's suffix (protocol, section 2). A
    stock agent is not told how to work, and is asked for a report only with `agent.report`."""
    name = "change_suffix.md" if isinstance(task, ChangeTask) else "report_suffix.md"
    suffix = (TEMPLATES / name).read_text(encoding="utf-8")
    if agent and agent.profile == "stock":
        suffix = re.sub(r"How to work: .*\n\n", "", suffix)
        if not agent.report:
            return task.prompt
    return f"{task.prompt}\n\n{suffix}"


def make_plan(config: Config, scenarios: ScenarioSet, accepted: list[str]) -> Plan:
    """The plan: everything that a run depends on, as plain data. `accepted`: changes that the user accepted."""
    repositories: dict[str, Source] = {}
    for task in scenarios.tasks:
        if task.repository:
            repositories[source_name(task.repository)] = task.repository
    agent = config.agent.model_dump(mode="json", exclude_defaults=True)
    conditions: dict[str, PlannedCondition] = {}
    brought: list[str] = []
    for name, condition in config.conditions.items():
        files = texts(condition, config.agent.kind)
        conditions[name] = _condition(condition, files)
        brought += files.values()
        if condition.describe:
            brought.append(words_text(Path(condition.describe)))
    texts_by_hash = {sha256(text.encode()): text for text in brought}
    settings = {
        "agent": agent,
        "conditions": conditions,
        "baseline": config.baseline,
    }
    controls = {CLOSED_BOOK: _condition(Condition(), {})} if config.controls.closed_book else {}
    judges = [*map(planned_judge, config.judges)]
    if changes_of(scenarios.tasks):
        judges.append({"name": TESTS})
    sections: Any = config.model_dump(mode="json", include={"budget", "prices", "judging", "gate"})
    order = [task.id for task in scenarios.tasks]
    confirming: list[str] = []
    if config.gate.holdout is None:
        del sections["gate"]["holdout"]
    else:
        confirming = held_out(order, config.gate.holdout, config.seed)
    plan: Plan = {
        "format": FORMAT,
        "run_id": config.run_id,
        "imported": config.imported,
        "seed": config.seed,
        "trials": config.trials,
        "baseline": config.baseline,
        "conditions": conditions | controls,
        "agent": config.agent.settings,
        "agent_sha256": sha256(json.dumps(agent, sort_keys=True).encode()),
        "model_mapping": ",".join(map("=".join, config.agent.mapping.items())),
        "max_rounds": config.discards.max_rounds,
        "sandbox": _sandbox(config, scenarios, repositories.values()),
        "budget": sections["budget"],
        "prices": sections["prices"],
        "judges": judges,
        "judging": sections["judging"],
        "gate": sections["gate"],
        "order": order,
        "tasks": {task.id: _task(task, config.agent) for task in scenarios.tasks},
        "repositories": {
            key: source.model_dump(mode="json") for key, source in repositories.items()
        },
        "accepted_changes": accepted,
        "warnings": [*config.warnings, *(() if GIVEN in config.judges else scenarios.warnings)],
        "notes": list(config.notes),
        "settings_sha256": sha256(json.dumps(settings, sort_keys=True).encode()),
    }
    if confirming:
        plan = {**plan, "holdout": confirming}
    return {**plan, "texts": texts_by_hash} if texts_by_hash else plan


def _sandbox(
    config: Config, scenarios: ScenarioSet, repositories: Iterable[Source]
) -> SandboxSettings:
    packages: set[str] = set()
    # repositories on this machine still contain the files that are removed for the runs
    sources: list[object] = [*repositories]
    for task in changes_of(scenarios.tasks):
        if isinstance(task.repository, Pypi):
            packages.add(task.repository.pypi.partition("==")[0])
        sources += [getattr(file, "source", None) for file in task.tests.files.values()]
    paths = [path for source in sources for path in local_paths(source)]
    sandbox: SandboxSettings = {
        "mode": config.sandbox,
        "visible": list(config.sandbox_visible),
        "network": config.sandbox_network,
        "same_path": any(condition.setup for condition in config.conditions.values()),
        "hosts": list(config.sandbox_hosts),
        "limits": config.limits.model_dump(include={*DEFAULT_LIMITS}),
        "hidden": [
            config.cache,
            *config.scenario_files,
            *scenarios.files,
            *condition_files(config),
            *(path for path in paths if Path(path).exists()),
        ],
    }
    return {**sandbox, "packages": sorted(packages)} if packages else sandbox


def source_name(source: Source) -> str:
    """The name of a source; sources differ exactly when their names do. It survives a move of the whole folder."""
    match source:
        case Pypi():
            return f"{source.pypi} ({source.sha256[:12]})"
        case Npm():
            return f"{source.npm} ({source.integrity[:19]})"
        case Git():
            return f"{source.git} at {source.revision}"
        case Folder():
            return source.path


def _condition(condition: Condition, files: Mapping[str, str]) -> PlannedCondition:
    """A condition in the form of the plan; `files` are its files' texts. What it does not use is omitted."""
    entry: PlannedCondition = {"mcp": None, "mcp_sha256": "", "servers": []}
    if condition.mcp is not None:
        content = Path(condition.mcp).read_bytes()
        servers = sorted(set(read_jsonc(content)["mcpServers"]) - set(condition.without))
        if servers:
            entry = {"mcp": condition.mcp, "mcp_sha256": sha256(content), "servers": servers}
    keys = {key for key in ("writes", "errors", "without") if getattr(condition, key)}
    if condition.setup or condition.teardown:
        keys |= {"setup", "teardown", "setup_s"}
    more: Any = condition.model_dump(mode="json", include=keys)
    if condition.filter:
        more["tools"] = condition.filter
    if files:
        more["files"] = {path: sha256(text.encode()) for path, text in files.items()}
    if condition.describe:
        more["describe"] = sha256(words_text(Path(condition.describe)).encode())
    own = condition.agent.model_dump(mode="json", exclude_none=True)
    if own:
        more["agent"] = own
    result: PlannedCondition = {**entry, **more}
    return result


def planned_judge(judge: str | ModelJudge) -> PlannedJudge:
    """A judge in the form of the plan: its name, and for a model judge also the text of its prompt."""
    if not isinstance(judge, ModelJudge):
        return {"name": judge}
    prompt = read_handed_over(judge_prompt(judge))
    return {"name": judge.shown_name, "prompt": prompt, "agent": judge.agent.settings}


def judge_prompt(judge: ModelJudge) -> Path:
    return Path(judge.prompt) if judge.prompt else TEMPLATES / "judge.md.j2"


def _task(task: Task, agent: Agent) -> PlannedTask:
    read_by_judges = "".join(
        criterion.model_dump_json(exclude={"drafted", "proofs"}) for criterion in task.criteria
    )
    entry: PlannedTask = {
        "category": task.category.value,
        "repository": source_name(task.repository) if task.repository else None,
        "prompt_sha256": sha256(prompt_of(task, agent).encode()),
        "criteria": len(task.criteria),
        "criteria_sha256": sha256(read_by_judges.encode()),
    }
    if isinstance(task, ChangeTask):
        return {**entry, "kind": CHANGE}
    return entry


def changes(old: Plan, new: Plan) -> list[str]:
    """The differences that make the runs of two plans incomparable, one sentence each; not more trials or tasks, other
    judges or criteria, or the control."""
    old = {**old, "conditions": compared(old)}
    new = {**new, "conditions": compared(new)}
    sentences = [
        f"{name}: was {before!r}, is {now!r}"
        for name, before, now in differences(old, new, ("agent", "conditions", "baseline"))
    ]
    if old["judging"].get("private") and not new["judging"].get("private"):
        sentences.append("judging.private: was True, is False: models could read these answers")
    for task, before in old["tasks"].items():
        now = new["tasks"].get(task)
        if now is None:
            sentences.append(f"task {task!r} was removed")
            continue
        if before["prompt_sha256"] != now["prompt_sha256"]:
            sentences.append(f"task {task!r}: its prompt (or the report suffix) changed")
        if before["repository"] != now["repository"]:
            sentences.append(
                f"task {task!r}: repository was {before['repository']}, is {now['repository']}"
            )
    return sentences


def gate_changes(old: Plan, new: Plan) -> tuple[list[str], list[str]]:
    """The differences between the gates of two plans after a verdict was shown: those that the user must accept, and
    those that are only reported, because the gate corrects for them."""
    sentences = {
        name: f"{name}: was {before!r}, is {now!r}, changed after a verdict"
        for name, before, now in differences(old, new, ["gate"])
    }
    to_accept = [sentences[name] for name in _MEANING if name in sentences]
    reported = [sentences[name] for name in _PAID_FOR if name in sentences]
    return to_accept, reported


_MEANING = ("gate.effect", "gate.alpha", "gate.holdout")
_PAID_FOR = (
    "gate.looks",
    "gate.over",
    "gate.comparisons",
    "gate.saves",
    "gate.margin",
    "gate.least",
)


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], keys: Iterable[str], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """The settings below `keys` that differ: path, old value, new value."""
    for key in keys:
        before = old.get(key)
        now = new.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from differences(before, now, sorted({*before, *now}), f"{prefix}{key}.")
        elif before != now:
            yield f"{prefix}{key}", before, now


def accept_or_refuse(
    changes: list[str], accepted: list[str], config: Config, folder: Path
) -> list[str]:
    """All accepted changes, old and new. Raises UserError for changes that the user has not accepted."""
    if changes and not config.accept_changes:
        listing = "\n".join(f"  - {change}" for change in changes)
        raise UserError(
            f"{folder} has valid runs, and the experiment has changed since:\n{listing}\n"
            "Runs or verdicts from before and after the change cannot be compared. Start a new run: "
            "--config run_id=<a new name>.\n"
            "Or undo the change. Or keep both kinds, recorded and shown in the results: --config accept_changes=true"
        )
    return accepted + [change for change in changes if change not in accepted]


def settings_text(config: Config) -> str:
    """The config as JSON, the argument of the plan stage: without defaults, and without what does not belong to the
    experiment (the use of the results, speed, machines, the settings of other targets)."""
    settings = config.model_dump(
        mode="json", exclude_defaults=True, exclude={"archive", "fail_on", "only"}
    )
    limits = settings.pop("limits", {})
    limits = {key: value for key, value in limits.items() if key in DEFAULT_LIMITS}
    if limits:
        settings["limits"] = limits
    settings["agent"] = {"kind": config.agent.kind, **settings.get("agent", {})}
    return json.dumps(settings, ensure_ascii=False)


def plan_mark(config: Config, accepted: list[str], folder: Path) -> Path:
    """The path of an empty file named after the settings and this code: where it is missing, Snakemake rewrites the
    plan. Its own record of parameters is lost with `.snakemake`, and tables of older code may lack values; runs are
    kept."""
    parts = (settings_text(config), json.dumps(accepted), hash_tree(str(PACKAGE)))
    digest = sha256("\n".join(parts).encode())
    return RunFolder(folder).frozen_settings / f"settings-{digest[:16]}"


def dealt_tasks(old: Plan, new: Plan) -> list[str]:
    """The tasks that were assigned to waves, if others were added after the first runs; else none."""
    before = old.get("dealt") or old["order"]
    dealt = [task for task in before if task in new["tasks"]]
    return [] if len(dealt) == len(new["order"]) else dealt


def write_plan(
    config: Config,
    accepted: list[str],
    folder: Path,
    own: Collection[str] = (),
    dealt: Collection[str] = (),
) -> None:
    """Writes protocol.md, config.yaml, scenarios.md, prompts/, plan.json and the plan's mark into the run folder.

    `own`: the user's own files there, which are not changed; `dealt`: the tasks from before others were added."""
    place = RunFolder(folder)
    scenarios = read_scenarios(config.scenario_files, config.repository, config.imported)
    plan = make_plan(config, scenarios, accepted)
    if dealt:
        plan = {**plan, "dealt": list(dealt)}
    former = first_plan(folder)
    if former and "holdout" in plan and former["gate"].get("holdout") == config.gate.holdout:
        plan = {**plan, "holdout": kept_out(plan, former)}
    write_atomic(place.protocol, PROTOCOL.read_bytes())
    if RunFolder.config not in own:
        settings = config.model_dump(mode="json")
        write_atomic(place.config, yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
    write_atomic(place_of_tasks(config, folder), _scenarios_page(config, scenarios))
    shutil.rmtree(place.prompts, ignore_errors=True)
    for task in scenarios.tasks:
        write_atomic(place.prompts / f"{task.id}.md", prompt_of(task, config.agent))
    for change in changes_of(scenarios.tasks):
        write_task(folder, with_files(change, Path(config.cache)))
    keep_plan(folder, plan)
    write_json(place.plan, plan)
    shutil.rmtree(place.frozen_settings, ignore_errors=True)
    write_atomic(plan_mark(config, accepted, folder), "")


def _scenarios_page(config: Config, scenarios: ScenarioSet) -> bytes:
    """The content of the only task set if it is Markdown, else the tasks as Markdown."""
    first, *others = config.scenario_files
    if not others and first.endswith(".md"):
        return Path(first).read_bytes()
    return task_markdown.render(scenarios.tasks, f"Scenarios of {config.run_id}").encode()


def main() -> None:
    """Write the plan of a run folder."""
    parser = stage_parser(main.__doc__)
    parser.add_argument("--settings", required=True, help="the config as JSON")
    parser.add_argument("--accepted", default="[]", help="accepted changes, as a JSON list")
    parser.add_argument(
        "--own", nargs="*", default=[], help="the user's own files in it, which are not changed"
    )
    parser.add_argument(
        "--dealt",
        nargs="*",
        default=[],
        help="the tasks assigned to waves before others were added",
    )
    arguments = parser.parse_args()
    write_plan(
        load_config(json.loads(arguments.settings)),
        json.loads(arguments.accepted),
        arguments.folder,
        arguments.own,
        arguments.dealt,
    )


if __name__ == "__main__":
    run_program(main)
