"""What the verdicts of a benchmark rest on, and whether that is enough to believe a GO, a NO-GO or a HARM.

People, hidden tests, patterns that the author accepted, and model judges that agree with enough labels by people have
earned belief (docs/judges.md). A verdict is earned when a person gave it, or when the judges that have earned belief
would have decided the same by themselves. All others rest on drafts or on an unvalidated judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from lensbench.core.records import RunId
from lensbench.judging.agreement import All, Verdicts, two_judges
from lensbench.judging.bias import persons_verdicts
from lensbench.judging.decisions import is_person, majority
from lensbench.judging.judges import DRAFTED, Verdict
from lensbench.plan.names import HUMAN, MECHANICAL, TESTS

if TYPE_CHECKING:  # numpy and scipy come with it
    from lensbench.judging.blinding_check import BlindingCheck, GuessCheck

ENOUGH_LABELS = 200
"""Verdicts of a model judge that people gave too."""
LOWEST_KAPPA = 0.7
"""What the lower end of kappa's interval must reach on them."""
MOST_UNEARNED = 0.1
"""The largest share of verdicts that may rest on drafts or unvalidated judges."""
CONSTANT = 0.95
"""A judge that gives one verdict more often than this tells answers apart too rarely."""
CHANCE = 0.5
"""The share of right guesses of the condition when nothing shows it."""
FEWEST_VERDICTS = 20
"""With fewer verdicts nobody is called constant: a judge may have been asked about a few criteria only."""


class Basis(StrEnum):
    """Who decided a criterion."""

    PEOPLE = "people"
    TESTS = "tests"
    """Hidden tests, of a change."""
    PATTERNS = "patterns"
    """Accepted by the author of the tasks."""
    MODEL = "model"
    """Judges with enough labels, alone or together with patterns."""
    DRAFTS = "drafts"
    """Patterns that a machine proposed and nobody has accepted."""
    UNVALIDATED = "unvalidated"
    """Judges without enough labels."""


class Vote(NamedTuple):
    """What one judge said about one criterion of one answer."""

    run: RunId
    criterion: int
    judge: str
    verdict: Verdict
    drafted: bool
    """It rests on a draft pattern."""


class Labels(NamedTuple):
    """A model judge against people."""

    n: int
    kappa_low: float | None

    @property
    def enough(self) -> bool:
        """The judge has earned belief."""
        return self.n >= ENOUGH_LABELS and self.kappa_low is not None and self.kappa_low >= LOWEST_KAPPA


class Belief(NamedTuple):
    """What the verdicts rest on, and what follows for the sentences about treatments."""

    decided: Mapping[Basis, int]
    """How many criteria each basis decided."""
    labels: Mapping[str, Labels]
    """By model judge."""
    caveat: str
    """What stands beside a verdict that is given; empty when everything is earned."""
    withheld: Mapping[str, Sequence[str]]
    """By treatment, why no verdict is given, a sentence each."""


def believe(
    votes: Iterable[Vote],
    decisions: Mapping[tuple[RunId, int], Verdict],
    everybody: All,
    treatments: Sequence[str],
    classifier: Mapping[str, BlindingCheck],
    guesses: Mapping[str, GuessCheck],
    seed: int,
) -> Belief:
    """The belief that the decisions have earned.

    `votes` and `decisions` are those of the compared conditions, without judges that gave no verdict and criteria that
    are unjudged. `everybody`: the agreement of all judges. `classifier`, by treatment, and `guesses`, by judge: how
    well the condition can be told from what judges see.
    """
    by_criterion: dict[tuple[RunId, int], list[Vote]] = {}
    for vote in votes:
        by_criterion.setdefault((vote.run, vote.criterion), []).append(vote)
    labels = _labels(by_criterion, seed)
    bases = {key: _basis(by_criterion.get(key, []), verdict, labels) for key, verdict in decisions.items()}
    decided = {basis: list(bases.values()).count(basis) for basis in Basis}
    by_judges = [vote for key, given in by_criterion.items() if bases.get(key) is not Basis.PEOPLE for vote in given]
    unearned = _unearned(decided, labels)
    everywhere = [
        *([unearned] if _share(decided, Basis.DRAFTS, Basis.UNVALIDATED) > MOST_UNEARNED else []),
        *_constant(by_judges),
        *(_chance(everybody) if by_judges else []),
    ]
    model_decides = _share(decided, Basis.MODEL, Basis.UNVALIDATED) > MOST_UNEARNED
    broken = {name: _broken(name, classifier.get(name), guesses) if model_decides else [] for name in treatments}
    return Belief(decided, labels, unearned, {name: [*everywhere, *reasons] for name, reasons in broken.items()})


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
    patterns = [vote for vote in votes if vote.judge == MECHANICAL and not vote.drafted]
    earned = [*patterns, *(vote for vote in votes if vote.judge in labels and labels[vote.judge].enough)]
    for basis, given in ((Basis.PATTERNS, patterns), (Basis.MODEL, earned)):
        if given and majority([vote.verdict for vote in given]) is verdict:
            return basis
    return Basis.UNVALIDATED if any(vote.judge in labels for vote in votes) else Basis.DRAFTS


def _share(decided: Mapping[Basis, int], *bases: Basis) -> float:
    return sum(decided[basis] for basis in bases) / (sum(decided.values()) or 1)


def _unearned(decided: Mapping[Basis, int], labels: Mapping[str, Labels]) -> str:
    """What rests on no earned belief, and how it is earned; empty when nothing does."""
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


def _constant(votes: Sequence[Vote]) -> Iterable[str]:
    for judge in sorted({vote.judge for vote in votes} - {TESTS}):
        given = Counter(vote.verdict for vote in votes if vote.judge == judge)
        verdict, count = given.most_common(1)[0]
        if given.total() >= FEWEST_VERDICTS and count > CONSTANT * given.total():
            yield (
                f"The judge {judge} gave {verdict} in {count} of {given.total()} verdicts, so it hardly tells answers "
                "apart."
            )


def _chance(everybody: All) -> Iterable[str]:
    alpha = everybody.alpha
    if alpha.value is not None and alpha.low is not None and alpha.low <= 0:
        yield (
            f"The judges may agree by chance alone: Krippendorff's alpha is {alpha.value:.2f}, its interval "
            f"{alpha.low:.2f} to {alpha.high:.2f} reaches 0."
        )


def _broken(treatment: str, check: BlindingCheck | None, guesses: Mapping[str, GuessCheck]) -> list[str]:
    found: dict[str, BlindingCheck | GuessCheck] = {
        f"the judge {name} guessed the condition": guess for name, guess in guesses.items()
    }
    found |= {f"a classifier guessed the condition of answers of {treatment!r}": check} if check else {}
    return [
        f"The blinding is broken while a model decides: {who} right in {each.accuracy:.0%} of the cases "
        f"({each.low:.0%} to {each.high:.0%}; chance is 50%)."
        for who, each in found.items()
        if each.accuracy is not None and each.low is not None and each.low > CHANCE
    ]


def votes_of(rows: Iterable[Mapping[str, Any]]) -> list[Vote]:
    """The votes in rows of verdicts.csv; a judge that gave no verdict has none."""
    return [
        Vote(
            RunId(row["task"], row["condition"], int(row["trial"])), int(row["criterion"]), row["judge"],
            Verdict(row["verdict"]), row["version"].endswith(DRAFTED),
        )
        for row in rows
        if row["verdict"] != Verdict.UNJUDGED
    ]  # fmt: skip
