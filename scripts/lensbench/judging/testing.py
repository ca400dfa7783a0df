"""Runs the hidden tests on the patch of one run; test runs are cached by patch, tests, tree and environment."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes.environment import read_environment
from lensbench.changes.task import read_task
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Repositories
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import run_files
from lensbench.core.system.files import read_json, write_json
from lensbench.core.system.program import run_program
from lensbench.judging.changes import judge_patch, tested_file
from lensbench.plan.frozen import read_plan


def judge_run(folder: Path, run: RunId) -> str:
    """Judges the patch of a run and writes tests/<run>.json; returns the outcome as a sentence."""
    plan, repositories = read_plan(folder), read_json(RunFolder(folder).repositories, Repositories, needed=True)
    repository = repositories[plan["tasks"][run.task]["repository"] or ""]
    environment = read_environment(read_json(RunFolder(folder).environments, needed=True)[run.task])
    patch = run_files(folder, run).patch
    try:
        content = patch.read_bytes()
    except OSError as error:
        raise UserError(f"{patch}: {error.strerror}; delete the run's answer to repeat it") from None
    tested = judge_patch(
        RunFolder(folder).judging_tests, read_task(folder, run.task), Path(repository["tree"]),
        repository["tree_sha256"], content, find_sandbox(plan.get("sandbox")), environment,
    )  # fmt: skip
    write_json(tested_file(folder, run), asdict(tested))
    return tested.unstarted or "; ".join(reason for _, reason in tested.verdicts)


def main() -> None:
    """Run the hidden tests on the patch of one run."""
    parser = argparse.ArgumentParser(prog="python -m lensbench.judging.testing", description=main.__doc__)
    parser.add_argument("--folder", required=True, type=Path, help="bench/<run_id>")
    parser.add_argument("--task", required=True)
    parser.add_argument("--condition", required=True)
    parser.add_argument("--trial", type=int, default=1)
    arguments = parser.parse_args()
    run = RunId(arguments.task, arguments.condition, arguments.trial)
    print(f"{run.stem}: {judge_run(arguments.folder, run)}", file=sys.stderr)


if __name__ == "__main__":
    run_program(main)
