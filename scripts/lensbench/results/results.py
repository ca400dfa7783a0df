"""Writes results.json for programs, results.md for people, junit.xml and summary.md for CI: the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
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
from lensbench.core.frozen_plan import AgentSettings, Repositories
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import RunId
from lensbench.core.rows import RunStatus, ValidityRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, read_json, read_typed, write_atomic, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import run_of_pair, run_of_row
from lensbench.judging.decisions import is_person
from lensbench.judging.judges import DRAFTED
from lensbench.judging.trust import InstrumentFile
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
    SCHEMA,
    BenchmarkFacts,
    Changes,
    ComparisonResults,
    Results,
    RunResult,
)
from lensbench.runs.made_with import endings, longer_reports, notices, uncounted, unequal_reports
from lensbench.runs.requests_file import RequestFindings
from lensbench.runs.stopping import why_stopped
from lensbench.scores import measures as summaries
from lensbench.scores.differences import Comparison
from lensbench.scores.estimates_file import EstimatesFile, decided_by_gate
from lensbench.scores.measures import mean_delta, published_pairs
from lensbench.scores.run_tables import Tables, read_tables
from lensbench.scores.scores import short_name, tools_of_condition, treatment_tools


def facts_of(folder: Path, tables: Tables) -> BenchmarkFacts[Fraction]:
    """All numbers and names of the results as plain data; numbers are exact fractions."""
    plan = tables.plan
    place = RunFolder(folder)
    repositories = read_json(place.repositories, Repositories)
    estimates = read_typed(place.estimates, EstimatesFile)
    found = PreflightFindings.read(folder)
    runs = [record for record in tables.valid if record.source == "run"]
    statuses = [row["status"] for row in tables.scores.values()]
    skews = summaries.start_skews(tables)
    tool_use = {
        run_of_pair(row): row["called"] or row["adopted"] for row in tables.pairs
    }  # or the report
    tools = treatment_tools(plan, tables.records.values(), tables.reports.values(), found.listing)
    reports = longer_reports(tables.valid)
    names = shown_names(plan)
    sides = {name: Comparison(tables, *both) for name, both in comparisons(plan).items()}
    return {
        "schema": SCHEMA,
        "run_id": plan["run_id"],
        "lensbench": __version__,
        "imported": plan["imported"],
        "baseline": plan["baseline"],
        "treatments": treatments(plan),
        "conditions": plan["conditions"],
        "names": names,
        "brings": {name: brings(condition) for name, condition in plan["conditions"].items()},
        "tools": {
            name: sorted(set(map(short_name, tools_of_condition(plan, name, tools))))
            for name in treatments(plan)
        },
        "server_versions": found.versions,
        "notes": list(plan.get("notes", ())),
        "agent": plan["agent"],
        "agent_versions": sorted({record.outcome.agent_version or "not shown" for record in runs}),
        "model_mapping": plan["model_mapping"],
        "models": sorted(
            {model for record in tables.valid for model in record.outcome.models or ()}
        ),
        "first_start": min((record.attempt.started_at for record in runs), default=None),
        "last_start": max((record.attempt.started_at for record in runs), default=None),
        "tasks": len(plan["order"]),
        "trials": plan["trials"],
        "seed": plan["seed"],
        "power": plan["gate"]["power"],
        "repositories": [
            {
                "key": key,
                "source": source,
                **{name: repositories.get(key, {}).get(name) for name in _REPOSITORY},
            }
            for key, source in sorted(plan["repositories"].items())
        ],
        "counts": {
            status: statuses.count(status)
            for status in (
                RunStatus.SCORED,
                RunStatus.UNJUDGED,
                RunStatus.DISCARDED,
                RunStatus.MISSING,
            )
        },
        "verdicts": len(tables.verdicts),
        "judges": judges(tables.verdicts),
        "drafted_verdicts": sum(row["version"].endswith(DRAFTED) for row in tables.verdicts),
        "runs": [_run(tables, row, tool_use) for row in tables.validity],
        "pairs": [dict(row) for row in tables.pairs],
        "comparisons": {
            name: _comparison(comparison, tools_of_condition(plan, comparison.treatment, tools))
            for name, comparison in sides.items()
        },
        "discards": summaries.discard_counts(tables.validity),
        "given_up": [dict(row) for row in tables.validity if row["given_up"] == "yes"],
        "disagreements": summaries.disagreements(tables),
        "controls": summaries.controls(tables),
        "start_skew_s": {
            "pairs": len(skews),
            "median": median(skews) if skews else None,
            "largest": max(skews, default=None),
        },
        "endings": endings(tables.records.values()),
        "longer_reports": reports,
        "unequal_reports": unequal_reports(reports, plan),
        "accepted_changes": plan["accepted_changes"],
        "polluted_durations": sum(bool(record.outcome.api_retries) for record in runs),
        "estimated_costs": Counter(
            run.outcome.cost_basis or _GUESS for run in runs if run.outcome.cost_is_guess
        ),
        "models_asked": sorted(
            {model for record in runs for model in record.outcome.models_asked or ()}
        ),
        "stopped": why_stopped(folder),
        "alpha": estimates["alpha"],
        "estimates": {name: estimates["comparisons"][name] for name in sides},
        "wording": estimates.get("words"),
        "instrument": read_typed(place.instrument, InstrumentFile),
    }


def judges(verdicts: Sequence[VerdictRow]) -> list[str]:
    """Every judge once, with its versions; a person has none."""
    versions: dict[str, set[str]] = {}
    for row in verdicts:
        versions.setdefault(row["judge"], set()).update({row["version"]} - {""})
    return [
        name if is_person(name) else " ".join([name, *sorted(values)])
        for name, values in sorted(versions.items())
    ]


def _useless(data: BenchmarkFacts[Fraction], treatment: str) -> str:
    """The runs in which no call of the treatment's tools worked; "" for none."""
    failures = data["comparisons"][treatment]["adoption"]["all_calls_failed"]
    whose = of_condition(data["conditions"], data["baseline"], treatment)
    some = f"{failures['runs']} of the {failures['of']} runs {whose} that called its tools"
    return f"In {some}, all of these calls failed." if failures["runs"] else ""


