"""The reliability of the judges in words, from instrument.json; its parts may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lensbench.core import numbers
from lensbench.judging.belief import Basis
from lensbench.judging.instrument_file import (
    AllData,
    BeliefData,
    BiasData,
    BlindingData,
    ClassifierData,
    CorrectionData,
    GuessesData,
    InstrumentData,
    MeanData,
    ShareData,
)
from lensbench.results.charts.parts import signed

if TYPE_CHECKING:
    from fractions import Fraction

    from lensbench.results.results_file import Collected


class Judges(NamedTuple):
    """The page's section on the judges."""

    names: str
    agreement: str
    """A summary in a few words, for the top of the page."""
    sentence: str
    basis: str
    """What the verdicts are based on; empty when unknown."""
    pairs: Sequence[Mapping[str, object]]
    """Pairs of judges, as in instrument.json."""
    bias: Sequence[str]
    """Comparisons of a judge with people, a sentence each."""
    corrected: Sequence[str]
    """The difference corrected by people's verdicts, a sentence per treatment."""
    blinding: Sequence[str]
    """How well conditions can be guessed, a sentence per treatment."""
    gaps: Sequence[str]
    """What was not judged, a sentence each."""


def judges_view(instrument: InstrumentData, results: Collected[Fraction] | Collected[float]) -> Judges:
    """The judges in words. Without instrument.json, only their names are known."""
    names = list(instrument.get("judges") or {}) or [judge.partition(" ")[0] for judge in results["judges"]]
    agreement = instrument.get("agreement")
    overall = agreement["all"]["overall"] if agreement else None
    bias, blinding = instrument.get("bias") or {}, instrument.get("blinding")
    return Judges(
        ", ".join(names) or "none",
        _in_short(names, overall),
        _sentence(names, overall),
        _basis(instrument.get("belief") or {}),
        agreement["pairs"] if agreement else [],
        _bias_sentences(bias),
        _corrections(bias),
        list(_blinding_sentences(blinding)) if blinding else [],
        list(_gaps(instrument)),
    )


def coefficient(value: MeanData) -> str:
    """A coefficient with two decimals."""
    return numbers.MISSING if value["value"] is None else f"{value['value']:.2f}".replace("-", "\u2212")


def coefficient_interval(value: MeanData) -> str:
    """The interval of a coefficient, or why there is none."""
    if value["low"] is None or value["high"] is None:
        return value["reason"] or numbers.MISSING
    return f"{value['low']:.2f} to {value['high']:.2f}".replace("-", "\u2212")


def _in_short(names: Sequence[str], overall: AllData | None) -> str:
    if not names:
        return "nobody has judged"
    if len(names) == 1:
        return "one judge, no second opinion"
    if overall is None or overall["alpha"]["value"] is None:
        return "agreement not known"
    return f"agreement \u03b1 {coefficient(overall['alpha'])}"


def _sentence(names: Sequence[str], overall: AllData | None) -> str:
    if not names:
        return "Nobody has judged yet."
    if len(names) == 1:
        return f"One judge decides, {names[0]}. How often another one would decide otherwise is not known."
    if overall is None or overall["alpha"]["value"] is None:
        reason = overall["alpha"]["reason"] if overall else ""
        return f"How far the judges agree is not known{': ' + reason if reason else ''}."
    alpha = overall["alpha"]
    return (
        f"Krippendorff's alpha of {', '.join(names)} is {coefficient(alpha)} ({coefficient_interval(alpha)}) over "
        f"{overall['n']} criteria that at least two of them judged; 1 is perfect, 0 is chance."
    )


_BASES = {
    Basis.PEOPLE: "people",
    Basis.TESTS: "hidden tests",
    Basis.PATTERNS: "accepted patterns",
    Basis.MODEL: "model judges with enough labels by people",
    Basis.DRAFTS: "draft patterns",
    Basis.UNVALIDATED: "unvalidated judges",
}


def _basis(belief: BeliefData) -> str:
    decided = {words: count for basis, words in _BASES.items() if (count := belief.get("decided", {}).get(basis))}
    if not decided:
        return ""
    counts = ", ".join(f"{words} {count}" for words, count in decided.items())
    return f"The {sum(decided.values())} verdicts that count rest on: {counts}."


def _bias_sentences(bias: BiasData) -> list[str]:
    judges = [*(bias.get("judges") or {}).values(), *([bias["together"]] if bias.get("together") else [])]
    return [found["sentence"] for judge in judges for found in judge["differential"].values() if found["sentence"]]


def _corrections(bias: BiasData) -> list[str]:
    return [_correction(name, found) for name, found in (bias.get("correction") or {}).items() if found]


def _correction(name: str, found: CorrectionData) -> str:
    corrected = found["corrected"]
    if corrected["value"] is None:
        return f"{name}: the difference is not corrected by persons: {corrected['reason'].rstrip('.')}."
    ends = ""
    if corrected["low"] is not None and corrected["high"] is not None:
        ends = f" ({signed(corrected['low'] * 100)} to {signed(corrected['high'] * 100)})"
    return (
        f"{name}: corrected by what persons decided, the difference is {signed(corrected['value'] * 100)} points{ends}."
    )


def _gaps(instrument: InstrumentData) -> Iterator[str]:
    unjudged = {name: count for name, count in (instrument.get("unjudged") or {}).items() if count["criteria"]}
    if unjudged:
        words = ", ".join(f"{count['criteria']} of {count['of']} in {name}" for name, count in unjudged.items())
        yield f"Criteria without a verdict: {words}. A run with one of them has no score."
    if voided := instrument.get("voided"):
        yield f"{len(voided)} answers lost all verdicts of a judge: it was wrong about a criterion that is known."


def _blinding_sentences(blinding: BlindingData) -> Iterator[str]:
    for name, found in (blinding.get("classifier") or {}).items():
        if found["accuracy"] is None:
            yield f"{name}: not checked: {found['reason'].rstrip('.')}."
        else:
            kept = _not_shown_to_fail(found) if found["holds"] else "Blinding fails"
            before = f"; without blinding it would be {_share(found['unblinded'])}" if found["unblinded"] else ""
            yield (
                f"{name}: {kept}. From what the judges see, a program guesses the condition of "
                f"{_share(found)} of the answers with equal scores, and 50% would be chance{before}."
            )
    for name, guesses in (blinding.get("judges") or {}).items():
        if guesses["accuracy"] is not None:
            yield f"Asked for the condition, {name} was right about {_share(guesses)} of the answers with equal scores."


def _not_shown_to_fail(found: ClassifierData) -> str:
    least = found.get("would_find")
    power = f" (a true {least:.0%} would be found with 80 % probability)" if least else ""
    return f"Blinding is not shown to fail{power}"


def _share(accuracy: ShareData | GuessesData) -> str:
    return f"{accuracy['accuracy']:.0%} ({accuracy['low']:.0%} to {accuracy['high']:.0%})"
