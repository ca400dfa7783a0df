"""A small benchmark in a separate folder, with an agent of configurable behaviour, run by real Snakemake."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import warm_snakemake

CHECKOUT = Path(__file__).parents[2]
FAKES = CHECKOUT / "tests" / "fakes"
TASKS = ("anna", "bert")
RUNS = ("--until", "validity")
"""A start of everything that ends where it is decided which runs count: no agent is asked after it."""
SCORED = ("--until", "scores")
"""One that ends with the scores and pairs: without the pages."""
Files = dict[str, tuple[bytes, int]]


@dataclass
class Project:
    """A folder with a config, a task set and a repository; `control` belongs to the fake agent and is outside of it."""

    folder: Path
    control: Path
    program: Path = CHECKOUT
    python: str = sys.executable
    paths: Sequence[str] = ()
    """Further folders of Python's modules."""
    starts: list[subprocess.Popen[str] | warm_snakemake.Started] = field(default_factory=list)
    asked: int = 0
    """Agents that a ledger listed which is gone."""

    @property
    def bench(self) -> Path:
        return self.folder / "bench" / "r"

    def configure(self, agent: dict[str, Any] | None = None, **settings: Any) -> None:
        """Writes config.yaml: the fake agent, with the given settings."""
        value: dict[str, Any] = {
            "run_id": "r",
            "scenarios": "tasks.yaml",
            "repository": {"path": "repo"},
            "sandbox": "none",
            "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
            "agent": {
                "kind": "command-events",
                "command": [
                    sys.executable,
                    "-I",
                    str(FAKES / "agent.py"),
                    "{prompt_file}",
                    "{workspace}",
                    "{mcp_file}",
                ],
                "pass_env": ["FAKE_CONTROL", "FAKE_SECRET"],
                "retries": 1,
                "timeout_s": 60,
                **(agent or {}),
            },
            "preflight": {"servers": False},
            **settings,
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump(value))

    def write_tasks(
        self, names: Sequence[str] = TASKS, wanted: str = "Cart", suffix: str = ""
    ) -> None:
        tasks = [
            {
                "id": name,
                "category": "Targeted",
                "prompt": f"Task {name}: where is the cart?{suffix}",
                "criteria": [
                    {"text": "names the class", "all_of": wanted},
                    {"text": "index", "all_of": "An index"},
                ],
            }
            for name in names
        ]
        (self.folder / "tasks.yaml").write_text(yaml.safe_dump({"name": "shop", "tasks": tasks}))

    def behave(self, **behaviours: str | list[str]) -> None:
        """Sets the agent's behaviour by run (`anna_with`), and for `others`."""
        named = {
            name.replace("others", "*").replace("_", "-"): value
            for name, value in behaviours.items()
        }
        (self.control / "behaviours.json").write_text(json.dumps(named))

    def begin(
        self,
        *arguments: str,
        target: str = "all",
        cores: int | None = 4,
        env: dict[str, str] | None = None,
        output: int = subprocess.PIPE,
    ) -> subprocess.Popen[str] | warm_snakemake.Started:
        """Starts Snakemake; all its processes have this test's control folder in their arguments or environment."""
        options = [
            target,
            "-s",
            str(self.program / "Snakefile"),
            *(["--cores", str(cores)] if cores else []),
        ]
        options += [
            "--directory",
            str(self.folder),
            "--configfile",
            str(self.folder / "config.yaml"),
            *arguments,
        ]
        modules = os.pathsep.join([*self.paths, str(self.program / "scripts")])
        marked = {"PYTHONPATH": modules, "FAKE_CONTROL": str(self.control), "FAKE_SECRET": "none"}
        environment = {**os.environ, **marked, **(env or {})}
        if (self.python, output) == (sys.executable, subprocess.PIPE):
            self.starts.append(
                warm_snakemake.start(options, self.folder, environment, mark=str(self.control))
            )
        else:
            self.starts.append(
                subprocess.Popen(
                    [self.python, "-m", "snakemake", *options],
                    cwd=self.folder,
                    env=environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
            )
        return self.starts[-1]

    def start(self, *arguments: str, fails: bool = False, **options: Any) -> str:
        """Runs Snakemake until it ends and returns its output."""
        process = self.begin(*arguments, **options)
        output, _ = process.communicate(timeout=120)
        assert (process.returncode != 0) == fails, output[-3000:]
        return output

    def is_idle(self, *until: str) -> bool:
        """Whether a start that ends there would do nothing: also no missing run, which a target that is there leaves."""
        return (
            re.search(r"^(total +0$|Nothing to be done)", self.start("-n", *until), re.MULTILINE)
            is not None
        )

    def ledger(self, word: str = "start") -> list[str]:
        """The runs that the agent was started for (or ended properly), sorted."""
        path = self.control / "ledger"
        lines = path.read_text().splitlines() if path.exists() else []
        return sorted(line.split()[1] for line in lines if line.startswith(f"{word} "))

    def clear_ledger(self) -> None:
        self.asked += len(self.ledger())
        (self.control / "ledger").unlink(missing_ok=True)

    def files(self, *folders: str) -> Files:
        """Bytes and mtime of all files in `folders` of the run folder except those that are derived."""
        found = [
            path
            for name in folders or ("runs", "attempts")
            for path in (self.bench / name).rglob("*")
        ]
        return {
            str(path.relative_to(self.bench)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in found
            if path.is_file()
            and path.name != "timing.csv"
            and not path.name.startswith(("made-", "plan-"))
        }

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.bench / f"{name}.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def tables(self) -> list[list[dict[str, str]]]:
        """All tables without times."""
        tables = [
            self.table(name) for name in ("validity", "reports", "verdicts", "scores", "pairs")
        ]
        return [
            [{key: value for key, value in row.items() if key != "duration_s"} for row in rows]
            for rows in tables
        ]

    def reasons(self) -> dict[str, str]:
        """The reasons of the runs that do not count."""
        return {
            f"{row['task']}-{row['condition']}": row["reason"]
            for row in self.table("validity")
            if row["reason"]
        }

    def record(self, stem: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.attempt(stem) / "record.json").read_text())
        return value

    def attempt(self, stem: str) -> Path:
        """The folder of the newest attempt of a run."""
        return max((self.bench / "attempts" / stem).iterdir(), key=lambda path: int(path.name))

    def take(self, made: "Project") -> "Project":
        """Replaces the folder by a copy of another project's, with all its times."""
        shutil.rmtree(self.folder)
        shutil.copytree(made.folder, self.folder, symlinks=True)
        return self

    def copy_program(self) -> Path:
        """A copy of this program that a test may change; this project is started from it."""
        copy = self.control / "program"
        for name in ("rules", "scripts", "templates", "report", "docs", "profiles"):
            shutil.copytree(CHECKOUT / name, copy / name)
        shutil.copy(CHECKOUT / "Snakefile", copy)
        self.program = copy
        return copy

    def processes(self) -> list[str]:
        """The command lines of all living processes that belong to this project."""
        return [command for _, command in living(str(self.control))]


def living(mark: str) -> Iterator[tuple[int, str]]:
    """Processes that have `mark` in their arguments or environment, except this one."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                command = (entry / "cmdline").read_bytes()
                is_zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                if not is_zombie and mark.encode() in command + (entry / "environ").read_bytes():
                    yield int(entry.name), command.replace(b"\0", b" ").decode()


def wait_for(condition: Callable[[], object], seconds: float = 30) -> bool:
    """True as soon as the condition holds, False after a timeout."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def make_project(folder: Path, control: Path) -> Project:
    control.mkdir(parents=True)
    (folder / "repo").mkdir(parents=True)
    (folder / "repo" / "shop.py").write_text("class Cart:\n    limit = 40\n")
    (folder / "repo" / "cli.py").write_text("from shop import Cart\n")
    (folder / "repo" / "README.md").write_text("A shop.\n")
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"fake": {"command": "true"}}}))
    project = Project(folder, control)
    project.configure()
    project.write_tasks()
    project.behave()
    return project
