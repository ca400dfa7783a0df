"""Builds a set of change tasks from pairs of releases: `python benchmarks/change_set.py [recipe]`.

A recipe names how tests are run, and what the tasks ask. change_set.yaml names pairs whose changes the tests separate;
deep_set.yaml the files of single fixes in large repositories, which a person chose. Writes scenarios/<set>.yaml, the
references and a table of the proofs beside it, and scenarios/<set>-demo.yaml; `tools/docs/reference.py` shows the
table.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes.task import content_bytes
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import ROOT
from lensbench.plan.config import DEFAULT_CACHE
from lensbench.plan.freeze import source_name
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.candidates import ChangeFate, Prover
from lensbench_tasks.changes.from_releases import read_releases, tasks_between
from lensbench_tasks.changes.nearness import changed_files, tree_files
from lensbench_tasks.changes.proof import given_away
from lensbench_tasks.changes.writing import render_report, write_set

sys.path.insert(0, str(ROOT / "benchmarks" / "inputs"))
from chosen_fixes import ChosenFix, chosen_task

RECIPE = Path(__file__).with_suffix(".yaml")
TIMEOUT_S = 60
HEAD = """\
Written by `python benchmarks/{}`; seconds and MB are those of the hidden tests with the reference.
"""


def made(recipe: dict[str, Any]) -> Iterator[ChangeFate]:
    """The outcomes for the changes between all pairs of releases, and for the chosen fixes."""
    for pair in recipe.get("pairs", ()):
        try:
            yield from tasks_between(read_releases(pair["releases"]), _bench(recipe, pair))
        except UserError as error:
            print(f"{pair['releases']}: {error}", file=sys.stderr)
    for fix in recipe.get("fixes", ()):
        try:
            yield kept(fix, recipe)
        except UserError as error:
            print(f"{fix['id']}: {error}", file=sys.stderr)


def kept(fix: dict[str, Any], recipe: dict[str, Any]) -> ChangeFate:
    """The outcome for a fix that a person chose, from an earlier start if it says the same: all proofs take hours."""
    words = json.dumps([fix, recipe["suites"][fix["suite"]]])
    key = hashlib.sha256(words.encode()).hexdigest()[:16]
    file = Path(DEFAULT_CACHE) / "fates" / f"{key}.pickle"
    if file.is_file():
        found: ChangeFate = pickle.loads(file.read_bytes())
        return found
    fate = deep_enough(chosen(fix, _bench(recipe, fix)))
    print(f"{fix['id']}: {fate.sentence}", file=sys.stderr)
    write_atomic(file, pickle.dumps(fate))
    return fate


def _bench(recipe: dict[str, Any], entry: dict[str, Any]) -> Prover:
    suite = recipe["suites"][entry["suite"]]
    sandbox = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
    timeout_s = suite.get("timeout_s", TIMEOUT_S)
    command = suite.get("command", "")
    return Prover(
        sandbox,
        Path(DEFAULT_CACHE),
        suite["environment"],
        command,
        timeout_s,
    )


def chosen(fix: dict[str, Any], bench: Prover) -> ChangeFate:
    """The outcome for a fix that a person chose."""
    choice = ChosenFix(fix["id"], fix["prompt"].strip(), tuple(fix["paths"]), fix.get("words", ""))
    return chosen_task(choice, read_releases(fix["releases"]), bench)


def deep_enough(fate: ChangeFate) -> ChangeFate:
    """The outcome; a task on which a code server can show nothing is dropped."""
    if fate.task is None:
        return fate
    files = changed_files(content_bytes(fate.task.reference).decode())
    if not 2 <= len(files) <= 6 or len({PurePosixPath(path).parent for path in files}) < 2:
        reason = f"its reference changes {', '.join(files)}: 2 to 6 files in two folders are wanted"
        return fate._replace(
            task=None,
            reasons=(reason,),
        )
    if fate.task.told or fate.task.small:
        return fate._replace(
            task=None,
            reasons=("its prompt tells the fix, or the fix is small",),
        )
    return fate


def with_prompts(fates: Sequence[ChangeFate], prompts: dict[str, str]) -> list[ChangeFate]:
    """The outcomes with prompts by a person; a task without one, or with one that leaks, is dropped."""
    return [_with_prompt(fate, prompts.get(fate.id, "")) for fate in fates]


def _with_prompt(fate: ChangeFate, prompt: str) -> ChangeFate:
    if fate.task is None:
        return fate
    if not prompt:
        return fate._replace(task=None, reasons=("nobody has written what it asks",))
    if not fate.task.tests.pass_to_pass:
        return fate._replace(
            task=None,
            reasons=("no test passes before and after, so breaking things costs nothing",),
        )
    if given := given_away(prompt, content_bytes(fate.task.reference)):
        return fate._replace(
            task=None, reasons=(f"its prompt holds a line of the reference: {given!r}",)
        )
    return fate._replace(task=fate.task.model_copy(update={"prompt": prompt.strip()}))


def write(recipe: dict[str, Any], command: str, fates: Sequence[ChangeFate]) -> None:
    """Writes the two sets and the table of the proofs."""
    name = recipe["name"]
    folder = ROOT / "scenarios"
    head = f"Tasks whose answer is a change (docs/changes.md). Made by benchmarks/{command}."
    write_set(name, fates, folder / f"{name}.yaml", head)
    chosen_ones = demo(fates, recipe["demo"])
    write_set(f"{name}-demo", chosen_ones, folder / f"{name}-demo.yaml", head, folder / name)
    text = render_report(HEAD.format(command), fates)
    if "fixes" in recipe:
        text += depths(fates)
    write_atomic(folder / name / "proofs.md", text)


def depths(fates: Sequence[ChangeFate]) -> str:
    """The table of how large the repositories are, and how far the references reach."""
    lines = [
        "",
        "| task | repository | its files | files of the reference | in folders |",
        "|---|---|--:|--:|--:|",
    ]
    for task in (fate.task for fate in fates if fate.task):
        assert task.repository
        tree = prepare(task.repository, Path(DEFAULT_CACHE)).tree
        size = sum(1 for _ in tree_files(tree))
        files = changed_files(content_bytes(task.reference).decode())
        folders = {PurePosixPath(path).parent for path in files}
        about = source_name(task.repository)
        lines.append(f"| {task.id} | {about} | {size} | {len(files)} | {len(folders)} |")
    return "\n".join(lines) + "\n"


def demo(fates: Sequence[ChangeFate], wanted: int | list[str]) -> list[ChangeFate]:
    """The tasks of these names; or the fastest task of each project, at most as many as `wanted`."""
    if isinstance(wanted, list):
        return [fate for fate in fates if fate.id in wanted]
    best: dict[str, ChangeFate] = {}
    for fate in sorted(
        (fate for fate in fates if fate.task),
        key=lambda fate: fate.proof.seconds if fate.proof else 0,
    ):
        assert fate.task
        assert fate.task.repository
        best.setdefault(source_name(fate.task.repository).partition("@")[0].partition("=")[0], fate)
    return list(best.values())[:wanted]


def main() -> None:
    """Builds the set."""
    path = Path(sys.argv[1]) if sys.argv[1:] else RECIPE
    recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    prompts = recipe.get("prompts") or {fix["id"]: fix["prompt"] for fix in recipe["fixes"]}
    command = f"change_set.py{f' benchmarks/{path.name}' if sys.argv[1:] else ''}"
    write(recipe, command, with_prompts(list(made(recipe)), prompts))


if __name__ == "__main__":
    main()
