"""The harnesses in benchmarks/peers.py: how each is installed, configured for the same benchmark, started and read.

The configurations of the peers are in benchmarks/peers/, their environments in .cache/peers/.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from metering import Run

ROOT = Path(__file__).resolve().parents[1]
SETUPS, ENVIRONMENTS = ROOT / "benchmarks" / "peers", ROOT / ".cache" / "peers"
AGENT = str(SETUPS / "agent.sh")
CONDITIONS = ("without", "with")
INSPECT = ENVIRONMENTS / "inspect"
NODE, PROMPTFOO = (ENVIRONMENTS / name / "node_modules" / ".bin" for name in ("node", "promptfoo"))
PACKAGES = {NODE: "node@22.23.3", PROMPTFOO: "promptfoo@0.123.1"}
WORDS = ("forty-two", "a.py")
"""The text that both checks search for."""


class Benchmark(NamedTuple):
    """The common benchmark: tasks in two conditions, the duration of the agent, and the ledger it writes to."""

    folder: Path
    tasks: int
    seconds: float
    ledger: Path

    @property
    def prompts(self) -> dict[str, str]:
        return {
            f"t-{number}": f"t-{number}: What is fact {number}?" for number in range(self.tasks)
        }

    @property
    def planned(self) -> list[Run]:
        return [(task, condition) for task in self.prompts for condition in CONDITIONS]


class Harness(NamedTuple):
    """A harness. `make` writes its configuration to the benchmark's folder."""

    name: str
    make: Callable[[Benchmark], None]
    start: Callable[[Benchmark], list[str]]
    resume: Callable[[Benchmark], list[str]]
    rows: Callable[[Benchmark], list[Run]]
    """A row per scored answer in the final result."""
    env: Callable[[Benchmark], dict[str, str]] = lambda _: {}
    beside: Callable[[Benchmark], int] = lambda _: 0
    """The number of rows beside the final result that do not belong to it."""


def _make_lensbench(sandbox: str) -> Callable[[Benchmark], None]:
    def make(bench: Benchmark) -> None:
        (bench.folder / "repo").mkdir()
        (bench.folder / "repo" / "a.py").write_text("# a.py\n", encoding="utf-8")
        criteria = [{"text": f"says {word}", "all_of": word} for word in WORDS]
        tasks = [
            {"id": task, "category": "Targeted", "prompt": prompt, "criteria": criteria}
            for task, prompt in bench.prompts.items()
        ]
        (bench.folder / "tasks.yaml").write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
        (bench.folder / "notes.md").write_text(
            "The condition's only difference.\n", encoding="utf-8"
        )
        notes = "{workspace}/NOTES.md"
        command = [AGENT, str(bench.ledger), f"{bench.seconds:g}", notes, "{prompt_file}"]
        config = {
            "run_id": "null",
            "scenarios": "tasks.yaml",
            "repository": {"path": "repo"},
            "cache": "cache",
            "conditions": {"without": {}, "with": {"files": {"NOTES.md": "notes.md"}}},
            "agent": {"kind": "command", "command": command},
            "sandbox": sandbox,
            "sandbox_visible": [str(bench.ledger)],
        }
        (bench.folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    return make


def _start_lensbench(bench: Benchmark) -> list[str]:
    snakemake = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "2",
        "--snakefile",
        str(ROOT / "Snakefile"),
    ]
    return [*snakemake, "--directory", ".", "--configfile", "config.yaml"]


def _lensbench_rows(bench: Benchmark) -> list[Run]:
    with (bench.folder / "bench" / "null" / "scores.csv").open(
        newline="", encoding="utf-8"
    ) as file:
        return [(row["task"], row["condition"]) for row in csv.DictReader(file) if row["score"]]


def _start_inspect(bench: Benchmark) -> list[str]:
    arguments = [AGENT, str(bench.ledger), f"{bench.seconds:g}", str(bench.tasks)]
    return [str(INSPECT / "bin" / "python"), str(SETUPS / "inspect_eval.py"), "run", *arguments]


