"""Adoption: in how many runs of a condition a tool of its servers was called, with intervals, and the sentences on it.

A condition's share has the exact binomial interval (Clopper and Pearson, Biometrika 26, 1934) of as many runs as it has
independent ones: trials of a task are divided by their design effect (Korn and Graubard, Survey Methodology 24, 1998).
Two conditions are compared on the same tasks: with one trial by McNemar's mid-p and the score interval of Tango
(Statistics in Medicine 17, 1998), with several by the means of the tasks, as the score. docs/measured/adoption.md has
the coverage. Levels are 95%, whatever `gate.alpha` is: no verdict is given on adoption.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from lensbench.core.distributions import beta_ppf, norm_isf, root, t_isf
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import MISSING, rounded
from lensbench.core.records import RunId
from lensbench.core.tables import Cell, run_of_pair, yes_no
from lensbench.scores.complete_tasks import Known, mid_p
from lensbench.scores.differences import Comparison
from lensbench.scores.gate_words import with_noun
from lensbench.scores.intervals import LARGEST, Estimate, interval_of
from lensbench.scores.run_tables import Tables
from lensbench.scores.scores import RunFacts, adoption_cells, tools_of_condition, treatment_tools

CHANCE = 0.025
"""Of an error at each end of an interval."""
_FEW = Fraction(1, 4)
"""When no more than this share of such runs calls the tools, the others would have to gain more than four times the
delta each."""


class Adoption(NamedTuple):
    """In how many runs that count a tool of the condition's servers was called."""

    runs: int
    """Runs that called a tool."""
    of: int
    """Runs of which the transcript tells, or else the agent's report."""
    low: float
    """The 95% interval of the share of such runs that call one, as shares of 1."""
    high: float
    """The upper end of the interval."""
    reported: int = 0
    """Runs of which only the report tells."""
    unknown: int = 0
    """Runs that count and of which neither tells; they are not in `of`."""

    @property
    def share(self) -> Fraction:
        return Fraction(self.runs, self.of)


class AdoptionDifference(NamedTuple):
    """The adoption of two conditions, over tasks in which it is known of both."""

    treatment: int
    """Runs that called a tool, of `of`."""
    of: int
    """Runs of the treatment."""
    baseline: int
    """Runs of the baseline that called a tool."""
    of_baseline: int
    """Runs of the baseline."""
    delta: float
    """The difference of the shares, the mean over tasks; as shares of 1."""
    low: float | None
    """Its 95% interval, as shares of 1."""
    high: float | None
    """The upper end of the interval."""
    p: float | None
    """McNemar's mid-p; where a task has several trials, that of sign flips over tasks."""
    more: int
    """Tasks in which the treatment called a tool in more runs than the other one; the next: in fewer."""
    fewer: int
    """Tasks in which it called one in fewer runs."""
    is_single: bool
    """True when every task has one run of each."""


def has_tools(plan: Plan, condition: str) -> bool:
    """True for a condition with a server, and for a treatment of an imported benchmark."""
    is_imported = plan["imported"] and condition != plan["baseline"]
    return is_imported or bool(plan["conditions"][condition]["servers"])


class Uses(NamedTuple):
    """What is known of the calls in the runs of all conditions."""

    called: Mapping[RunId, bool]
    reported: Collection[RunId]
    """Runs of which only the agent's report tells."""

    def of(self, run: RunId) -> Fraction | None:
        """1 for a run that called a tool of its servers, 0 for another, None where it is not known."""
        return Fraction(self.called[run]) if run in self.called else None


def uses_of(tables: Tables) -> Uses:
    """By the transcripts, or where they show no calls by the agents' reports."""
    cells = {run_of_pair(row): (row["called"], row["adopted"]) for row in tables.pairs}
    called = {}
    reported = set()
    for run, (seen, told) in (cells | _cells_of_baseline(tables)).items():
        if seen or told:
            called[run] = (seen or told) == "yes"
        if told and not seen:
            reported.add(run)
    return Uses(called, reported)


