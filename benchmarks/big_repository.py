"""The cost of a run by the size of its repository, with an agent that only prints an answer, in its sandbox.

    python benchmarks/big_repository.py [FOLDER ...] [--files 3 7000 100000] [--repeat 5] [--json <file>]

For each folder, and each repository with the given number of small files: CPU of one run (user + system of all its
processes) and the temporary files on disk while the agent works. Of several runs the one with the least CPU counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from figures import write_figures
from null_runs import ROOT, Cost, measure

FILES_IN_FOLDER = 100
AGENT = """import os
status = os.statvfs("/tmp")
print((status.f_blocks - status.f_bfree) * status.f_frsize)
"""


def make_repository(folder: Path, files: int) -> Path:
    """A repository of `files` Python files of one kilobyte."""
    for number in range(files):
        path = (
            folder
            / f"part{number // (FILES_IN_FOLDER * 50)}"
            / f"sub{number // FILES_IN_FOLDER}"
            / f"m{number}.py"
        )
        if number % FILES_IN_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"# module {number}\n" + "x = 1\n" * 160, encoding="utf-8")
    return folder


def make_project(folder: Path, repository: Path) -> Path:
    """A benchmark of one task about the repository, with finished runs; returns its run folder."""
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    criteria = "[{text: names a file, any_of: [a.py]}, {text: names another, any_of: [b.py]}]"
    (folder / "tasks.yaml").write_text(
        f"tasks:\n  - {{id: t-1, category: Targeted, prompt: What is it?, criteria: {criteria}}}\n",
        encoding="utf-8",
    )
    (folder / "mcp.json").write_text(
        '{"mcpServers": {"null": {"command": "true"}}}', encoding="utf-8"
    )
    config = {
        "run_id": "big",
        "scenarios": "tasks.yaml",
        "repository": {"path": str(repository)},
        "cache": "cache",
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "sandbox": "bubblewrap",
        "preflight": {"servers": False},
        "agent": {"kind": "command", "command": [sys.executable, str(folder / "agent.py")]},
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    measure(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "1",
            "--quiet",
            "all",
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--directory",
            ".",
            "--configfile",
            "config.yaml",
            "--until",
            "run",
        ],
        folder,
    )
    return folder / "bench" / "big"


def one_run(bench: Path) -> tuple[Cost, float]:
    """The cost of repeating one run, and the megabytes that it had written while its agent worked."""
    for part in ("attempts", "runs"):
        for path in (bench / part).glob("t-1-without*"):
            path.unlink()
    status = os.statvfs(tempfile.gettempdir())
    before = (status.f_blocks - status.f_bfree) * status.f_frsize
    command = [
        sys.executable,
        "-P",
        "-m",
        "lensbench.runs.run",
        "--folder",
        "bench/big",
        "--task",
        "t-1",
    ]
    cost = measure([*command, "--condition", "without"], bench.parents[1])
    seen = int((bench / "runs" / "t-1-without.md").read_text(encoding="utf-8").split()[0])
    return cost, max(0.0, (seen - before) / 1e6)


def benchmark(repository: Path, folder: Path, repeat: int) -> tuple[Cost, float]:
    """The cost of a run, and its megabytes."""
    bench = make_project(folder, repository)
    made = [one_run(bench) for _ in range(repeat)]
    cost, _ = min(made, key=lambda each: each[0].cpu_s)
    return cost, min(written for _, written in made)


def main() -> None:
    """Prints a table, a row per repository."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="repositories of your own")
    parser.add_argument("--files", nargs="*", type=int, default=[3, 7_000, 100_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write CPU seconds for figures.py")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    print("| repository | CPU s | wall s | MB written |\n|---|--:|--:|--:|")
    work = Path(tempfile.mkdtemp(prefix="big-repository-"))
    try:
        made = [make_repository(work / f"made-{files}", files) for files in arguments.files]
        for number, repository in enumerate(
            [*made, *(folder.resolve() for folder in arguments.folders)]
        ):
            cost, written = benchmark(repository, work / str(number), arguments.repeat)
            figures[repository.name] = cost.cpu_s
            row = f"{cost.cpu_s:.2f} | {cost.wall_s:.2f} | {written:.1f}"
            print(f"| {repository.name} | {row} |", flush=True)
            shutil.rmtree(work / str(number))
    finally:
        shutil.rmtree(work)
    if arguments.json:
        write_figures(arguments.json, figures)


if __name__ == "__main__":
    main()
