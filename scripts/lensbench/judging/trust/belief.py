"""Decides whether the judges of a benchmark can be trusted enough for a GO, a NO-GO or a HARM.

Trusted judges are people, hidden tests, patterns accepted by the author, and model judges that agree with enough labels
by people (docs/judges.md). A verdict is trusted when a person gave it, or when the trusted judges alone would have
decided the same. All other verdicts depend on drafts or on an unvalidated judge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from lensbench.core.frozen_plan import GIVEN, HUMAN, MECHANICAL, TESTS
from lensbench.core.records import RunId
from lensbench.core.tables import grouped
from lensbench.judging.decisions import Key, is_person, majority
from lensbench.judging.judges import Verdict
from lensbench.judging.trust.agreement import All, Coefficient, Verdicts, two_judges
from lensbench.judging.trust.bias import Decided, Points, persons_verdicts
from lensbench.judging.trust.blinding_check import BlindingCheck

ENOUGH_LABELS = 200
"""How many verdicts of a model judge must also have a person's verdict."""
LOWEST_KAPPA = 0.7
"""The minimum for the lower end of kappa's interval on these."""
MOST_UNEARNED = 0.1
"""Above this share of verdicts that depend on drafts or unvalidated judges, no verdict is given. Below, a verdict must
hold with these at their worst (gate.py)."""
CONSTANT = 0.95
"""A judge that gives one verdict more often than this does not distinguish answers enough."""
FEWEST_VERDICTS = 20
"""With fewer verdicts a judge is not called constant, because it may have been asked about few criteria only."""


ELSEWHERE = "Numbers from elsewhere: validity was not checked."


class Basis(StrEnum):
    """The kind of judge that decided a criterion."""

    PEOPLE = "people"
    TESTS = "tests"
    """Hidden tests of a change."""
    PATTERNS = "patterns"
    """Patterns accepted by the author of the tasks."""
    MODEL = "model"
    """Judges with enough labels, alone or together with patterns."""
    DRAFTS = "drafts"
    """Draft patterns that nobody has accepted yet."""
    ELSEWHERE = "elsewhere"
    """Scores that others gave."""
    UNVALIDATED = "unvalidated"
    """Judges without enough labels."""


UNTRUSTED = (Basis.DRAFTS, Basis.UNVALIDATED)


class Labels(NamedTuple):
    """The comparison of a model judge with people."""

    n: int
    """Verdicts that a person gave as well."""
    kappa_low: float | None
    """The lower end of kappa's interval; None when unknown."""

    @property
    def enough(self) -> bool:
        """True when the judge is trusted."""
        return (
            self.n >= ENOUGH_LABELS
            and self.kappa_low is not None
            and self.kappa_low >= LOWEST_KAPPA
        )


class Doubt(NamedTuple):
    """The points of a run if each verdict that depends on drafts or unvalidated judges could be any."""

    run: RunId
    """The run."""
    least: Fraction
    """Points if all of them were Missed."""
    most: Fraction
    """Points if all of them were Met."""


class Belief(NamedTuple):
    """The basis of the verdicts, and the consequences for the verdict on treatments."""

    decided: Mapping[Basis, int]
    """Basis -> the number of criteria that it decided."""
    labels: Mapping[str, Labels]
    """Model judge -> its comparison with people."""
    caveat: str
    """The reservation shown with a verdict; empty when all judges are trusted."""
    withheld: Mapping[str, Sequence[str]]
    """Treatment -> why no verdict is given, one sentence each."""
    doubts: Sequence[Doubt]
    """Runs with verdicts that cannot be trusted."""
    constant: str = ""
    """Patterns accepted by the author that gave one verdict only: `mechanical gave Met in 144 of 144 verdicts`."""


def believe(
    verdicts: Verdicts,
    drafts: Collection[Key],
    decisions: Decided,
    points: Points,
    everybody: All,
    treatments: Sequence[str],
    classifier: Mapping[str, BlindingCheck],
    seed: int,
    corrections: Collection[str] = (),
) -> Belief:
    """How far the decisions can be trusted.

    `verdicts`, `decisions` and their `points`: those of the compared conditions. `drafts`: the criteria
    on which patterns are drafts. `everybody`: the agreement of all judges. `classifier`: how well each
    treatment can be guessed from blinded answers with equal scores. `corrections`: the treatments whose
    delta people's verdicts correct, so that it does not matter what a judge sees.
    """
    labels = _labels(verdicts, seed)
    bases = {
        key: _basis(verdicts.get(key, {}), verdict, key in drafts, labels)
        for key, verdict in decisions.items()
    }
    counts = {basis: list(bases.values()).count(basis) for basis in Basis}
    doubtful = {key for key, basis in bases.items() if basis in UNTRUSTED}
    by_judges = {
        key: votes for key, votes in verdicts.items() if bases.get(key) is not Basis.PEOPLE
    }
    constant = _constant(by_judges.values())
    patterns = "" if by_judges.keys() & drafts else constant.pop(MECHANICAL, "")
    caveat = _caveat(counts, labels)
    everywhere = []
    undecided = len(set(drafts) - decisions.keys())
    if undecided:
        everywhere.append(_waiting(undecided))
    if len(doubtful) > MOST_UNEARNED * len(bases):
        everywhere.append(caveat)
    everywhere += [f"The judge {sentence}, {HARDLY}" for sentence in constant.values()]
    alpha = everybody.alpha
    if by_judges and alpha.low is not None and alpha.low <= 0:
        everywhere.append(_chance(alpha))
    withheld = {name: [*everywhere] for name in treatments}
    if counts[Basis.MODEL] or counts[Basis.UNVALIDATED]:
        for name in withheld.keys() & classifier.keys() - set(corrections):
            if classifier[name].holds is False:
                withheld[name].append(_broken(classifier[name]))
    return Belief(counts, labels, caveat, withheld, list(_doubts(points, doubtful)), patterns)