def _inspect_samples(bench: Benchmark, of_whole_logs: bool) -> list[Run]:
    command = [str(INSPECT / "bin" / "python"), str(SETUPS / "inspect_eval.py"), "rows"]
    printed = subprocess.run(
        command, cwd=bench.folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout
    rows = [line.split() for line in printed.splitlines()]
    return [
        (task, condition)
        for status, task, condition, answer in rows
        if answer == "scored" and (status == "success") == of_whole_logs
    ]


def _inspect_rows(bench: Benchmark) -> list[Run]:
    return _inspect_samples(bench, of_whole_logs=True)


def _inspect_beside(bench: Benchmark) -> int:
    return len(_inspect_samples(bench, of_whole_logs=False))


def _make_promptfoo(bench: Benchmark) -> None:
    command = f"exec: {AGENT} {bench.ledger} {bench.seconds:g}"
    config = {
        "prompts": ["{{task}}"],
        "providers": [
            {"id": f"{command} {condition}", "label": condition} for condition in CONDITIONS
        ],
        "defaultTest": {"assert": [{"type": "icontains", "value": word} for word in WORDS]},
        "tests": [{"vars": {"task": prompt}} for prompt in bench.prompts.values()],
    }
    (bench.folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")


def _promptfoo(*arguments: str) -> Callable[[Benchmark], list[str]]:
    command = [str(PROMPTFOO / "promptfoo"), "eval", "-c", "promptfooconfig.json", "-j", "2"]
    quiet = ["--no-table", "--no-progress-bar", "--no-share"]
    return lambda _: [*command, *quiet, *arguments]


def _promptfoo_env(bench: Benchmark) -> dict[str, str]:
    off = ("DISABLE_TELEMETRY", "DISABLE_UPDATE", "DISABLE_REMOTE_GENERATION", "DISABLE_SHARING")
    names = {f"PROMPTFOO_{name}": "1" for name in off}
    path = f"{NODE}{os.pathsep}{os.environ['PATH']}"
    return {**names, "PROMPTFOO_CONFIG_DIR": str(bench.folder / "state"), "PATH": path}


def _promptfoo_rows(bench: Benchmark) -> list[Run]:
    """The rows of the last evaluation."""
    latest = "SELECT id FROM evals ORDER BY created_at DESC LIMIT 1"
    wanted = (
        f"SELECT test_case, provider FROM eval_results WHERE eval_id = ({latest}) AND error IS NULL"
    )
    with sqlite3.connect(bench.folder / "state" / "promptfoo.db") as database:
        found = database.execute(wanted).fetchall()
    return [
        (json.loads(case)["vars"]["task"].partition(":")[0], json.loads(provider)["label"])
        for case, provider in found
    ]


def _nothing(_: Benchmark) -> None:
    pass


LENSBENCH = [
    Harness(name, _make_lensbench(sandbox), _start_lensbench, _start_lensbench, _lensbench_rows)
    for name, sandbox in (("lensbench, no sandbox", "none"), ("lensbench", "auto"))
]
INSPECT_AI = Harness(
    "Inspect AI", _nothing, _start_inspect, _start_inspect, _inspect_rows, beside=_inspect_beside
)
PROMPTFOO_AI = Harness(
    "promptfoo",
    _make_promptfoo,
    _promptfoo(),
    _promptfoo("--resume"),
    _promptfoo_rows,
    _promptfoo_env,
)


def contenders() -> list[Harness]:
    """lensbench, and every peer that can be installed here; prints why one is missing."""
    found = list(LENSBENCH)
    for harness, install in ((INSPECT_AI, _install_inspect), (PROMPTFOO_AI, _install_promptfoo)):
        if problem := install():
            print(f"{harness.name} is not measured: {problem}\n", flush=True)
        else:
            found.append(harness)
    return found


def _install_inspect() -> str:
    """An empty string, or why the installation failed."""
    pip = INSPECT / "bin" / "pip"
    return _made(
        INSPECT / "ready",
        [sys.executable, "-m", "venv", str(INSPECT)],
        [str(pip), "install", "--quiet", "--requirement", str(SETUPS / "inspect.txt")],
    )


def _install_promptfoo() -> str:
    if not shutil.which("npm"):
        return "there is no npm on PATH"
    if platform.system() not in ("Linux", "Darwin"):
        return "its Node comes from npm for Linux and macOS only"
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix"]
    commands = [
        [*install, str(programs.parents[1]), package] for programs, package in PACKAGES.items()
    ]
    return _made(PROMPTFOO.parents[1] / "ready", *commands)


def _made(ready: Path, *commands: Sequence[str]) -> str:
    """Runs the commands of an installation, once."""
    if ready.exists():
        return ""
    for command in commands:
        print(f"installing: {' '.join(command)}", file=sys.stderr, flush=True)
        ended = subprocess.run(command, capture_output=True, encoding="utf-8")
        if ended.returncode:
            return (ended.stderr.strip() or "its installation failed").splitlines()[-1]
    ready.touch()
    return ""