def _warmed(data: BenchmarkFacts[Fraction], treatment: str) -> Iterator[str]:
    """A warning where the service's cache held more of one side's first requests."""
    share = data["estimates"][treatment]["measures"]["first_cached"]["overall"]
    low = share.low or 0.0
    high = share.high or 0.0
    if low * high > 0 and abs(share.delta or 0.0) >= WARMED:
        treated, others = (
            of_condition(data["conditions"], data["baseline"], name)
            for name in (treatment, data["baseline"])
        )
        yield (
            f"The service's cache held another part of the first requests {treated} than {others} "
            f"({numbers.points(share.delta)}, interval {numbers.interval(low, high)}), by the order of the runs or by "
            "what is sent first. A part of the difference in cost is that."
        )


def _uncounted(folder: Path, tables: Tables, names: Mapping[str, str]) -> str:
    """What the attempts cost that do not count, by condition."""
    attempts = uncounted(folder, tables.scores)
    parts = []
    for name in tables.plan["conditions"]:
        tries = [
            record
            for run, records in attempts.items()
            if run.condition == name
            for record in records
        ]
        outcomes = [
            priced(record.outcome, tables.plan.get("prices", {}), record.attempt.day)
            for record in tries
            if record
        ]
        costs = [
            Fraction(str(outcome.cost_usd)) for outcome in outcomes if outcome.cost_usd is not None
        ]
        rest = f", {len(tries) - len(costs)} of unknown cost" if len(costs) < len(tries) else ""
        paid = f" (US dollars: {numbers.dollars(sum(costs, Fraction(0)))}{rest})"
        parts.append(f"{names[name]} {len(tries)}{paid if tries else ''}")
    return f"Attempts that do not count: {'; '.join(parts)}." if attempts else ""


def _unpinned(agent: AgentSettings) -> list[str]:
    """A warning for an agent whose version could be pinned and is not."""
    kind = agent["kind"]
    if (
        agent.get("version")
        or kind not in {*known_kinds()} - {"none"}
        or not hasattr(load_adapter(kind), "version")
    ):
        return []
    text = "The agent's version is not pinned (agent.version): after an update, the same names may mean another model"
    return [f"{text}, other tools and other prompts."]


