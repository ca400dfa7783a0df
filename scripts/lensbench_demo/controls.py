"""The control arms, and the temporary projects in which they run.

An answer states some of its task's five criteria, drawn by seed, in the words of the criteria. Its score is therefore
known before any judge reads it, and so is the difference between the conditions.
"""

from __future__ import annotations

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
from lensbench_demo import control_server as server

CRITERIA = 5
"""Per task: the protocol's maximum. One criterion is 20 points of a score, which rounding to 5% does not change."""
SEED = 1

WORKING = {"command": sys.executable, "args": ["-I", server.__file__]}
BROKEN = {
    "command": sys.executable,
    "args": ["-I", "-c", "import sys; sys.exit('broken on purpose')"],
}


@dataclass(frozen=True)
class Control:
    """A benchmark whose outcome is known. Both conditions draw the number of stated criteria in the same way."""

    name: str
    expected: str
    """The expected results, in words."""
    tasks: int
    least: int
    """How many criteria an answer states, at least and at most."""
    most: int
    lifts: bool = False
    """Whether the treatment's answer states one criterion more in every second task."""
    servers: Mapping[str, str] = field(default_factory=lambda: {"without": "", "with": "control"})
    """Condition -> the name of its MCP server, if it has one; the baseline comes first."""
    entry: Mapping[str, Any] = field(default_factory=lambda: WORKING)
    """How the server is started."""

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


NULL = Control("null", "score 0% in both conditions, and no verdict", tasks=4, least=0, most=0)
ORACLE = Control(
    "oracle",
    "score 100% in both conditions, and no verdict",
    tasks=4,
    least=CRITERIA,
    most=CRITERIA,
)
SAME = Control(
    "a-a",
    "the same condition twice: an interval over 0, neither GO nor HARM",
    tasks=24,
    least=2,
    most=3,
    servers={"a": "control-a", "b": "control-b"},
)
LIFT = Control(
    "lift", "+10 points inside the interval, and GO", tasks=24, least=2, most=3, lifts=True
)
BROKEN_SERVER = Control(
    "broken",
    "refused before any run; without the preflight every run WITH discarded, and no delta",
    tasks=4,
    least=2,
    most=3,
    entry=BROKEN,
)
OUTSIDE = Control(
    "outside",
    "an agent that looks around outside its workspace finds nothing: 0%",
    tasks=2,
    least=0,
    most=0,
)
CONTROLS = (NULL, ORACLE, SAME, LIFT, BROKEN_SERVER, OUTSIDE)

Planted = dict[tuple[str, str], Fraction]
"""(task, condition) -> the score that the run must get."""


def make_project(control: Control, folder: Path, servers_checked: bool = True) -> Planted:
    """Writes the project of a control into `folder`; returns the scores that its runs must get."""
    tasks = [_task(number) for number in range(1, control.tasks + 1)]
    for task in tasks:
        facts = "".join(f"# {criterion['text']}\n" for criterion in task["criteria"])
        write_atomic(folder / "repo" / f"stage_{task['id'][-2:]}.py", facts)
    write_atomic(
        folder / "tasks.yaml", yaml.safe_dump({"name": "controls", "tasks": tasks}, sort_keys=False)
    )
    for name in filter(None, control.servers.values()):
        write_json(folder / f"{name}.json", {"mcpServers": {name: dict(control.entry)}})
    write_atomic(
        folder / "config.yaml",
        yaml.safe_dump(_config(control, folder, servers_checked), sort_keys=False),
    )
    return _plant(control, folder)


def _task(number: int) -> dict[str, Any]:
    """A task with every kind of pattern; no two criteria share words."""
    n, tries = f"{number:02}", f"{number + 10} tries"
    criteria: list[dict[str, Any]] = [
        {"text": f"stage_{n}.py reads from inbox_{n}", "all_of": f"inbox_{n}"},
        {"text": f"it writes to outbox_{n}", "any_of": [f"outbox_{n}", f"sink_{n}"]},
        {"text": f"relay_{n} gives up after {tries}", "all_of": {"regex": f"relay_{n}.* {tries}"}},
        {
            "text": f"gauge_{n} is limited by LIMIT_{n}",
            "all_of": [f"gauge_{n}", f"LIMIT_{n}"],
            "partial": {"the gauge": f"gauge_{n}"},
        },
        {"text": f"cron_{n} starts it", "all_of": f"cron_{n}", "must_not": f"hook_{n}"},
    ]
    category = list(Category)[number % len(Category)].value
    return {
        "id": f"control-{n}",
        "category": category,
        "prompt": f"What does stage_{n}.py do?",
        "criteria": criteria,
    }


def _config(control: Control, folder: Path, servers_checked: bool) -> dict[str, Any]:
    # outside the workspace, so that only this agent sees the criteria
    words = "" if control == OUTSIDE else str((folder / "words.json").absolute())
    conditions = {
        name: {"mcp": f"{server}.json"} if server else {}
        for name, server in control.servers.items()
    }
    return {
        "run_id": control.name,
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "conditions": conditions,
        "baseline": control.baseline,
        "seed": SEED,
        "agent": {
            "kind": "command-events",
            "command": [sys.executable, "-I", agent.__file__, words, "{prompt_file}", "{mcp_file}"],
            "retries": 1,
            "timeout_s": 300,  # a busy machine; the agent looks around for 20 s of CPU time
        },
        "preflight": {"servers": servers_checked},
    }


def _plant(control: Control, folder: Path) -> Planted:
    """Writes the words file; returns the scores of the answers."""
    rng = random.Random(SEED)
    plan: Planted = {}
    words: dict[str, dict[str, list[str]]] = {}
    tasks = read_scenarios([str(folder / "tasks.yaml")], imported=True).tasks
    for number, task in enumerate(tasks):
        words_of_task = words[sha256(prompt_of(task).encode())] = {}
        for condition, name in control.servers.items():
            lift = control.lifts and condition == control.treatment and number % 2
            criteria = rng.sample(task.criteria, rng.randint(control.least, control.most) + lift)
            words_of_task[name] = [statement(criterion) for criterion in criteria]
            plan[task.id, condition] = Fraction(len(criteria), CRITERIA)
    write_json(folder / "words.json", words)
    return plan


def statement(criterion: Criterion) -> str:
    """A sentence that states a criterion: its text and the literals that its author asks for."""
    patterns = (*criterion.all_of, *criterion.any_of[:1])
    literals = [pattern for pattern in patterns if not isinstance(pattern, Regex)]
    return f"{criterion.text} ({', '.join(literals) or 'as it says'})"
