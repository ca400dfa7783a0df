"""Decides whether the judges of a benchmark can be trusted enough for a GO, a NO-GO or a HARM.

Trusted judges are people, hidden tests, patterns accepted by the author, and model judges that agree with enough labels
by people (docs/judges.md). A verdict is trusted when a person gave it, or when the trusted judges alone would have
decided the same. All other verdicts depend on drafts or on an unvalidated judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from lensbench.core.records import RunId
from lensbench.core.rows import VerdictRow
from lensbench.core.tables import run_of_row
from lensbench.judging.agreement import All, Verdicts, two_judges
from lensbench.judging.bias import persons_verdicts
from lensbench.judging.blinding_check import BlindingCheck
from lensbench.judging.decisions import is_person, majority
from lensbench.judging.judges import DRAFTED, POINTS, Verdict
from lensbench.plan.names import HUMAN, MECHANICAL, TESTS

ENOUGH_LABELS = 200
"""How many verdicts of a model judge must also have a person's verdict."""
LOWEST_KAPPA = 0.7
"""The minimum for the lower end of kappa's interval on these."""
MOST_UNEARNED = 0.1
"""Above this share of verdicts that depend on drafts or unvalidated judges, no verdict is given. Below, a verdict must
hold with these at their worst (gate.py)."""
CONSTANT = 0.95
"""A judge that gives one verdict more often than this does not distinguish answers enough."""
CHANCE = 0.5
"""The share of right guesses of the condition by chance."""
FEWEST_VERDICTS = 20
"""With fewer verdicts a judge is not called constant, because it may have been asked about few criteria only."""


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
    UNVALIDATED = "unvalidated"
    """Judges without enough labels."""


class Vote(NamedTuple):
    """One judge's verdict on one criterion of one answer."""

    run: RunId
    criterion: int
    judge: str
    verdict: Verdict
    drafted: bool
    """True when it comes from a draft pattern."""


class Labels(NamedTuple):
    """The comparison of a model judge with people."""

    n: int
    kappa_low: float | None

    @property
    def enough(self) -> bool:
        """True when the judge is trusted."""
        return self.n >= ENOUGH_LABELS and self.kappa_low is not None and self.kappa_low >= LOWEST_KAPPA


class Doubt(NamedTuple):
    """The points of a run with verdicts that depend on drafts or unvalidated judges: the fewest and the most."""

    run: RunId
    alone: tuple[Fraction, Fraction]
    """When the trusted judges decide alone; a criterion without one can have any verdict."""
    any: tuple[Fraction, Fraction]
    """When all these criteria can have any verdict."""


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
    constant: str = ""
    """Patterns accepted by the author that gave one verdict only: `mechanical gave Met in 144 of 144 verdicts`."""


def believe(
    votes: Iterable[Vote],
    decisions: Mapping[tuple[RunId, int], Verdict],
    everybody: All,
    treatments: Sequence[str],
    classifier: Mapping[str, BlindingCheck],
    guesses: Mapping[str, BlindingCheck],
    seed: int,
    corrected: Collection[str] = (),
) -> Belief:
    """How far the decisions can be trusted.

    `votes` and `decisions`: those of the compared conditions, without failed judges and unjudged criteria.
    `everybody`: the agreement of all judges. `classifier` (by treatment) and `guesses` (by judge): how well the
    condition can be guessed from blinded answers with equal scores. `corrected`: the treatments whose delta people's
    verdicts correct, so that it does not matter what a judge sees.
    """
    by_criterion: dict[tuple[RunId, int], list[Vote]] = {}
    for vote in votes:
        by_criterion.setdefault((vote.run, vote.criterion), []).append(vote)
    labels = _labels(by_criterion, seed)
    bases = {key: _basis(by_criterion.get(key, []), verdict, labels) for key, verdict in decisions.items()}
    decided = {basis: list(bases.values()).count(basis) for basis in Basis}
    by_judges = [vote for key, given in by_criterion.items() if bases.get(key) is not Basis.PEOPLE for vote in given]
    unearned = _unearned(decided, labels)
    constant = _constant(by_judges)
    accepted = {MECHANICAL} - {vote.judge for vote in by_judges if vote.drafted}
    everywhere = [
        *([unearned] if _share(decided, Basis.DRAFTS, Basis.UNVALIDATED) > MOST_UNEARNED else []),
        *(f"The judge {each}, {HARDLY}" for judge, each in constant.items() if judge not in accepted),
        *(_chance(everybody) if by_judges else []),
    ]
    model_decides = decided[Basis.MODEL] + decided[Basis.UNVALIDATED] > 0
    withheld = {
        name: [
            *everywhere,
            *(_broken(name, classifier.get(name), guesses) if model_decides and name not in corrected else ()),
        ]
        for name in treatments
    }
    doubtful = {
        key: _trusted(by_criterion.get(key, []), labels)
        for key, basis in bases.items()
        if basis in (Basis.DRAFTS, Basis.UNVALIDATED)
    }
    patterns = "".join(each for judge, each in constant.items() if judge in accepted)
    return Belief(decided, labels, unearned, withheld, _doubts(decisions, doubtful), patterns)


