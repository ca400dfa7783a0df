"""Writes results.json for programs, results.md for people, junit.xml and summary.md for CI: the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from statistics import median

from lensbench import __version__
from lensbench.agents import known_kinds, load_adapter
from lensbench.agents.adapters.claude_code import PLAN_TOKEN
from lensbench.agents.prices import priced
from lensbench.core import numbers
from lensbench.core.conditions import (
    brings,
    comparisons,
    left_out,
    of_condition,
    shown_names,
    treatments,
)
from lensbench.core.frozen_plan import AgentSettings, Plan, Repositories
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Outcome, Record, RunId
from lensbench.core.rows import RunStatus, ValidityRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, read_json, read_typed, write_atomic, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import run_of_pair, run_of_row
from lensbench.judging.decisions import is_person
from lensbench.judging.judges import DRAFTED
from lensbench.judging.trust import ReliabilityFile
from lensbench.results import chosen_runs
from lensbench.results.ablation import ablation
from lensbench.results.footprint import footprint
from lensbench.results.junit import junit
from lensbench.results.ladder import ladder
from lensbench.results.lost_pairs import losses
from lensbench.results.markdown import render
from lensbench.results.page.judges import judges_view
from lensbench.results.page.page import read_inputs, write_page
from lensbench.results.plain_verdict import drafts_decide, plain_verdict
from lensbench.results.presented import presented
from lensbench.results.results_file import (
    RESULTS_SCHEMA,
    Changes,
    ComparisonResults,
    ExactFacts,
    Results,
    RunResult,
    StartSkew,
)
from lensbench.runs.made_with import (
    discarded_attempts,
    endings,
    longer_reports,
    notices,
    unequal_reports,
)
from lensbench.runs.requests_file import RequestFindings
from lensbench.runs.stopping import why_stopped
from lensbench.scores import measures as summaries
from lensbench.scores.differences import Comparison
from lensbench.scores.estimates_file import EstimatesFile, decided_by_gate
from lensbench.scores.measures import mean_delta, published_pairs
from lensbench.scores.run_tables import Tables, read_tables
from lensbench.scores.scores import short_name, tools_of_condition, treatment_tools


def facts_of(folder: Path, tables: Tables) -> ExactFacts:
    """All numbers and names of the results as plain data; numbers are exact fractions."""
    plan = tables.plan
    files = RunFolder(folder)
    estimates = read_typed(files.estimates, EstimatesFile)
    found = PreflightFindings.read(folder)
    runs = [record for record in tables.valid if record.source == "run"]
    starts = [record.attempt.started_at for record in runs]
    versions = {record.outcome.agent_version or "not shown" for record in runs}
    reports = longer_reports(tables.valid)
    tools = _tools(tables, found.listing)
    sides = {name: Comparison(tables, *both) for name, both in comparisons(plan).items()}
    return {
        "schema": RESULTS_SCHEMA,
        "run_id": plan["run_id"],
        "lensbench": __version__,
        "imported": plan["imported"],
        "baseline": plan["baseline"],
        "treatments": treatments(plan),
        "conditions": plan["conditions"],
        "names": shown_names(plan),
        "brings": {name: brings(condition) for name, condition in plan["conditions"].items()},
        "tools": {name: sorted(set(map(short_name, own))) for name, own in tools.items()},
        "server_versions": found.versions,
        "notes": list(plan.get("notes", ())),
        "agent": plan["agent"],
        "agent_versions": sorted(versions),
        "model_mapping": plan["model_mapping"],
        "models": _every_name(record.outcome.models for record in tables.valid),
        "first_start": min(starts, default=None),
        "last_start": max(starts, default=None),
        "tasks": len(plan["order"]),
        "trials": plan["trials"],
        "seed": plan["seed"],
        "power": plan["gate"]["power"],
        "repositories": _repositories(plan, read_json(files.repositories)),
        "counts": _counts(tables),
        "verdicts": len(tables.verdicts),
        "judges": judges(tables.verdicts),
        "drafted_verdicts": sum(row["version"].endswith(DRAFTED) for row in tables.verdicts),
        "runs": _runs(tables),
        "pairs": [dict(row) for row in tables.pairs],
        "comparisons": {
            name: _comparison(both, tools[both.treatment]) for name, both in sides.items()
        },
        "discards": summaries.discard_counts(tables.validity),
        "given_up": [dict(row) for row in tables.validity if row["given_up"] == "yes"],
        "disagreements": summaries.disagreements(tables),
        "controls": summaries.controls(tables),
        "start_skew_s": _skew(tables),
        "endings": endings(tables.records.values()),
        "longer_reports": reports,
        "unequal_reports": unequal_reports(reports, plan),
        "accepted_changes": plan["accepted_changes"],
        "polluted_durations": sum(bool(record.outcome.api_retries) for record in runs),
        "estimated_costs": _estimated_costs(runs),
        "models_asked": _every_name(record.outcome.models_asked for record in runs),
        "stopped": why_stopped(folder),
        "alpha": estimates["alpha"],
        "estimates": {name: estimates["comparisons"][name] for name in sides},
        "wording": estimates.get("words"),
        "judge_reliability": read_typed(files.judge_reliability, ReliabilityFile),
    }


def _tools(tables: Tables, listing: Sequence[str]) -> dict[str, Sequence[str]]:
    """The tools of each treatment."""
    plan = tables.plan
    every = treatment_tools(plan, tables.records.values(), tables.reports.values(), listing)
    return {name: tools_of_condition(plan, name, every) for name in treatments(plan)}


def _every_name(lists: Iterable[Iterable[str] | None]) -> list[str]:
    """Each name once, sorted."""
    return sorted({*chain(*(found or () for found in lists))})


def _repositories(plan: Plan, found: Repositories) -> list[dict[str, object]]:
    rows = []
    for key, source in sorted(plan["repositories"].items()):
        facts = found.get(key, {})
        shown = {name: facts.get(name) for name in ("revision", "removed", "history")}
        rows.append({"key": key, "source": source, **shown})
    return rows


def _counts(tables: Tables) -> dict[str, int]:
    """How many runs have each status."""
    counts = Counter(row["status"] for row in tables.scores.values())
    statuses = (RunStatus.SCORED, RunStatus.UNJUDGED, RunStatus.DISCARDED, RunStatus.MISSING)
    return {status: counts[status] for status in statuses}


def _skew(tables: Tables) -> StartSkew[Fraction]:
    skews = summaries.start_skews(tables)
    return {
        "pairs": len(skews),
        "median": median(skews) if skews else None,
        "largest": max(skews, default=None),
    }


def _estimated_costs(runs: Iterable[Record]) -> Counter[str]:
    """By what the cost of runs was estimated."""
    outcomes = [record.outcome for record in runs if record.outcome.cost_is_guess]
    return Counter(outcome.cost_basis or _GUESS for outcome in outcomes)


def judges(verdicts: Sequence[VerdictRow]) -> list[str]:
    """Every judge once, with its versions; a person has none."""
    versions: dict[str, set[str]] = {}
    for row in verdicts:
        versions.setdefault(row["judge"], set()).add(row["version"])
    names = []
    for name, own in sorted(versions.items()):
        shown = [] if is_person(name) else sorted(own - {""})
        names.append(" ".join([name, *shown]))
    return names


def _useless(data: ExactFacts, treatment: str) -> Iterator[str]:
    """A warning about the runs in which no call of the treatment's tools worked."""
    failures = data["comparisons"][treatment]["adoption"]["all_calls_failed"]
    if failures["runs"]:
        whose = of_condition(data, treatment)
        some = f"{failures['runs']} of the {failures['of']} runs {whose} that called its tools"
        yield f"In {some}, all of these calls failed."


