"""The cost of the judge `tests`, in a benchmark of change tasks from the config to the score.

    python benchmarks/change_runs.py [--runs 200] [--tasks 5] [--agent command|claude-code] [--keep FOLDER]

The tasks are the first of scenarios/changes-demo.yaml, so the first start needs the package index. With the server an
agent makes the right change, without it only in every other task; each run adds a unique file, so that no two patches
are equal and each is tested. `command` is a program that applies a patch. `claude-code` is the real one with a
scripted service: it asks the server if it has one, reads the files, and edits them with its own tools.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from fakes.messages_api import MessagesApi, read_rules, serving  # noqa: E402

SET = ROOT / "scenarios" / "changes-demo.yaml"
CLAUDE = ROOT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
SERVER = {
    "command": "${python}",
    "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"],
}
GREP = "mcp__lens__lens_grep"
APPLYING = """\
import json, pathlib, subprocess, sys, uuid
mcp_file, prompt_file, patches = sys.argv[1:]
prompt = pathlib.Path(prompt_file).read_text()
has_server = bool(json.loads(pathlib.Path(mcp_file).read_text())["mcpServers"])
for number, (part, patch) in enumerate(json.loads(pathlib.Path(patches).read_text())):
    if part in prompt and (has_server or number % 2):
        subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True)
pathlib.Path("unlike-any-other.txt").write_text(uuid.uuid4().hex + "\\n")
print("Done.")
"""
Patched = tuple[str, str]
"""A part of a task's prompt, and the task's reference."""


def patched(tasks: int) -> list[Patched]:
    """The right change of each task."""
    chosen = yaml.safe_load(SET.read_text(encoding="utf-8"))["tasks"][:tasks]
    return [
        (task["prompt"][:60], (SET.parent / task["reference"]["file"]).read_text(encoding="utf-8"))
        for task in chosen
    ]


def edits(patch: str) -> Iterator[tuple[str, str, str]]:
    """File, text and new text of each hunk."""
    for of_file in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        file = re.findall(r"^\+\+\+ b/(.*)$", of_file, re.MULTILINE)[0]
        for hunk in re.split(r"^@@ .*\n", of_file, flags=re.MULTILINE)[1:]:
            lines = [line for line in hunk.splitlines() if not line.startswith("\\")]
            old, new = ("\n".join(line[1:] for line in lines if line[:1] != sign) for sign in "+-")
            yield file, old, new


def script(jobs: list[Patched]) -> list[dict[str, Any]]:
    """The service's replies to Claude Code."""
    rules: list[dict[str, Any]] = []
    for number, (part, patch) in enumerate(jobs):
        changes = list(edits(patch))
        reading = [
            {"name": "Read", "input": {"file_path": f"/repo/{file}"}}
            for file in {file for file, _, _ in changes}
        ]
        note = {
            "name": "Bash",
            "input": {"command": "date +%N$$ > unlike-any-other.txt", "description": "a note"},
        }
        editing = [
            {
                "name": "Edit",
                "input": {"file_path": f"/repo/{file}", "old_string": old, "new_string": new},
            }
            for file, old, new in changes
        ]
        whole = {
            "name": "Bash",
            "input": {"command": f"git apply <<'EOF'\n{patch}EOF", "description": "the patch"},
        }
        grep = {"name": GREP, "input": {"query": Path(changes[0][0]).stem}}
        text = json.dumps(part, ensure_ascii=False)[1:-1]
        first = changes[0][1].split("\n")[0]
        refused = json.dumps(f"String: {first}", ensure_ascii=False)[
            1:-1
        ]  # a text that occurs twice
        rules += [
            {
                "when": {"turn": 1, "text": text, "has_tool": GREP},
                "reply": {"tools": [grep, *reading]},
            },
            {"when": {"turn": 1, "text": text, "has_tool": "Edit"}, "reply": {"tools": reading}},
            {
                "when": {"turn": 2, "text": text, "has_tool": GREP},
                "reply": {"tools": [note, *editing]},
            },
            {
                "when": {"turn": 2, "text": text},
                "reply": {"tools": [note, *(editing if number % 2 else ())]},
            },
            {"when": {"turn": 3, "text": refused}, "reply": {"tools": [whole]}},
        ]
    return [*rules, {"reply": {"text": "I have made the change."}}]


