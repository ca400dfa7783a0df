"""What lensbench itself costs: many runs of an agent that prints a fixed answer and ends.

    python benchmarks/null_runs.py [100 1000 2000 5000]

For each size: all runs, beside a bare Snakemake workflow with the same number of `echo` jobs in the same minutes; a
second start with nothing to do; and everything after the runs made again. CPU is user + system of the whole process
tree; memory is the largest single process.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DERIVED = ("validity.csv", "reports.csv", "verdicts.csv", "scores.csv", "pairs.csv", "results.json", "results.md")
BARE = """
rule all:
    input: expand("out/{{i}}.txt", i=range({runs}))
rule job:
    output: "out/{{i}}.txt"
    shell: "echo x > {{output}}"
"""


class Cost(NamedTuple):
    """Of one command: seconds, seconds, megabytes."""

    wall_s: float
    cpu_s: float
    memory_mb: float


def measure(command: list[str], folder: Path) -> Cost:
    """Runs the command and returns its cost. Ends the benchmark with its output when it fails."""
    began = time.monotonic()
    log = folder / "benchmark.log"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{shlex.join(command)} failed:\n{log.read_text()[-2000:]}")
    return Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def make_project(folder: Path, runs: int) -> None:
    """A project with `runs` runs: half as many tasks, two conditions, a repository of three files."""
    (folder / "repo").mkdir(parents=True)
    for name in ("a.py", "b.py", "README.md"):
        (folder / "repo" / name).write_text(f"# {name}\n")
    tasks = [
        f"  - id: t-{number}\n    category: Targeted\n    prompt: What is fact {number}?\n    criteria:\n"
        f"      - {{text: says forty-two, all_of: 'forty-two'}}\n      - {{text: names a file, any_of: [a.py, c.py]}}\n"
        for number in range(runs // 2)
    ]
    (folder / "tasks.yaml").write_text("tasks:\n" + "".join(tasks))
    (folder / "mcp.json").write_text('{"mcpServers": {"null": {"command": "true"}}}')
    answer = "It is forty-two, see `a.py`.\n\n## Report\n\n- **Tool calls**: 1\n- **Files used**: a.py\n"
    config = {
        "run_id": "null", "scenarios": "tasks.yaml", "repository": {"path": "repo"}, "cache": "cache",
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "preflight": {"servers": False},
        "agent": {"kind": "command", "command": ["/bin/echo", answer]},
    }  # fmt: skip
    (folder / "config.yaml").write_text(json.dumps(config))


def benchmark(runs: int, folder: Path) -> list[tuple[str, Cost]]:
    """The costs at one size."""
    ours, bare = folder / "ours", folder / "bare"
    make_project(ours, runs)
    bare.mkdir()
    (bare / "Snakefile").write_text(BARE.format(runs=runs))
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "rules", "progress"]
    bench = [*snakemake, "--snakefile", str(ROOT / "Snakefile"), "--directory", ".", "--configfile", "config.yaml"]
    costs = [
        ("bare Snakemake", measure([*snakemake, "--scheduler", "greedy"], bare)),
        ("all runs", measure(bench, ours)),
    ]
    costs.append(("nothing to do", measure(bench, ours)))
    for name in DERIVED:
        (ours / "bench" / "null" / name).unlink()
    costs.append(("after the runs", measure(bench, ours)))
    return costs


def main() -> None:
    """Prints a table, a row per size and step."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[100, 1000, 2000, 5000])
    print("| runs | step | wall s | CPU s | CPU ms per run | memory MB |\n|--:|---|--:|--:|--:|--:|")
    for runs in parser.parse_args().sizes:
        folder = Path(tempfile.mkdtemp(prefix="null-runs-"))
        for step, cost in benchmark(runs, folder):
            shown = f"{cost.wall_s:.1f} | {cost.cpu_s:.1f} | {cost.cpu_s / runs * 1000:.1f} | {cost.memory_mb:.0f}"
            print(f"| {runs} | {step} | {shown} |", flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