def _warmed(data: ExactFacts, treatment: str) -> Iterator[str]:
    """A warning where the service's cache held more of one side's first requests."""
    share = data["estimates"][treatment]["measures"]["first_cached"]["overall"]
    low = share.low or 0.0
    high = share.high or 0.0
    if low * high > 0 and abs(share.delta or 0.0) >= WARMED:
        treated = of_condition(data, treatment)
        others = of_condition(data, data["baseline"])
        yield (
            f"The service's cache held another part of the first requests {treated} than {others} "
            f"({numbers.points(share.delta)}, interval {numbers.interval(low, high)}), by the order of the runs or by "
            "what is sent first. A part of the difference in cost is that."
        )


def _uncounted(folder: Path, tables: Tables, names: Mapping[str, str]) -> str:
    """What the attempts cost that do not count, by condition; "" without any."""
    attempts = discarded_attempts(folder, tables.scores)
    if not attempts:
        return ""
    parts = []
    for name in tables.plan["conditions"]:
        own = [records for run, records in attempts.items() if run.condition == name]
        parts.append(f"{names[name]} {_paid([*chain(*own)], tables.plan)}")
    return f"Attempts that do not count: {'; '.join(parts)}."


def _paid(attempts: Sequence[Record | None], plan: Plan) -> str:
    """How many attempts there were, and what they cost."""
    total = Fraction(0)
    unknown = 0
    for record in attempts:
        outcome = Outcome()
        if record:
            outcome = priced(record.outcome, plan.get("prices", {}), record.attempt.day)
        if outcome.cost_usd is None:
            unknown += 1
        else:
            total += Fraction(str(outcome.cost_usd))
    if not attempts:
        return "0"
    some = f", {unknown} of unknown cost" if unknown else ""
    return f"{len(attempts)} (US dollars: {numbers.dollars(total)}{some})"


