"""Writes a task set about a repository, and a page about its tasks and about those that were dropped.

lensbench generate --repo ../my-project --count 12 --output scenarios/my-project.yaml
lensbench generate --count 48 --output scenarios/my-project.yaml    # adds tasks
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lensbench.core.errors import UserError, printable
from lensbench.core.system.files import write_atomic
from lensbench.core.system.processes import adopt_orphans
from lensbench.core.system.program import Parser, positive, run_program
from lensbench.core.tasks import Category, Source, Task
from lensbench.plan.config import Config
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare
from lensbench_tasks.author import Author, asked_agent
from lensbench_tasks.changes.program import add_options, write_changes
from lensbench_tasks.files import Made, render_set, with_more
from lensbench_tasks.mining.writer import Miners
from lensbench_tasks.pin import Pinned, pin
from lensbench_tasks.problems import find_problems
from lensbench_tasks.review_page import render_review
from lensbench_tasks.rounds import (
    Examined,
    Fate,
    Proposal,
    Writer,
    kept,
    last_numbers,
    missing_of,
    run_rounds,
)
from lensbench_tasks.settings import config_of, is_offline, names_of
from lensbench_tasks.survey import Survey
from lensbench_tasks.trial import try_task


@dataclass(frozen=True)
class Examiner:
    """Examines proposals: first by reading, then by trying those without problems."""

    survey: Survey
    tools: frozenset[str]
    earlier: Sequence[Task] = ()
    """The tasks that the set had before."""

    def __call__(self, proposal: Proposal, others: Sequence[Task]) -> Examined:
        """The examined proposal, given the tasks kept so far."""
        result = self._examine(proposal, [*self.earlier, *others])
        said = f"left out: {'; '.join(map(str, result.problems))}" if result.problems else "good"
        print(printable(f"{proposal.id}: {said}"), file=sys.stderr, flush=True)
        return result

    def _examine(self, proposal: Proposal, others: Sequence[Task]) -> Examined:
        if proposal.task is None:
            return Examined(proposal.problems)
        problems = find_problems(proposal.task, self.survey, others, self.tools)
        trial = None if problems else try_task(proposal.task, self.survey)
        return Examined(tuple(trial.problems if trial else problems), trial)


def generate(
    name: str,
    source: Source,
    count: int,
    config: Config,
    folder: Path,
    earlier: Sequence[Task] = (),
) -> Made:
    """Generates what a set with the `earlier` tasks lacks until it has `count`; a model's replies are stored in
    `folder`. Raises UserError."""
    tree = prepare(source, Path(config.cache)).tree.resolve()  # lens does not follow links
    overview = Survey.read(tree)
    after, counts = last_numbers(name, earlier), missing_of(count, earlier)
    writer: Writer
    if is_offline(config):
        writer = Miners(overview, name, source, config.seed, after)
    else:
        writer = Author(name, source, overview.root, asked_agent(config, folder), after)
    fates = run_rounds(writer, Examiner(overview, names_of(config), earlier), counts)
    author = (
        "the miners (no language model)"
        if is_offline(config)
        else config.agent.model or config.agent.kind
    )
    is_spent = isinstance(writer, Author) and writer.asked.spent_all
    note = (f"the budget of {config.budget.max_usd} US dollars ended the work",) if is_spent else ()
    return Made(
        name,
        source,
        author,
        sum(counts.values()),
        fates,
        overview,
        (*note, *_lacking(fates, counts)),
    )


def _lacking(fates: Sequence[Fate], counts: Mapping[Category, int]) -> Iterator[str]:
    """A sentence for each category with fewer tasks than wanted."""
    categories = [fate.proposal.category for fate in kept(fates)]
    for category, count in counts.items():
        if (number := categories.count(category)) < count:
            yield f"{category.value} has {number} of {count} tasks: no more valid tasks were found"


def write(result: Made, output: Path) -> None:
    """Writes both files; adds to the set if it is there. Raises UserError when there is no task."""
    if not result.tasks:
        raise UserError(
            f"none of {len(result.fates)} tried tasks is valid: it has too little source code, or none"
        )
    before = output.read_text(encoding="utf-8") if output.exists() else ""
    write_atomic(output, with_more(before, result) if before else render_set(result))
    write_atomic(output.with_suffix(".review.html"), render_review(result))
    read_scenarios([str(output)])


def main() -> None:
    """Write a task set about a repository, with proven facts."""
    parser = Parser(prog="lensbench generate", description=main.__doc__)
    parser.add_argument(
        "--kind",
        choices=("question", "change"),
        default="question",
        help="what the tasks ask for: an answer or a code change (default: question)",
    )
    where = add_options(parser)
    where.add_argument(
        "--repo", help="the repository: a git URL or a folder (default: that of the set)"
    )
    parser.add_argument(
        "--count", type=positive, default=12, help="how many tasks the set is to have"
    )
    parser.add_argument(
        "--output", required=True, type=Path, help="the YAML file to write, or to add tasks to"
    )
    parser.add_argument(
        "--configfile",
        type=Path,
        help="the config whose agent writes the tasks, within its budget (default: no model)",
    )
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,49}\.yaml", arguments.output.name):
        raise UserError(
            f"--output {arguments.output}: its name is the prefix of the tasks' ids; use a-z, 0-9 and '-', then .yaml"
        )
    adopt_orphans()
    config = config_of(arguments.configfile)
    if arguments.kind == "change":
        write_changes(arguments, config)
        return
    exists = arguments.output.exists()
    if not arguments.repo and not exists:
        raise UserError("question tasks need --repo; for the other sources add --kind change")
    earlier = read_scenarios([str(arguments.output)]).tasks if exists else ()
    origin = Pinned(_source_of(earlier, arguments)) if earlier else pin(arguments.repo)
    folder = arguments.output.with_suffix(".transcripts")
    result = generate(
        arguments.output.stem, origin.source, arguments.count, config, folder, earlier
    )
    if origin.warning:
        result = result._replace(warnings=(f"{arguments.repo}: {origin.warning}", *result.warnings))
    write(result, arguments.output)
    review = arguments.output.with_suffix(".review.html")
    count = len(earlier) + len(result.tasks)
    print(f"{arguments.output}: {count} of {arguments.count} tasks; see {review} for the others")


def _source_of(earlier: Sequence[Task], arguments: argparse.Namespace) -> Source:
    """The repository of the set that is there. Raises UserError when no task can be added to it."""
    sources = {task.repository for task in earlier if task.repository}
    if arguments.repo or len(sources) != 1:
        raise UserError(
            f"{arguments.output} exists: omit --repo to add tasks about its only repository, or use another --output"
        )
    if len(earlier) >= arguments.count:
        raise UserError(
            f"{arguments.output} has {len(earlier)} tasks; to add some, write a --count above that"
        )
    return next(iter(sources))


if __name__ == "__main__":
    run_program(main)