def _basis(
    votes: Mapping[str, Verdict], verdict: Verdict, drafted: bool, labels: Mapping[str, Labels]
) -> Basis:
    """What a decision rests on: the judges that alone decide the same."""
    if any(map(is_person, votes)):
        return Basis.PEOPLE
    if TESTS in votes:
        return Basis.TESTS
    if GIVEN in votes:
        return Basis.ELSEWHERE
    models = [vote for judge, vote in votes.items() if judge in labels and labels[judge].enough]
    patterns = []
    if MECHANICAL in votes and not drafted:
        patterns.append(votes[MECHANICAL])
    if majority([*patterns, *models]) is not verdict:
        return Basis.UNVALIDATED if labels.keys() & votes.keys() else Basis.DRAFTS
    return Basis.PATTERNS if majority(patterns) is verdict else Basis.MODEL


def _doubts(points: Points, doubtful: Collection[Key]) -> Iterator[Doubt]:
    for run, keys in sorted(grouped(points, lambda key: key[0]).items()):
        certain = [points[key] for key in keys if key not in doubtful]
        if len(certain) < len(keys):
            least = sum(certain, Fraction(0))
            yield Doubt(run, least, least + len(keys) - len(certain))


def _labels(verdicts: Verdicts, seed: int) -> dict[str, Labels]:
    """The model judges with their labels."""
    with_human = {}
    for key, verdict in persons_verdicts(verdicts).items():
        with_human[key] = {**verdicts[key], HUMAN: verdict}
    judges = {judge for votes in verdicts.values() for judge in votes}
    labels = {}
    for judge in sorted(judges - {MECHANICAL, TESTS, GIVEN}):
        if not is_person(judge):
            pair = two_judges(with_human, judge, HUMAN, seed)
            labels[judge] = Labels(pair.n, pair.kappa.low)
    return labels


def _caveat(counts: Mapping[Basis, int], labels: Mapping[str, Labels]) -> str:
    """A sentence on verdicts by untrusted judges, and what to do; empty when there are none."""
    total = sum(counts.values())
    unvalidated = counts[Basis.UNVALIDATED]
    drafts = counts[Basis.DRAFTS]
    sentences = []
    if unvalidated:
        judges = "; ".join(
            _missing_labels(name, sample) for name, sample in labels.items() if not sample.enough
        )
        sentences.append(
            f"{unvalidated} of {total} verdicts rest on an unvalidated judge ({judges}). "
            "Label its verdicts on the judge sheet, or write patterns."
        )
    if counts[Basis.ELSEWHERE]:
        sentences.append(ELSEWHERE)
    if drafts:
        sentences.append(
            f"{drafts} of {total} verdicts rest on draft patterns that nobody has accepted. Accept or edit them."
        )
    return " ".join(sentences)


def _missing_labels(judge: str, sample: Labels) -> str:
    sentence = f"{judge}: {sample.n} of {ENOUGH_LABELS} labels by people"
    if sample.kappa_low is None:
        return sentence
    return f"{sentence}, kappa from {sample.kappa_low:.2f}, needed {LOWEST_KAPPA}"


def _waiting(count: int) -> str:
    reason = f"{count} verdicts are by draft patterns that nobody has accepted, so no score counts."
    return f"{reason} Accept or edit the drafts."


HARDLY = "so it hardly tells answers apart."


def _constant(verdicts: Iterable[Mapping[str, Verdict]]) -> dict[str, str]:
    """The judges that gave one verdict nearly always, and how often."""
    counts: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for votes in verdicts:
        for judge, verdict in votes.items():
            counts[judge][verdict] += 1
    sentences = {}
    for judge in sorted(counts.keys() - {TESTS, GIVEN}):
        total = counts[judge].total()
        verdict, most = counts[judge].most_common(1)[0]
        if total >= FEWEST_VERDICTS and most > CONSTANT * total:
            sentences[judge] = f"{judge} gave {verdict} in {most} of {total} verdicts"
    return sentences


def _chance(alpha: Coefficient) -> str:
    return (
        f"The judges may agree by chance alone: Krippendorff's alpha is {alpha.value:.2f}, its interval "
        f"{alpha.low:.2f} to {alpha.high:.2f} reaches 0."
    )


def _broken(check: BlindingCheck) -> str:
    return (
        f"The blinding is broken while a model decides: a classifier guessed the condition of these answers "
        f"right in {check.accuracy:.0%} of the cases with equal scores ({check.low:.0%} to {check.high:.0%}; chance is "
        "50%)."
    )
