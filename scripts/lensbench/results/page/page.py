"""Writes report.html, the page that people look at, and the answers side by side.

One file that asks nothing of anybody and is whole without its small scripts. The answers are beside it in `answers/`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from lensbench.core import numbers
from lensbench.core.numbers import exact
from lensbench.core.records import Record, RunId, TapCall
from lensbench.core.rows import DecisionRow, PairRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json, read_typed, write_atomic
from lensbench.core.system.places import ROOT, TEMPLATES, csp_hash, template_environment
from lensbench.core.system.trees import remove_tree
from lensbench.core.tables import grouped, read_table, run_of_pair, run_of_row
from lensbench.judging.shown_answers import read_tasks
from lensbench.plan.frozen import frozen_tasks
from lensbench.results import charts
from lensbench.results.charts import sign, signed
from lensbench.results.markdown import PAGE_FILTERS, as_html, exactly
from lensbench.results.markdown import render as render_markdown
from lensbench.results.page import data, pairs
from lensbench.results.page.data import Inputs, pair_address, run_address
from lensbench.results.page.pairs import PairPage
from lensbench.results.presented import FEWEST_TASKS_OF_GROUP, shown_difference
from lensbench.results.results_file import Results
from lensbench.scores.quantities import QUANTITIES
from lensbench.scores.run_tables import Tables, read_tables
from lensbench.scores.saving import quantities_of


def page_environment() -> Environment:
    environment = template_environment(html=True)
    environment.filters |= {
        "minus": _minus,
        "percent": _exactly(numbers.percent),
        "seconds": _exactly(numbers.seconds),
        "points": _exactly(numbers.points),
        "yes_no": lambda cell: cell or numbers.MISSING,
        "signed": lambda share: numbers.MISSING if share is None else signed(share * 100),
        "code": lambda text: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text)))),
        **PAGE_FILTERS,
    }
    environment.globals["fewest_tasks"] = FEWEST_TASKS_OF_GROUP
    return environment


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


def _exactly(show: Callable[[Fraction | None], str]) -> Callable[[Any], str]:
    """As in Markdown, with U+2212 as the minus."""
    return lambda value: _minus(exactly(show)(value))


ENDS = 40
"""Of more tasks than twice this, the chart shows the first and the last; the table has all."""
_MOST_LINES = 50
"""Lines of the forest plot; again, the table has all."""


def treatment_view(inputs: Inputs, treatment: str) -> dict[str, object]:
    """What the template reads."""
    results = inputs.results
    number = results["treatments"].index(treatment)
    figures = results["figures"][treatment]
    estimates = results["estimates"][treatment]
    gate = estimates["gate"]
    settings = inputs.tables.plan["gate"]
    called = results["names"][treatment]
    baseline = results["names"][results["baseline"]]
    rows, others = data.task_rows(inputs, treatment)
    ends, between = data.ends_of(rows, ENDS)
    difference = shown_difference(estimates)
    intervals = data.interval_rows(estimates)
    return {
        "name": treatment,
        "called": called,
        "anchor": f"treatment-{number}",
        "address": pair_address,
        "comparison": results["comparisons"][treatment],
        "needs": next((figures[name] for name in quantities_of(settings) if name in figures), None),
        "gate": gate,
        "difference": difference,
        "overall": estimates["corrected"] or estimates["score"]["overall"],
        "rows": rows,
        "unpaired": others,
        "pairs": [pair for pair in inputs.tables.pairs if pair["treatment"] == treatment],
        "intervals": intervals,
        "losses": data.losses(inputs, treatment),
        "between": between,
        "ruler": partial(charts.ruler, difference, settings["effect"]),
        "forest": partial(charts.forest, intervals[:_MOST_LINES], settings["effect"]),
        "dumbbells": partial(charts.dumbbells, ends, between, (baseline, called)),
    }


def read_inputs(folder: Path, tables: Tables | None = None) -> Inputs:
    """Everything that the stages before left in the run folder; `tables` where they were read before."""
    tables = tables or read_tables(folder)
    files = RunFolder(folder)
    return Inputs(
        tables,
        read_typed(files.results_json, Results[float]),
        {run_of_row(row): row for row in tables.validity},
        grouped(read_table(files.decisions, DecisionRow), run_of_row),
        grouped(tables.verdicts, run_of_row),
        read_tasks(folder),
        read_json(files.citations),
    )


def render(folder: Path, inputs: Inputs) -> Iterator[tuple[str, str]]:
    """The pages with their paths in the run folder: report.html, and the answers beside it.

    One after the other: thousands of them need much memory."""
    plan = inputs.tables.plan
    environment = page_environment()
    environment.globals |= {**style_of_the_page(), "data": inputs.results}
    report = environment.get_template("report.html.j2").render(
        treatments=[treatment_view(inputs, name) for name in inputs.results["treatments"]],
        judge_reliability=inputs.results["judge_reliability"],
        judges=inputs.results["judging"],
        durations=partial(_durations, inputs),
        plan=plan,
        shared=partial(_shared, inputs),
        hashes=_hashes(folder),
        outcome=_outcome,
        discarded_because=partial(_discarded_because, inputs),
        **script_of_tables(),
    )
    yield RunFolder.page, report
    for trial in range(1, plan["trials"] + 1):
        for task in plan["order"]:
            pair = pairs.pair_page(folder, inputs, task, trial)
            yield from _pages_of_answers(environment, folder, inputs, pair)


def _shared(inputs: Inputs, name: str, **more: object) -> Markup:
    """A part of results.md that stands on the page as well."""
    return as_html(render_markdown({**inputs.results, **more}, f"{name}.md.j2"))


def _pages_of_answers(
    environment: Environment, folder: Path, inputs: Inputs, pair: PairPage
) -> Iterator[tuple[str, str]]:
    """The pages of the runs of a task in a trial, and that of their answers."""
    plan = inputs.tables.plan
    path = pair_address(pair.task, pair.trial)
    home = _to_top(path)
    of_run = environment.get_template("run.html.j2")
    statuses = {}
    stories = {}
    for column in pair.columns:
        run = RunId(pair.task, column.condition, pair.trial)
        story = pairs.run_page(folder, run)
        statuses[run] = column.status
        if story:
            stories[run] = story
    places = {run.condition: run_address(run) for run in stories}
    for run, story in stories.items():
        place = places[run.condition]
        up = _to_top(place)
        partners = {name: up + other for name, other in places.items() if name != run.condition}
        page = of_run.render(
            shown=story,
            facts=_facts(inputs, statuses[run], run),
            tapped=_tapped(inputs.tables.records.get(run)),
            home=f"{up}{RunFolder.page}",
            pair_place=up + path,
            partners=partners,
        )
        yield place, page
    trials = range(1, plan["trials"] + 1)
    beside = {}
    for word, task in _neighbours(plan["order"], pair.task):
        beside[word] = home + pair_address(task, pair.trial)
    page = environment.get_template("pair.html.j2").render(
        pair=pair,
        home=f"{home}{RunFolder.page}",
        siblings=[(trial, home + pair_address(pair.task, trial)) for trial in trials],
        timelines={condition: home + place for condition, place in places.items()},
        beside=beside,
    )
    yield path, page


def _to_top(path: str) -> str:
    """The way from a page to the run folder, such as `../../`."""
    return "".join(["../"] * path.count("/"))


def _neighbours(order: Sequence[str], task: str) -> Iterator[tuple[str, str]]:
    """The tasks before and after a task, with what their links are called."""
    at = order.index(task)
    if at > 0:
        yield "previous", order[at - 1]
    if at + 1 < len(order):
        yield "next", order[at + 1]


def _facts(inputs: Inputs, status: str, run: RunId) -> list[str]:
    """What is known of a run: its status, and its quantities; a count of 0 says nothing."""
    facts = [status]
    for name, quantity in QUANTITIES.items():
        value = quantity.of(inputs.tables, run)
        if value is None or (quantity.kind == "count" and not value):
            continue
        fact = f"{quantity.label}: {quantity.amount(value)}"
        if name == "cost_usd" and inputs.tables.records[run].outcome.cost_is_guess:
            fact += ", estimated"
        facts.append(fact)
    return facts


def _tapped(record: Record | None) -> list[TapCall]:
    """The calls that the tee saw in a run, the most time first."""
    taps = record.taps if record else None
    calls = [call for tap in (taps or {}).values() for call in tap.calls]
    return sorted(calls, key=lambda call: -call.ms)


def style_of_the_page() -> dict[str, Markup]:
    """The style sheet, and the hash by which the page's own policy lets it through: the white space counts."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8").strip()
    return {"style": Markup(style), "style_hash": Markup(csp_hash(f"\n{style}\n"))}


