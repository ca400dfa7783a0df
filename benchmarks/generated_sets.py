"""Generates sets about three other projects, and about this one's history: `python benchmarks/generated_sets.py`.

Prints the outcomes of the proposals, and the results of an independent check of the criteria (check_generated.py).
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path

from check_generated import false_criteria

from lensbench.core.system.places import ROOT
from lensbench.core.tasks import Git, Npm, Pypi, Source
from lensbench.plan.config import DEFAULT_CACHE, Config
from lensbench.repositories.prepare import prepare
from lensbench_tasks.files import set_value
from lensbench_tasks.generate import generate

SOURCES: dict[str, Source] = {
    "flask": Pypi(
        pypi="flask==3.1.1",
        sha256="284c7b8f2f58cb737f0cf1c30fd7eaf0ccfcde196099d24ecede3fc2005aa59e",
    ),
    "undici": Npm(
        npm="undici@7.10.0",
        integrity="sha512-u5otvFBOBZvmdjWLVW+5DAc9Nkq8f24g0O9oY7qw2JVIF1VocIFoyz9JFkuVOS2j41AufeO0xnlweJ2RLT8nGw==",
    ),
    "maturin": Pypi(
        pypi="maturin==1.9.4",
        sha256="235163a0c99bc6f380fb8786c04fd14dcf6cd622ff295ea3de525015e6ac40cf",
    ),
}


def main() -> None:
    """Prints a row per project and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--only", default="", help="the project with this name")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=ROOT / DEFAULT_CACHE)
    options = parser.parse_args()
    sources = dict(SOURCES)
    if (ROOT / ".git").exists():  # the only available history
        sources["this project"] = Git(git=str(ROOT), revision="HEAD")
    print(
        "| project | seed | tasks | proposed | kept | repaired | dropped | dropped because | criteria | false |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|---|--:|--:|")
    for name, source in sources.items():
        if options.only not in ("", name):
            continue
        for seed in range(1, options.seeds + 1):
            print(
                f"| {name} | {seed} | {row(source, options.tasks, seed, options.cache)} |",
                flush=True,
            )


def row(source: Source, count: int, seed: int, cache: Path) -> str:
    """The figures of one set."""
    config = Config(run_id="tasks", scenarios=(), seed=seed, cache=str(cache))
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        made = generate("set", source, count, config, Path(folder))
    outcomes = Counter(fate.outcome for fate in made.fates)
    shares = [
        f"{outcomes[each]} ({outcomes[each] / len(made.fates):.0%})"
        for each in ("kept", "repaired", "dropped")
    ]
    dropped = [fate for fate in made.fates if fate.outcome == "dropped"]
    reasons = Counter(problem.reason for fate in dropped for problem in fate.tries[-1].problems[:1])
    why = ", ".join(f"{reason} {number}" for reason, number in reasons.most_common())
    criteria = sum(len(task.criteria) for task in made.tasks)
    false = false_criteria(set_value(made)["tasks"], prepare(source, cache).tree)
    for each in false:
        print(f"FALSE: {each}")
    return " | ".join(
        [str(len(made.tasks)), str(len(made.fates)), *shares, why, str(criteria), str(len(false))]
    )


if __name__ == "__main__":
    main()