def _cells_of_baseline(tables: Tables) -> dict[RunId, tuple[str, str]]:
    """Whether runs of the baseline called a tool of its own servers, and whether they report one: pairs.csv has only
    what treatments did."""
    baseline = tables.plan["baseline"]
    if not tables.plan["conditions"][baseline]["servers"]:
        return {}
    every = treatment_tools(tables.plan, tables.records.values(), tables.reports.values())
    tools = tools_of_condition(tables.plan, baseline, every)
    cells = {}
    for run, score in tables.scores.items():
        if run.condition == baseline:
            side = RunFacts(score, tables.reports.get(run), tables.records.get(run))
            found = adoption_cells(side, tools)
            cells[run] = (_text(found["called"]), _text(found["adopted"]))
    return cells


def _text(cell: Cell) -> str:
    return "" if cell is None else yes_no(bool(cell))


def adoption_of(tables: Tables, condition: str, uses: Uses) -> Adoption | None:
    """The adoption of a condition; None when it has no tools, or nothing is known of any run."""
    if not has_tools(tables.plan, condition):
        return None
    by_task: dict[str, list[Fraction]] = {}
    reported = unknown = 0
    for run in tables.scores:
        if run.condition != condition or not tables.counts(run):
            continue
        value = uses.of(run)
        if value is None:
            unknown += 1
        else:
            by_task.setdefault(run.task, []).append(value)
            reported += run in uses.reported
    return adoption([*by_task.values()], reported, unknown) if by_task else None


def adoption(tasks: Sequence[Sequence[Fraction]], reported: int = 0, unknown: int = 0) -> Adoption:
    """The adoption in runs of tasks, each with the values of its trials."""
    runs = sum(len(own) for own in tasks)
    called = _total(tasks)
    effect = design_effect(tasks)
    low, high = exact_interval(called / effect, runs / effect)
    return Adoption(called, runs, low, high, reported, unknown)


def design_effect(tasks: Sequence[Sequence[Fraction]]) -> float:
    """By how much fewer independent runs would tell as much: the variance of the tasks' shares by that of independent
    runs, and the squared ratio of the t quantiles of tasks and of runs, because that variance is estimated. From 1 to
    the number of trials, which it is where all runs are alike, because nothing tells."""
    count = len(tasks)
    runs = sum(map(len, tasks))
    share = Fraction(_total(tasks), runs)
    most = sum(len(trials) ** 2 for trials in tasks) / runs
    if count < 2 or share in (0, 1):
        return most
    squares = Fraction(0)
    for trials in tasks:
        squares += (sum(trials) - len(trials) * share) ** 2
    ratio = float(squares * count / (count - 1) / (runs * share * (1 - share)))
    ratio *= (t_isf(CHANCE, count - 1) / t_isf(CHANCE, runs - 1)) ** 2
    return min(max(ratio, 1.0), most)


def exact_interval(hits: float, size: float) -> tuple[float, float]:
    """The 95% interval of Clopper and Pearson; whole numbers are not needed."""
    others = size - hits
    low = beta_ppf(CHANCE, hits, others + 1) if hits else 0.0
    high = beta_ppf(1 - CHANCE, hits + 1, others) if others else 1.0
    return low, high


def score_interval(more: int, fewer: int, pairs: int) -> tuple[float, float]:
    """Tango's 95% interval of a difference of two shares on the same tasks, of which `more` have it on one side only
    and `fewer` on the other side only: the differences that a score test does not reject."""
    far = norm_isf(CHANCE)

    def deviate(delta: float) -> float:
        """The score statistic; `rare` is the most likely share of `fewer` at this difference."""
        linear = (2 * pairs - more + fewer) * delta - more - fewer
        constant = -fewer * delta * (1 - delta)
        rare = (math.sqrt(max(linear**2 - 8 * pairs * constant, 0.0)) - linear) / (4 * pairs)
        variance = pairs * (2 * rare + delta * (1 - delta))
        return (more - fewer - pairs * delta) / math.sqrt(max(variance, 1e-12))

    low = root(lambda delta: far - deviate(delta), -1.0, 1.0)
    high = root(lambda delta: -far - deviate(delta), -1.0, 1.0)
    return low, high


