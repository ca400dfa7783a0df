"""Runs all checks: the machine, its agents, and the benchmark of the config here; nothing is written."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from lensbench.agents import load_adapter, programs
from lensbench.agents.sandbox import find_sandbox
from lensbench.core.errors import CheckFailed, UserError
from lensbench.core.preflight_results import Check, CheckOutcome, table
from lensbench.core.system.processes import adopt_orphans, end_children
from lensbench.core.system.program import Parser, configs, run_program
from lensbench.core.system.progress import Progress
from lensbench.core.system.trial import try_folder, try_processes
from lensbench.plan.config import Agent, Config
from lensbench.plan.reading import load_config, read_file
from lensbench.plan.task_files import read_scenarios
from lensbench.runs.preflight import check_sandbox, preflight
from lensbench_demo.agent_facts import installed, shows
from lensbench_demo.server_starts import advice

LEAST_GB = 5
"""Disk space for a benchmark of some hundred runs, including the agents' own files."""
DEFAULT = Config(run_id="doctor", scenarios=())
PROGRAMS: Mapping[str, tuple[CheckOutcome, str]] = {
    "git": ("failed", "repositories cannot be fetched and changes cannot be saved; install git"),
    "node": ("skipped", "only needed for agents and tests that are written for Node"),
    "rg": ("skipped", "only needed for opencode's Grep and Glob"),
}
"""Programs that some features need -> state and message when one is missing."""


CHECKED_FOLDERS: Mapping[str, str] = {"disk here": ".", "temporary files": tempfile.gettempdir()}


def obstacles() -> Iterator[Check]:
    """What every run needs of this machine and does not find; no other check works without it."""
    trials: dict[str, Callable[[], None]] = {"processes": try_processes}
    for place, folder in CHECKED_FOLDERS.items():
        trials[place] = partial(try_folder, Path(folder))
    for name, trial in trials.items():
        try:
            trial()
        except UserError as error:
            yield Check(name, "failed", str(error))


def machine() -> Iterator[Check]:
    """Checks of this machine: what every benchmark needs, and what some features need."""
    yield Check("python", "ok", platform.python_version())
    sandbox = find_sandbox(
        {
            "mode": "auto",
            "visible": [],
            "hidden": [],
            "network": DEFAULT.sandbox_network,
        }
    )
    yield from check_sandbox(sandbox)
    for place, folder in CHECKED_FOLDERS.items():
        free = shutil.disk_usage(folder).free / 1e9
        if free >= LEAST_GB:
            yield Check(place, "ok", f"{free:.0f} GB free")
        else:
            yield Check(place, "warning", f"{free:.0f} GB free; {LEAST_GB} are safe")
    for program, (missing, why) in PROGRAMS.items():
        path = shutil.which(program)
        if path:
            yield Check(program, "ok", path)
        else:
            yield Check(program, missing, f"not on PATH: {why}")
    here = [*installed()]
    for name, kind, command in here:
        yield _agent(name, kind, command)
    names = {name for name, _, _ in here}
    for agent in programs().values():
        if agent.name not in names:
            yield Check(agent.name, "skipped", "not on PATH")


def _agent(program: str, kind: str, command: str) -> Check:
    if command:
        return Check(program, "ok", f"agent.kind is acp, its command {command!r}; {shows(kind)}")
    version = reported_version(kind)
    if not version:
        why = "does not start, or is another program: it reports no name and version"
        return Check(program, "warning", why)
    return Check(program, "ok", f"{version}: agent.kind is {kind}; {shows(kind)}")


def reported_version(kind: str) -> str:
    """The version that the agent's program reports here; "" when it is missing or reports none."""
    ask = getattr(load_adapter(kind), "version", lambda settings: None)
    return ask(Agent(kind=kind).settings) or ""


def benchmark(file: Path) -> list[Check]:
    """Checks of the config, its task sets, and the preflight."""
    try:
        _, document = read_file(str(file))
        config = load_config(document.value, [str(file)])
        scenarios = read_scenarios(
            config.scenario_files, config.repository, config.imported, config.agent.kind
        )
        counts = f"tasks: {len(scenarios.tasks)}, conditions: {len(config.conditions)}"
        read = Check(str(file), "ok", counts)
        if config.imported:
            return [read, Check("preflight", "skipped", "these runs were imported")]
        with tempfile.TemporaryDirectory() as folder:
            return [read, *preflight(config, scenarios, Path(folder), advice).checks]
    except UserError as error:
        return [Check("config", "failed", line) for line in str(error).splitlines()]


def main() -> None:
    """Check the machine, its agents, and the benchmark of the config here. The exit code is 1 when a check failed."""
    parser = Parser(prog="lensbench doctor", description=main.__doc__)
    parser.add_argument(
        "--configfile", type=Path, help="the config to check (default: the one in this folder)"
    )
    config = parser.parse_args().configfile
    found = [config] if config else [Path(name) for name in configs(Path())]
    print("machine:", flush=True)
    results = list(obstacles())
    files = found
    if results:
        files = []
    else:
        with Progress("looking for agents and the sandbox"):
            results = list(machine())
    print(*table(results), sep="\n", flush=True)
    adopt_orphans()
    try:
        for file in files:
            with Progress(f"checking {file}"):
                checks = benchmark(file)
            results += checks
            print(f"{file}:", *table(checks), sep="\n", flush=True)
    finally:
        end_children()
    if not found:
        print("There is no config here: `lensbench init` writes one for your server.")
    failures = [check.name for check in results if check.outcome == "failed"]
    if failures:
        raise CheckFailed(f"{', '.join(failures)}: runs would fail; fix what is FAILED above")
    print("No check failed.")


if __name__ == "__main__":
    run_program(main)
