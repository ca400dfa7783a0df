"""How far the judges can be trusted: the types of judge_reliability.json, which `judging/reliability.py` writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from typing_extensions import TypedDict

from lensbench.judging.criteria_checks import Finding
from lensbench.judging.trust.agreement import Agreement
from lensbench.judging.trust.belief import Belief
from lensbench.judging.trust.bias import Differential, Mean
from lensbench.judging.trust.blinding_check import BlindingCheck


class JudgeSummary(TypedDict):
    """The verdicts and failures of one judge."""

    models: Sequence[str]
    """The models that judged."""
    verdicts: Mapping[str, int]
    """Verdict -> how often it was given."""
    answers: int
    """How many it was given."""
    voided: int
    """The answers on which its verdicts are void because of a wrong canary."""
    failures: Mapping[str, Counter[str]]
    """Failure -> condition -> verdicts."""
    cost_usd: Fraction | None
    """None when no request reports its cost."""
    cost_is_guess: bool
    """True when some of it is estimated."""


class Bias(TypedDict):
    """The errors of each judge and of all together against people, and the corrected deltas."""

    judges: Mapping[str, Mapping[str, Differential]]
    """Judge -> comparison -> its errors in the treatment against those in the baseline."""
    together: Mapping[str, Differential]
    """Comparison -> the same of the verdicts that count."""
    correction: Mapping[str, Mean]
    """Comparison -> the delta corrected by the pairs that people have judged."""


class UnjudgedCount(TypedDict):
    """How many criteria of valid runs have no verdict, and how many there are."""

    criteria: int
    """Without a verdict."""
    of: int
    """All."""


class ReliabilityFile(TypedDict):
    """judge_reliability.json."""

    judges: Mapping[str, JudgeSummary]
    """Judge -> its verdicts and failures."""
    agreement: Agreement
    """How far judges agree."""
    bias: Bias | None
    """None without verdicts by people."""
    criteria: Sequence[Finding]
    """Doubtful criteria."""
    unjudged: Mapping[str, UnjudgedCount]
    """By condition."""
    blinding: Mapping[Literal["classifier"], Mapping[str, BlindingCheck]]
    """How well conditions can be guessed from blinded answers, by treatment."""
    belief: Belief
    """What the verdicts rest on."""
