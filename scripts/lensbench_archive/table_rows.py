"""The rows of `lensbench table`: what a finished benchmark says about each treatment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import yaml

from lensbench.core import numbers
from lensbench.core.frozen_plan import GIVEN, Plan
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed
from lensbench.plan.frozen import read_plan
from lensbench.results.presented import shown_difference
from lensbench.results.results_file import Results
from lensbench.scores.estimates_file import Compared
from lensbench.scores.intervals import Estimate

EFFORTS = {"tokens": "tokens_weighted", "cost": "cost_usd", "time": "duration_s"}
"""Column -> the quantity whose relative change it has."""
NO_VERDICT = "No verdict"
"""Of the offline agent."""
DOT = " · "
"""Between the parts of a name."""


class Interval(NamedTuple):
    """A figure with its interval; None where it is not known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def shown(self, show: Callable[[float], str]) -> str:
        """`-16% (-20% to -11%)`; "" when unknown."""
        if self.value is None:
            return ""
        if self.low is None or self.high is None:
            return show(self.value)
        return f"{show(self.value)} ({show(self.low)} to {show(self.high)})"


class TableRow(NamedTuple):
    """A treatment of a benchmark."""

    benchmark: str
    """The run id."""
    treatment: str
    date: str
    """The day of the first run; "" when unknown."""
    started: str
    """Its moment, by which rows are ordered."""
    server: str
    """The servers of the treatment, or its name without any."""
    version: str
    """The versions that these report; "" when unknown."""
    agent: str
    """"" where the machine did not run it."""
    agent_version: str
    model: str
    profile: str
    task_set: str
    task_set_sha256: str
    tasks: int
    verdict: str
    sentence: str
    """The verdict in numbers."""
    score: Interval
    """The difference in score, as a share of 1."""
    efforts: Mapping[str, Interval]
    """By the columns of EFFORTS: relative changes."""
    adoption: Interval
    """The share of runs that called a tool."""
    discards: int
    judges: str
    source: str
    """`folder`, or the hash of the verified archive."""
    page: str
    """The path of the results page; "" for an archive."""
    differences: Mapping[str, float]
    """Task, with a short hash of its prompt and criteria -> the difference, the mean over trials."""
    repositories: Mapping[str, str | None]
    """By the same keys."""

    @property
    def label(self) -> str:
        """What a person calls this row in a series: the version, or the benchmark's name."""
        return self.version or self.benchmark

    @property
    def cell(self) -> tuple[str, str]:
        """Who answered the tasks."""
        return self.agent, self.model

    @property
    def mark(self) -> str:
        """What stands behind a verdict on runs that nobody checked."""
        return " (numbers from elsewhere)" if self.judges == GIVEN else ""

    @property
    def cells(self) -> dict[str, str]:
        """The row as text, by the columns of every output; unknown values are a dash."""
        low = self.score.low
        high = self.score.high
        cells = {
            "date": self.date,
            "benchmark": self.benchmark,
            "treatment": self.treatment,
            "server": f"{self.server} {self.version}".strip(),
            "agent": f"{self.agent} {self.agent_version}".strip(),
            "model": self.model,
            "profile": self.profile,
            "task set": f"{self.task_set} ({self.task_set_sha256[:8]})",
            "tasks": str(self.tasks),
            "verdict": f"{self.verdict}{self.mark}",
            "score": numbers.points(self.score.value, ""),
            "interval": numbers.interval(low, high, ""),
            **{name: effort.shown(numbers.change) for name, effort in self.efforts.items()},
            "adoption": self.adoption.shown(_percent),
            "discards": str(self.discards),
            "judges": self.judges,
        }
        return {name: text or numbers.MISSING for name, text in cells.items()}

    @property
    def record(self) -> dict[str, object]:
        """The row with plain numbers, for the CSV: differences in points, other changes in percent."""
        record: dict[str, object] = {}
        for key, value in self._asdict().items():
            if isinstance(value, (str, int)):
                record[key] = value
        intervals = {"score": self.score, **self.efforts, "adoption": self.adoption}
        for name, interval in intervals.items():
            record[name] = _points(interval.value)
            record[f"{name}_low"] = _points(interval.low)
            record[f"{name}_high"] = _points(interval.high)
        return record


