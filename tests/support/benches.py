"""Synthetic run folders of any size, written by the real code, for tests and benchmarks of stages after the runs."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handmade import finish, store
from lensbench.core.records import Attempt, Call, Outcome, Record, RunId, sha256
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.tables import write_table
from lensbench.core.tasks import Category, Criterion, Folder, Task
from lensbench.judging.decisions import VERDICT_COLUMNS
from lensbench.plan import task_markdown
from lensbench.plan.config import Agent, Gate, Judging
from lensbench.runs.reports import read_reports
from lensbench.runs.validity import judge_validity

TOOLS = ("lens_grep", "lens_graph", "lens_graph_neighbors", "lens_reindex")
MCP_SHA256 = sha256(b"an MCP file")
SETTINGS_SHA256 = sha256(b"settings")
PROMPT_SHA256 = sha256(b"a prompt")
STARTED = "2026-01-02T03:04:05.000Z"
_POINTS = {"Met": "1", "Partial": "0.5", "Missed": "0", "Unjudged": None}


@dataclass(frozen=True)
class Shape:
    """The parameters of a synthetic benchmark. Shares are of all runs."""

    tasks: int = 12
    treatments: Sequence[str] = ("with",)
    trials: int = 1
    repositories: int = 4
    discarded: float = 0.0
    missing: float = 0.0
    unjudged: float = 0.0
    lift: float = 0.1
    """The treatment's effect on the share of criteria that an answer states."""
    long_names: bool = False
    transcripts: bool = True
    """Whether records have calls, tokens and tools; otherwise only the agent's report has them."""
    paragraphs: int = 2
    """Paragraphs of filler in each answer."""
    hostile: str = ""
    """A text in every place where a person or an agent can write one."""
    agent: str = "claude-code"
    judges: Sequence[str] = ("claude-haiku",)
    seed: int = 1
    looks: int = 1
    comparisons: Sequence[str] = ()

    @property
    def conditions(self) -> list[str]:
        """The baseline, and the treatments after it."""
        return ["without", *self.treatments]


def make_bench(folder: Path, shape: Shape) -> Path:
    """Writes the run folder up to results.json, and returns the folder."""
    rng = random.Random(shape.seed)
    tasks = [_task(shape, number) for number in range(shape.tasks)]
    write_json(folder / "plan.json", _plan(shape, tasks))
    write_atomic(
        folder / "scenarios.md", task_markdown.render(tasks, "Scenarios of a synthetic benchmark")
    )
    for name in ("config.yaml", "protocol.md"):
        write_atomic(folder / name, f"{name} of a synthetic benchmark\n")
    verdicts: list[dict[str, Any]] = []
    for trial in range(1, shape.trials + 1):
        for task in tasks:
            hard = rng.gauss(0, 0.18)
            for condition in shape.conditions:
                verdicts += _run(folder, shape, task, RunId(task.id, condition, trial), hard, rng)
    judge_validity(folder)
    read_reports(folder)
    for judge in shape.judges:
        rows = (
            verdicts
            if judge == shape.judges[0]
            else [_second_thoughts(row, judge, rng) for row in verdicts]
        )
        write_table(folder / "verdicts" / f"{judge}.csv", VERDICT_COLUMNS, rows)
    finish(folder)
    return folder


def _task(shape: Shape, number: int) -> Task:
    category = list(Category)[number % 4]
    repository = f"repo-{number * shape.repositories // shape.tasks + 1}"
    name = f"{repository}-{category.value[:3].lower()}-{number:03}"
    long = "-with-a-name-that-says-everything-about-it" if shape.long_names else ""
    criteria = tuple(
        Criterion(
            text=f"States that step {step} happens in src/module_{step}.py {shape.hostile}".strip()
        )
        for step in range(1, 3 + number % 4)
    )
    source = Folder(path=f"{repository}{shape.hostile}")
    prompt = f"How does part {number} of this program work, step by step? {shape.hostile}"
    return Task(
        id=name + long, category=category, repository=source, prompt=prompt, criteria=criteria
    )


def _plan(shape: Shape, tasks: Sequence[Task]) -> dict[str, Any]:
    server = f"lens{shape.hostile}"
    return {
        "run_id": "synthetic",
        "imported": not shape.transcripts,
        "seed": shape.seed,
        "trials": shape.trials,
        "baseline": "without",
        "conditions": {
            name: {
                "mcp": f"{name}.json" if servers else None,
                "mcp_sha256": MCP_SHA256 if servers else "",
                "servers": servers,
            }
            for name in shape.conditions
            for servers in [[] if name == "without" else [server]]
        },
        "agent": _agent(shape),
        "model_mapping": "sonnet=glm-5",
        "max_rounds": 3,
        "settings_sha256": SETTINGS_SHA256,
        "gate": Gate(looks=shape.looks, comparisons=list(shape.comparisons)).model_dump(
            mode="json"
        ),
        "judging": Judging().model_dump(mode="json"),
        "judges": [{"name": judge} for judge in shape.judges],
        "order": [task.id for task in tasks],
        "tasks": {
            task.id: {
                "category": task.category.value,
                "repository": task.repository.path if isinstance(task.repository, Folder) else None,
                "prompt_sha256": PROMPT_SHA256,
                "criteria": len(task.criteria),
            }
            for task in tasks
        },
        "repositories": {
            task.repository.path: {"path": task.repository.path}
            for task in tasks
            if isinstance(task.repository, Folder)
        },
        "accepted_changes": [shape.hostile] if shape.hostile else [],
        "warnings": [shape.hostile] if shape.hostile else [],
    }


