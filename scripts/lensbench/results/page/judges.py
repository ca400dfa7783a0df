"""The reliability of the judges in words, from judge_reliability.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lensbench.core import numbers
from lensbench.judging.trust import ReliabilityFile
from lensbench.judging.trust.agreement import All, Coefficient
from lensbench.judging.trust.belief import Basis, Belief
from lensbench.judging.trust.bias import Mean
from lensbench.judging.trust.blinding_check import BlindingCheck, Share
from lensbench.results.charts import signed


class Judges(NamedTuple):
    """The page's section on the judges."""

    names: str
    agreement: str
    """A summary in a few words, for the top of the page."""
    sentence: str
    basis: str
    """What the verdicts are based on; empty when unknown."""
    bias: Sequence[str]
    """Comparisons of a judge with people, a sentence each."""
    corrected: Sequence[str]
    """The difference corrected by people's verdicts, a sentence per treatment."""
    blinding: Sequence[str]
    """How well conditions can be guessed, a sentence per treatment."""
    gaps: Sequence[str]
    """What was not judged, a sentence each."""


def judges_view(reliability: ReliabilityFile, called: Mapping[str, str]) -> Judges:
    """The section; `called` has what readers call each condition and comparison."""
    names = list(reliability["judges"])
    agreement, sentence = _agreement(names, reliability["agreement"]["all"])
    bias = reliability["bias"]
    errors = []
    corrected = []
    if bias:
        for errors_of in (*bias["judges"].values(), bias["together"]):
            errors += [error.sentence for error in errors_of.values() if error.sentence]
        corrected = [_correction(called[name], mean) for name, mean in bias["correction"].items()]
    return Judges(
        ", ".join(names) or "none",
        agreement,
        sentence,
        _basis(reliability["belief"]),
        errors,
        corrected,
        list(_blinding_sentences(reliability["blinding"]["classifier"], called)),
        list(_gaps(reliability, called)),
    )


def coefficient(value: Coefficient) -> str:
    """A coefficient with two decimals."""
    return numbers.MISSING if value.value is None else f"{value.value:.2f}".replace("-", "\u2212")


def coefficient_interval(value: Coefficient) -> str:
    """The interval of a coefficient, or why there is none."""
    if value.low is None or value.high is None:
        return value.reason or numbers.MISSING
    return f"{value.low:.2f} to {value.high:.2f}".replace("-", "\u2212")


def _agreement(names: Sequence[str], overall: All) -> tuple[str, str]:
    """In a few words, and in a sentence."""
    alpha = overall.alpha
    if not names:
        return "nobody has judged", "Nobody has judged yet."
    if len(names) == 1:
        sentence = f"One judge decides, {names[0]}. How often another one would decide otherwise is not known."
        return "one judge, no second opinion", sentence
    if alpha.value is None:
        why = f": {alpha.reason}" if alpha.reason else ""
        return "agreement not known", f"How far the judges agree is not known{why}."
    return f"agreement \u03b1 {coefficient(alpha)}", (
        f"Krippendorff's alpha of {', '.join(names)} is {coefficient(alpha)} ({coefficient_interval(alpha)}) over "
        f"{overall.n} criteria that at least two of them judged; 1 is perfect, 0 is chance."
    )


_BASES = {
    Basis.PEOPLE: "people",
    Basis.TESTS: "hidden tests",
    Basis.PATTERNS: "accepted patterns",
    Basis.MODEL: "model judges with enough labels by people",
    Basis.DRAFTS: "draft patterns",
    Basis.ELSEWHERE: "scores from elsewhere",
    Basis.UNVALIDATED: "unvalidated judges",
}


def _basis(belief: Belief) -> str:
    counts = []
    total = 0
    for basis, words in _BASES.items():
        count = belief.decided.get(basis)
        if count:
            counts.append(f"{words} {count}")
            total += count
    if not counts:
        return ""
    return f"The {total} verdicts that count rest on: {', '.join(counts)}."


def _correction(name: str, mean: Mean) -> str:
    if mean.value is None:
        return f"{name}: the difference is not corrected by persons: {mean.reason.rstrip('.')}."
    ends = ""
    if mean.low is not None and mean.high is not None:
        ends = f" ({signed(mean.low * 100)} to {signed(mean.high * 100)})"
    return f"{name}: corrected by what persons decided, the difference is {signed(mean.value * 100)} points{ends}."


def _gaps(reliability: ReliabilityFile, called: Mapping[str, str]) -> Iterator[str]:
    gaps = []
    for name, count in reliability["unjudged"].items():
        if count["criteria"]:
            gaps.append(f"{called[name]} {count['criteria']} of {count['of']}")
    if gaps:
        yield f"Criteria without a verdict: {', '.join(gaps)}. A run with one of them has no score."
    voided = sum(judge["voided"] for judge in reliability["judges"].values())
    if voided:
        yield f"{voided} answers lost all verdicts of a judge: it was wrong about a criterion that is known."


def _blinding_sentences(
    checks: Mapping[str, BlindingCheck], called: Mapping[str, str]
) -> Iterator[str]:
    for name, check in checks.items():
        if check.accuracy is None:
            yield f"{called[name]}: not checked: {check.reason.rstrip('.')}."
            continue
        finding = "Blinding fails"
        if check.holds:
            finding = "Blinding is not shown to fail"
            if check.would_find:
                finding += f" (usually only {check.would_find:.0%} right guesses show it)"
        before = ""
        if check.unblinded:
            before = f"; without blinding it would be {_share(check.unblinded)}"
        yield (
            f"{called[name]}: {finding}. From what the judges see, a program guesses the condition of "
            f"{_share(check)} of the answers with equal scores, and 50% would be chance{before}."
        )


def _share(right: Share | BlindingCheck) -> str:
    return f"{right.accuracy:.0%} ({right.low:.0%} to {right.high:.0%})"
