"""Compares lensbench with other harnesses: the same agent, tasks, checks and two workers, in turn.

    python benchmarks/peers.py [100 400] [--rounds 3]          (docs/peers.md)

The agent prints a fixed answer and records each start and end in a ledger outside the harnesses. Each harness executes
a whole benchmark, is started again with nothing to do, is killed (SIGKILL, only its first process) at a third of
another benchmark, and started again. Costs are medians of the rounds, faults the worst of them; the rows of each round
go to stderr. CPU is user + system of all processes; memory is the largest single process, and all processes together,
measured every half second.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from harnesses import Benchmark, Harness, contenders
from metering import Cost, Kept, Ledger, Meter, account, runs_of

COSTS = """runs | harness | wall s | CPU s | CPU ms per run | largest MB | together MB | files | disk MB
    | again: wall s | CPU s | largest MB | agents started"""
KILLS = """runs | harness | finished at the kill | processes left | bought in all | of them finished ones again
    | in the result | doubled | lost | resume: wall s | CPU s"""
SECONDS_WHEN_KILLED = 0.05
"""The agent's duration when the harness is killed, so that some agents are running then."""


class Round(NamedTuple):
    """The results of a harness in one round."""

    whole: Cost
    made: Kept
    files: int
    disk_mb: float
    second: Cost
    second_starts: int
    killed: Cost
    resumed: Cost
    kept: Kept
    beside: int


def one_round(harness: Harness, runs: int, folder: Path) -> Round:
    """Both benchmarks of a harness in new folders."""
    ledger = Ledger(folder / "ledger")
    meter = Meter(ledger)

    def start(
        bench: Benchmark, command: Callable[[Benchmark], list[str]], kill_at: int | None = None
    ) -> tuple[Cost, list[str]]:
        known = len(ledger.lines)
        env = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        }
        log = folder / "harness.log"
        cost = meter.run(command(bench), bench.folder, {**env, **harness.env(bench)}, log, kill_at)
        return cost, ledger.lines[known:]

    def benchmark(name: str, seconds: float) -> Benchmark:
        bench = Benchmark(folder / name, runs // 2, seconds, ledger.path)
        bench.folder.mkdir()
        harness.make(bench)
        return bench

    bench = benchmark("whole", 0)
    whole, made = start(bench, harness.start)
    files = [path for path in bench.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    disk_mb = sum(path.stat().st_size for path in files) / 1e6
    rows = harness.rows(bench)
    second, more = start(bench, harness.start)
    bench = benchmark("killed", SECONDS_WHEN_KILLED)
    killed, before = start(bench, harness.start, kill_at=runs // 3)
    resumed, after = start(bench, harness.resume)
    ledger.close()
    return Round(
        whole,
        account(bench.planned, made, [], rows),
        len(files),
        disk_mb,
        second,
        len(runs_of("start", more)),
        killed,
        resumed,
        account(bench.planned, before, after, harness.rows(bench)),
        harness.beside(bench),
    )


def middle(values: Iterable[float], digits: int = 1) -> str:
    return f"{statistics.median(values):.{digits}f}"


def cost_row(runs: int, name: str, rounds: Sequence[Round]) -> str:
    whole = [one.whole for one in rounds]
    second = [one.second for one in rounds]
    cells = [
        middle(cost.wall_s for cost in whole),
        middle(cost.cpu_s for cost in whole),
        middle((cost.cpu_s / runs * 1000 for cost in whole), 0),
        middle((cost.largest_mb for cost in whole), 0),
        middle((cost.together_mb for cost in whole), 0),
        middle((one.files for one in rounds), 0),
        middle(one.disk_mb for one in rounds),
        middle(cost.wall_s for cost in second),
        middle(cost.cpu_s for cost in second),
        middle((cost.largest_mb for cost in second), 0),
        str(max(one.second_starts for one in rounds)),
    ]
    return f"| {runs} | {name} | {' | '.join(cells)} |"


def kill_row(runs: int, name: str, rounds: Sequence[Round]) -> str:
    kept = [one.kept for one in rounds]
    cells = [
        middle((one.finished for one in kept), 0),
        max(one.killed.left for one in rounds),
        middle((one.bought for one in kept), 0),
        max(one.again for one in kept),
        middle((one.final for one in kept), 0),
        max(one.doubled for one in kept),
        max(one.lost for one in kept),
        middle(one.resumed.wall_s for one in rounds),
        middle(one.resumed.cpu_s for one in rounds),
    ]
    return f"| {runs} | {name} | {' | '.join(map(str, cells))} |"


def faults(runs: int, one: Round) -> list[str]:
    """The faults of a harness, in words."""
    said = {
        f"whole run: ended with exit code {one.whole.exit_code}": one.whole.exit_code,
        f"whole run: started {one.made.bought} agents for {runs} runs": one.made.bought != runs,
        f"whole run: {one.made.lost} runs missing in the result": one.made.lost,
        f"whole run: {one.made.doubled} rows doubled in the result": one.made.doubled,
        f"second start: started {one.second_starts} agents": one.second_starts,
        f"kill: left {one.killed.left} processes": one.killed.left,
        f"resume: ended with exit code {one.resumed.exit_code}": one.resumed.exit_code,
        f"resume: bought {one.kept.again} of {one.kept.finished} finished answers again": one.kept.again,
        f"resume: {one.kept.lost} runs missing in the result": one.kept.lost,
        f"resume: {one.kept.doubled} rows doubled in the result": one.kept.doubled,
        f"resume: {one.beside} rows of the killed start left beside the result": one.beside,
    }
    return [text for text, is_so in said.items() if is_so]


def table(columns: str, rows: Iterable[str]) -> str:
    names = [name.strip() for name in columns.split("|")]
    lines = ("---" if name == "harness" else "--:" for name in names)
    return "\n".join([f"| {' | '.join(names)} |", f"|{'|'.join(lines)}|", *rows, ""])


def main() -> None:
    """Prints two tables and a list of faults."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "sizes", nargs="*", type=int, default=[100, 400], help="runs: twice the number of tasks"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    harnesses = contenders()
    done: dict[tuple[int, str], list[Round]] = {
        (runs, one.name): [] for runs in options.sizes for one in harnesses
    }
    loads: list[float] = []
    for runs, number in itertools.product(options.sizes, range(options.rounds)):
        turn = number % len(harnesses)
        for harness in harnesses[turn:] + harnesses[:turn]:
            loads.append(os.getloadavg()[0])
            with tempfile.TemporaryDirectory(prefix="peers-") as name:
                one = one_round(harness, runs, Path(name))
            done[runs, harness.name].append(one)
            print(
                *(row(runs, harness.name, [one]) for row in (cost_row, kill_row)),
                sep="\n",
                file=sys.stderr,
                flush=True,
            )
    print(table(COSTS, (cost_row(*key, rounds) for key, rounds in done.items())))
    print(table(KILLS, (kill_row(*key, rounds) for key, rounds in done.items())))
    print("What each did wrong:\n")
    for (runs, name), rounds in done.items():
        found = [
            f"round {number}: {text}"
            for number, one in enumerate(rounds, 1)
            for text in faults(runs, one)
        ]
        print(f"- {name}, {runs} runs: {'; '.join(found) or 'nothing'}")
    print(
        f"\n{os.cpu_count()} cores, {options.rounds} rounds, load {min(loads):.1f} to {max(loads):.1f}"
    )


if __name__ == "__main__":
    main()