def _is_unpinned(agent: AgentSettings) -> bool:
    """True for an agent whose version could be pinned and is not."""
    kind = agent["kind"]
    if agent.get("version") or kind == "none" or kind not in known_kinds():
        return False
    return hasattr(load_adapter(kind), "version")


def _runs(tables: Tables) -> list[RunResult[Fraction]]:
    """Every planned run; by the transcript whether it used its tools, or else by the report."""
    tool_use = {run_of_pair(row): row["called"] or row["adopted"] for row in tables.pairs}
    return [_run(tables, row, tool_use) for row in tables.validity]


WARMED = 0.1
"""Less of the first request makes little difference to the cost of a run."""
_GUESS = "the agent's, which does not know the model's price"


def _run(tables: Tables, row: ValidityRow, tool_use: Mapping[RunId, str]) -> RunResult[Fraction]:
    run = run_of_row(row)
    score = tables.scores[run]
    return {
        "task": run.task,
        "condition": run.condition,
        "trial": run.trial,
        "category": tables.plan["tasks"][run.task]["category"],
        "status": score["status"],
        "reason": row["reason"],
        "detail": row["detail"],
        "score": tables.score(run),
        "complete": score["complete"],
        "duration_s": tables.duration(run),
        "tools_used": tool_use.get(run, ""),
        "tool_calls_reported": tables.reported_calls(run),
        "tool_calls_observed": tables.observed_calls(run),
        "files_read_reported": tables.reported_files(run),
        "files_read_observed": tables.observed_files(run),
    }


def _comparison(comparison: Comparison, tools: Sequence[str]) -> ComparisonResults[Fraction]:
    tables = comparison.tables
    pairs = [row for row in tables.pairs if row["treatment"] == comparison.treatment]
    deltas = [a - b for both in comparison.pairs(tables.score).values() for a, b in both]
    return {
        "measures": summaries.measures(comparison),
        "pairs": {"complete": len(deltas), "planned": len(pairs)},
        "wins": sum(value > 0 for value in deltas),
        "ties": sum(value == 0 for value in deltas),
        "losses": sum(value < 0 for value in deltas),
        "categories": summaries.categories(comparison),
        "adoption": summaries.adoption_table(pairs),
        "tools_by_run": summaries.tools_by_run(tables, pairs, tools),
    }


def headline(data: ExactFacts, treatment: str) -> str:
    """One sentence for a treatment: scores over complete pairs, and how many these are."""
    comparison = data["comparisons"][treatment]
    score = comparison["measures"]["score"]
    pairs = comparison["pairs"]
    new = data["names"][treatment]
    old = data["names"][data["baseline"]]
    if score["delta"] is None:
        return f"{new} against {old}: no complete pair yet ({pairs['planned']} planned)."
    return (
        f"{new} {numbers.percent(score['paired_treatment'])}, "
        f"{old} {numbers.percent(score['paired_baseline'])} on average "
        f"over {pairs['complete']} of {pairs['planned']} pairs "
        f"(pairs: {comparison['wins']} better, {comparison['ties']} equal, {comparison['losses']} worse)."
    )


