"""Builds the test environments of change tasks: each once, with network, before any run."""

from __future__ import annotations

from pathlib import Path

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes import CHANGE
from lensbench.changes.environment import prepare_environment
from lensbench.changes.task import read_task
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Repositories
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json, write_json
from lensbench.core.system.program import run_program, stage_parser
from lensbench.plan.frozen import read_plan


def make_environments(folder: Path, cache: Path) -> None:
    """Builds the environments of the plan's change tasks, and writes environments.json."""
    plan = read_plan(folder)
    repositories: Repositories = read_json(RunFolder(folder).repositories, needed=True)
    sandbox = find_sandbox(plan.get("sandbox"))
    if not sandbox.program:
        raise UserError(f"tests of changes {sandbox.lack}")
    environments = {}
    for name in plan["order"]:
        if plan["tasks"][name].get("kind") != CHANGE:
            continue
        tree = Path(repositories[plan["tasks"][name]["repository"] or ""]["tree"])
        try:
            task = read_task(folder, name)
            environment = prepare_environment(task.environment, tree, cache, sandbox)
        except UserError as error:
            raise UserError(f"task {name!r}: {error}") from None
        environments[name] = environment.written()
        print(f"{name}: {environment.key or 'no environment'}", flush=True)
    write_json(RunFolder(folder).environments, environments)


def main() -> None:
    """Build the test environments of a plan's change tasks."""
    parser = stage_parser(main.__doc__)
    parser.add_argument(
        "--cache", required=True, type=Path, help="folder for the installed dependencies"
    )
    arguments = parser.parse_args()
    make_environments(arguments.folder, arguments.cache)


if __name__ == "__main__":
    run_program(main)
