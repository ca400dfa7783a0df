"""How far the judges can be trusted, in the words of the page, from instrument.json; its parts may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lensbench.core import numbers
from lensbench.results.charts.parts import signed


class Judges(NamedTuple):
    """What the page says about the judges."""

    names: str
    agreement: str
    """In a few words, for the top of the page."""
    sentence: str
    basis: str
    """What the verdicts rest on; empty when that is not known."""
    pairs: Sequence[Mapping[str, Any]]
    """Two judges each, as in instrument.json."""
    bias: Sequence[str]
    """What persons found about a judge, a sentence each."""
    corrected: Sequence[str]
    """The difference as persons would see it, a sentence per treatment."""
    blinding: Sequence[str]
    """How well the condition can be guessed, a sentence per treatment."""
    gaps: Sequence[str]
    """What was not judged, a sentence each."""


def judges_view(instrument: Mapping[str, Any], results: Mapping[str, Any]) -> Judges:
    """The judges in words. Without instrument.json, only their names are known."""
    names = list(instrument.get("judges") or {}) or [judge.partition(" ")[0] for judge in results["judges"]]
    agreement = instrument.get("agreement") or {}
    overall = (agreement.get("all") or {}).get("overall") or {}
    alpha = overall.get("alpha") or {}
    bias = instrument.get("bias") or {}
    return Judges(
        ", ".join(names) or "none",
        _in_short(names, alpha),
        _sentence(names, overall, alpha),
        _basis(instrument.get("belief") or {}),
        agreement.get("pairs") or [],
        _bias_sentences(bias),
        _corrections(bias),
        list(_blinding_sentences(instrument.get("blinding") or {})),
        list(_gaps(instrument)),
    )


def coefficient(value: Mapping[str, Any]) -> str:
    """A coefficient with two decimals."""
    return numbers.MISSING if value["value"] is None else f"{value['value']:.2f}".replace("-", "\u2212")


def coefficient_interval(value: Mapping[str, Any]) -> str:
    """Its interval, or why there is none."""
    if value["low"] is None or value["high"] is None:
        return value["reason"] or numbers.MISSING
    return f"{value['low']:.2f} to {value['high']:.2f}".replace("-", "\u2212")


def _in_short(names: Sequence[str], alpha: Mapping[str, Any]) -> str:
    if not names:
        return "nobody has judged"
    if len(names) == 1:
        return "one judge, no second opinion"
    if alpha.get("value") is None:
        return "agreement not known"
    return f"agreement \u03b1 {coefficient(alpha)}"


def _sentence(names: Sequence[str], overall: Mapping[str, Any], alpha: Mapping[str, Any]) -> str:
    if not names:
        return "Nobody has judged yet."
    if len(names) == 1:
        return f"One judge decides, {names[0]}. How often another one would decide otherwise is not known."
    if alpha.get("value") is None:
        return f"How far the judges agree is not known{': ' + alpha['reason'] if alpha.get('reason') else ''}."
    return (
        f"Krippendorff's alpha of {', '.join(names)} is {coefficient(alpha)} ({coefficient_interval(alpha)}) over "
        f"{overall['n']} criteria that at least two of them judged; 1 is perfect, 0 is chance."
    )


_BASES = {
    "people": "people",
    "tests": "hidden tests",
    "patterns": "accepted patterns",
    "model": "model judges with enough labels by people",
    "drafts": "draft patterns",
    "unvalidated": "unvalidated judges",
}


def _basis(belief: Mapping[str, Any]) -> str:
    decided = {words: count for basis, words in _BASES.items() if (count := belief.get("decided", {}).get(basis))}
    if not decided:
        return ""
    counts = ", ".join(f"{words} {count}" for words, count in decided.items())
    return f"The {sum(decided.values())} verdicts that count rest on: {counts}."


def _bias_sentences(bias: Mapping[str, Any]) -> list[str]:
    judges = [*(bias.get("judges") or {}).values(), *([bias["together"]] if bias.get("together") else [])]
    return [found["sentence"] for judge in judges for found in judge["differential"].values() if found["sentence"]]


def _corrections(bias: Mapping[str, Any]) -> list[str]:
    return [_correction(name, found) for name, found in (bias.get("correction") or {}).items() if found]


def _correction(name: str, found: Mapping[str, Any]) -> str:
    corrected = found["corrected"]
    if corrected["value"] is None:
        return f"{name}: the difference is not corrected by persons: {corrected['reason'].rstrip('.')}."
    ends = ""
    if corrected["low"] is not None and corrected["high"] is not None:
        ends = f" ({signed(corrected['low'] * 100)} to {signed(corrected['high'] * 100)})"
    return (
        f"{name}: corrected by what persons decided, the difference is {signed(corrected['value'] * 100)} points{ends}."
    )


def _gaps(instrument: Mapping[str, Any]) -> Iterator[str]:
    unjudged = {name: count for name, count in (instrument.get("unjudged") or {}).items() if count["criteria"]}
    if unjudged:
        words = ", ".join(f"{count['criteria']} of {count['of']} in {name}" for name, count in unjudged.items())
        yield f"Criteria without a verdict: {words}. A run with one of them has no score."
    if voided := instrument.get("voided"):
        yield f"{len(voided)} answers lost all verdicts of a judge: it was wrong about a criterion that is known."


def _blinding_sentences(blinding: Mapping[str, Any]) -> Iterator[str]:
    for name, found in (blinding.get("classifier") or {}).items():
        if found["accuracy"] is None:
            yield f"{name}: not checked: {found['reason'].rstrip('.')}."
        else:
            kept = _not_shown_to_fail(found) if found["holds"] else "Blinding fails"
            before = f"; without blinding it would be {_share(found['unblinded'])}" if found["unblinded"] else ""
            yield (
                f"{name}: {kept}. From what the judges see, a program guesses the condition of "
                f"{_share(found)} of the answers, and 50% would be chance{before}."
            )
    for name, found in (blinding.get("judges") or {}).items():
        if found["accuracy"] is not None:
            yield f"Asked for the condition, {name} was right about {_share(found)} of the answers."


def _not_shown_to_fail(found: Mapping[str, Any]) -> str:
    least = found.get("would_find")
    power = f" (a true {least:.0%} would be found with 80 % probability)" if least else ""
    return f"Blinding is not shown to fail{power}"


def _share(accuracy: Mapping[str, Any]) -> str:
    return f"{accuracy['accuracy']:.0%} ({accuracy['low']:.0%} to {accuracy['high']:.0%})"
