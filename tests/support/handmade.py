"""Run folders that are built by hand instead of by agents, with the real stages after the runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from lensbench.core.records import Attempt, Call, Outcome, Record, RunId, sha256, to_json
from lensbench.core.store import Discard, Entry, new_entry, note_made, run_files, show
from lensbench.core.system.files import plain, write_atomic, write_json
from lensbench.core.tables import write_table
from lensbench.judging.decisions import VERDICT_COLUMNS, decide_all
from lensbench.judging.reliability import measure_reliability
from lensbench.plan.config import Agent, Gate, Judging
from lensbench.results.results import write_results
from lensbench.runs.made_with import portable
from lensbench.runs.validity import judge_validity
from lensbench.scores.estimates import write_estimates
from lensbench.scores.scores import score_all


def store(folder: Path, record: Record, answer: str) -> Entry:
    """Adds an attempt to the store, and shows its answer."""
    entry = new_entry(folder, record.run)
    write_atomic(entry.answer, answer)
    note_made(folder, 1, entry)
    write_atomic(entry.record, to_json(record))
    show(folder, record.run)
    return run_files(folder, record.run)


def file_discard(
    folder: Path, run: RunId, reason: str, detail: str, score: str | None = None
) -> None:
    """Discards the newest attempt of a run; a person does so with a score."""
    run_files(folder, run).discard(
        Discard(reason, detail, "validity" if score is None else "person", score or "")
    )


def finish(folder: Path) -> dict[str, Any]:
    """Decides, scores and compares what was judged; the content of results.json."""
    decide_all(folder)
    score_all(folder)
    measure_reliability(folder)
    write_estimates(folder)
    return {**write_results(folder)}


@dataclass
class Bench:
    """A run folder built by hand. `run` adds a run, `build` executes the stages and returns the results as data."""

    folder: Path
    tasks: Sequence[str] = ("a", "b")
    trials: int = 1
    servers: dict[str, list[str]] = field(default_factory=lambda: {"without": [], "with": ["lens"]})
    criteria: int = 2
    reports: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    """Differences to the plan below."""

    @property
    def plan(self) -> dict[str, Any]:
        """The frozen plan."""
        task = {
            "category": "Debug",
            "repository": "repo-1",
            "prompt_sha256": "p",
            "criteria": self.criteria,
        }
        return {
            "run_id": "r",
            "imported": False,
            "seed": 1,
            "trials": self.trials,
            "baseline": "without",
            "conditions": {
                name: {"mcp": None, "mcp_sha256": "", "servers": names}
                for name, names in self.servers.items()
            },
            "agent": Agent().settings,
            "model_mapping": "sonnet=glm-5",
            "max_rounds": 3,
            "order": list(self.tasks),
            "tasks": {name: dict(task) for name in self.tasks},
            "repositories": {"repo-1": {"path": "repo"}},
            "accepted_changes": [],
            "warnings": [],
            "settings_sha256": "s",
            "judges": [{"name": "mechanical"}],
            "judging": Judging().model_dump(mode="json"),
            "gate": Gate().model_dump(mode="json"),
        } | self.changes

    def run(
        self,
        task: str,
        condition: str,
        trial: int = 1,
        *,
        points: Sequence[str | None] = ("1", "1"),
        answer: str = "an answer",
        tools: Sequence[str] | None = ("Read",),
        files: Sequence[str] | None = ("a.py",),
        calls: int | None = 3,
        report: bool = True,
        duration_s: float = 10.0,
        reason: str = "",
        detail: str = "",
        evidence: str = "a.py",
        attempts: int = 1,
        started: str = "2026-01-02T03:04:05.000Z",
        tree_before: str = "t",
        seen: Sequence[Call] | Literal["usual"] | None = "usual",
        **outcome: Any,
    ) -> Record:
        """Adds a run; `points` are those of its criteria, with None for unjudged. Usually it makes three calls,
        one of them of each server's tool."""
        run = RunId(task, condition, trial)
        tried = Attempt(attempts, started, duration_s, 0.0, 0, False, reason, detail)
        offered = (
            "Read",
            *(
                f"mcp__{name}__{tool}"
                for name in self.servers[condition]
                for tool in ("lens_grep",)
            ),
        )
        own = [Call(name, 1) for name in offered[1:]]
        seen = (Call("Read", 3 - len(own)), *own) if seen == "usual" else seen
        shown = Outcome(
            **{
                "models": ("glm-5",),
                "servers": dict.fromkeys(self.servers[condition], "connected"),
                "tools_offered": offered,
                "calls": seen,
                "files_read": ("a.py",),
                "agent_version": "1.0",
            }
            | outcome
        )
        settings = {
            key: value for key, value in self.plan["conditions"][condition].items() if key != "mcp"
        }
        record = Record(
            task,
            condition,
            trial,
            "run",
            tried,
            shown,
            sha256(answer.encode()),
            len(answer),
            "p",
            "s",
            workspace="/w/repo",
            tree_before=tree_before,
            tree_after=tree_before,
            revision="rev",
            arrived_at=started,
            opened_at=started,
            lensbench="0.1.0",
            made_with=portable({"agent": self.plan["agent"], "condition": settings}),
        )
        for number in range(1, attempts):
            failed = replace(record, attempt=replace(tried, number=number, reason="crashed"))
            store(self.folder, failed, answer).discard(Discard("crashed", "", "runner"))
        store(self.folder, record, answer)
        self.reports.append(
            {
                **run._asdict(),
                "report_present": report,
                "tool_calls": calls if report else None,
                "tools_used": tools if report else None,
                "files_read": 1 if report else None,
                "files_used": files if report else None,
            }
        )
        self.verdicts += [
            {
                **run._asdict(),
                "criterion": number,
                "judge": "mechanical",
                "points": value,
                "evidence": evidence,
                "verdict": {"1": "Met", "0.5": "Partial", "0": "Missed", None: "Unjudged"}[value],
                "version": "1",
                "position": None,
                "reason": "",
                "failure": "" if value else "no_patterns",
                "model": "",
                "cost_usd": None,
                "cost_estimated": "",
            }
            for number, value in enumerate(() if reason else points, 1)
        ]
        return record

    def build(self) -> dict[str, Any]:
        """The content of results.json, before rounding."""
        write_json(self.folder / "plan.json", self.plan)
        judge_validity(self.folder)
        write_table(self.folder / "reports.csv", REPORT_COLUMNS, self.reports)
        for judge in {"mechanical": 1} | {row["judge"]: 1 for row in self.verdicts}:
            rows = [row for row in self.verdicts if row["judge"] == judge]
            write_table(self.folder / "verdicts" / f"{judge}.csv", VERDICT_COLUMNS, rows)
        write_atomic(
            self.folder / "scenarios.md",
            "".join(self._scenario(name) for name in self.plan["tasks"]),
        )
        data = finish(self.folder)
        return {**data, "estimates": plain(data["estimates"])}

    def _scenario(self, task: str) -> str:
        """The task in the protocol's form; only the number of its criteria matters."""
        criteria = "".join(
            f"  {n}. fact {n}\n" for n in range(1, self.plan["tasks"][task]["criteria"] + 1)
        )
        return f"#### {task}\n- **Category**: Debug\n- **Prompt**: Where is it?\n- **Judge Criteria**:\n{criteria}"

    @property
    def page(self) -> str:
        """results.md."""
        return (self.folder / "results.md").read_text()

    @property
    def json(self) -> Any:
        """results.json."""
        return json.loads((self.folder / "results.json").read_text())


REPORT_COLUMNS = (
    "task",
    "condition",
    "trial",
    "report_present",
    "tool_calls",
    "tools_used",
    "files_read",
    "files_used",
)
