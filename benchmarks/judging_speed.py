"""The time of mechanical verdicts on answers of typical length: `python benchmarks/judging_speed.py [10000]`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "inputs"))

from drafted_answers import drafting_set, made_answers  # noqa: E402
from lensbench.judging.judges.mechanical import judge  # noqa: E402
from lensbench.judging.judges.normalising import normalise  # noqa: E402

LEAST, MOST = 4_000, 15_000
"""Characters of the answers: real ones of strong agents had 6,000 to 12,000."""


def main() -> None:
    """Judges all criteria of the answers until there are enough verdicts, and prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verdicts", nargs="?", type=int, default=10_000)
    wanted = parser.parse_args().verdicts
    tasks, trees = drafting_set()
    answers = [
        answer for answer in made_answers(tasks, trees, 1) if LEAST <= len(answer.text) <= MOST
    ]
    done, turn, began = 0, 0, time.perf_counter()
    while done < wanted:
        answer = answers[turn % len(answers)]
        text = normalise(answer.text)
        for criterion in answer.task.criteria:
            judge(criterion, text)
        done, turn = done + len(answer.task.criteria), turn + 1
    seconds = time.perf_counter() - began
    size = f"{turn:,} answers of {mean(len(answer.text) for answer in answers):,.0f} characters"
    print(f"{done:,} verdicts on {size}: {seconds:.2f} s, {1e6 * seconds / done:.0f} us each")


if __name__ == "__main__":
    main()
