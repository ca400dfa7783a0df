"""Draft patterns: automatic proposals for criteria in prose, until a person accepts or edits them.

    lensbench draft scenarios.md --output drafted.yaml

The patterns are the names, paths, numbers and code of the criterion's text (`fact_pieces`) and nothing else: answers
keep these and change its words. A text without any has no draft. The set has review comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.program import Parser, run_program
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges.denying import has_negation
from lensbench.judging.judges.fact_pieces import cut, pattern_of
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.files import yaml_text

FEW = 2
"""Answers to other questions may have the only piece of a fact, so a person is told."""


def with_drafts(task: Task) -> Task:
    """The task with draft patterns for each criterion that has none."""
    criteria = tuple(draft(criterion) for criterion in task.criteria)
    return task.model_copy(update={"criteria": criteria})


def draft(criterion: Criterion) -> Criterion:
    """The criterion with patterns from its text, marked as `drafted`; unchanged if it has patterns, or no piece.

    Met requires every piece, Partial half of them.
    """
    if criterion.mechanical:
        return criterion
    pieces = [pattern_of(piece) for piece in cut(criterion.text)]
    if not pieces:
        return criterion
    patterns: dict[str, object] = {"all_of": pieces}
    if len(pieces) > 1:
        half = -(-len(pieces) // 2)
        patterns["partial"] = {"half of it": {"n": half, "of": pieces}}
    try:
        return Criterion.model_validate({"text": criterion.text, **patterns, "drafted": "strict"})
    except ValidationError:
        return criterion


def doubts(criterion: Criterion) -> Iterator[str]:
    """Review comments on a draft, one sentence each."""
    if not criterion.mechanical:
        yield "no draft, since the text has no name, path or number: write the patterns"
    if not criterion.drafted:
        return
    if has_negation(criterion.text):
        yield "the text is a negation, which the draft does not ask for: add a pattern for it"
    if re.search(r"\bor\b", criterion.text):
        yield "the draft counts what the text joins with 'or' as separate pieces: move alternatives to any_of"
    if re.search(r"\d", criterion.text):
        yield "check each number: other spellings of it are not found"
    if len(cut(criterion.text)) < FEW:
        yield "one name, path or number only, which other answers may have: add what must be said about it"


def render(tasks: Sequence[Task], source: str) -> str:
    """The set as YAML, with marked drafts and their number in the header."""
    count = sum(len(task.criteria) for task in tasks)
    lines = [
        f"# Made of {source}. Criteria: {count}; with drafts: {_drafted(tasks)}.",
        "# A draft is a machine's proposal. Look at each one; accept it by removing `drafted: strict`, or edit it.",
        "tasks:",
    ]
    for task in tasks:
        lines += _task_lines(task)
    return "\n".join(lines) + "\n"


def _drafted(tasks: Iterable[Task]) -> int:
    criteria = [criterion for task in tasks for criterion in task.criteria]
    return sum(criterion.drafted is not None for criterion in criteria)


def _task_lines(task: Task) -> Iterator[str]:
    head = task.model_dump(mode="json", exclude={"criteria"}, exclude_none=True)
    yield from _item(head, "  ")
    yield "    criteria:"
    for criterion in task.criteria:
        for doubt in doubts(criterion):
            yield f"      # look: {doubt}"
        yield from _item(criterion.model_dump(mode="json", exclude_defaults=True), "      ")


def _item(value: dict[str, object], indent: str) -> Iterator[str]:
    for number, line in enumerate(yaml_text(value).removesuffix("\n").split("\n")):
        lead = "  " if number else "- "
        yield f"{indent}{lead}{line}" if line else ""


def main() -> None:
    """Propose patterns for the criteria of task sets that have none."""
    parser = Parser(prog="lensbench draft", description=main.__doc__)
    parser.add_argument(
        "sets", nargs="+", type=Path, metavar="set", help="a task set, Markdown or YAML"
    )
    hint = (
        "the YAML file to write, or a folder for several sets; existing files are not overwritten"
    )
    parser.add_argument("--output", required=True, type=Path, help=hint)
    arguments = parser.parse_args()
    targets = _targets(arguments.sets, arguments.output)
    names = [str(path) for path in arguments.sets]
    read_scenarios(names, imported=True)  # no id twice
    for path, target in zip(arguments.sets, targets, strict=True):
        prose = read_scenarios([str(path)], imported=True).tasks
        tasks = [with_drafts(task) for task in prose]
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, render(tasks, path.name))
        print(f"{target}: {_drafted(tasks)} criteria with drafts; review each one before use")


def _targets(sets: Sequence[Path], output: Path) -> list[Path]:
    """The file to write for each set. Raises UserError when one exists, or would be written twice."""
    if len(sets) > 1 and output.suffix in (".yaml", ".yml"):
        raise UserError(f"--output {output}: several sets need a folder, with one file for each")
    targets = [output]
    if len(sets) > 1:
        targets = [output / f"{path.stem}.yaml" for path in sets]
    for target in targets:
        if target.exists() or targets.count(target) > 1:
            why = "would be written twice"
            if target.exists():
                why = "already exists and may contain your work"
            raise UserError(f"{target} {why}; give another name")
    return targets


if __name__ == "__main__":
    run_program(main)
