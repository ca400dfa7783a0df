"""How runs were made, from their records: settings, models, endings, and starts of the agent. One verdict never mixes
different settings and models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from lensbench.agents.prices import unexpected
from lensbench.core.conditions import display_name, of_condition
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings, Plan
from lensbench.core.records import ENDINGS, Record, RunId
from lensbench.core.store import DISCARD, entries
from lensbench.runs.reasons import DiscardReason

_PLACES = ("/", "./", "~/", "outside/", "<python>/", "<tmp>/")


def portable(settings: Any) -> Any:
    """The settings with each path reduced to its last name, as in archives."""
    if isinstance(settings, Mapping):
        return {key: portable(value) for key, value in settings.items()}
    if isinstance(settings, (list, tuple)):
        return [portable(value) for value in settings]
    if isinstance(settings, str) and settings.startswith(_PLACES) and "\n" not in settings:
        return PurePosixPath(settings).name
    return settings


def planned_agent(plan: Plan) -> AgentSettings:
    """The agent's settings in a plan, in the form of records."""
    settings: AgentSettings = portable(plan["agent"])
    return settings


def as_made(plan: Plan, records: Iterable[Record]) -> Plan:
    """The plan with the agent that all runs used, if it was the same for all: an accepted change of the agent that no
    run used yet says nothing about these runs. The config's agent is still `planned_agent`."""
    agents = {
        json.dumps(record.made_with["agent"], sort_keys=True)
        for record in records
        if record.source == "run"
    }
    agent = json.loads(agents.pop()) if len(agents) == 1 else None
    if agent is None or agent == planned_agent(plan):
        return plan
    from lensbench.plan.config import (
        Agent,
    )  # imported here: the config's models take longer than most stages

    mapping = ",".join(
        f"{model}={answerer}" for model, answerer in Agent.model_validate(agent).mapping.items()
    )
    return {**plan, "agent": agent, "model_mapping": mapping, "planned_agent": planned_agent(plan)}


def mixtures(records: Sequence[Record], plan: Plan) -> Iterator[str]:
    """Why one verdict cannot cover these runs, one sentence each."""
    runs = [record for record in records if record.source == "run"]
    models = Counter(
        ", ".join(sorted(record.outcome.models)) for record in runs if record.outcome.models
    )
    if len(models) > 1:
        yield f"Different models answered ({_counted(models)}); one verdict cannot cover all of them."
    agents = [record.made_with["agent"] for record in runs]
    for key in sorted({key for agent in agents for key in agent}):
        values = Counter(_shown(agent.get(key, "the default")) for agent in agents)
        if len(values) > 1:
            yield f"Runs used different settings: agent.{key} was {_counted(values)}."
    for name in sorted({record.condition for record in runs}):
        own = [record.made_with["condition"] for record in runs if record.condition == name]
        if len({json.dumps(settings, sort_keys=True) for settings in own}) > 1:
            whose = of_condition(plan, name)
            yield f"Runs {whose} used different servers or commands."


def _shown(value: Any) -> str:
    return (
        json.dumps(value, sort_keys=True, ensure_ascii=False)
        if isinstance(value, (list, dict))
        else str(value)
    )


def _counted(values: Mapping[str, int]) -> str:
    return "; ".join(f"{value or 'empty'} in {count}" for value, count in sorted(values.items()))


