"""The gate: the verdict on a treatment, and what would be needed for a verdict when there is none.

docs/gate.md defines what each verdict guarantees. Differences are shares of 1; `effect` in the settings is in points,
as in the config.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from lensbench.core.conditions import Contrast
from lensbench.core.distributions import beta_ppf, norm_isf
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.numbers import points, rounded
from lensbench.plan.names import Verdict
from lensbench.scores.differences import FirstSeen
from lensbench.scores.intervals import HEAVY, LARGEST, Estimate
from lensbench.scores.objections import objection, rare_losses, tasks_that_would_show
from lensbench.scores.power import tasks_for_width, tasks_needed, upper_sd
from lensbench.scores.sequential import LookResult, interval_at, level_of
from lensbench.scores.verdict_of import DEFAULTS, verdict_of

NEARLY = 0.001
"""A difference this small cannot be distinguished from 0."""
MOST_TRIALS = 20
"""The largest number of trials that is proposed."""


class Drawn(NamedTuple):
    """The position of a look in the error account."""

    number: int
    """The number of the look, from 1."""
    among: int
    """Comparisons that share the error."""
    left: float
    """The two-sided error that the next look may spend."""


class GateVerdict(NamedTuple):
    """The decision about a treatment."""

    verdict: Verdict
    sentence: str
    """The finding and its meaning, understandable on its own."""
    needs: str
    """What would be needed for a decision; empty when there is one."""
    low: float | None
    """The interval behind the verdict, adjusted for the looks."""
    high: float | None


def decide(
    estimate: Estimate,
    settings: GateSettings,
    look: LookResult | None = None,
    blockers: Sequence[str] = (),
    *,
    model: str = "",
    trials: int = 1,
    filled: tuple[Estimate, Estimate] | None = None,
    doubted: Sequence[tuple[Estimate, Estimate]] = (),
    trial_sd: float | None = None,
    caveat: str = "",
    drawn: Drawn | None = None,
    one_loss: Estimate | None = None,
    assumes: str = "",
    first_seen: FirstSeen | None = None,
    contrast: Contrast | None = None,
) -> GateVerdict:
    """The verdict on a treatment's score.

    `look`: the look after which the runs ended; its interval replaces that of the estimate. `blockers`: sentences that
    forbid any verdict, such as a failed control. `model`: the model and the agent, such as "glm-5 in claude-code
    2.1.329". `filled`: the estimates with every missing score at its worst and at its best; without them a missing pair
    forbids a verdict. `doubted`: the same with the verdicts of untrusted judges at their worst and at their best, in
    each way in which a verdict must hold. `trial_sd`: the standard deviation of a task's difference between trials,
    when known. `caveat`: a sentence about the judges that is shown with a verdict. `drawn`: the position of this look
    in the error account. `one_loss`: the estimate with one more task, which loses heavily. `assumes`: a sentence about
    the assumptions of a verdict. `first_seen`: the estimate without runs that were repeated or removed after a look.
    `contrast`: the two treatments, when the estimate compares treatments.
    """
    settings = {**DEFAULTS, **settings}
    effect = settings["effect"] / 100
    low, high = (look.low, look.high) if look else (estimate.low, estimate.high)
    if low is None or high is None:
        sentence = " ".join([_REFUSED, *blockers, _no_interval(estimate)])
        return GateVerdict("INCONCLUSIVE", sentence, _MORE_TASKS, low, high)
    scope = _scope(estimate, model, settings)
    found = _found(estimate, settings, look, low, high, trials, contrast)
    told = f"{_ending(look)}{_account(drawn, look)}"
    by_numbers = verdict_of(low, high, effect)
    boundary = look.boundary if look else norm_isf(settings["alpha"] / 2)
    doubt = objection(estimate, boundary)
    rare = rare_losses(estimate, boundary, trials) if by_numbers == "GO" and not doubt else ""
    verdict: Verdict = "INCONCLUSIVE" if doubt or rare else by_numbers
    reasons = [
        *blockers,
        *_missing_pairs(estimate, verdict, effect, boundary, filled),
        *_doubted_verdicts(verdict, effect, boundary, doubted, caveat),
        *_chosen_runs(verdict, effect, boundary, first_seen),
    ]
    if reasons:
        sentence = f"{_REFUSED} {' '.join(reasons)} The figures as they are: {found}{told} {scope}"
        return GateVerdict("INCONCLUSIVE", sentence, _CAUSE_FIRST, low, high)
    meaning = _meaning(verdict, low, high, settings, contrast)
    if doubt or rare:
        meaning = f"The interval alone would be a {by_numbers}, and {doubt or rare}."
    losses = f" {_losses(estimate, boundary, one_loss)}" if verdict == "GO" else ""
    sentence = f"{verdict}: {found} {meaning}{losses}{told} {scope} {caveat}".rstrip()
    if verdict != "INCONCLUSIVE":
        sentence = f"{sentence} {assumes}".rstrip()
        return GateVerdict(verdict, sentence, "", low, high)
    if look and look.open:
        return GateVerdict(verdict, sentence, "The next wave.", low, high)
    if rare:
        more = with_noun(tasks_that_would_show(estimate, boundary, trials) - estimate.n, "more task")
        needs = f"About {more}: if none of them loses heavily either, such losses are too rare to undo the gain."
        return GateVerdict(verdict, sentence, needs, low, high)
    next_one = settings | ({"alpha": drawn.left} if drawn and drawn.left else {})
    return GateVerdict(verdict, sentence, what_decides(estimate, next_one, trials, trial_sd), low, high)


_REFUSED = "INCONCLUSIVE: no verdict is given."
_MORE_TASKS = "Tasks whose differences are not all the same; a dozen is the least that says something."
_CAUSE_FIRST = "Fix the cause first; more tasks will not help."


def _no_interval(estimate: Estimate) -> str:
    if estimate.n < 2:
        return f"Complete pairs exist for {with_noun(estimate.n, 'task')}, and an interval needs two."
    return f"All {estimate.n} tasks differ by the same {in_points(estimate.delta or 0)}, which gives no interval."


def _missing_pairs(
    estimate: Estimate, verdict: Verdict, effect: float, boundary: float, filled: tuple[Estimate, Estimate] | None
) -> list[str]:
    """A reason against the verdict when missing pairs could overturn it: the verdict must also hold with every missing
    score at its worst."""
    missing = estimate.planned - estimate.pairs
    if missing <= 0 or verdict == "INCONCLUSIVE":
        return []
    told = f"{missing} of {with_noun(estimate.planned, 'planned pair')} {'is' if missing == 1 else 'are'} missing"
    if filled is None:
        return [f"{told}, and their worst case is not known."]
    worst = filled[0] if verdict == "GO" else filled[1]
    return [] if _keeps(verdict, effect, boundary, worst) else [f"{told}, which at their worst would undo a {verdict}."]


def _doubted_verdicts(
    verdict: Verdict, effect: float, boundary: float, doubted: Sequence[tuple[Estimate, Estimate]], caveat: str
) -> list[str]:
    """A reason against the verdict when it depends on judges that nobody has validated."""
    if verdict == "INCONCLUSIVE" or all(
        _keeps(verdict, effect, boundary, worst if verdict == "GO" else best) for worst, best in doubted
    ):
        return []
    return [f"{caveat} At their worst these would undo a {verdict}.".lstrip()]


def _chosen_runs(verdict: Verdict, effect: float, boundary: float, first_seen: FirstSeen | None) -> list[str]:
    """A reason against the verdict when it depends on runs that were repeated or removed after a look."""
    if first_seen is None or verdict == "INCONCLUSIVE" or _keeps(verdict, effect, boundary, first_seen.estimate):
        return []
    were = "was" if first_seen.pairs == 1 else "were"
    return [
        f"{with_noun(first_seen.pairs, 'pair')} that an earlier look counted {were} made again or taken out since, and "
        f"as that look had them there is no {verdict}. Runs chosen by their scores prove nothing; take another run_id."
    ]


def _keeps(verdict: Verdict, effect: float, boundary: float, estimate: Estimate) -> bool:
    """True when the estimate supports the verdict; without an interval, the delta alone is used."""
    delta = estimate.delta or 0.0
    low, high = interval_at(estimate, boundary) or (delta, delta)
    if verdict == "NO-GO":
        return high < effect
    return (low > 0 if verdict == "GO" else high < 0) and not objection(estimate, boundary)


def _found(
    estimate: Estimate, settings: GateSettings, look: LookResult | None, low: float, high: float, trials: int,
    contrast: Contrast | None,
) -> str:  # fmt: skip
    """The difference with its interval and the size of the data."""
    adjusted = f", adjusted for {look.looks} looks" if look and look.looks > 1 else ""
    level = level_of(look.boundary) if look else 1 - settings["alpha"]
    interval = f"{_percent(level)} interval {in_points(low, unit='')} to {in_points(high)}{adjusted}"
    size = [with_noun(estimate.n, "task"), with_noun(estimate.clusters, "repository"), with_noun(trials, "trial")]
    if estimate.pairs < estimate.planned:
        size.append(f"{estimate.pairs} of {with_noun(estimate.planned, 'pair')}")
    least = ""
    if estimate.mde is not None:
        share = _percent(settings["power"])
        found = f"{share} of such benchmarks find a true {rounded(Fraction(estimate.mde) * 100, 1)} points"
        if estimate.mde > LARGEST:
            found = f"no difference is so large that {share} of such benchmarks find it"
        least = f" If tasks spread as these do, {found}."
    delta = in_points(estimate.delta or 0)
    if estimate.people:
        delta += f", corrected by what people say of {with_noun(estimate.people, 'task')}"
    tools = f"with {contrast.treatment} instead of {contrast.baseline}" if contrast else "with its tools"
    return f"{tools} the agent's score changes by {delta} ({interval}; {', '.join(size)}).{least}"


def _ending(look: LookResult | None) -> str:
    if look is None or look.looks == 1:
        return ""
    ended = "The runs go on after" if look.open else "The runs ended with"
    return f" {ended} look {look.look} of {look.looks}: {look.why}."


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _account(drawn: Drawn | None, look: LookResult | None) -> str:
    """The number of the look, and how many comparisons share the error; "" for a single look at a single treatment."""
    told = []
    if drawn and drawn.number > 1 and look:
        which = _ORDINALS[drawn.number - 1] if drawn.number <= len(_ORDINALS) else f"{drawn.number}th"
        told.append(f" This is the {which} look at this benchmark; level {_percent(level_of(look.boundary))}.")
    if drawn and drawn.among > 1:
        told.append(f" The level holds for {drawn.among} comparisons together (Holm).")
    return "".join(told)


def _meaning(verdict: Verdict, low: float, high: float, settings: GateSettings, contrast: Contrast | None) -> str:
    worthwhile = f"the {settings['effect']:g} points that are worthwhile"
    if verdict == "INCONCLUSIVE" and low <= -LARGEST and high >= LARGEST:
        return "These data say nothing: any difference is possible."
    if contrast:
        return _meaning_between(contrast, verdict, low > 0, worthwhile)
    if verdict == "GO":
        return "The tools help: a difference this large is unlikely if they had no effect."
    if verdict == "HARM":
        return "The tools make the answers worse."
    if verdict == "INCONCLUSIVE":
        return f"The tools may change nothing, and may as well gain {worthwhile}."
    helps = "The tools help, but by less" if low > 0 else "Any effect is smaller"
    return f"{helps} than {worthwhile}."


def _meaning_between(contrast: Contrast, verdict: Verdict, is_better: bool, worthwhile: str) -> str:
    new, old = contrast
    if verdict == "GO":
        return f"{new} is better than {old}: a difference this large is unlikely if they were alike."
    if verdict == "HARM":
        return f"{new} is worse than {old}."
    if verdict == "INCONCLUSIVE":
        return f"They may be alike, and {new} may as well gain {worthwhile}."
    return (
        f"{new} is better than {old}, but by less than {worthwhile}."
        if is_better
        else f"{new} gains less than {worthwhile}."
    )


def _losses(estimate: Estimate, boundary: float, one_loss: Estimate | None) -> str:
    """How many tasks lost heavily, and how many may in reality: a few tasks rarely show rare losses."""
    most = beta_ppf(0.95, estimate.heavy + 1, max(estimate.n - estimate.heavy, 1))
    which = "None" if not estimate.heavy else str(estimate.heavy)
    told = (
        f"{which} of {with_noun(estimate.n, 'task')} lost {-100 * HEAVY:g} points; "
        f"up to {100 * most:.0f} % of tasks may."
    )
    if one_loss is None:
        return told
    undone = not _keeps("GO", 0.0, boundary, one_loss)
    return f"{told} One more task with such a loss would {'undo this GO' if undone else 'leave it a GO'}."


def _scope(estimate: Estimate, model: str, settings: GateSettings) -> str:
    """The model and the repositories for which the sentence holds (protocol, section 8)."""
    who = f"for {model} " if model else ""
    where = "this repository" if estimate.clusters == 1 else f"these {with_noun(estimate.clusters, 'repository')}"
    others = ""
    if estimate.scope and estimate.generalised:
        low, high = estimate.generalised
        level = _percent(1 - settings["alpha"])
        others = f"; for others like them the {level} interval is {in_points(low, unit='')} to {in_points(high)}"
    return f"This holds {who}on {where}{' only' if estimate.scope else ''}{others}."


def what_decides(estimate: Estimate, settings: GateSettings, trials: int, trial_sd: float | None = None) -> str:
    """How many more tasks, or trials of the same tasks, would be enough if the true difference is the observed one.

    A GO needs an interval above 0; a NO-GO or a HARM needs an interval below the smallest worthwhile effect. For a
    difference in between, an interval shorter than this effect gives one or the other. The observed spread is
    uncertain, so its 80 % upper bound is used.
    """
    delta, effect = estimate.delta or 0.0, settings["effect"] / 100
    if not estimate.se:
        return _MORE_TASKS
    distance = delta if delta > 0 else effect - delta
    if 0 < delta < effect:
        upper = upper_sd(estimate.se * estimate.n**0.5, estimate.n)
        tasks = tasks_for_width(upper, effect, settings["alpha"])
        more = with_noun(max(tasks - estimate.n, 1), "more task")
        between = f"the difference found lies between 0 and the {settings['effect']:g} points that are worthwhile"
        return f"About {more}: {between}, and an interval shorter than these decides, as a GO or a NO-GO."
    sd = estimate.se * estimate.n**0.5

    def needed(spread: float) -> int:
        upper = upper_sd(spread, estimate.n)
        return tasks_needed(upper, distance, settings["power"], settings["alpha"])

    where = " in further repositories" if estimate.clusters < estimate.n and not estimate.scope else ""
    ways = [with_noun(max(needed(sd) - estimate.n, 1), "more task") + where]
    if trial_sd is not None:
        between_tasks = max(sd**2 - trial_sd**2 / trials, 0.0)
        counts = range(trials + 1, MOST_TRIALS + 1)
        enough = (k for k in counts if needed((between_tasks + trial_sd**2 / k) ** 0.5) <= estimate.n)
        ways += [f"{k} trials of each task instead of {trials}" for k in islice(enough, 1)]
    return (
        f"About {', or '.join(ways)}: enough in 7 of 10 benchmarks or more if the true difference is the one found, "
        "which is itself uncertain."
    )


def in_points(share: float, unit: str = " points") -> str:
    """A share as points with their sign: `+4.2 points`."""
    return points(share, unit)


def _percent(share: float) -> str:
    """A percentage, with more digits near 1 to distinguish levels."""
    return f"{100 * share:.{4 if share < 0.999 else 6}g} %"


def with_noun(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `2 tasks`, `2 repositories`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
