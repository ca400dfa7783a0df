"""Builds the set of change tasks from pairs of releases: `python benchmarks/change_set.py`.

change_set.yaml names the pairs, how their tests are run, and what the tasks ask. Writes scenarios/changes.yaml, the
references beside it, scenarios/changes-demo.yaml (DEMO of the tasks), and docs/reference/change-set.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes.task import content_bytes
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import ROOT
from lensbench.plan.config import DEFAULT_CACHE
from lensbench_tasks.changes.candidates import ChangeFate, Prover
from lensbench_tasks.changes.from_releases import read_releases, tasks_between
from lensbench_tasks.changes.proof import given_away
from lensbench_tasks.changes.writing import render_report, write_set

RECIPE = Path(__file__).with_suffix(".yaml")
DEMO = 6
TIMEOUT_S = 60
PAGE = ROOT / "docs" / "reference" / "change-set.md"
HEAD = """\
# The change tasks

Written by `python benchmarks/change_set.py`; seconds and MB are those of the hidden tests with the reference.
"""


def made(recipe: dict[str, Any]) -> Iterator[ChangeFate]:
    """The outcomes for the changes between all pairs of releases."""
    sandbox = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
    for pair in recipe["pairs"]:
        suite = recipe["suites"][pair["suite"]]
        bench = Prover(
            sandbox, Path(DEFAULT_CACHE), suite["environment"], suite["command"], TIMEOUT_S
        )
        try:
            yield from tasks_between(read_releases(pair["releases"]), bench)
        except UserError as error:
            print(f"{pair['releases']}: {error}", file=sys.stderr)


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


def write(fates: Sequence[ChangeFate]) -> None:
    """Writes the two sets and the table."""
    head = "Tasks whose answer is a change (docs/changes.md). Made by benchmarks/change_set.py."
    write_set("changes", fates, ROOT / "scenarios" / "changes.yaml", head)
    write_set(
        "changes-demo",
        demo(fates),
        ROOT / "scenarios" / "changes-demo.yaml",
        head,
        ROOT / "scenarios" / "changes",
    )
    write_atomic(PAGE, render_report(HEAD, fates))


def demo(fates: Sequence[ChangeFate]) -> list[ChangeFate]:
    """The fastest task of each project, at most DEMO."""
    best: dict[str, ChangeFate] = {}
    for fate in sorted(
        (fate for fate in fates if fate.task),
        key=lambda fate: fate.proof.seconds if fate.proof else 0,
    ):
        best.setdefault(re.sub(r"(-\d+)+$", "", fate.id), fate)
    return list(best.values())[:DEMO]


def main() -> None:
    """Builds the set."""
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    write(with_prompts(list(made(recipe)), recipe["prompts"]))


if __name__ == "__main__":
    main()