def run(folder: Path, agent: dict[str, Any], trials: int, tasks: int) -> float:
    """Runs the benchmark; returns the duration in seconds."""
    chosen = yaml.safe_load(SET.read_text(encoding="utf-8"))
    chosen["tasks"] = chosen["tasks"][:tasks]
    for task in chosen["tasks"]:
        task["reference"]["file"] = os.path.relpath(SET.parent / task["reference"]["file"], folder)
    (folder / "tasks.yaml").write_text(yaml.safe_dump(chosen), encoding="utf-8")
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": SERVER}}), encoding="utf-8")
    config = {
        "run_id": "changes",
        "scenarios": "tasks.yaml",
        "trials": trials,
        "agent": agent,
        "cache": ".cache",
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "sandbox_visible": [str(folder / "agent.py"), str(folder / "patches.json")],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        str(ROOT / "Snakefile"),
        "--configfile",
        "config.yaml",
    ]
    began = time.perf_counter()
    subprocess.run(
        [*command, "--cores", "2"],
        cwd=folder,
        check=True,
        env={**os.environ, "LIVE_TEST_KEY": "sk-none"},
    )
    return time.perf_counter() - began


def report(bench: Path, seconds: float) -> None:
    """Prints the judge's time and memory by task, and the scores."""
    used = defaultdict(list)
    for path in sorted((bench / "tests").rglob("*.json")):
        said = json.loads(path.read_text(encoding="utf-8"))
        used[re.sub(r"-(with|without)$", "", path.stem)].append(
            (said["duration_s"], said["memory_mb"])
        )
    print(
        "| task | runs of the tests | s, median | s, most | MB, median | MB, most |\n|---|--:|--:|--:|--:|--:|"
    )
    for task, found in used.items():
        times, sizes = zip(*found, strict=True)
        print(
            f"| {task} | {len(found)} | {median(times):.1f} | {max(times):.1f} | {median(sizes):.0f} | {max(sizes)} |"
        )
    results = json.loads((bench / "results.json").read_text(encoding="utf-8"))
    for condition in ("without", "with"):
        scores = [row["score"] for row in results["runs"] if row["condition"] == condition]
        resolved = results["changes"]["conditions"][condition]["resolved"]
        print(
            f"{condition}: {len(scores)} runs, mean score {sum(scores) / len(scores):.1%}, resolved {resolved}"
        )
    print(f"{seconds:.0f} s in all")


def main() -> None:
    """Runs the benchmark and prints two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=5)
    parser.add_argument("--agent", choices=("command", "claude-code"), default="command")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    jobs, trials = patched(options.tasks), max(1, options.runs // (2 * options.tasks))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.py").write_text(APPLYING, encoding="utf-8")
        (folder / "patches.json").write_text(json.dumps(jobs), encoding="utf-8")
        if options.agent == "command":
            command = [
                sys.executable,
                str(folder / "agent.py"),
                "{mcp_file}",
                "{prompt_file}",
                str(folder / "patches.json"),
            ]
            seconds = run(folder, {"kind": "command", "command": command}, trials, options.tasks)
        else:
            with serving(MessagesApi(), read_rules(script(jobs))) as fake:
                agent = {
                    "kind": "claude-code",
                    "command": [str(CLAUDE)],
                    "model": "sonnet",
                    "provider": "custom",
                    "models": {"sonnet": "glm-5", "opus": "glm-5"},
                    "base_url": fake.url,
                    "token_env": "LIVE_TEST_KEY",
                    "tools": ["Bash", "Read"],
                    "mcp_start_s": 60,
                }
                seconds = run(folder, agent, trials, options.tasks)
        report(folder / "bench" / "changes", seconds)


if __name__ == "__main__":
    main()