WARMED = 0.1
"""Less of the first request makes little difference to the cost of a run."""
_GUESS = "the agent's, which does not know the model's price"
_REPOSITORY = ("revision", "removed", "history")


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


def headline(data: BenchmarkFacts[Fraction], treatment: str) -> str:
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


def headlines(data: BenchmarkFacts[Fraction], treatment: str) -> list[str]:
    """The headline, and in how many runs the treatment's tools were called: a difference is that of offering them."""
    adoption = data["estimates"][treatment]["adoption"]["sentence"]
    return [text for text in (headline(data, treatment), adoption) if text]


def write_results(folder: Path, tables: Tables | None = None) -> Results[Fraction]:
    """Writes results.json, results.md, summary.md and junit.xml; returns what stands in them.

    `tables` are those of the folder, where they were read before."""
    tables = tables or read_tables(folder)
    facts = facts_of(folder, tables)
    plan = tables.plan
    names = facts["treatments"]
    instrument = facts["instrument"]
    decisions = decided_by_gate(facts["estimates"])
    pairs = published_pairs(folder, tables)
    by_hand = chosen_runs.as_data(folder, tables)
    changes: Changes[Fraction] = {}
    if any(record.patch_sha256 for record in tables.valid) and not drafts_decide(facts):
        from lensbench.results.changes import (
            changes_view,
        )  # what runs tests takes longer to import than all else here

        changes = changes_view(folder, tables)
    # on a subscription nobody pays the dollars that an agent reports
    verb = "would have cost" if PLAN_TOKEN in plan["agent"].get("pass_env", ()) else "cost"
    label = f"{verb} in US dollars{', estimated' if facts['estimated_costs'] else ''}"
    steps, sentences = ladder(facts)
    findings = PreflightFindings.read(folder)
    requests = RequestFindings.read(folder)
    figures = {
        name: presented(facts["comparisons"][name]["measures"], entry, label)
        for name, entry in decisions.items()
    }
    members, of_members = ablation(facts, tables, findings, requests, figures)
    data: Results[Fraction] = {
        **facts,
        "headlines": [
            *(text for name in names for text in headlines(facts, name)),
            *notices(tables.valid, plan),
            *(sentence for name in names if (sentence := _useless(facts, name))),
            *by_hand["sentences"],
        ],
        "warnings": [
            *plan["warnings"],
            *(_unpinned(plan["agent"]) if facts["agent_versions"] else ()),
            *chosen_runs.warnings(folder),
            *(text for name in names for text in _warmed(facts, name)),
        ],
        "judging": judges_view(instrument, facts["names"])._asdict(),
        "unjudged_criteria": sum(count["criteria"] for count in instrument["unjudged"].values()),
        "criteria_of_runs": sum(count["of"] for count in instrument["unjudged"].values()),
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
        "requests": _requests(folder, plan["settings_sha256"], names),
        "changes": changes,
    }
    write_json(RunFolder(folder).results_json, plain(data))
    write_atomic(RunFolder(folder).results, render(data))
    write_atomic(RunFolder(folder).summary, render(data, "summary.md.j2"))
    write_atomic(RunFolder(folder).junit, junit(data))
    return data


def _footprint(folder: Path, tables: Tables, name: str) -> list[str]:
    """What a treatment adds; an ablation's table says what leaving out spares."""
    leaves_out = bool(left_out(tables.plan["conditions"], tables.plan["baseline"], name))
    return [] if leaves_out else footprint(folder, tables, name)


def _requests(folder: Path, settings: str, names: Sequence[str]) -> dict[str, str]:
    """Treatment -> the file with the difference of its first request, if it was measured with these settings."""
    findings = RequestFindings.read(folder)
    return {
        name: f"{RunFolder.requests}/{name}.diff"
        for name in names
        if findings.addition(name, settings)
    }


def write_everything(folder: Path) -> None:
    """Writes all results: results.json, results.md, summary.md, junit.xml, report.html, answers/."""
    tables = read_tables(folder)
    write_results(folder, tables)
    write_page(folder, read_inputs(folder, tables))


if __name__ == "__main__":
    run_stage(write_everything)
