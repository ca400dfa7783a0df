"""The control arms (`controls.yaml`), and the temporary projects in which they run.

An answer states some of its task's five criteria, drawn by seed, in the words of the criteria. Its score is therefore
known before any judge reads it, and so is the difference between the conditions.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from lensbench.core.records import sha256
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.tasks import Category, Criterion, Regex
from lensbench.plan.freeze import prompt_of
from lensbench.plan.task_files import read_scenarios
from lensbench_demo import control_agent as agent

_FILE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_TASK, _CONFIG = _FILE["task"], _FILE["config"]
CRITERIA = len(_TASK["criteria"])
SERVER = {"command": sys.executable, "args": ["-I", agent.__file__, "serve"]}
BROKEN = {
    "command": sys.executable,
    "args": ["-I", "-c", "import sys; sys.exit('broken on purpose')"],
}

Planted = dict[tuple[str, str], Fraction]
"""(task, condition) -> the score that the run must get."""


@dataclass(frozen=True)
class Control:
    """A benchmark whose outcome is known. Both conditions draw the number of stated criteria in the same way."""

    name: str
    expected: str
    """The expected results, in words."""
    tasks: int
    stated: tuple[int, int]
    lifts: bool = False
    starts: bool = True
    """Whether its server starts."""
    looks_around: bool = False
    servers: Mapping[str, str] = field(default_factory=lambda: {"without": "", "with": "control"})
    """Condition -> the name of its MCP server, if it has one; the baseline comes first."""

    @property
    def baseline(self) -> str:
        """The name of the baseline condition."""
        return next(iter(self.servers))

    @property
    def treatment(self) -> str:
        """The name of the treatment condition."""
        return list(self.servers)[1]

    @property
    def delta(self) -> Fraction:
        """The true difference between the conditions, as a share of 1: the average over many draws."""
        return Fraction(int(self.lifts), 2 * CRITERIA)


CONTROLS = {name: Control(name, **settings) for name, settings in _FILE["controls"].items()}


def make_project(control: Control, folder: Path, servers_checked: bool = True) -> Planted:
    """Writes the project of a control into `folder`; returns the scores that its runs must get."""
    tasks = []
    for number in range(1, control.tasks + 1):
        task = json.loads(json.dumps(_TASK).replace("NN", f"{number:02}"))
        category = list(Category)[number % len(Category)]
        task["category"] = category.value
        tasks.append(task)
        facts = [f"# {criterion['text']}\n" for criterion in task["criteria"]]
        write_atomic(folder / "repo" / f"stage_{number:02}.py", "".join(facts))
    _write_yaml(folder / "tasks.yaml", {"name": "controls", "tasks": tasks})
    conditions: dict[str, dict[str, str]] = {}
    for condition, server in control.servers.items():
        conditions[condition] = {}
        if server:
            conditions[condition]["mcp"] = f"{server}.json"
            entry = SERVER if control.starts else BROKEN
            write_json(folder / f"{server}.json", {"mcpServers": {server: entry}})
    # outside the workspace, so that only this agent sees the criteria
    words = "" if control.looks_around else str((folder / "words.json").absolute())
    command = [
        sys.executable,
        "-I",
        agent.__file__,
        words,
        "{prompt_file}",
        "{mcp_file}",
    ]
    config = {
        **_CONFIG,
        "run_id": control.name,
        "conditions": conditions,
        "baseline": control.baseline,
        "agent": {**_CONFIG["agent"], "command": command},
        "preflight": {"servers": servers_checked},
    }
    _write_yaml(folder / "config.yaml", config)
    return _plant(control, folder)


def _write_yaml(file: Path, value: Mapping[str, Any]) -> None:
    write_atomic(file, yaml.safe_dump(value, sort_keys=False))


def _plant(control: Control, folder: Path) -> Planted:
    """Writes the words file; returns the scores of the answers."""
    rng = random.Random(_CONFIG["seed"])
    planted: Planted = {}
    words: dict[str, dict[str, list[str]]] = {}
    tasks = read_scenarios([str(folder / "tasks.yaml")], imported=True).tasks
    for number, task in enumerate(tasks):
        words_of_task = words[sha256(prompt_of(task).encode())] = {}
        for condition, server in control.servers.items():
            count = rng.randint(*control.stated)
            if control.lifts and condition == control.treatment and number % 2:
                count += 1
            criteria = rng.sample(task.criteria, count)
            words_of_task[server] = [statement(criterion) for criterion in criteria]
            planted[task.id, condition] = Fraction(count, CRITERIA)
    write_json(folder / "words.json", words)
    return planted


def statement(criterion: Criterion) -> str:
    """A sentence that states a criterion: its text and the literals that its author asks for."""
    patterns = (*criterion.all_of, *criterion.any_of[:1])
    literals = [pattern for pattern in patterns if not isinstance(pattern, Regex)]
    return f"{criterion.text} ({', '.join(literals) or 'as it says'})"