def adoption_difference(
    comparison: Comparison, uses: Uses, tasks: Collection[str] | None = None
) -> AdoptionDifference | None:
    """That of two conditions with tools, on these tasks or on all; None for others, and without a pair of which both
    are known."""
    if not all(has_tools(comparison.plan, condition) for condition in comparison.conditions):
        return None
    treatment = {}
    baseline = {}
    deltas = {}
    for task, pairs in comparison.pairs(uses.of).items():
        if tasks is None or task in tasks:
            treatment[task] = [new for new, _ in pairs]
            baseline[task] = [old for _, old in pairs]
            deltas[task] = [new - old for new, old in pairs]
    if not any(deltas.values()):
        return None
    found = comparison.over(deltas, deltas, LARGEST)
    return difference_between(treatment, baseline, found)


def difference_between(treatment: Known, baseline: Known, found: Estimate) -> AdoptionDifference:
    """The adoption of two conditions over the tasks that both have; `found` is the estimate from the tasks' means."""
    tasks = [task for task in treatment if treatment[task] and baseline.get(task)]
    new = [treatment[task] for task in tasks]
    old = [baseline[task] for task in tasks]
    is_single = all(len(trials) == 1 for trials in [*new, *old])
    low, high = interval_of(found, CHANCE, LARGEST) or (None, None)
    p = found.mid_p
    if is_single:
        low, high = score_interval(found.wins, found.losses, found.n)
        p = mid_p(found.wins, found.losses)
    return AdoptionDifference(
        treatment=_total(new),
        of=sum(map(len, new)),
        baseline=_total(old),
        of_baseline=sum(map(len, old)),
        delta=found.delta or 0.0,
        low=low,
        high=high,
        p=p,
        more=found.wins,
        fewer=found.losses,
        is_single=is_single,
    )


def tasks_for_adoption(before: float, after: float, power: float) -> int:
    """The fewest tasks with which McNemar's mid-p shows a gain of adoption between two treatments with this power, when
    their runs are independent."""
    tasks = 4
    while power_of_adoption(before, after, tasks) < power:
        tasks += 1
    return tasks


def power_of_adoption(before: float, after: float, tasks: int) -> float:
    """The probability, an exact sum over the tasks that differ, that the mid-p shows the gain."""
    more = after * (1 - before)
    fewer = before * (1 - after)
    total = 0.0
    for changes in range(tasks + 1):
        shown = 0.0
        for gains in range(_fewest_gains(changes), changes + 1):
            shown += binomial(gains, changes, more / (more + fewer))
        total += binomial(changes, tasks, more + fewer) * shown
    return total


def binomial(hits: int, size: int, chance: float) -> float:
    """The probability of so many hits."""
    return math.comb(size, hits) * chance**hits * (1 - chance) ** (size - hits)


@cache
def _fewest_gains(changes: int) -> int:
    """The fewest gains of so many changes that the mid-p tells from none; one more than there are when none does."""
    gains = changes // 2 + 1
    while gains <= changes and mid_p(gains, changes - gains) > 2 * CHANCE:
        gains += 1
    return gains


def turned(found: AdoptionDifference) -> AdoptionDifference:
    """The same with the two conditions exchanged."""
    low = None if found.high is None else -found.high
    high = None if found.low is None else -found.low
    return found._replace(
        treatment=found.baseline,
        of=found.of_baseline,
        baseline=found.treatment,
        of_baseline=found.of,
        delta=-found.delta,
        low=low,
        high=high,
        more=found.fewer,
        fewer=found.more,
    )


def _total(tasks: Iterable[Sequence[Fraction]]) -> int:
    return int(sum(sum(own) for own in tasks))


