"""The files of a generated set: the tasks as YAML, and a report on what was kept, repaired and dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import yaml

from lensbench.core.numbers import percent
from lensbench.core.system.terminal import printable
from lensbench.core.tasks import Category, Source, Task
from lensbench.plan.freeze import source_name
from lensbench_tasks.rounds import Examined, Fate, kept, tasks_of
from lensbench_tasks.survey import Survey

OUTCOMES = ("kept", "repaired", "dropped")
_WIDTH = 110


class Made(NamedTuple):
    """A generated set and its origin."""

    name: str
    source: Source
    author: str
    """A description of the author of the tasks."""
    wanted: int
    fates: Sequence[Fate]
    known: Survey
    """The survey of the repository."""
    warnings: Sequence[str] = ()

    @property
    def tasks(self) -> list[Task]:
        """The tasks of the set."""
        return tasks_of(self.fates)


def render_set(made: Made) -> str:
    """The task set as YAML."""
    value = set_value(made)
    head = [
        f"# {len(made.tasks)} tasks about {printable(source_name(made.source))}, proposed by {printable(made.author)}.",
        f"# Each criterion has proofs: `lensbench prove` looks them up. Report: {made.name}.report.md",
    ]
    return "\n".join(head) + "\n" + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=_WIDTH)


def set_value(made: Made) -> dict[str, Any]:
    """The set as plain data."""
    tasks = [task.model_dump(mode="json", exclude_defaults=True) | {"repository": made.name} for task in made.tasks]
    return {
        "name": made.name,
        "repositories": {made.name: made.source.model_dump(mode="json")},
        "tasks": [{key: task[key] for key in ("id", "category", "repository", "prompt", "criteria")} for task in tasks],
    }


def render_report(made: Made) -> str:
    """The report as Markdown."""
    return "\n".join([
        f"# Generated tasks: {made.name}", "",
        f"- Repository: {plain_text(source_name(made.source))}",
        f"- Proposed by: {plain_text(made.author)}",
        f"- Tasks: {len(made.tasks)} of {made.wanted} that were wanted",
        *(f"- **Note**: {plain_text(warning)}" for warning in made.warnings), "",
        *_counts(made.fates), "",
        *_kept(made.fates), *_dropped(made.fates),
    ])  # fmt: skip


def _counts(fates: Sequence[Fate]) -> Iterator[str]:
    counts = Counter((fate.proposal.category, fate.outcome) for fate in fates)
    yield "| Category | Proposed | Kept as proposed | Repaired | Dropped |"
    yield "|---|--:|--:|--:|--:|"
    for category in Category:
        row = [counts[category, outcome] for outcome in OUTCOMES]
        yield f"| {category.value} | {sum(row)} | {' | '.join(map(str, row))} |"
    total = [sum(counts[category, outcome] for category in Category) for outcome in OUTCOMES]
    shares = [f"{count} ({percent(Fraction(count, sum(total)))})" if sum(total) else "0" for count in total]
    yield f"| All | {sum(total)} | {' | '.join(shares)} |"


def _kept(fates: Iterable[Fate]) -> Iterator[str]:
    yield from ("## The set", "", "Scores of what must not solve a task, one search and an agent without a model, and "
                "of what must, an agent that states the facts. Complete is 80%.", "")  # fmt: skip
    yield "| Task | Criteria | One search | Without a model | The facts | Repaired because |"
    yield "|---|--:|--:|--:|--:|---|"
    for fate in kept(fates):
        task, tried = fate.proposal.task, fate.tries[-1].tried
        scores = map(percent, tried or ())
        cells = [fate.proposal.id, str(len(task.criteria) if task else 0), *scores, _reasons(fate.tries[:-1])]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _reasons(tries: Iterable[Examined]) -> str:
    return ", ".join(dict.fromkeys(problem.reason.value for each in tries for problem in each.problems))


def _dropped(fates: Iterable[Fate]) -> Iterator[str]:
    dropped = [fate for fate in fates if fate.outcome == "dropped"]
    if dropped:
        yield from ("## Dropped", "")
    for fate in dropped:
        yield f"- **{fate.proposal.id}** ({fate.proposal.category.value}), after {len(fate.tries)} of its proposals:"
        yield from (f"  - `{problem.reason.value}`: {plain_text(str(problem))}" for problem in fate.tries[-1].problems)
    yield ""


def plain_text(text: str) -> str:
    """Foreign text on one line, with Markdown markup removed."""
    line = " ".join(printable(text).split())[:300]
    return "".join(f"\\{each}" if each in "\\`*_[]<>#|!" else each for each in line)