def _points(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 4)


def _percent(share: float) -> str:
    return numbers.percent(Fraction(str(round(share, 6))))


def read_rows(folder: Path, source: str = "folder") -> list[TableRow]:
    """The rows of a run folder with results. Raises UserError for one without."""
    results = read_typed(RunFolder(folder).results_json, Results[float])
    return [*_rows(folder, results, read_plan(folder), source)]


def _rows(folder: Path, results: Results[float], plan: Plan, source: str) -> Iterator[TableRow]:
    name, digest = _task_set(folder, plan)
    page = RunFolder(folder).page
    keys = {task: _key(plan, task) for task in plan["order"]}
    discards = [sum(reasons.values()) for reasons in results["discards"].values()]
    for treatment in results["treatments"]:
        estimates = results["estimates"][treatment]
        shown = shown_difference(estimates)
        efforts = {}
        for column, quantity in EFFORTS.items():
            efforts[column] = _interval(estimates["measures"][quantity]["overall"])
        repositories = {}
        for task, key in keys.items():
            repositories[key] = plan["tasks"][task]["repository"]
        versions = results.get("server_versions", {}).get(treatment, {})
        started = results["first_start"] or ""
        kind = results["agent"]["kind"]
        agent = "" if kind == "none" else kind
        mapping = results["model_mapping"] if agent else ""
        verdict = results["verdicts_on"][treatment]
        servers = results["conditions"][treatment]["servers"]
        yield TableRow(
            benchmark=results["run_id"],
            treatment=treatment,
            date=started[:10],
            started=started,
            server=", ".join(servers) or treatment,
            version=", ".join(dict.fromkeys(versions.values())),
            agent=agent,
            agent_version=", ".join(results["agent_versions"]),
            model=", ".join(results["models"]) or mapping,
            profile=results["agent"].get("profile", "strict"),
            task_set=name,
            task_set_sha256=digest,
            tasks=results["tasks"],
            verdict=NO_VERDICT if kind == "offline" else verdict,
            sentence=results["plain"][treatment]["sentence"],
            score=Interval(shown.delta, shown.low, shown.high),
            efforts=efforts,
            adoption=_adoption(estimates),
            discards=sum(discards),
            judges=", ".join(results["judges"]),
            source=source,
            page=str(page) if source == "folder" and page.exists() else "",
            differences=_differences(results["pairs"], treatment, keys),
            repositories=repositories,
        )


def _adoption(estimates: Compared) -> Interval:
    adoption = estimates["adoption"]["treatment"]
    if adoption is None or not adoption.of:
        return Interval()
    return Interval(float(adoption.share), adoption.low, adoption.high)


def _interval(estimate: Estimate) -> Interval:
    return Interval(estimate.delta, estimate.low, estimate.high)


def _key(plan: Plan, task: str) -> str:
    """The same for the same task: its id with a short hash of prompt and criteria."""
    planned = plan["tasks"][task]
    content = f"{planned['prompt_sha256']} {planned.get('criteria_sha256', '')}"
    return f"{task} {sha256(content.encode())[:8]}"


def _task_set(folder: Path, plan: Plan) -> tuple[str, str]:
    """The names of the files with the tasks, and a hash of the tasks, whatever their order."""
    settings: Any = yaml.safe_load(RunFolder(folder).config.read_text(encoding="utf-8"))
    named = settings.get("scenarios", ()) if isinstance(settings, dict) else ()
    files = [named] if isinstance(named, str) else named
    keys = sorted(_key(plan, task) for task in plan["order"])
    name = "+".join(Path(file).stem for file in files) or "tasks"
    return name, sha256(json.dumps(keys).encode())


def _differences(
    pairs: Sequence[Mapping[str, object]], treatment: str, keys: Mapping[str, str]
) -> dict[str, float]:
    """By task: the mean difference over its complete pairs."""
    by_task: dict[str, list[float]] = {}
    for pair in pairs:
        if pair["treatment"] == treatment and pair["delta"] not in ("", None):
            by_task.setdefault(keys[str(pair["task"])], []).append(float(str(pair["delta"])))
    return {key: fmean(values) for key, values in by_task.items()}