def says_adoption(found: Adoption, *, beside_delta: bool = False) -> str:
    """`Its tools were called in 5 of 24 runs (21%, 7 to 42%).`; with a delta, what that is of."""
    text = f"Its tools were called in {_count(found)}"
    if found.reported == found.of:
        text += ", as the agent reports"
    elif found.reported:
        text += f"; of {found.reported} runs only the agent's report tells"
    if found.unknown:
        text += f"; of {found.unknown} more nothing is known"
    if beside_delta and found.runs < found.of:
        text += ". The difference is that of offering them"
    return f"{text}."


def _count(found: Adoption) -> str:
    if not found.runs:
        return f"none of {with_noun(found.of, 'run')} (0%, at most {_percent(found.high)}%)"
    if found.runs == found.of:
        which = "all of" if found.of > 1 else "the"
        return f"{which} {with_noun(found.of, 'run')} (100%, at least {_percent(found.low)}%)"
    ends = f"{_percent(found.low)} to {_percent(found.high)}%"
    return f"{found.runs} of {with_noun(found.of, 'run')} ({_percent(found.share)}%, {ends})"


def says_difference(found: AdoptionDifference, new: str, old: str) -> str:
    """`v2 was called in 14 of 24 runs, v1 in 8: +25 points (95% interval -1 to +48; 8 tasks only v2, 2 only v1).`"""
    runs = with_noun(found.of, "run")
    start = f"{new} was called in {found.treatment} of {runs}, {old} in {found.baseline}"
    if found.of_baseline != found.of:
        start += f" of {found.of_baseline}"
    tasks = with_noun(found.more, "task")
    if found.is_single:
        tasks += f" only {new}, {found.fewer} only {old}"
    else:
        tasks += f" more with {new}, {found.fewer} more with {old}"
    delta = f"{_points(found.delta)} points"
    return f"{start}: {delta} (95% interval {shown_interval(found)}; {tasks})."


def says_step(found: AdoptionDifference, what: str) -> str:
    """`the words raise adoption from 3 to 19 of 24 runs (+67 points, +44 to +81)`, or what else the interval says."""
    verb = "are not shown to change"
    if found.low is not None and found.low > 0:
        verb = "raise"
    elif found.high is not None and found.high < 0:
        verb = "lower"
    counts = f"from {found.baseline} to {found.treatment} of {with_noun(found.of, 'run')}"
    delta = f"{_points(found.delta)} points"
    return f"{what} {verb} adoption {counts} ({delta}, {shown_interval(found)})"


def shown_interval(found: AdoptionDifference) -> str:
    if found.low is None or found.high is None:
        return MISSING
    return f"{_points(found.low)} to {_points(found.high)}"


def too_few_calls(found: Adoption | None, whose: str) -> str:
    """A sentence when a condition's tools were called in too few runs for a delta to say anything of them, else ""."""
    if found is None or not _is_too_rare(found):
        return ""
    which = f"Only {found.runs}" if found.runs else "None"
    note = f" ({found.unknown} not known)" if found.unknown else ""
    count = (
        f"{which} of {with_noun(found.of + found.unknown, 'run')} {whose} called its tools{note}"
    )
    at_most = f"at most {_percent(found.high)}% of such runs call one"
    return f"{count}: too few to show what they do ({at_most})."


def _is_too_rare(found: Adoption) -> bool:
    """True for none or one of several runs, and for a share whose whole interval is below _FEW. A run of which nothing
    is known may have called one."""
    called = found.runs + found.unknown
    runs = found.of + found.unknown
    if called < runs and called <= 1:
        return True
    return found.high < _FEW and exact_interval(called, runs)[1] < _FEW


def _percent(share: Fraction | float) -> str:
    return rounded(Fraction(share) * 100)


def _points(share: float) -> str:
    text = rounded(Fraction(share) * 100)
    return f"+{text}" if share > 0 and text != "0" else text