def write_results(folder: Path, tables: Tables | None = None) -> Results[Fraction]:
    """Writes results.json, results.md, summary.md and junit.xml; returns what stands in them.

    `tables` are those of the folder, where they were read before."""
    tables = tables or read_tables(folder)
    facts = facts_of(folder, tables)
    plan = tables.plan
    files = RunFolder(folder)
    names = facts["treatments"]
    reliability = facts["judge_reliability"]
    unjudged = reliability["unjudged"].values()
    decisions = decided_by_gate(facts["estimates"])
    pairs = published_pairs(folder, tables)
    by_hand = chosen_runs.as_data(folder, tables)
    steps, sentences = ladder(facts)
    requests = RequestFindings.read(folder)
    figures = {}
    for name, entry in decisions.items():
        measures = facts["comparisons"][name]["measures"]
        figures[name] = presented(measures, entry, _cost_label(facts))
    listing = PreflightFindings.read(folder)
    members, of_members = ablation(facts, tables, listing, requests, figures)
    data: Results[Fraction] = {
        **facts,
        "headlines": [*_headlines(facts, tables), *by_hand["sentences"]],
        "warnings": [*_warnings(folder, facts, plan)],
        "judging": judges_view(reliability, facts["names"])._asdict(),
        "unjudged_criteria": sum(count["criteria"] for count in unjudged),
        "criteria_of_runs": sum(count["of"] for count in unjudged),
        "figures": figures,
        "plain": {name: plain_verdict(facts, name) for name in decisions},
        "ladder": steps,
        "ladder_says": sentences,
        "ablation": members,
        "ablation_says": of_members,
        "verdicts_on": {name: entry["gate"].verdict for name, entry in decisions.items()},
        "losses": losses(folder, tables),
        "published": [pair._asdict() for pair in pairs],
        "published_delta": {name: mean_delta(pairs, name) for name in names},
        "by_hand": by_hand,
        "uncounted": _uncounted(folder, tables, facts["names"]),
        "footprints": {name: _footprint(folder, tables, name) for name in names},
        "requests": _requests(requests, plan["settings_sha256"], names),
        "changes": _changes(folder, tables, facts),
    }
    write_json(files.results_json, plain(data))
    write_atomic(files.results, render(data))
    write_atomic(files.summary, render(data, "summary.md.j2"))
    write_atomic(files.junit, junit(data))
    return data


def _cost_label(facts: ExactFacts) -> str:
    """On a subscription nobody pays the dollars that an agent reports."""
    verb = "would have cost" if PLAN_TOKEN in facts["agent"].get("pass_env", ()) else "cost"
    how = ", estimated" if facts["estimated_costs"] else ""
    return f"{verb} in US dollars{how}"


def _headlines(facts: ExactFacts, tables: Tables) -> Iterator[str]:
    """Of each treatment, and in how many runs its tools were called: a difference is that of offering them."""
    for name in facts["treatments"]:
        yield headline(facts, name)
        yield from filter(None, [facts["estimates"][name]["adoption"]["sentence"]])
    yield from notices(tables.valid, tables.plan)
    for name in facts["treatments"]:
        yield from _useless(facts, name)


def _warnings(folder: Path, facts: ExactFacts, plan: Plan) -> Iterator[str]:
    yield from plan["warnings"]
    if facts["agent_versions"] and _is_unpinned(plan["agent"]):
        yield (
            "The agent's version is not pinned (agent.version): after an update, the same names may mean another model,"
            " other tools and other prompts."
        )
    yield from chosen_runs.warnings(folder)
    for name in facts["treatments"]:
        yield from _warmed(facts, name)


def _changes(folder: Path, tables: Tables, facts: ExactFacts) -> Changes[Fraction]:
    """What tests said; empty without change tasks, and while draft patterns decide."""
    if drafts_decide(facts) or not any(record.patch_sha256 for record in tables.valid):
        return {}
    # what runs tests takes longer to import than all else here
    from lensbench.results.changes import changes_view

    return changes_view(folder, tables)


def _footprint(folder: Path, tables: Tables, name: str) -> list[str]:
    """What a treatment adds; an ablation's table says what leaving out spares."""
    return [] if left_out(tables.plan, name) else footprint(folder, tables, name)


def _requests(findings: RequestFindings, settings: str, names: Sequence[str]) -> dict[str, str]:
    """Treatment -> the file with the difference of its first request, if it was measured with these settings."""
    measured = [name for name in names if findings.addition(name, settings)]
    return {name: f"{RunFolder.requests}/{name}.diff" for name in measured}


def write_everything(folder: Path) -> None:
    """Writes all results: results.json, results.md, summary.md, junit.xml, report.html, answers/."""
    tables = read_tables(folder)
    write_results(folder, tables)
    write_page(folder, read_inputs(folder, tables))


if __name__ == "__main__":
    run_stage(write_everything)
