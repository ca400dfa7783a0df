"""CPU time per job of Snakemake's scheduler while many jobs are ready: as released, and with docs/upstream applied.

    python benchmarks/ready_jobs.py [--jobs 10000] [--seconds 60]

The workflow is bare: no input, an empty shell command; priority, a resource and a parameter by wildcard. Each variant
starts with all jobs ready and is stopped after the same time. The output is the CPU time of Snakemake's main process
per job that ended after the first one, and the mean distance of a job's place from its place by priority.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import snakemake

PATCH = Path(__file__).resolve().parents[1] / "docs" / "upstream" / "subsample-by-priority.patch"
WORKFLOW = """
rule all:
    input: expand("out/{{i}}", i=range({jobs}))
rule job:
    output: "out/{{i}}"
    priority: lambda wildcards: {jobs} - int(wildcards.i)
    resources: wait=lambda wildcards: int(wildcards.i) % 7
    params: number=lambda wildcards: wildcards.i
    shell: ": > {{output}}"
"""
GREEDY = ["--scheduler", "greedy", "--scheduler-greedy-omit-prioritize-by-temp-and-input"]
SAMPLE = [*GREEDY, "--scheduler-subsample", "100"]


def measure(jobs: int, seconds: float, options: list[str], environment: Mapping[str, str]) -> tuple[int, float, float]:
    """The jobs that ended, CPU milliseconds per job, and the mean distance from the order of priorities."""
    folder = Path(tempfile.mkdtemp(prefix="ready-jobs-"))
    (folder / "Snakefile").write_text(WORKFLOW.format(jobs=jobs), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all", *options]
    process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=subprocess.DEVNULL)
    try:
        while not list(folder.glob("out/*")):
            if process.poll() is not None:
                sys.exit(f"Snakemake ended with {process.returncode} before its first job")
            time.sleep(0.05)
        before, already = _cpu_s(process.pid), len(list(folder.glob("out/*")))
        until = time.monotonic() + seconds
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.2)
        if process.poll() is not None:
            sys.exit(f"all {jobs} jobs ended within {seconds:g} s; give more --jobs")
        spent, ended = _cpu_s(process.pid) - before, list(folder.glob("out/*"))
    finally:
        process.kill()
        process.wait()
        order = [int(path.name) for path in sorted(folder.glob("out/*"), key=lambda path: path.stat().st_mtime_ns)]
        shutil.rmtree(folder, ignore_errors=True)
    made = max(1, len(ended) - already)
    distance = sum(abs(place - number) for place, number in enumerate(order)) / max(1, len(order))
    return made, 1000 * spent / made, distance


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _patched(folder: Path) -> Mapping[str, str]:
    """An environment with the installed Snakemake, copied into a folder and patched."""
    shutil.copytree(Path(snakemake.__file__).parent, folder / "src" / "snakemake")
    subprocess.run(["patch", "-p1", "--quiet", "-i", str(PATCH)], cwd=folder, check=True)
    return {**os.environ, "PYTHONPATH": str(folder / "src")}


def main() -> None:
    """Prints a table, a row per variant."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    print(f"| {arguments.jobs:,} jobs ready | ended | CPU ms per job | distance |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, options, environment in (
            (f"Snakemake {snakemake.__version__}", GREEDY, os.environ),
            ("`--scheduler-subsample 100`", SAMPLE, os.environ),
            ("`--scheduler-subsample 100`, with the patch", SAMPLE, _patched(Path(folder))),
        ):
            made, cost, distance = measure(arguments.jobs, arguments.seconds, options, environment)
            print(f"| {name} | {made} | {cost:.1f} | {distance:.0f} |", flush=True)


if __name__ == "__main__":
    main()
