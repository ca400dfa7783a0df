"""Writes a task set about a repository, and a page about its tasks and about those that were dropped.

lensbench generate --repo ../my-project --count 12 --output scenarios/my-project.yaml
lensbench generate --count 48 --output scenarios/my-project.yaml    # adds tasks
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import cast

from lensbench.core.errors import UserError, printable
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.system.files import write_atomic
from lensbench.core.system.processes import adopt_orphans
from lensbench.core.system.program import Parser, positive, run_program
from lensbench.core.system.progress import Progress, say
from lensbench.core.tasks import Category, Folder, Git, Npm, Pypi, Source, Task
from lensbench.plan.config import Config
from lensbench.plan.freeze import source_name
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare
from lensbench.scores.gate_words import with_noun
from lensbench.scores.needed import usual_tasks
from lensbench_tasks.author import Author, asked_agent
from lensbench_tasks.changes.program import add_options, write_changes
from lensbench_tasks.files import Made, render_set, with_more
from lensbench_tasks.mining.writer import Miners
from lensbench_tasks.pin import Pinned, pin
from lensbench_tasks.problems import find_problems
from lensbench_tasks.review_page import render_review
from lensbench_tasks.rounds import (
    CandidateResult,
    Examined,
    Proposal,
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
    progress: Progress
    earlier: Sequence[Task] = ()
    """The tasks that the set had before."""
    wanted: int = 0
    """How many tasks the set lacks."""

    def __call__(self, proposal: Proposal, others: Sequence[Task]) -> Examined:
        """The examined proposal, given the tasks kept so far."""
        self.progress.now(f"trying {proposal.id}", len(others), self.wanted)
        result = self._examine(proposal, [*self.earlier, *others])
        outcome = "good"
        if result.problems:
            outcome = f"omitted: {'; '.join(map(str, result.problems))}"
        say(f"{proposal.id}: {outcome}", sys.stderr)
        done = len(others)
        if not result.problems:
            done += 1
        self.progress.now("looking for the next question", done, self.wanted)
        return result

    def _examine(self, proposal: Proposal, others: Sequence[Task]) -> Examined:
        if proposal.task is None:
            return Examined(proposal.problems)
        problems = find_problems(proposal.task, self.survey, others, self.tools)
        if problems:
            return Examined(tuple(problems))
        trial = try_task(proposal.task, self.survey)
        return Examined(tuple(trial.problems), trial)


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
    with Progress(f"fetching {source_name(source)}") as progress:
        tree = prepare(source, Path(config.cache)).tree.resolve()  # lens does not follow links
        overview = Survey.read(
            tree, lambda done, of: progress.now("reading the repository's files", done, of)
        )
        counts = missing_of(count, earlier)
        wanted = sum(counts.values())
        examiner = Examiner(overview, names_of(config), progress, earlier, wanted)
        if is_offline(config):
            progress.now("looking for questions")
            miners = Miners(overview, name, source, config.seed, earlier)
            fates = run_rounds(miners, examiner, counts)
            return Made(name, source, "the miners (no language model)", wanted, fates, overview)
        asked = asked_agent(config, folder)
        progress.usd = lambda: asked.ledger.usd_so_far
        progress.now(f"asking {config.agent.kind} for tasks", 0, wanted)
        author = Author(name, source, tree, asked, last_numbers(name, earlier))
        fates = run_rounds(author, examiner, counts)
        notes = list(_lacking(fates, counts))
        if asked.spent_all:
            notes.insert(0, f"the budget of {config.budget.max_usd} US dollars ended the work")
        writer = config.agent.model or config.agent.kind
        return Made(name, source, writer, wanted, fates, overview, notes)


def _lacking(fates: Sequence[CandidateResult], counts: Mapping[Category, int]) -> Iterator[str]:
    """A sentence for each category with fewer tasks than wanted."""
    categories = [fate.proposal.category for fate in kept(fates)]
    for category, count in counts.items():
        number = categories.count(category)
        if number < count:
            yield f"{category.value} has {number} of {count} tasks: no more valid tasks were found"


def write(result: Made, output: Path) -> None:
    """Writes the set, or adds to the one that is there, and its review page."""
    before = output.read_text(encoding="utf-8") if output.exists() else ""
    write_atomic(output, with_more(before, result) if before else render_set(result))
    write_atomic(output.with_suffix(".review.html"), render_review(result))
    read_scenarios([str(output)])


def summary(result: Made, earlier: int, output: Path, config: Config) -> Iterator[str]:
    """The lines that end the work: what is new, and what else to do if a verdict needs more tasks."""
    total = earlier + len(result.tasks)
    wanted = earlier + result.wanted
    if result.tasks:
        new = f" ({len(result.tasks)} new)" if earlier else ""
        review = output.with_suffix(".review.html")
        yield f"{output}: {total} of {wanted} tasks{new}; see {review} for the others"
    else:
        yield f"{output}: nothing new; it has {total} tasks"
    needed = usual_tasks(cast("GateSettings", config.gate.model_dump()))
    if needed is not None and total < needed and is_offline(config):
        yield from _ways_to_more(result, total, needed, output)


def _ways_to_more(result: Made, total: int, needed: int, output: Path) -> Iterator[str]:
    """The commands that add tasks to a set of structural questions."""
    if len(result.tasks) == result.wanted:
        yield f"A verdict needs about {needed}: lensbench generate --count {needed} --output {output}"
        return
    questions = with_noun(total, "structural question")
    changes = output.with_name(f"{output.stem}-changes.yaml")
    yield f"{questions} found; a verdict needs about {needed}:"
    yield f"  add a repository: lensbench generate --repo <another> --output {output.with_name('another.yaml')}"
    yield (
        "  change tasks from its history: "
        f"lensbench generate --kind change {_changes_of(result.source)} --output {changes}"
    )
    yield (
        "  let a model write more: "
        f"lensbench generate --count {needed} --configfile <config with an agent> --output {output}"
    )


def _changes_of(source: Source) -> str:
    """The option of `generate` for change tasks of a source."""
    match source:
        case Git():
            return f"--repo {quote(source.git)}"
        case Folder():
            return f"--repo {quote(source.path)}"
        case Pypi():
            return f"--releases pypi:{source.pypi.partition('==')[0]}@<earlier>..<later>"
        case Npm():
            return f"--releases npm:{source.npm.rpartition('@')[0]}@<earlier>..<later>"


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
        with Progress("trying changes") as progress:
            write_changes(arguments, config, progress)
    else:
        write_questions(arguments, config)


def write_questions(arguments: argparse.Namespace, config: Config) -> None:
    """Writes or extends a set of questions. Raises UserError when there is none to write."""
    output = arguments.output
    if not arguments.repo and not output.exists():
        raise UserError("question tasks need --repo; for the other sources add --kind change")
    earlier: Sequence[Task] = ()
    if output.exists():
        earlier = read_scenarios([str(output)]).tasks
    origin = Pinned(_source_of(earlier, arguments)) if earlier else pin(arguments.repo)
    folder = output.with_suffix(".transcripts")
    result = generate(output.stem, origin.source, arguments.count, config, folder, earlier)
    if origin.warning:
        result = result._replace(warnings=(f"{arguments.repo}: {origin.warning}", *result.warnings))
    if not result.tasks and not earlier:
        raise UserError(_nothing(result))
    if result.tasks:
        write(result, output)
    print(*map(printable, summary(result, len(earlier), output, config)), sep="\n")


def _nothing(result: Made) -> str:
    """Why there is no task at all, and what to do."""
    tried = len(result.fates)
    name = source_name(result.source)
    if not tried:
        return (
            f"{name} has no question: no calls or imports between its files that names make certain"
        )
    counts = Counter(fate.tries[-1].problems[0].reason for fate in result.fates)
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common(3))
    return f"{name}: all {tried} tried questions were omitted ({reasons}); use another repository"


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
