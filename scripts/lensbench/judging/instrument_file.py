"""Types of instrument.json as readers find it; older files lack some parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from lensbench.judging.belief import Basis


class JudgeData(TypedDict):
    """The verdicts and failures of one judge."""

    versions: Sequence[str]
    models: Sequence[str]
    verdicts: Mapping[str, int]
    failures: Mapping[str, Mapping[str, int]]
    """Failure -> condition -> verdicts; the next one too."""
    not_asked: Mapping[str, Mapping[str, int]]
    cost_usd: float | None
    """None when no request reports its cost."""


class MeanData(TypedDict):
    """A Coefficient or a Mean (agreement.py, bias.py): the fields that both have."""

    value: float | None
    low: float | None
    high: float | None
    reason: str


class AllData(TypedDict):
    """An All (agreement.py)."""

    n: int
    tasks: int
    alpha: MeanData


class AgreementOfAllData(TypedDict):
    """The agreement of all judges, overall and in each condition."""

    judges: Sequence[str]
    overall: AllData
    conditions: Mapping[str, AllData]


class AgreementData(TypedDict):
    """The agreement of each two judges and of all."""

    pairs: Sequence[Mapping[str, object]]
    all: AgreementOfAllData


class DifferentialData(TypedDict):
    """A Differential (bias.py)."""

    wrong: MeanData
    signed: MeanData
    sentence: str


class JudgeBiasData(TypedDict, total=False):
    """The errors of a judge by condition, and their difference in each comparison."""

    conditions: Mapping[str, Mapping[str, float | None]]
    differential: Mapping[str, DifferentialData]


class CorrectedData(MeanData):
    """A Mean over `n` tasks with its standard error."""

    n: int
    se: NotRequired[float | None]


class CorrectionData(TypedDict):
    """The delta by the judges alone, and corrected by people."""

    plain: CorrectedData
    corrected: CorrectedData


class BiasData(TypedDict, total=False):
    """The errors of the judges against people."""

    judges: Mapping[str, JudgeBiasData]
    together: JudgeBiasData
    correction: Mapping[str, CorrectionData]


class ShareData(TypedDict):
    """A Share (blinding_check.py)."""

    accuracy: float
    low: float
    high: float


class GuessesData(TypedDict):
    """A GuessCheck or a BlindingCheck (blinding_check.py): the fields that both have."""

    accuracy: float | None
    low: float | None
    high: float | None
    holds: bool | None
    reason: str


class ClassifierData(GuessesData):
    """A BlindingCheck (blinding_check.py)."""

    unblinded: ShareData | None
    would_find: NotRequired[float | None]


class BlindingData(TypedDict):
    """How well conditions can be guessed from blinded answers."""

    classifier: Mapping[str, ClassifierData]
    judges: Mapping[str, GuessesData]


class DoubtData(TypedDict):
    """A Doubt (belief.py)."""

    run: Mapping[str, Any]
    """A RunId."""
    alone: Sequence[float]
    any: Sequence[float]


class BeliefData(TypedDict, total=False):
    """A Belief (belief.py)."""

    decided: Mapping[Basis, int]
    caveat: str
    withheld: Mapping[str, Sequence[str]]
    doubts: Sequence[DoubtData]


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


class InstrumentData(TypedDict, total=False):
    """instrument.json."""

    judges: Mapping[str, JudgeData]
    agreement: AgreementData
    bias: BiasData | None
    criteria: Sequence[Mapping[str, object]]
    """Each a Finding (criteria_checks.py)."""
    unjudged: Mapping[str, UnjudgedCount]
    """By condition."""
    voided: Sequence[VoidedAnswer]
    answers: Mapping[str, int]
    """Judge -> answers it was given."""
    blinding: BlindingData
    belief: BeliefData
