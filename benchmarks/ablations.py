"""How often an ablation says `earns` or `costs` of members whose worth is planted: the product's own estimates and
verdicts on drawn scores and costs.

    python benchmarks/ablations.py [--replications 100] [--tasks 24 48] [--world WORDS]

docs/measured/ablations.md is its output: `python tools/docs/measured.py ablations`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from habits import DEFAULTS

from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Attempt, Outcome, Record, RunId
from lensbench.core.rows import RunStatus
from lensbench.results.ablation import ablation
from lensbench.runs.requests_file import RequestFindings
from lensbench.scores.estimates import write_estimates
from lensbench.scores.run_tables import Tables

Floats = np.ndarray[Any, Any]


class Member(NamedTuple):
    """What a member is worth: a gain in points of the score, and what it adds to the cost of a run."""

    gain: float = 0.0
    cost: float = 0.0
    replaces: str = ""
    """The member that gives the same gain: both together give it once."""


WORLDS: dict[str, dict[str, Member]] = {
    "three that do nothing": {"a": Member(), "b": Member(), "c": Member()},
    "eight that do nothing": {name: Member() for name in "abcdefgh"},
    "one needed (20 points), two idle": {"needed": Member(0.20), "a": Member(), "b": Member()},
    "one misleading (-20 points), two idle": {
        "misleading": Member(-0.20),
        "a": Member(),
        "b": Member(),
    },
    "one dear (costs 70% more), two idle": {"dear": Member(0, 0.7), "a": Member(), "b": Member()},
    "two that replace each other (20 points)": {
        "twin": Member(0.20),
        "other twin": Member(0.20, replaces="twin"),
    },
    "one needed, one misleading, one idle, two that replace each other": {
        "needed": Member(0.20),
        "misleading": Member(-0.20),
        "idle": Member(),
        "twin": Member(0.20),
        "other twin": Member(0.20, replaces="twin"),
    },
}
TWINS = "two that replace each other (20 points)"
"""The world in which one of both is enough, and the table should say so."""
TRUE_WORDS = {"needed": "earns", "misleading": "costs", "dear": "costs"}
"""The right words of members that are not idle; those of the others are wrong."""
PROCESSES = 4
SPREAD = 0.12
"""The standard deviation of a run's score around that of its task, as a share of 1."""
NOISE = 0.25
"""The same of the logarithm of a run's cost."""


def drawn_tables(members: dict[str, Member], tasks: int, rng: np.random.Generator) -> Tables:
    """The tables of an ablation of these members."""
    there = {"all": [*members], "none": []}
    there |= {f"without_{name}": [other for other in members if other != name] for name in members}
    own = np.clip(rng.normal(0.6, 0.2, tasks), 0.05, 0.95)
    names = [f"t{number:03}" for number in range(tasks)]
    scores: dict[RunId, Any] = {}
    records: dict[RunId, Record] = {}
    validity: list[Any] = []
    for condition, present in there.items():
        gain = sum(members[name].gain for name in present if members[name].replaces not in present)
        price = 0.1 * (1 + sum(members[name].cost for name in present))
        for name, mean in zip(names, own, strict=True):
            score = float(np.clip(mean + gain + rng.normal(0, SPREAD), 0, 1))
            run = RunId(name, condition, 1)
            cost = price * float(np.exp(rng.normal(0, NOISE)))
            scores[run] = {
                "score": f"{round(score / 0.05) * 0.05:.2f}",
                "complete": "no",
                "duration_s": "10",
                "status": RunStatus.SCORED,
            }
            records[run] = record(run, cost)
            validity.append({**run._asdict(), "trial": "1", "status": RunStatus.VALID})
    conditions: dict[str, Any] = {}
    for condition, present in there.items():
        conditions[condition] = {"mcp": None, "mcp_sha256": "", "servers": present}
        left_out = sorted(set(members) - set(present))
        if left_out:
            conditions[condition]["without"] = left_out
    plan: Any = {
        "agent": {"kind": "codex", "model": "m"},
        "imported": False,
        "settings_sha256": "",
        "model_mapping": "m=m",
        "order": names,
        "tasks": {name: {"repository": name, "category": "Debug"} for name in names},
        "trials": 1,
        "baseline": "all",
        "conditions": conditions,
        "gate": DEFAULTS,
        "seed": 1,
        "judges": [{"name": "tests"}],
    }
    return Tables(plan, validity, scores, {}, (), (), records)


def record(run: RunId, cost: float) -> Record:
    """A run that counts, with its cost in US dollars."""
    attempt = Attempt(1, "2026-01-02T03:04:05.000Z", 10.0, 0.0, 0, False)
    outcome = Outcome(cost_usd=cost, models=("m",))
    return Record(*run, "run", attempt, outcome, "", 0, made_with={"agent": {}, "condition": {}})


class Said(NamedTuple):
    """What the table of an ablation says."""

    words: dict[str, str]
    sentences: str


def said_of(members: dict[str, Member], tasks: int, rng: np.random.Generator) -> Said:
    """The word of each member in one drawn ablation, and the sentences below the table."""
    tables = drawn_tables(members, tasks, rng)
    with tempfile.TemporaryDirectory() as folder:
        found = write_estimates(Path(folder), tables)["comparisons"]
    conditions = tables.plan["conditions"]
    facts: Any = {"baseline": "all", "conditions": conditions, "estimates": found}
    figures: dict[str, dict[str, Any]] = {name: {} for name in found}
    rows, sentences = ablation(facts, tables, PreflightFindings(), RequestFindings(), figures)
    return Said({row["member"]: row["word"] for row in rows}, " ".join(sentences))


def rows(replications: int, sizes: list[int], titles: list[str]) -> Iterator[str]:
    """A line of the table for each of these worlds and number of tasks."""
    for tasks in sizes:
        for title in titles:
            draw = partial(replication, title, tasks)
            with ProcessPoolExecutor(PROCESSES) as pool:
                said = [*pool.map(draw, range(replications))]
            wrong = np.mean([is_wrong(own.words) for own in said])
            right = ""
            if not TRUE_WORDS.keys().isdisjoint(WORLDS[title]):
                right = f"{np.mean([is_right(own.words) for own in said]):.3f}"
            if title == TWINS:
                right = f"{np.mean(['is enough' in own.sentences for own in said]):.3f}"
            yield f"| {title} | {tasks} | {wrong:.3f} | {right} |"


def replication(title: str, tasks: int, number: int) -> Said:
    """What one drawn ablation of a world says."""
    return said_of(WORLDS[title], tasks, np.random.default_rng([1, number]))


def is_wrong(said: dict[str, str]) -> bool:
    """True when a member has a word that is neither its own nor `cannot tell`."""
    return any(word not in ("cannot tell", TRUE_WORDS.get(name)) for name, word in said.items())


def is_right(said: dict[str, str]) -> bool:
    """True when every member that has a right word has it."""
    return all(word == TRUE_WORDS[name] for name, word in said.items() if name in TRUE_WORDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--tasks", type=int, nargs="+", default=[24, 48])
    parser.add_argument("--world", default="", help="only worlds whose title has these words")
    arguments = parser.parse_args()
    titles = [title for title in WORLDS if arguments.world in title]
    print("| members | tasks | ablations with a wrong word | the right word is said |")
    print("|---|--:|--:|--:|")
    for row in rows(arguments.replications, arguments.tasks, titles):
        print(row, flush=True)


if __name__ == "__main__":
    main()
