"""How close drafts are to the patterns of an author: `python benchmarks/drafted_patterns.py [bench/x]`.

The drafting set (inputs/drafting.yaml) has patterns by its author. New ones are drafted from the text alone, and
both score the same answers, with a crude rule for comparison, the share of tokens found. Half of the tasks are held
out and were not used for tuning rules. The answers of a finished run of the set are the family `real`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "inputs"))

from drafted_answers import (  # noqa: E402
    Answer,
    Scored,
    bare,
    closeness,
    crude,
    drafting_set,
    made_answers,
    patterns,
    scored,
)
from lensbench.core.tasks import Task  # noqa: E402
from lensbench_tasks.drafting import draft  # noqa: E402

SEEDS = range(1, 6)
FAMILIES = ("real", "made", "paraphrased", "quoted", "other")


def real_answers(folder: Path, tasks: Iterable[Task]) -> list[Answer]:
    """The existing answers of a run."""
    paths = [
        (task, folder / "runs" / f"{task.id}-{name}.md")
        for task in tasks
        for name in ("with", "without")
    ]
    return [
        Answer("real", task, path.read_text(errors="replace", encoding="utf-8"))
        for task, path in paths
        if path.is_file()
    ]


def show(title: str, rows: list[list[Scored]]) -> None:
    """Prints a row of the table; nothing when there is no answer."""
    if rows[0]:
        cells = [
            f"{each.rank_correlation:.2f} | {each.error:.1f} | {each.bias:+.1f}"
            for each in map(closeness, rows)
        ]
        print(f"| {title} | {len(rows[0])} | {' | '.join(cells)} |")


def main() -> None:
    """Prints a row for each half of the tasks and each family of answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=ROOT / "bench" / "drafting", help="a run of the set"
    )
    folder = parser.parse_args().folder
    tasks, trees = drafting_set()
    answers = [
        *real_answers(folder, tasks),
        *(each for seed in SEEDS for each in made_answers(tasks, trees, seed)),
    ]
    prose = {task.id: [bare(criterion) for criterion in task.criteria] for task in tasks}
    drafts = {name: [*map(draft, criteria)] for name, criteria in prose.items()}
    judged = [scored(answers, drafts, patterns), scored(answers, prose, crude)]
    titles = [f"{each}: rank correlation | error | bias" for each in ("drafts", "tokens")]
    print(f"| tasks, answers | n | {' | '.join(titles)} |")
    print(f"|---|--:|{'--:|' * 3 * len(titles)}")
    for name, halves in (
        ("all tasks", (False, True)),
        ("tuned on", (False,)),
        ("held out", (True,)),
    ):
        for family in ("", *FAMILIES):
            chosen = [row.held_out in halves and family in ("", row.family) for row in judged[0]]
            rows = [
                [row for row, take in zip(each, chosen, strict=True) if take] for each in judged
            ]
            show(f"{name}, {family or 'all'}", rows)


if __name__ == "__main__":
    main()
