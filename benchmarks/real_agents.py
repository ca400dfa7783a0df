"""The overhead around a real agent: Claude Code (`make agents`) with a scripted API, many at a time.

    python benchmarks/real_agents.py [1 8 16 32] [--turn-s 10]

For each number at a time: twice as many runs, half of them with the embedded server, of two turns with the given
duration. Prints the seconds from Snakemake's start to the first agent's, the median from the end of an agent to the
next start in its place, the largest difference between the starts of a pair, CPU and memory (PSS) of the agents with
their servers and of everything else, and the runs that count.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import psutil
from null_runs import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from fakes.messages_api import MessagesApi, read_rules, serving

CLAUDE = ROOT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
KEY = "LENSBENCH_BENCHMARK_KEY"
GREP = "mcp__lens__lens_grep"
ANSWER = "`class Cart` is in shop/cart.py.\n\n## Report\n\n- **Tool calls**: 1\n- **Files used**: shop/cart.py\n"
SAMPLE_S = 1.0


class Times(NamedTuple):
    """The times of a run, in seconds since the epoch."""

    task: str
    began: float
    ended: float


class Shares(NamedTuple):
    """CPU seconds and peak megabytes, of the agents and of everything else."""

    agents_s: float
    ours_s: float
    agents_mb: float
    ours_mb: float


def rules(turn_s: float) -> list[dict[str, object]]:
    """The script: a call of a tool, then the answer."""
    calls = {GREP: {"query": "Cart"}, "Bash": {"command": "ls", "description": "list"}}
    first = [
        {
            "when": {"turn": 1, "has_tool": name},
            "reply": {"tools": [{"name": name, "input": given}], "delay_s": turn_s},
        }
        for name, given in calls.items()
    ]
    return [
        *first,
        {"when": {"turn": 2}, "reply": {"text": ANSWER, "delay_s": turn_s}},
        {"reply": {"text": "ok"}},
    ]


def make_project(folder: Path, tasks: int, url: str) -> None:
    """A benchmark with `tasks` tasks in two conditions."""
    (folder / "repo" / "shop").mkdir(parents=True)
    (folder / "repo" / "shop" / "cart.py").write_text(
        "class Cart:\n    limit = 10\n", encoding="utf-8"
    )
    criteria = [
        {"text": "names the file", "all_of": "cart.py"},
        {"text": "names the class", "all_of": "Cart"},
    ]
    told = [
        {
            "id": f"t-{number}",
            "category": "Targeted",
            "prompt": f"Question {number}: where is it?",
            "criteria": criteria,
        }
        for number in range(tasks)
    ]
    (folder / "tasks.yaml").write_text(json.dumps({"tasks": told}), encoding="utf-8")
    server = {
        "command": "${python}",
        "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"],
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": server}}), encoding="utf-8")
    config = {
        "run_id": "real",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "agent": {
            "kind": "claude-code",
            "command": [str(CLAUDE)],
            "model": "sonnet",
            "provider": "custom",
            "base_url": url,
            "token_env": KEY,
            "tools": ["Bash", "Read"],
            "mcp_start_s": 120,
            "timeout_s": 600,
        },
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")


def watch(process: subprocess.Popen[bytes]) -> Shares:
    """Watches the process and its descendants until it has ended."""
    spent: dict[tuple[int, float], tuple[bool, float]] = {}
    most = [0.0, 0.0]
    root = psutil.Process(process.pid)
    while process.poll() is None:
        now = [0.0, 0.0]
        agents: set[int] = set()
        with suppress(psutil.Error):
            for each in [root, *root.children(recursive=True)]:  # parents come before children
                with suppress(psutil.Error):
                    is_agent = each.ppid() in agents or str(CLAUDE) in each.cmdline()[:1]
                    is_agent = is_agent or each.name().startswith("claude")
                    if is_agent:
                        agents.add(each.pid)
                    used = each.cpu_times()
                    spent[each.pid, each.create_time()] = is_agent, used.user + used.system
                    now[is_agent] += each.memory_full_info().pss / 1e6
        most = [max(before, seen) for before, seen in zip(most, now, strict=True)]
        time.sleep(SAMPLE_S)
    agents_s, ours_s = (
        sum(cpu for kind, cpu in spent.values() if kind is wanted) for wanted in (True, False)
    )
    return Shares(agents_s, ours_s, most[True], most[False])


def times(bench: Path) -> Iterator[Times]:
    """The times at which the agents worked."""
    for path in sorted(bench.glob("attempts/*/*/record.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        last = record["attempts"][-1]
        began = datetime.fromisoformat(last["started_at"]).timestamp()
        yield Times(record["task"], began, began + last["duration_s"])


def gaps(made: Sequence[Times], at_once: int) -> list[float]:
    """The seconds from each end to the next start in its place."""
    starts = sorted(run.began for run in made)[at_once:]
    ends = sorted(run.ended for run in made)
    return [start - end for start, end in zip(starts, ends, strict=False)]


def skew(made: Sequence[Times]) -> float:
    """The largest difference between two starts of a task."""
    by_task: dict[str, list[float]] = {}
    for run in made:
        by_task.setdefault(run.task, []).append(run.began)
    return max(max(began) - min(began) for began in by_task.values())


def benchmark(at_once: int, turn_s: float) -> str:
    """A row of the table."""
    with (
        tempfile.TemporaryDirectory(prefix="real-agents-") as name,
        serving(MessagesApi(), read_rules(rules(turn_s))) as api,
    ):
        folder = Path(name)
        make_project(folder, max(at_once, 4), api.url)
        began = time.time()
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            str(at_once),
            "--snakefile",
            str(ROOT / "Snakefile"),
        ]
        with (folder / "log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [*command, "--directory", name, "--configfile", "config.yaml"],
                cwd=name,
                env={**os.environ, KEY: "x"},
                stdout=log,
                stderr=log,
            )
            shares = watch(process)
        if process.returncode:
            sys.exit((folder / "log").read_text(encoding="utf-8")[-2000:])
        bench = folder / "bench" / "real"
        made = list(times(bench))
        with (bench / "validity.csv").open(newline="", encoding="utf-8") as file:
            counting = sum(row["status"] == "valid" for row in csv.DictReader(file))
        first, between = (
            min(run.began for run in made) - began,
            statistics.median(gaps(made, at_once)),
        )
        cpu = f"{shares.agents_s / len(made):.2f} | {shares.ours_s / len(made):.2f}"
        memory = f"{shares.agents_mb:.0f} | {shares.ours_mb:.0f}"
        apart = f"{skew(made):.2f}" if at_once > 1 else ""
        return f"| {at_once} | {first:.1f} | {between:.2f} | {apart} | {cpu} | {memory} | {counting} of {len(made)} |"


def main() -> None:
    """Prints a table, a row per number at a time."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("at_once", nargs="*", type=int, default=[1, 8, 16, 32])
    parser.add_argument("--turn-s", type=float, default=10.0)
    arguments = parser.parse_args()
    print(
        "| at once | first start, s | from end to start, s | skew, s | CPU of an agent, s | of the rest, s |"
        " memory of agents, MB | of the rest, MB | runs that count |\n" + "|--:" * 9 + "|"
    )
    for at_once in arguments.at_once:
        print(benchmark(at_once, arguments.turn_s), flush=True)


if __name__ == "__main__":
    main()
