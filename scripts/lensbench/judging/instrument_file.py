"""Types of instrument.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from typing_extensions import TypedDict

from lensbench.judging.agreement import Agreement
from lensbench.judging.belief import Belief
from lensbench.judging.bias import Correction, Differential
from lensbench.judging.blinding_check import BlindingCheck
from lensbench.judging.criteria_checks import Finding


class JudgeSummary(TypedDict):
    """The verdicts and failures of one judge."""

    versions: Sequence[str]
    models: Sequence[str]
    verdicts: Mapping[str, int]
    failures: Mapping[str, Counter[str]]
    """Failure -> condition -> verdicts."""
    cost_usd: Fraction | None
    """None when no request reports its cost."""
    cost_is_guess: bool
    """True when some of it is estimated."""


class Bias(TypedDict):
    """The errors of each judge and of all together against people, and the corrected delta of each comparison."""

    judges: Mapping[str, Mapping[str, Differential]]
    """Judge -> comparison -> its errors in the treatment against those in the baseline."""
    together: Mapping[str, Differential]
    correction: Mapping[str, Correction]


class Blinding(TypedDict):
    """How well conditions can be guessed from blinded answers."""

    classifier: Mapping[str, BlindingCheck]
    judges: Mapping[str, BlindingCheck]


class UnjudgedCount(TypedDict):
    """How many criteria of valid runs have no verdict, and how many there are."""

    criteria: int
    of: int


class VoidedAnswer(TypedDict):
    """An answer on which a judge's verdicts are void because of a wrong canary."""

    judge: str
    task: str
    condition: str
    trial: int
    criteria: int


class InstrumentFile(TypedDict):
    """instrument.json."""

    judges: Mapping[str, JudgeSummary]
    agreement: Agreement
    bias: Bias | None
    """None without verdicts by people."""
    criteria: Sequence[Finding]
    unjudged: Mapping[str, UnjudgedCount]
    """By condition."""
    voided: Sequence[VoidedAnswer]
    answers: Mapping[str, int]
    """Judge -> answers it was given."""
    blinding: Blinding
    belief: Belief