def endings(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """Condition -> ending -> number of runs; `not shown` for agents that do not report it."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(record.condition, Counter())[record.outcome.ending or "not shown"] += 1
    return {
        name: {ending: tally[ending] for ending in (*ENDINGS, "not shown")}
        for name, tally in counts.items()
    }


def longer_reports(records: Iterable[Record]) -> dict[str, LongerReports]:
    """By condition, of the runs that show their texts, those in which an earlier text was longer than the answer and
    had the report: only the answer is scored."""
    counts: dict[str, LongerReports] = {}
    for record in records:
        found = counts.setdefault(record.condition, {"runs": 0, "of": 0})
        if record.outcome.longer_report is not None:
            found["of"] += 1
        if record.outcome.longer_report:
            found["runs"] += 1
    return counts


def unequal_reports(counts: Mapping[str, LongerReports], plan: Plan) -> str:
    """A sentence where the conditions differ in the share of such runs; "" where they do not."""
    shown = {name: found for name, found in counts.items() if found["of"]}
    shares = {Fraction(found["runs"], found["of"]) for found in shown.values()}
    if len(shares) < 2:
        return ""
    listing = []
    for name, found in shown.items():
        condition = display_name(plan, name)
        listing.append(f"{condition} {found['runs']} of {found['of']}")
    return (
        "Runs in which an earlier text was longer than the answer and had the report, so that a remark was scored:"
        f" {', '.join(listing)}."
    )


def notices(records: Sequence[Record], plan: Plan) -> Iterator[str]:
    """What readers must know before any figure, one sentence each."""
    runs = [record for record in records if record.source == "run"]
    for key, now in sorted((plan.get("planned_agent") or {}).items()):
        if plan["agent"].get(key) != now:
            was = _shown(plan["agent"].get(key))
            yield f"The config now has agent.{key} {_shown(now)}; all runs used {was}."
    others: Counter[str] = Counter()
    for record in runs:
        others.update(unexpected(record.outcome, record.made_with["agent"]))
    if others:
        yield (
            f"The answering model differs from the requested one ({_counted(others)}). If it is correct, set"
            " agent.served to it."
        )
    cut = {
        name: tally
        for name, tally in endings(runs).items()
        if any(tally[ending] for ending in _CUT)
    }
    if cut:
        listing = []
        for name, tally in cut.items():
            counts = [f"{tally[ending]} by {ending}" for ending in _CUT if tally[ending]]
            shown = display_name(plan, name)
            listing.append(f"{shown}: {', '.join(counts)} of {sum(tally.values())}")
        yield f"Some runs did not finish their answer ({'; '.join(listing)})."


_CUT = ("limit", "refusal", "unknown")


INTERRUPTIONS = {DiscardReason.API_ERROR, DiscardReason.RATE_LIMITED, DiscardReason.HARNESS_FAILED}
"""Failures of the model's service and of lensbench, which tools rarely cause; all others are crashes."""


class LongerReports(TypedDict):
    """Runs of a condition in which an earlier text was longer than the answer and had the report."""

    runs: int
    """In which it is so."""
    of: int
    """Runs that show their texts."""


class Starts(NamedTuple):
    """The starts of the agent in a condition."""

    attempts: int
    discards: int
    crashed: Collection[RunId] = ()
    """Runs whose answer is not the first, because an attempt failed or the run was discarded other than by hand, and
    not only for INTERRUPTIONS."""
    interrupted: Collection[RunId] = ()
    """The others whose answer is not the first."""

    @property
    def repeated(self) -> int:
        return len(self.crashed) + len(self.interrupted)


def starts_of(folder: Path, runs: Iterable[RunId]) -> Starts:
    attempts = ends = 0
    crashed = set()
    interrupted = set()
    for run in runs:
        own = entries(folder, run)
        discards = [entry.read_discard() for entry in own if DISCARD in entry.files]
        reasons = {discard.reason for discard in discards} - {DiscardReason.BY_HAND}
        attempts += len(own)
        ends += sum(discard.ends_round for discard in discards)
        if reasons - INTERRUPTIONS:
            crashed.add(run)
        elif reasons:
            interrupted.add(run)
    return Starts(attempts, ends, crashed, interrupted)


def discarded_attempts(folder: Path, runs: Collection[RunId]) -> dict[RunId, list[Record | None]]:
    """The attempts of these runs that do not count, but for a person's discards; None for one without a record."""
    records: dict[RunId, list[Record | None]] = {}
    for run in runs:
        for entry in entries(folder, run):
            if DISCARD in entry.files and entry.read_discard().reason != DiscardReason.BY_HAND:
                record = None
                with suppress(UserError):
                    record = entry.read_record(run)
                records.setdefault(run, []).append(record)
    return records