def _doubts(
    decisions: Mapping[tuple[RunId, int], Verdict], doubtful: Mapping[tuple[RunId, int], Verdict]
) -> list[Doubt]:
    """`doubtful`: the trusted judges' verdicts on the criteria that others decided, Unjudged where there is none."""
    whole = (Fraction(0), Fraction(1))
    runs = {run: ([Fraction(0)] * 2, [Fraction(0)] * 2) for run, _ in doubtful}
    for key, verdict in decisions.items():
        if key[0] in runs:
            given = POINTS.get(doubtful.get(key, verdict))
            alone = whole if given is None else (given, given)
            for sums, ends in zip(runs[key[0]], (alone, whole if key in doubtful else alone), strict=True):
                sums[:] = [total + end for total, end in zip(sums, ends, strict=True)]
    return [Doubt(run, (alone[0], alone[1]), (any_[0], any_[1])) for run, (alone, any_) in sorted(runs.items())]


def _labels(by_criterion: Mapping[tuple[RunId, int], Sequence[Vote]], seed: int) -> dict[str, Labels]:
    verdicts: Verdicts = {key: {vote.judge: vote.verdict for vote in given} for key, given in by_criterion.items()}
    persons = persons_verdicts(verdicts)
    models = sorted(
        judge
        for judge in {judge for said in verdicts.values() for judge in said}
        if judge not in (MECHANICAL, TESTS) and not is_person(judge)
    )
    found = {}
    for judge in models:
        both = {
            key: {judge: said[judge], HUMAN: persons[key]}
            for key, said in verdicts.items()
            if judge in said and key in persons
        }
        pair = two_judges(both, judge, HUMAN, seed)
        found[judge] = Labels(pair.n, pair.kappa.low)
    return found


def _basis(votes: Sequence[Vote], verdict: Verdict, labels: Mapping[str, Labels]) -> Basis:
    if any(is_person(vote.judge) for vote in votes):
        return Basis.PEOPLE
    if any(vote.judge == TESTS for vote in votes):
        return Basis.TESTS
    if _trusted(votes, labels) is verdict:
        return Basis.PATTERNS if _trusted(votes, {}) is verdict else Basis.MODEL
    return Basis.UNVALIDATED if any(vote.judge in labels for vote in votes) else Basis.DRAFTS


def _trusted(votes: Sequence[Vote], labels: Mapping[str, Labels]) -> Verdict:
    """What accepted patterns and models with enough labels decide; Unjudged without any."""
    return majority([
        vote.verdict for vote in votes
        if (vote.judge == MECHANICAL and not vote.drafted) or (vote.judge in labels and labels[vote.judge].enough)
    ])  # fmt: skip


def _share(decided: Mapping[Basis, int], *bases: Basis) -> float:
    return sum(decided[basis] for basis in bases) / (sum(decided.values()) or 1)


def _unearned(decided: Mapping[Basis, int], labels: Mapping[str, Labels]) -> str:
    """A sentence on verdicts by untrusted judges, and what to do; empty when there are none."""
    total, sentences = sum(decided.values()), []
    if count := decided[Basis.UNVALIDATED]:
        judges = "; ".join(
            f"{name}: {each.n} of {ENOUGH_LABELS} labels by people"
            + (f", kappa from {each.kappa_low:.2f}, needed {LOWEST_KAPPA}" if each.kappa_low is not None else "")
            for name, each in labels.items()
            if not each.enough
        )
        sentences.append(
            f"{count} of {total} verdicts rest on an unvalidated judge ({judges}). "
            "Label its verdicts on the judge sheet, or write patterns."
        )
    if count := decided[Basis.DRAFTS]:
        sentences.append(
            f"{count} of {total} verdicts rest on draft patterns that nobody has accepted. Accept or edit them."
        )
    return " ".join(sentences)


HARDLY = "so it hardly tells answers apart."


def _constant(votes: Sequence[Vote]) -> dict[str, str]:
    """The judges that gave one verdict nearly always, and how often."""
    found = {}
    for judge in sorted({vote.judge for vote in votes} - {TESTS}):
        given = Counter(vote.verdict for vote in votes if vote.judge == judge)
        verdict, count = given.most_common(1)[0]
        if given.total() >= FEWEST_VERDICTS and count > CONSTANT * given.total():
            found[judge] = f"{judge} gave {verdict} in {count} of {given.total()} verdicts"
    return found


def _chance(everybody: All) -> Iterable[str]:
    alpha = everybody.alpha
    if alpha.value is not None and alpha.low is not None and alpha.low <= 0:
        yield (
            f"The judges may agree by chance alone: Krippendorff's alpha is {alpha.value:.2f}, its interval "
            f"{alpha.low:.2f} to {alpha.high:.2f} reaches 0."
        )


def _broken(treatment: str, check: BlindingCheck | None, guesses: Mapping[str, BlindingCheck]) -> list[str]:
    found = {f"the judge {name} guessed the condition": guess for name, guess in guesses.items()}
    found |= {f"a classifier guessed the condition of answers of {treatment!r}": check} if check else {}
    return [
        f"The blinding is broken while a model decides: {who} right in {each.accuracy:.0%} of the cases "
        f"with equal scores ({each.low:.0%} to {each.high:.0%}; chance is 50%)."
        for who, each in found.items()
        if each.accuracy is not None and each.low is not None and each.low > CHANCE
    ]


def votes_of(rows: Iterable[VerdictRow]) -> list[Vote]:
    """The votes in rows of verdicts.csv, without judges that gave no verdict."""
    return [
        Vote(
            run_of_row(row), int(row["criterion"]), row["judge"],
            Verdict(row["verdict"]), row["version"].endswith(DRAFTED),
        )
        for row in rows
        if row["verdict"] != Verdict.UNJUDGED
    ]  # fmt: skip
