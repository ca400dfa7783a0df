"""The overhead of lensbench itself: many runs of an agent that only prints a fixed answer.

    python benchmarks/null_runs.py [100 1000 10000] [--keep <folder>]

A tenth as many tasks as runs, in two conditions and five trials. For each size: a dry run (`-n`); all runs, and right
after them a bare Snakemake workflow with the same number of `echo` jobs; a second start with nothing to do; everything
after the runs, in one start and each stage alone; files and size on disk. CPU is user + system of the whole process
tree; memory is the largest single process. The last column is the growth since the previous size: 1 is linear, 2 is
quadratic.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TRIALS = 5
STAGES = (
    "runs.validity",
    "results.citations",
    "judging.verdicts",
    "judging.decisions",
    "judging.reliability",
    "scores.estimates",
    "results.results",
)
BARE = """
rule all:
    input: expand("out/{{i}}.txt", i=range({runs}))
rule job:
    output: "out/{{i}}.txt"
    shell: "echo x > {{output}}"
"""


class Cost(NamedTuple):
    """The cost of a command: seconds, seconds, megabytes."""

    wall_s: float
    cpu_s: float
    memory_mb: float


def measure(command: list[str], folder: Path) -> Cost:
    """Runs the command and returns its cost. Exits with its output when it fails."""
    began = time.monotonic()
    log = folder / "benchmark.log"
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{shlex.join(command)} failed:\n{log.read_text(encoding='utf-8')[-2000:]}")
    return Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def make_project(folder: Path, runs: int) -> None:
    """A project with `runs` runs: two conditions, five trials, a repository of three files."""
    (folder / "repo").mkdir(parents=True)
    for name in ("a.py", "b.py", "README.md"):
        (folder / "repo" / name).write_text(f"# {name}\n", encoding="utf-8")
    tasks = [
        f"  - id: t-{number}\n    category: Targeted\n    prompt: What is fact {number}?\n    criteria:\n"
        f"      - {{text: says forty-two, all_of: 'forty-two'}}\n      - {{text: names a file, any_of: [a.py, c.py]}}\n"
        for number in range(runs // (2 * TRIALS))
    ]
    (folder / "tasks.yaml").write_text("tasks:\n" + "".join(tasks), encoding="utf-8")
    (folder / "notes.md").write_text("The condition's only difference.\n", encoding="utf-8")
    answer = (
        "It is forty-two, see `a.py`.\n\n## Report\n\n- **Tool calls**: 1\n- **Files used**: a.py\n"
    )
    config = {
        "run_id": "null",
        "trials": TRIALS,
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "cache": "cache",
        "conditions": {"without": {}, "with": {"files": {"NOTES.md": "notes.md"}}},
        "agent": {"kind": "command", "command": ["/bin/echo", answer]},
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")


def benchmark(runs: int, folder: Path) -> Iterator[tuple[str, Cost]]:
    """The costs at one size, by step."""
    ours = folder / "ours"
    bare = folder / "bare"
    make_project(ours, runs)
    bare.mkdir()
    (bare / "Snakefile").write_text(BARE.format(runs=runs), encoding="utf-8")
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "rules", "progress"]
    bench = [
        *snakemake,
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--directory",
        ".",
        "--configfile",
        "config.yaml",
    ]
    yield "bare Snakemake", measure([*snakemake, "--scheduler", "greedy"], bare)
    yield "what would run", measure([*bench, "-n"], ours)
    yield "all runs", measure(bench, ours)
    yield "nothing to do", measure(bench, ours)
    for name in STAGES:
        judge = ["--judge", "mechanical"] if name == "judging.verdicts" else []
        stage = [sys.executable, "-P", "-m", f"lensbench.{name}", "--folder", "bench/null", *judge]
        yield f"stage: {name}", measure(stage, ours)
    for path in (ours / "bench" / "null").iterdir():
        if path.suffix in (".csv", ".md", ".html") or path.name in (
            "judge_reliability.json",
            "estimates.json",
        ):
            path.unlink()
    yield "after the runs", measure(bench, ours)


def on_disk(folder: Path) -> tuple[int, float]:
    """The number of files below a folder, and their megabytes."""
    sizes = [path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()]
    return len(sizes), sum(sizes) / 1e6


def _folder(kept: Path | None, runs: int) -> Path:
    if kept:
        return kept / str(runs)
    return Path(tempfile.mkdtemp(prefix="null-runs-"))


def main() -> None:
    """Prints a table, a row per size and step."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--keep", type=Path, help="create the projects here, and keep them")
    arguments = parser.parse_args()
    print(
        "| runs | step | wall s | CPU s | CPU ms per run | memory MB | growth |\n|--:|---|--:|--:|--:|--:|--:|"
    )
    earlier: dict[str, tuple[int, float]] = {}
    for runs in arguments.sizes:
        folder = _folder(arguments.keep, runs)
        for step, cost in benchmark(runs, folder):
            growth = ""
            if before := earlier.get(step):
                growth = f"{math.log(cost.cpu_s / before[1]) / math.log(runs / before[0]):.2f}"
            earlier[step] = runs, cost.cpu_s
            shown = f"{cost.wall_s:.1f} | {cost.cpu_s:.1f} | {cost.cpu_s / runs * 1000:.1f} | {cost.memory_mb:.0f}"
            print(f"| {runs} | {step} | {shown} | {growth} |", flush=True)
        for name in ("bench", ".snakemake"):
            print(
                "| {} | {}: {} files, {:.1f} MB | | | | | |".format(
                    runs, name, *on_disk(folder / "ours" / name)
                )
            )
        if not arguments.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
