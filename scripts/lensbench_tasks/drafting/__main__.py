"""Writes a task set as YAML with draft patterns for criteria that have none, and review comments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.program import run_program
from lensbench.core.tasks import Criterion, Task
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.drafting import with_drafts

_NEGATION = re.compile(
    r"\b(not|no|never|none|nothing|neither|nor|without|cannot|only|instead|rather than)\b|n't\b", re.IGNORECASE
)
_WIDTH = 110


def doubts(criterion: Criterion) -> Iterator[str]:
    """Review comments on a draft, one sentence each; or why there is none."""
    if not criterion.mechanical:
        yield "no draft: there is no name, path or number to search for, or the question gives it away"
    if not criterion.drafted:
        return
    if found := _NEGATION.search(criterion.text):
        yield f"the text says {found[0]!r}, and the draft asks for a negation near it: does it find this one?"
    if re.search(r"\bor\b", criterion.text):
        yield "what the text joins with 'or' was taken for alternatives"
    if any(character.isdigit() for character in criterion.text):
        yield "check each number, and the words near which it has to stand"
    if len(criterion.all_of) == 1 and not criterion.any_of:
        yield "one pattern is all that is asked: does it say the whole fact?"


def render(tasks: Sequence[Task], source: str) -> str:
    """The set as YAML, with marked drafts and their number in the header."""
    criteria = [criterion for task in tasks for criterion in task.criteria]
    drafted = sum(criterion.drafted for criterion in criteria)
    bare = sum(not criterion.mechanical for criterion in criteria)
    lines = [
        f"# Made of {source}. Criteria: {len(criteria)}; with drafted patterns: {drafted}; without any: {bare}.",
        "# A draft is a machine's proposal. Look at each one, then accept it by removing `drafted: true`, or edit it.",
        "tasks:",
        *(line for task in tasks for line in _task_lines(task)),
    ]
    return "\n".join(lines) + "\n"


def _task_lines(task: Task) -> Iterator[str]:
    head = task.model_dump(mode="json", exclude={"criteria"}, exclude_none=True)
    yield from _item(head, "  ")
    yield "    criteria:"
    for criterion in task.criteria:
        yield from (f"      # look: {doubt}" for doubt in doubts(criterion))
        yield from _item(criterion.model_dump(mode="json", exclude_defaults=True), "      ")


def _item(value: dict[str, object], indent: str) -> Iterator[str]:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=_WIDTH)
    for number, line in enumerate(text.removesuffix("\n").split("\n")):
        yield f"{indent}{'  ' if number else '- '}{line}" if line else ""


def main() -> None:
    """Propose patterns for the criteria of task sets that have none."""
    parser = argparse.ArgumentParser(prog="lensbench draft", description=main.__doc__)
    parser.add_argument("sets", nargs="+", type=Path, metavar="set", help="a task set, Markdown or YAML")
    told = "the YAML file to write, or a folder for several sets; existing files are not overwritten"
    parser.add_argument("--output", required=True, type=Path, help=told)
    arguments = parser.parse_args()
    targets = _targets(arguments.sets, arguments.output)
    read_scenarios(list(map(str, arguments.sets)), imported=True)  # no id twice
    for path, target in zip(arguments.sets, targets, strict=True):
        tasks = [with_drafts(task) for task in read_scenarios([str(path)], imported=True).tasks]
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, render(tasks, path.name))
        drafted = sum(criterion.drafted for task in tasks for criterion in task.criteria)
        print(f"{target}: {drafted} criteria with drafted patterns; review each one before use")


def _targets(sets: Sequence[Path], output: Path) -> list[Path]:
    """The file to write for each set. Raises UserError when one exists, or would be written twice."""
    if len(sets) > 1 and output.suffix in (".yaml", ".yml"):
        raise UserError(f"--output {output}: several sets need a folder, with one file for each")
    targets = [output / f"{path.stem}.yaml" for path in sets] if len(sets) > 1 else [output]
    for target in targets:
        if target.exists() or targets.count(target) > 1:
            why = "already exists and may contain your work" if target.exists() else "would be written twice"
            raise UserError(f"{target} {why}; give another name")
    return targets


if __name__ == "__main__":
    run_program(main)
