"""The cost of 429s, and the effect of limits and shared pauses: `python benchmarks/rate_limits.py`.

A service answers 60 requests a minute and refuses the rest. Agents send it four requests of a second each; one refusal
ends an attempt. The same benchmark is run with `--cores 16` in four ways, without the stages after the runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fakes.limited_api import LimitedApi, limited  # noqa: E402

PER_MINUTE, REQUESTS, ANSWER_S = 60, 4, 1.0
FAST = PER_MINUTE // 3
"""The assumed requests per minute of an agent, which are the real ones including its start and end."""
IMPORTS = "from pathlib import Path; from lensbench.agents import services; import os; "
WAYS = {
    "nothing": "services.FIRST_S = services.LONGEST_S = 0.0",
    "own pauses": "services.PLACE = Path(f'bench/.services/{os.getpid()}')",
    "shared pauses": "",
    "limits and pauses": f"from lensbench.workflow import capacity; capacity.ASSUMED = {FAST}",
}
"""The change to every program before it starts; the third is an unchanged program."""


class Result(NamedTuple):
    """The result of one way."""

    answered: int
    refused: int
    attempts: int
    discarded: int
    wall_s: float


def measure(way: str, tasks: int) -> Result:
    """Executes the runs in one way, in a separate folder."""
    with tempfile.TemporaryDirectory() as name, limited(PER_MINUTE, 60.0, ANSWER_S) as service:
        folder = Path(name)
        configure(folder, service, tasks, way)
        if WAYS[way]:
            (folder / "sitecustomize.py").write_text(IMPORTS + WAYS[way], encoding="utf-8")
        began = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "validity",
            "-s",
            ROOT / "Snakefile",
            "--cores",
            "16",
            "--quiet",
            "all",
        ]
        with (folder / "log").open("w", encoding="utf-8") as log:
            environment = {
                "PATH": "/usr/bin:/bin",
                "HOME": name,
                "PYTHONPATH": f"{ROOT / 'scripts'}:{folder}",
            }
            subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=True)
        wall_s = time.monotonic() - began
        records = [
            json.loads(path.read_text(encoding="utf-8"))
            for path in (folder / "bench/r/attempts").glob("*/*/record.json")
        ]
        attempts = [record["attempt"] for record in records]
        discarded = sum(1 for _ in (folder / "bench/r/attempts").glob("*/*/discard.json"))
        return Result(service.answered, service.refused, len(attempts), discarded, wall_s)


def configure(folder: Path, service: LimitedApi, tasks: int, way: str) -> None:
    """A small task set, and the agent in two conditions."""
    (folder / "repo").mkdir()
    (folder / "repo" / "shop.py").write_text("class Cart: ...\n", encoding="utf-8")
    (folder / "mcp.json").write_text(
        json.dumps({"mcpServers": {"fake": {"command": "true"}}}), encoding="utf-8"
    )
    criteria = [
        {"text": "names the class", "all_of": "Cart"},
        {"text": "index", "all_of": "An index"},
    ]
    task = {"category": "Targeted", "prompt": "Where is the cart?", "criteria": criteria}
    made = [{"id": f"t{number}", **task} for number in range(tasks)]
    (folder / "tasks.yaml").write_text(
        json.dumps({"name": "shop", "tasks": made}), encoding="utf-8"
    )
    agent = ROOT / "tests" / "fakes" / "asking_agent.py"
    program = [
        sys.executable,
        "-I",
        str(agent),
        "{mcp_file}",
        service.address,
        str(REQUESTS),
        str(REQUESTS),
    ]
    config: dict[str, Any] = {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "sandbox": "none",
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "agent": {
            "kind": "command-events",
            "command": program,
            "base_url": f"http://{service.address}",
        },
        "preflight": {"servers": False},
    }
    if "limits" in way:
        config["limits"] = {"requests_per_minute": {service.address: PER_MINUTE}}
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")


def main() -> None:
    """Prints a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=16)
    tasks = parser.parse_args().tasks
    print(f"{2 * tasks} runs of {REQUESTS} requests, {PER_MINUTE} a minute allowed, --cores 16")
    for way in WAYS:
        found = measure(way, tasks)
        print(
            f"{way:18} {found.answered + found.refused:4} requests, {found.refused:4} refused,"
            f" {found.attempts:3} attempts, {found.discarded:2} runs discarded, {found.wall_s:4.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