def _run(
    folder: Path, shape: Shape, task: Task, run: RunId, hard: float, rng: random.Random
) -> Iterator[dict[str, Any]]:
    """Writes a run, and returns the verdicts on it."""
    treated = run.condition != "without"
    if rng.random() < shape.missing:
        return
    chance = 0.62 + hard + shape.lift * treated
    verdicts = [
        "Met"
        if (draw := rng.random()) < chance
        else "Partial"
        if draw < chance + 0.12
        else "Missed"
        for _ in task.criteria
    ]
    discarded = rng.random() < shape.discarded
    answer = _answer(shape, task, verdicts, treated, rng)
    store(folder, _record(shape, run, answer, treated, discarded, rng), answer)
    if discarded:
        return
    for number, verdict in enumerate(verdicts, 1):
        unjudged = rng.random() < shape.unjudged
        evidence = "" if verdict == "Missed" else _evidence(number, verdict)
        yield {
            **run._asdict(),
            "criterion": number,
            "judge": shape.judges[0],
            "verdict": "Unjudged" if unjudged else verdict,
            "points": _POINTS["Unjudged" if unjudged else verdict],
            "evidence": "" if unjudged else evidence,
            "position": answer.find(evidence) if evidence and not unjudged else None,
            "reason": "as the answer says",
            "failure": "timeout" if unjudged else "",
            "version": "1",
            "model": "claude-haiku-4-5",
            "cost_usd": 0.001,
            "cost_estimated": "",
        }


def _agent(shape: Shape) -> dict[str, Any]:
    return {
        **Agent().settings,
        "kind": shape.agent,
        "version": "2.1.329",
        "model": "sonnet",
        "tools": ["Read"],
    }


def _evidence(number: int, verdict: str) -> str:
    where = f" in `src/module_{number}.py`" if verdict == "Met" else ""
    return f"**Step {number}** happens{where}"


def _answer(
    shape: Shape, task: Task, verdicts: Sequence[str], treated: bool, rng: random.Random
) -> str:
    lines = [f"# {task.category.value}", "", shape.hostile, ""]
    lines += [
        f"- {_evidence(n, verdict)}, see line {rng.randrange(400)}."
        for n, verdict in enumerate(verdicts, 1)
        if verdict != "Missed"
    ]
    lines += [
        "",
        *(
            "The rest follows from what is said above. " * 12 + "\n"
            for _ in range(shape.paragraphs)
        ),
    ]
    files = sorted({f"src/module_{rng.randrange(1, 7)}.py" for _ in range(3)})
    tools = [
        "Read",
        *(f"mcp__lens__{tool}" for tool in TOOLS[:2] if treated and rng.random() < 0.8),
    ]
    lines += [
        "```python",
        "print('<b>not bold</b>')",
        "```",
        "",
        "## Report",
        "- **Tool calls**: 12",
        f"- **Tools used**: {', '.join(tools)}",
    ]
    lines += [
        "- **Files read**: 5",
        f"- **Files used**: {', '.join(files)}",
        "- **Key findings**: none",
    ]
    return "\n".join(lines) + "\n"


def _record(
    shape: Shape, run: RunId, answer: str, treated: bool, discarded: bool, rng: random.Random
) -> Record:
    seconds = round(rng.lognormvariate(4.2 + 0.25 * treated, 0.5), 3)
    reason = (
        rng.choice(("timed_out", "mcp_failed" if treated else "api_error")) if discarded else ""
    )
    detail = f"as it was {shape.hostile}" if reason else ""
    attempt = Attempt(1 + (rng.random() < 0.05), STARTED, seconds, 0.0, 0, False, reason, detail)
    source = "run" if shape.transcripts else "imported"
    return Record(
        run.task,
        run.condition,
        run.trial,
        source,
        attempt,
        _outcome(shape, treated, rng),
        answer_sha256=sha256(answer.encode()),
        answer_bytes=len(answer.encode()),
        prompt_sha256=PROMPT_SHA256,
        settings_sha256=SETTINGS_SHA256,
        workspace="/w/repo",
        tree_before="t",
        tree_after="t",
        revision="rev",
        arrived_at=STARTED,
        opened_at=STARTED,
        lensbench="0.1.0",
        sandbox="bubblewrap 0.8.0",
        made_with={"agent": _agent(shape), "condition": {}},
    )


def _outcome(shape: Shape, treated: bool, rng: random.Random) -> Outcome:
    if not shape.transcripts:
        return Outcome()
    server = f"lens{shape.hostile}"
    names = [f"mcp__{server}__{tool}" for tool in TOOLS] if treated else []
    adopts = rng.random() < 0.85
    calls = [
        Call(name, count, int(rng.random() < 0.1))
        for name in names[:3]
        if adopts and (count := int(rng.expovariate(0.3)))
    ]
    return Outcome(
        models=(f"glm-5{shape.hostile}",),
        agent_version="2.1.329",
        servers=dict.fromkeys([server] if treated else [], "connected"),
        tools_offered=("Read", *names),
        calls=(Call("Read", rng.randrange(3, 20)), *calls),
        files_read=("src/module_1.py",),
        tokens={
            "input": int(rng.lognormvariate(10, 0.6)),
            "output": int(rng.lognormvariate(7, 0.4)),
            "cache_read": 0,
            "cache_write": 0,
        },
        cost_usd=round(rng.lognormvariate(-2, 0.4), 4),
        turns=rng.randrange(3, 20),
    )


def _second_thoughts(row: dict[str, Any], judge: str, rng: random.Random) -> dict[str, Any]:
    """Another judge's verdict, which usually is the same."""
    if row["verdict"] == "Unjudged" or rng.random() < 0.9:
        return {**row, "judge": judge}
    return {
        **row,
        "judge": judge,
        "verdict": "Missed",
        "points": "0",
        "evidence": "",
        "position": None,
    }
