"""Fifty runs of the real Claude Code while Snakemake is killed with SIGKILL: what is lost, duplicated or left?

    python benchmarks/killed_runs.py [--tasks 25] [--kills 4] [--seed 1]

Drives the pinned CLI of `make agents` against the tests' fake of its model's API, with the embedded LENS over stdio,
until everything is done, and prints a table. A run that was finished when Snakemake was killed must have the same bytes
afterwards; no process may be left 5 seconds after a kill; no file may contain the key.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fakes.messages_api import MessagesApi, read_rules, serving  # noqa: E402

CLAUDE = ROOT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
KEY = "sk-kill-test-0123456789abcdef"
LIMIT_S = 5.0


def write_project(folder: Path, url: str, tasks: int) -> None:
    """A benchmark of `tasks` tasks in two conditions."""
    (folder / "repo").mkdir()
    (folder / "repo" / "cart.py").write_text("class Cart:\n    limit = 10\n", encoding="utf-8")
    criteria = [
        {"text": "names the file", "all_of": "cart.py"},
        {"text": "names the class", "all_of": "Cart"},
    ]
    entries = [
        {
            "id": f"t-{number}",
            "category": "Targeted",
            "prompt": f"{number}: where is Cart?",
            "criteria": criteria,
        }
        for number in range(tasks)
    ]
    (folder / "tasks.yaml").write_text(json.dumps({"tasks": entries}), encoding="utf-8")
    server = {
        "command": "${python}",
        "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"],
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": server}}), encoding="utf-8")
    agent = {
        "kind": "claude-code",
        "command": [str(CLAUDE)],
        "version": "2.1.329",
        "model": "sonnet",
        "provider": "custom",
        "models": {"sonnet": "glm-5"},
        "base_url": url,
        "token_env": "KILL_TEST_KEY",
        "mcp_start_s": 60,
    }
    conditions = {"without": {}, "with": {"mcp": "mcp.json"}}
    config = {
        "run_id": "k",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "conditions": conditions,
    }
    (folder / "config.yaml").write_text(json.dumps({**config, "agent": agent}), encoding="utf-8")


def left_over(url: str) -> int:
    """Processes whose environment names the fake's address: agents, and what they started."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += f"ANTHROPIC_BASE_URL={url}".encode() in (process / "environ").read_bytes()
        except OSError:
            continue
    return found


def finished(folder: Path) -> dict[str, str]:
    """The hashes of answers with a record, by name."""
    answers = sorted((folder / "bench/k/runs").glob("*.md"))
    whole = [
        path
        for path in answers
        if any((folder / "bench/k/attempts" / path.stem).glob("*/record.json"))
    ]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in whole}


def main() -> None:
    """Prints the outcomes of the runs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--tasks", type=int, default=25)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    report = "## Report\n\n- **Tool calls**: 0\n- **Files used**: cart.py\n"
    rules = read_rules([{"reply": {"text": f"Cart is in cart.py.\n\n{report}", "delay_s": 1}}])
    with (
        tempfile.TemporaryDirectory(prefix="killed-") as name,
        serving(MessagesApi(), rules) as api,
    ):
        folder = Path(name)
        write_project(folder, api.url, options.tasks)
        snakemake = [
            sys.executable,
            "-m",
            "snakemake",
            "-s",
            str(ROOT / "Snakefile"),
            "--directory",
            name,
        ]
        command = [*snakemake, "--configfile", str(folder / "config.yaml"), "--cores", "4"]
        env = {**os.environ, "KILL_TEST_KEY": KEY}
        changed = left = 0
        for _ in range(options.kills):
            process = subprocess.Popen(
                command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(rng.uniform(12, 25))
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(LIMIT_S)
            left += left_over(api.url)
            before = finished(folder)
            print(
                f"killed with {len(before)} runs finished, {left_over(api.url)} processes left",
                flush=True,
            )
            subprocess.run([*command, "--unlock"], env=env, check=False, capture_output=True)
        subprocess.run(command, env=env, check=True, capture_output=True)
        after = finished(folder)
        changed = sum(after.get(run) != digest for run, digest in before.items())
        prompts = [json.dumps(body) for body in api.bodies]
        asked = sum("where is Cart?" in prompt for prompt in prompts)
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        rows = {
            "runs planned / finished": f"{2 * options.tasks} / {len(after)}",
            "finished runs that changed": changed,
            "requests for an answer (the planned ones, and those of attempts that were killed)": asked,
            "processes left 5 s after a kill": left,
            "processes left at the end": left_over(api.url),
            "half-written files": sum(path.suffix == ".tmp" for path in files),
            "files that contain the key": sum(KEY.encode() in path.read_bytes() for path in files),
            "workspaces left": len(list(Path(tempfile.gettempdir()).glob("lb-*"))),
        }
        print("\n".join(f"| {name} | {value} |" for name, value in rows.items()))


if __name__ == "__main__":
    main()
