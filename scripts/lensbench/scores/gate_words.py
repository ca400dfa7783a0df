"""What the gate decided, in words: the sentence of at most three parts, what would be needed, and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from lensbench.core.conditions import Sides
from lensbench.core.distributions import norm_sf
from lensbench.core.frozen_plan import GateSettings, VerdictName
from lensbench.core.numbers import change, change_interval, interval, points
from lensbench.runs.made_with import Starts
from lensbench.scores.differences import as_change
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import LARGEST, Estimate
from lensbench.scores.needed import MOST_TASKS
from lensbench.scores.rules import FEWEST_TASKS, Reason, ReasonKind, most_worse
from lensbench.scores.saving import Saving
from lensbench.scores.sequential import LookResult, level_of

SAYINGS = {
    ReasonKind.NO_INTERVAL: "An interval needs two tasks with complete pairs.",
    ReasonKind.LEDGER: "The ledger of looks cannot be trusted.",
    ReasonKind.OFFLINE: "No language model answered: this was the offline agent.",
    ReasonKind.RUNS_DUE: "Runs are due; a verdict comes when they are made.",
    ReasonKind.TOO_FEW_CALLS: "Too few runs called the tools to show what they do.",
    ReasonKind.MIXED_RUNS: "The runs were not all made alike.",
    ReasonKind.WRONG_JUDGE: "A judge was wrong about criteria whose verdict is known.",
    ReasonKind.UNTRUSTED_JUDGES: "The judges cannot be trusted yet.",
    ReasonKind.BIASED_JUDGES: "According to people, the judges err more in one condition.",
    ReasonKind.FEW_TASKS: f"Fewer than {FEWEST_TASKS} tasks give no GO, no HARM and no SAVES.",
    ReasonKind.HEAVY_TAIL: "Rare heavy {tail}, seen or unseen, could undo a {verdict}.",
    ReasonKind.LOST_RUNS: "Lost or repeated runs could undo a {verdict}.",
    ReasonKind.DOUBTED: "Verdicts of judges that nobody has validated could undo a {verdict}.",
    ReasonKind.SHOWN_BEFORE: "What an earlier look showed of these runs gives no {verdict}.",
    ReasonKind.UNSEEN: "So few tasks could miss losses beyond the margin of SAVES.",
    ReasonKind.SAVING: "A saving is shown, so this is no NO-GO.",
    ReasonKind.PATTERNS: "The patterns hardly tell answers apart.",
    ReasonKind.LIMITS_CHANGED: "What SAVES means was changed after the first run.",
}


OF_MEMBER: dict[VerdictName, Literal["earns", "costs"]] = {
    "HARM": "earns",
    "COSTS": "earns",
    "GO": "costs",
    "SAVES": "costs",
}
"""What a verdict on leaving a member out says of the member."""


class SentenceFacts(NamedTuple):
    """What the sentence says beside the decision."""

    settings: GateSettings
    """With the error that the next look may spend."""
    look: LookResult
    trials: int = 1
    model: str = ""
    """The model and the agent, such as "glm-5 in claude-code 2.1.329"."""
    sides: Sides | None = None
    """The two treatments, when neither is the baseline."""
    leaves_out: bool = False
    """It goes without members of an ablation."""
    brings_more: bool = False
    """It brings files or settings, too."""
    number: int = 1
    """The number of this look, from 1."""
    among: int = 1
    """Comparisons that share the error."""
    enough: Sequence[tuple[VerdictName, int]] = ()
    """The verdicts that more tasks would give, with the number of tasks in all, the fewest first (needed.py)."""
    starts: Mapping[str, Starts] = {}
    """How often the agent was started, by condition."""
    remarks: Sequence[str] = ()
    """Sentences about the judges."""
    saving: Saving | None = None
    patterns: str = ""
    """Accepted patterns that gave one verdict only, and how often."""


def in_words(decision: GateVerdict, estimate: Estimate, facts: SentenceFacts) -> GateVerdict:
    if decision.low is not None:
        worst = most_worse(estimate, decision.low, norm_sf(facts.look.boundary))
        decision = decision._replace(worst=max(worst, 0.0))
    text = sentence(decision, estimate, facts)
    advice = needs(decision, estimate, facts)
    return decision._replace(sentence=text, needs=advice, notes=notes(decision, estimate, facts))


def sentence(decision: GateVerdict, estimate: Estimate, facts: SentenceFacts) -> str:
    """The verdict with the difference, its meaning, and the model and repositories for which it holds."""
    sayings = [_saying(reason) for reason in decision.reasons]
    if decision.low is None or decision.high is None:
        return f"{decision.verdict}: {sayings[0]}"
    meaning = _meaning(decision.verdict, decision.low, decision.high, facts)
    if sayings:
        meaning = sayings[0]
    if facts.saving and decision.verdict in ("SAVES", "COSTS"):
        meaning = f"{_effort(facts.saving, decision, estimate, facts)}."
    if len(sayings) > 1:
        meaning = f"{meaning[:-1]} ({len(sayings) - 1} more below)."
    text = _difference(estimate, decision.low, decision.high, facts)
    return f"{decision.verdict}: {text} {meaning} {_scope(estimate, facts)}"


def _difference(estimate: Estimate, low: float, high: float, facts: SentenceFacts) -> str:
    tools = "with what it brings" if facts.brings_more else "with its tools"
    if facts.sides:
        tools = f"from {facts.sides.baseline} to {facts.sides.treatment}"
    level = level_text(level_of(facts.look.boundary))
    details = [
        f"{level} interval {interval(low, high, '')}; {with_noun(estimate.n, 'task')}",
        with_noun(facts.trials, "trial"),
    ]
    if estimate.pairs < estimate.planned:
        details.append(f"{estimate.pairs} of {with_noun(estimate.planned, 'pair')}")
    if any(starts.repeated for starts in facts.starts.values()):
        repeated = [f"{starts.repeated} {name}" for name, starts in facts.starts.items()]
        details.append(f"repeated: {', '.join(repeated)}")
    if estimate.people:
        details.append("human-corrected")
    delta = points(estimate.delta or 0)
    return f"{tools} the agent's score changes by {delta} ({', '.join(details)})."


def _saying(reason: Reason) -> str:
    tail = "gains"
    if reason.undoes == "GO":
        tail = "losses"
    return SAYINGS[reason.kind].format(verdict=reason.undoes, tail=tail)


def _meaning(verdict: VerdictName, low: float, high: float, facts: SentenceFacts) -> str:
    worthwhile = f"{facts.settings['effect']:g} points"
    helps = "The tools help"
    harms = "The tools make the answers worse"
    if facts.brings_more:
        helps = "What it brings helps"
        harms = "What it brings makes the answers worse"
    if facts.sides:
        new, old = facts.sides
        helps = f"{new} is better than {old}"
        harms = f"{new} is worse than {old}"
    if verdict == "NO-GO" and low > 0:
        return f"{helps}, but by less than {worthwhile}."
    if verdict == "NO-GO":
        return f"Any gain is smaller than {worthwhile}."
    if verdict == "INCONCLUSIVE" and low <= -LARGEST and high >= LARGEST:
        return "These data say nothing: any difference is possible."
    if verdict == "INCONCLUSIVE":
        return f"There may be no difference, or one of {worthwhile} or more."
    if verdict == "GO":
        return f"{helps}."
    return f"{harms}."


def _effort(saving: Saving, decision: GateVerdict, estimate: Estimate, facts: SentenceFacts) -> str:
    """What a treatment needs; where it saves, how much worse answers may be."""
    share = as_change(saving.change)
    span = ""
    if share.low is not None and share.high is not None:
        span = f": {change_interval(share.low, share.high)}"
    if (share.low or 0.0) * (share.high or 0.0) < 0:
        return f"It needs as much, as far as these tasks can tell ({saving.label}{span})"
    need = change(share.delta or 0.0)
    more = "as much"
    end = ""
    if need.startswith("-"):
        more = f"{need[1:]} less"
        end = f", answers at most {points(decision.worst).removeprefix('+')} worse"
        if facts.patterns and not estimate.people:
            end += ", as patterns tell"
    elif need.endswith("times"):
        more = f"{need} as much"
        span = span.removesuffix(" times")
    elif need != "0%":
        more = f"{need[1:]} more"
    if decision.verdict == "COSTS":
        end = f", any gain below {facts.settings['effect']:g} points"
    elif decision.verdict in ("GO", "HARM"):
        end = ""
    return f"It needs {more} ({saving.label}{span}){end}"


def _scope(estimate: Estimate, facts: SentenceFacts) -> str:
    """The model and the repositories for which the sentence holds (protocol, section 8)."""
    who = f"for {facts.model} " if facts.model else ""
    where = "this repository"
    if estimate.clusters != 1:
        where = f"these {with_noun(estimate.clusters, 'repository')}"
    only = " only" if estimate.scope else ""
    return f"This holds {who}on {where}{only}."


def notes(decision: GateVerdict, estimate: Estimate, facts: SentenceFacts) -> list[str]:
    """What else readers should know: reasons in detail, savings, the look, its level, the attempts."""
    look = facts.look
    texts = []
    for reason in decision.reasons:
        if reason.detail or len(decision.reasons) > 1:
            texts.append(reason.detail or _saying(reason))
    on_effort = decision.verdict in ("SAVES", "COSTS")
    if facts.saving and decision.low is not None and not on_effort:
        texts.append(f"{_effort(facts.saving, decision, estimate, facts)}.")
    if facts.saving and len(facts.saving.saved) > 1:
        beyond = facts.saving.saved[-1].delta or 0.0
        share = (1 - facts.settings["least"] / 100) * math.exp(-beyond) - 1
        texts.append(
            f"With attempts that failed the difference in {facts.saving.label} is {change(share)}."
        )
    if facts.patterns and on_effort:
        texts.append(f"The judge {facts.patterns}.")
    if look.looks > 1:
        state = "The runs go on after" if look.open else "The runs end with"
        texts.append(f"{state} look {look.look} of {look.looks}: {look.why}.")
    if facts.number > 1:
        level = level_text(level_of(look.boundary))
        texts.append(f"This is look {facts.number} at this benchmark, of level {level}.")
    if facts.among > 1:
        texts.append(f"The level holds for {facts.among} comparisons together (Holm).")
    if any(starts.repeated for starts in facts.starts.values()):
        counts = []
        for name, starts in facts.starts.items():
            counts.append(f"{name} {starts.attempts} and {starts.discards}")
        texts.append(f"Attempts and discards: {', '.join(counts)}.")
    return list(dict.fromkeys([*texts, *facts.remarks]))


MORE_TASKS_HELP = {
    ReasonKind.NO_INTERVAL,
    ReasonKind.FEW_TASKS,
    ReasonKind.HEAVY_TAIL,
    ReasonKind.LOST_RUNS,
    ReasonKind.DOUBTED,
    ReasonKind.SHOWN_BEFORE,
    ReasonKind.UNSEEN,
    ReasonKind.SAVING,
}
"""Reasons of which more tasks may show that they do not matter."""


def needs(decision: GateVerdict, estimate: Estimate, facts: SentenceFacts) -> str:
    """What would be needed for a decision, or after a NO-GO for another one; "" when there is nothing."""
    kinds = {reason.kind for reason in decision.reasons}
    if decision.verdict not in ("NO-GO", "INCONCLUSIVE") or ReasonKind.OFFLINE in kinds:
        return ""
    if ReasonKind.RUNS_DUE in kinds:
        return "The runs that are due: start again."
    if kinds - {*MORE_TASKS_HELP, ReasonKind.PATTERNS, ReasonKind.LIMITS_CHANGED}:
        return "Fix the cause first."
    if decision.verdict == "INCONCLUSIVE" and facts.look.open:
        return "The next wave."
    if decision.low is None or estimate.n < 2:
        return "At least two tasks with complete pairs."
    others = [need for need in facts.enough if need[0] != decision.verdict]
    if facts.leaves_out:
        others = [need for need in others if need[0] in OF_MEMBER]
    may_save = any(verdict == "SAVES" for verdict, _ in others)
    if may_save or ReasonKind.SAVING in kinds or decision.verdict == "NO-GO":
        others = [need for need in others if need[0] != "NO-GO"]
    if not others:
        if decision.verdict == "NO-GO" and not facts.leaves_out:
            return ""
        return f"No number of tasks up to {MOST_TASKS} would decide if the true difference is the one found."
    verdict, tasks = others[0]
    more = with_noun(max(tasks - estimate.n, 1), "more task")
    would = f"give {article(verdict)}"
    if facts.leaves_out:
        would = f'say "{OF_MEMBER[verdict]}"'
    where = ""
    if estimate.clusters < estimate.n and not estimate.scope:
        where = " in further repositories"
    return (
        f"About {more}{where}: {tasks} in all would {would} in {100 * facts.settings['power']:g}% of benchmarks if the"
        " true difference is the one found."
    )


def article(verdict: VerdictName) -> str:
    """A verdict with its article, such as `a GO`."""
    return verdict if verdict == "SAVES" else f"a {verdict}"


def level_text(share: float) -> str:
    """A percentage, with more digits near 1."""
    digits = 4 if share < 0.999 else 6
    return f"{100 * share:.{digits}g}%"


def with_noun(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `2 tasks`, `2 repositories`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}s"