def script_of_tables() -> dict[str, Markup]:
    """The script of the tables, and the hash that lets it through."""
    script = (TEMPLATES / "tables.js").read_text(encoding="utf-8")
    return {"script": Markup(script), "script_hash": Markup(csp_hash(script))}


def _outcome(pair: PairRow) -> str:
    delta = exact(pair["delta"])
    return "no score" if delta is None else sign(delta)


def _discarded_because(inputs: Inputs, pair: PairRow) -> str:
    """Why a run of the pair does not count, such as `timed_out`; "" when both do."""
    run = run_of_pair(pair)
    base = run._replace(condition=inputs.tables.plan["baseline"])
    reasons = (inputs.validity[side]["reason"] for side in (base, run))
    return ", ".join(dict.fromkeys(filter(None, reasons)))


def _durations(inputs: Inputs, pair: PairRow) -> tuple[Fraction | None, Fraction | None]:
    """Seconds of both runs of a pair, the baseline first."""
    run = run_of_pair(pair)
    duration = inputs.tables.duration
    return duration(run._replace(condition=inputs.tables.plan["baseline"])), duration(run)


def _hashes(folder: Path) -> dict[str, str]:
    """What the numbers rest on, by SHA-256."""
    names = (
        RunFolder.plan,
        RunFolder.config,
        frozen_tasks(folder).name,
        RunFolder.protocol,
        RunFolder.results_json,
        RunFolder.decisions,
    )
    paths = {name: folder / name for name in names}
    paths["requirements.lock"] = ROOT / "requirements.lock"
    hashes = {}
    for name, path in paths.items():
        if path.exists():
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def write_page(folder: Path, inputs: Inputs | None = None) -> None:
    """Writes report.html, and the answers beside it; pages of tasks that are gone are removed."""
    inputs = inputs or read_inputs(folder)
    remove_tree(str(RunFolder(folder).answers))
    for name, page in render(folder, inputs):
        write_atomic(folder / name, page)
