"""The review page: generated tasks with the source lines of their proofs, and why others were dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from lensbench.core.numbers import percent
from lensbench.core.system.places import TEMPLATES, csp_hash, template_environment
from lensbench.core.tasks import Proof, Task
from lensbench_tasks.changes.proof import flat
from lensbench_tasks.files import Made, set_value
from lensbench_tasks.rounds import CandidateResult, kept
from lensbench_tasks.survey import Survey

AROUND = 2
"""Lines of source shown before and after a quote."""
MAX_LINE = 200
MAX_QUOTE_LINES = 12
"""The maximum number of lines of a quote."""


def render_review(result: Made) -> str:
    """The page."""
    fates = kept(result.fates)
    return styled_page(
        "review.html.j2",
        made=result,
        set=set_value(result),
        dropped=[fate for fate in result.fates if fate.outcome == "dropped"],
        flags=[list(_flags(fate)) for fate in fates],
        sources=[_sources(task, result.known) for task in result.tasks],
    )


def _sources(task: Task, survey: Survey) -> list[list[dict[str, str]]]:
    """The places of the proofs of each criterion."""
    sources = []
    for criterion in task.criteria:
        sources.append([_source(proof, survey) for proof in criterion.proofs])
    return sources


def styled_page(template: str, **values: Any) -> str:
    """A page about tasks. Its content security policy allows only its own style, by its hash."""
    style = ""
    for name in ("judge_sheet", "review"):
        style += (TEMPLATES / f"{name}.css").read_text(encoding="utf-8")
    page = template_environment(html=True).get_template(template)
    return page.render(values, style=Markup(style), style_hash=csp_hash(f"\n{style}\n"))


def _flags(fate: CandidateResult) -> Iterator[str]:
    """Remarks for the reviewer about an accepted task."""
    last = fate.tries[-1].tried
    if fate.outcome == "repaired":
        reasons: dict[str, None] = {}
        for attempt in fate.tries[:-1]:
            reasons |= dict.fromkeys(problem.reason for problem in attempt.problems)
        yield f"repaired: {', '.join(reasons)}"
    if last:
        yield f"one search finds {percent(last.search)}"
        yield f"an agent without a model finds {percent(last.offline)}"
        yield f"an answer that states every fact gets {percent(last.oracle)}"


def _source(proof: Proof, survey: Survey) -> dict[str, str]:
    """The place of a proof, and the lines around it; the line number is only for human readers."""
    lines = survey.texts.get(proof.file, "").split("\n")
    start, end = _extent(proof, survey, len(lines))
    hits = []
    for number in range(start, end):
        if flat(proof.quote) in flat(" ".join(lines[number : number + MAX_QUOTE_LINES])):
            hits.append(number)
    first = hits[0] if hits else start
    while first + 1 in hits:  # the match may start before the quote: take its last start
        first += 1
    excerpt = lines[max(0, first - AROUND) : first + AROUND + 1]
    where = f"{proof.file}, {proof.within}" if proof.within else proof.file
    text = "\n".join(line[:MAX_LINE] for line in excerpt)
    return {"place": f"{where}, line {first + 1}", "text": text}


def _extent(proof: Proof, survey: Survey, lines: int) -> tuple[int, int]:
    """The lines of the definition that contains a proof; all lines when it names none."""
    for one in survey.codes[proof.file].definitions if proof.file in survey.codes else ():
        if proof.within and proof.within in (one.shown, one.name):
            return one.last_line - one.text.count("\n") - 1, one.last_line
    return 0, lines
