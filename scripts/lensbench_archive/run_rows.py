"""One tidy row for each run, for notebooks: `lensbench table --runs runs.csv`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Outcome, RunId
from lensbench.core.tables import items, run_of_pair, run_of_row
from lensbench.scores.quantities import TOKEN_WEIGHTS
from lensbench.scores.run_tables import Tables, read_tables

RunTableRow = dict[str, str | int | float | None]
"""By column; None is not known."""


def read_runs(folder: Path, source: str) -> list[RunTableRow]:
    """The planned runs of a run folder, those that do not count as well. `source`: as in the table."""
    tables = read_tables(folder)
    versions = PreflightFindings.read(folder).versions
    called = {run_of_pair(row): row["called"] or row["adopted"] for row in tables.pairs}
    rows = []
    for validity in tables.validity:
        run = run_of_row(validity)
        planned = tables.plan["tasks"][run.task]
        servers = versions.get(run.condition, {})
        row: RunTableRow = {
            "benchmark": tables.plan["run_id"],
            "source": source,
            "task": run.task,
            "condition": run.condition,
            "trial": run.trial,
            "repository": planned["repository"],
            "category": planned["category"],
            "status": tables.scores[run]["status"],
            "reason": validity["reason"],
            "called": called.get(run),
            "complete": tables.scores[run]["complete"],
            "discards": len(items(validity["discards"]) or ()),
            "server_version": ", ".join(dict.fromkeys(servers.values())),
        }
        row.update(_measured(tables, run))
        rows.append(row)
    return rows


def _measured(tables: Tables, run: RunId) -> Iterator[tuple[str, str | float | None]]:
    """What is known of a run that counts: shares of 1, US dollars, seconds, tokens, versions."""
    figures = {
        "score": tables.score(run),
        "cost_usd": tables.cost(run),
        "duration_s": tables.duration(run),
    }
    for name, value in figures.items():
        yield name, None if value is None else float(value)
    tokens = tables.all_tokens(run) or {}
    for kind in TOKEN_WEIGHTS:
        yield f"tokens_{kind}", tokens.get(kind)
    record = tables.records.get(run)
    outcome = record.outcome if record else Outcome()
    yield "agent_version", outcome.agent_version
    yield "models", ", ".join(outcome.models or ())
