"""Tries change tasks with patches other than their references (tricks.yaml, assertions.yaml, odd.yaml).

null     no change                 nothing is resolved
oracle   the reference             everything is
tricks   what agents were seen to do, and what they might: as much as `null`
odd      right, but unlike the reference: as much as `oracle`
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import calculator
import yaml
from calculator import patch_of

from lensbench.agents.sandbox import Sandbox
from lensbench.changes.environment import prepare_environment
from lensbench.changes.task import ChangeTask
from lensbench.core.system.trees import hash_tree
from lensbench.judging.changes import StoredRuns, judge_patch
from lensbench.repositories.sources.git_program import git
from lensbench_tasks.changes.suites import RUNNERS
from stock import write

NULL, ORACLE, ASIDE = "null", "oracle", "files that are put aside"
RUST_HOME = ""
"""The folder of Rust's programs, which rustup keeps in the home folder; "" where it has none, as in an empty one."""
if shutil.which("rustc"):
    RUST_HOME = subprocess.run(
        ["rustc", "--print", "sysroot"], capture_output=True, text=True
    ).stdout.strip()
Files = Mapping[str, str | None]


@dataclass(frozen=True)
class Project:
    """A project with a defect, its hidden tests and patches to try."""

    name: str
    files: Files
    tests: Mapping[str, Any]
    fixed: Files
    changes: Mapping[str, Files]
    environment: tuple[str, ...] = ()


def projects(name: str) -> Iterator[Project]:
    """Those of a file beside this one."""
    told = yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    texts = {"=" + name: text for name, text in told["texts"].items()}
    texts |= {
        "=" + name.lower(): text for name, text in vars(calculator).items() if isinstance(text, str)
    }

    def text_of(given: str | Sequence[str] | None) -> str | None:
        pieces = [given] if isinstance(given, str) else given
        joined = None if pieces is None else "".join(texts.get(piece, piece) for piece in pieces)
        return joined and joined.replace("${python}", sys.executable)

    def files_of(given: Mapping[str, Any]) -> Files:
        return {path: text_of(text) for path, text in given.items()}

    for each in told["projects"]:
        tests = each["tests"]
        runner = tests.pop("runner", "")
        command = [*(RUNNERS[runner].command if runner else ()), *map(text_of, tests["command"])]
        tests |= {"files": files_of(tests["files"]), "command": command}
        changes = {name: files_of(files) for name, files in each["changes"].items()}
        files = files_of(each["files"])
        fixed = files_of(each["fixed"])
        yield Project(each["name"], files, tests, fixed, changes, _environment(runner))


def _environment(runner: str) -> tuple[str, ...]:
    """The commands that install what the tests need."""
    install = RUNNERS[runner].install if runner else ""
    if runner not in ("jest", "mocha", "vitest"):
        return (install,) if install else ()
    packages = (
        "cp package.json /env/ && cd /env && npm install --ignore-scripts --no-audit --no-fund"
    )
    return packages, *(
        [f"cd /env && npm install --no-save --ignore-scripts {install}"] if install else []
    )


@dataclass(frozen=True)
class Tried:
    """The score of an agent's change."""

    project: str
    change: str
    score: Fraction
    """The share (0 to 1) that the test criterion gained."""
    said: str
    applied: tuple[str, ...]
    """The files of the change that are not put aside."""


def projects_here(*names: str) -> list[Project]:
    """The projects of these files whose test runner is on this machine."""
    return [each for name in names for each in projects(name) if _runs_here(each)]


def _runs_here(project: Project) -> bool:
    if "package.json" in project.files:
        return shutil.which("node") is not None
    if "Cargo.toml" in project.files:
        return bool(RUST_HOME)
    return find_spec("pytest") is not None


def try_changes(project: Project, sandbox: Sandbox, cache: Path) -> Iterator[Tried]:
    """Judges no change, the reference, and each trick of a project; its environment is in `cache`."""
    with TemporaryDirectory(prefix="lb-control-") as name:
        folder = Path(name)
        tree = folder / "tree"
        tree.mkdir()
        write(tree, project.files)
        git(tree, "init", "--quiet")
        changes = {NULL: {}, ORACLE: project.fixed, **project.changes}
        patches = {
            change: patch_of(tree, files, folder / f"{n}")
            for n, (change, files) in enumerate(changes.items())
        }
        task = ChangeTask.model_validate(
            {
                "id": "control",
                "kind": "change",
                "category": "Debug",
                "prompt": "Sums come out wrong. Mend that.",
                "reference": patches[ORACLE].decode(),
                "tests": project.tests,
            }
        )
        environment = prepare_environment(project.environment, tree, cache, sandbox)
        runs = StoredRuns(folder / "kept", tree, hash_tree(str(tree)), sandbox, environment)
        for change, patch in patches.items():
            tested = judge_patch(runs, task, patch)
            said = tested.unstarted or tested.reason
            applied = tuple(path for path in tested.size.files if path not in tested.left_out)
            yield Tried(project.name, change, tested.judgement.points or Fraction(0), said, applied)
