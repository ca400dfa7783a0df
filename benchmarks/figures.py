"""Stores the figures of a benchmark as JSON with a yardstick of this machine, and compares two such files.

    python benchmarks/null_runs.py 100 --repeat 3 --json before.json
    python benchmarks/figures.py before.json after.json

A figure is the CPU time of a step, in seconds. Files of different machines, or of a busier machine, are compared in
units of a fixed Python loop that is timed together with the figures. Exit code 1 when a step takes 1.2 times as long as
before; differences below 0.05 s, the precision of the clock, are ignored.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

SLOWER = 1.2
LEAST_S = 0.05
STEPS = 2_000_000


class Figures(NamedTuple):
    """CPU seconds by step, and those of the yardstick."""

    yardstick_s: float
    steps: dict[str, float]


class Change(NamedTuple):
    """A step in both files: seconds before, and seconds after, converted to the first machine."""

    step: str
    before_s: float
    after_s: float

    @property
    def ratio(self) -> float:
        """The time after, divided by the time before; above 1 is slower."""
        return self.after_s / self.before_s if self.before_s else 1.0

    @property
    def word(self) -> str:
        """`slower`, `faster`, or "" when the change is small."""
        if abs(self.after_s - self.before_s) < LEAST_S or 1 / SLOWER < self.ratio < SLOWER:
            return ""
        return "slower" if self.ratio > 1 else "faster"


def yardstick() -> float:
    """CPU seconds of a fixed Python loop: the least of five."""
    times = []
    for _ in range(5):
        began = time.process_time()
        total = 0
        for number in range(STEPS):
            total += number * number % 7
        times.append(time.process_time() - began)
    return min(times)


def write_figures(path: Path, steps: Mapping[str, float]) -> None:
    """Writes the figures with the current yardstick."""
    figures = Figures(yardstick(), {step: round(seconds, 4) for step, seconds in steps.items()})
    path.write_text(json.dumps(figures._asdict(), indent=2) + "\n", encoding="utf-8")


def read_figures(path: Path) -> Figures:
    """The figures in a file; exits with a message when there are none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return Figures(
            float(value["yardstick_s"]),
            {step: float(each) for step, each in value["steps"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"{path} has no figures ({error}); create it with --json of a benchmark")


def compare(before: Figures, after: Figures) -> Iterator[Change]:
    """The steps in both files, in the order of the first."""
    scale = before.yardstick_s / after.yardstick_s
    for step, seconds in before.steps.items():
        if step in after.steps:
            yield Change(step, seconds, after.steps[step] * scale)


def main() -> None:
    """Prints a row for each step of both files."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    before = read_figures(arguments.before)
    after = read_figures(arguments.after)
    changes = list(compare(before, after))
    print(f"the loop: {before.yardstick_s:.3f} s before, {after.yardstick_s:.3f} s after\n")
    print("| step, CPU | before s | after s, by the loop | ratio | |\n|---|--:|--:|--:|---|")
    for change in changes:
        print(
            f"| {change.step} | {change.before_s:.3f} | {change.after_s:.3f} | {change.ratio:.2f} | {change.word} |"
        )
    for step in sorted(before.steps.keys() ^ after.steps.keys()):
        print(f"| {step} | | | | in one file only |")
    if any(change.word == "slower" for change in changes):
        sys.exit(1)


if __name__ == "__main__":
    main()
