"""The gate: what the numbers allow to say about a treatment, and what would decide where they allow nothing.

docs/gate.md says what each verdict promises. Differences are shares of 1; `effect` in the settings is in points, as the
config has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from lensbench.core.numbers import rounded
from lensbench.plan.config import Verdict
from lensbench.scores.intervals import Estimate
from lensbench.scores.power import tasks_for_width, tasks_needed, upper_sd
from lensbench.scores.sequential import LookResult
from lensbench.scores.verdict_of import DEFAULTS, verdict_of

MOST_TRIALS = 20
"""More trials of the same tasks than this are not proposed."""


class GateVerdict(NamedTuple):
    """The decision about a treatment."""

    verdict: Verdict
    sentence: str
    """What was found and what it means, for a reader who sees nothing else."""
    needs: str
    """What would decide, when nothing is decided; else empty."""
    low: float | None
    """The interval that the verdict rests on, adjusted for the looks."""
    high: float | None


def decide(
    estimate: Estimate,
    settings: Mapping[str, Any],
    look: LookResult | None = None,
    blockers: Sequence[str] = (),
    *,
    model: str = "",
    trials: int = 1,
    bounds: tuple[float, float] | None = None,
    trial_sd: float | None = None,
    caveat: str = "",
) -> GateVerdict:
    """The verdict on a treatment's score.

    `look`: the look that the runs ended at, when there were several; its wider interval replaces the estimate's own.
    `blockers`: sentences that forbid any verdict, such as a failed control. `model`: who answered, such as "glm-5 in
    claude-code 2.1.329". `bounds`: the delta with every missing score at its worst and at its best; without them a
    missing pair forbids a verdict. `trial_sd`: the spread of a task's difference from trial to trial, when known.
    `caveat`: a sentence about the judges that stands beside a verdict that is given.
    """
    settings = {**DEFAULTS, **settings}
    effect = settings["effect"] / 100
    low, high = (look.low, look.high) if look else (estimate.low, estimate.high)
    if low is None or high is None:
        sentence = " ".join([_REFUSED, *blockers, _no_interval(estimate)])
        return GateVerdict("INCONCLUSIVE", sentence, _MORE_TASKS, low, high)
    scope = _scope(estimate, model)
    found = _found(estimate, settings, look, low, high, trials)
    verdict = verdict_of(low, high, effect)
    reasons = [*blockers, *_missing_pairs(estimate, verdict, low, high, effect, bounds)]
    if reasons:
        sentence = f"{_REFUSED} {' '.join(reasons)} The figures as they are: {found} {scope}"
        return GateVerdict("INCONCLUSIVE", sentence, _CAUSE_FIRST, low, high)
    sentence = f"{verdict}: {found} {_meaning(verdict, low, settings)}{_ending(look)} {scope} {caveat}".rstrip()
    if verdict != "INCONCLUSIVE":
        return GateVerdict(verdict, sentence, "", low, high)
    needs = "The next wave." if look and look.open else what_decides(estimate, settings, trials, trial_sd)
    return GateVerdict(verdict, sentence, needs, low, high)


_REFUSED = "INCONCLUSIVE: no verdict is given."
_MORE_TASKS = "Tasks whose differences are not all the same; a dozen is the least that says something."
_CAUSE_FIRST = "The cause has to go first; more tasks are no substitute."


def _no_interval(estimate: Estimate) -> str:
    if estimate.n < 2:
        return f"Complete pairs exist for {_count(estimate.n, 'task')}, and an interval needs two."
    return f"All {estimate.n} tasks differ by the same {_points(estimate.delta or 0)}, which gives no interval."


def _missing_pairs(
    estimate: Estimate, verdict: Verdict, low: float, high: float, effect: float, bounds: tuple[float, float] | None
) -> list[str]:
    """A reason against the verdict when what is missing could overturn it.

    The interval is moved, not widened, until its centre is at the worst case bound; then the verdict's promise must
    still hold, on either side.
    """
    missing = estimate.planned - estimate.pairs
    if missing <= 0 or verdict == "INCONCLUSIVE":
        return []
    told = f"{missing} of {_count(estimate.planned, 'planned pair')} {'is' if missing == 1 else 'are'} missing"
    if bounds is None:
        return [f"{told}, and their worst case is not known."]
    centre = (low + high) / 2
    lowest, highest = low + bounds[0] - centre, high + bounds[1] - centre
    holds = lowest > 0 if verdict == "GO" else highest < (effect if verdict == "NO-GO" else 0)
    return [] if holds else [f"{told}, which at their worst would undo a {verdict}."]


def _found(
    estimate: Estimate, settings: Mapping[str, Any], look: LookResult | None, low: float, high: float, trials: int
) -> str:
    """The difference with everything that its size rests on."""
    adjusted = f", adjusted for {look.looks} looks" if look and look.looks > 1 else ""
    interval = f"{_percent(1 - settings['alpha'])} interval {_points(low, unit='')} to {_points(high)}{adjusted}"
    size = [_count(estimate.n, "task"), _count(estimate.clusters, "repository"), _count(trials, "trial")]
    if estimate.pairs < estimate.planned:
        size.append(f"{estimate.pairs} of {_count(estimate.planned, 'pair')}")
    least = ""
    if estimate.mde is not None:
        found = rounded(Fraction(estimate.mde) * 100, 1)
        least = f" A true change of {found} points would be found with {_percent(settings['power'])} probability."
    delta = _points(estimate.delta or 0)
    return f"with its tools the agent's score changes by {delta} ({interval}; {', '.join(size)}).{least}"


def _ending(look: LookResult | None) -> str:
    if look is None or look.looks == 1:
        return ""
    ended = "The runs go on after" if look.open else "The runs ended with"
    return f" {ended} look {look.look} of {look.looks}: {look.why}."


def _meaning(verdict: Verdict, low: float, settings: Mapping[str, Any]) -> str:
    worthwhile = f"the {settings['effect']:g} points that are worthwhile"
    if verdict == "GO":
        return "The tools help: no difference at all would hardly give these numbers."
    if verdict == "HARM":
        return "The tools make the answers worse."
    if verdict == "INCONCLUSIVE":
        return f"The tools may change nothing, and may as well gain {worthwhile}."
    helps = "The tools help, but by" if low > 0 else "Whatever the tools do, it is"
    return f"{helps} less than {worthwhile}."


def _scope(estimate: Estimate, model: str) -> str:
    """For whom and where the sentence is true (protocol, section 8)."""
    who = f"for {model} " if model else ""
    where = "this repository" if estimate.clusters == 1 else f"these {_count(estimate.clusters, 'repository')}"
    return f"This holds {who}on {where}{' only' if estimate.scope else ''}."


def what_decides(estimate: Estimate, settings: Mapping[str, Any], trials: int, trial_sd: float | None = None) -> str:
    """How many more tasks, or trials of the same tasks, would decide if the difference stays what it is.

    A GO needs the difference to stand clear of 0, a NO-GO or a HARM needs it to stand clear of the smallest worthwhile
    effect; in between, an interval that is shorter than this effect decides, as one or the other. The observed spread
    is itself uncertain, and its 80 % upper bound is used.
    """
    delta, effect = estimate.delta or 0.0, settings["effect"] / 100
    if not estimate.se:
        return _MORE_TASKS
    if 0 < delta < effect:
        upper = upper_sd(estimate.se * estimate.n**0.5, estimate.n)
        tasks = tasks_for_width(upper, effect, settings["alpha"])
        more = _count(max(tasks - estimate.n, 1), "more task")
        between = f"the difference found lies between 0 and the {settings['effect']:g} points that are worthwhile"
        return f"About {more}: {between}, and an interval shorter than these decides, as a GO or a NO-GO."
    distance = delta if delta > 0 else effect - delta
    sd = estimate.se * estimate.n**0.5

    def needed(spread: float) -> int:
        upper = upper_sd(spread, estimate.n)
        return tasks_needed(upper, distance, settings["power"], settings["alpha"])

    where = " in further repositories" if estimate.clusters < estimate.n and not estimate.scope else ""
    ways = [_count(max(needed(sd) - estimate.n, 1), "more task") + where]
    if trial_sd is not None:
        between_tasks = max(sd**2 - trial_sd**2 / trials, 0.0)
        counts = range(trials + 1, MOST_TRIALS + 1)
        enough = (k for k in counts if needed((between_tasks + trial_sd**2 / k) ** 0.5) <= estimate.n)
        ways += [f"{k} trials of each task instead of {trials}" for k in islice(enough, 1)]
    return f"About {', or '.join(ways)}: likely to decide if the difference stays what it is."


def _points(share: float, unit: str = " points") -> str:
    text = rounded(Fraction(share) * 100, 1)
    return f"{'+' if share > 0 and text != '0.0' else ''}{text}{unit}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
