"""What the two runs of a lost pair show, from their transcripts. It describes them, and proves no cause.

What an agent does not show is None, which is shown as "not shown", and never 0.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lensbench.core.errors import printable
from lensbench.core.names import LETTERS
from lensbench.core.numbers import exact
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow, PairRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import grouped, read_table, run_of_pair, run_of_row
from lensbench.core.tasks import Criterion
from lensbench.judging.judges.fact_pieces import cut
from lensbench.judging.shown_answers import read_tasks
from lensbench.results.footprint import transcript_lines
from lensbench.results.results_file import Losses, LossKind, LostPair, LostRun
from lensbench.runs.timeline import Step, read_timeline
from lensbench.scores.run_tables import Tables

LOSS_KINDS: dict[LossKind, str] = {
    "unopened": "a file that the criteria name was never opened",
    "cut": "a result was cut",
    "failed": "a call failed",
    "large": "results of tools took more than half of the context",
    "uncalled": "none of its tools was called",
}
"""What may be so in the treatment's run of a lost pair."""
MUCH = Fraction(1, 2)
_LONGEST_CALL = 160
_PATH = re.compile(rf"[{LETTERS}.@+/-]+")


@dataclass
class ShownRun:
    """What a run shows of its calls."""

    steps: Sequence[Step]
    read: Sequence[str] = ()
    """The files that its reading tool read."""

    @property
    def calls(self) -> list[Step]:
        return [step for step in self.steps if step.kind == "call"]


def shown_run(folder: Path, tables: Tables, run: RunId) -> ShownRun | None:
    """The calls of a run; None where its agent does not show them all."""
    outcome = tables.records[run].outcome
    if outcome.calls is None or outcome.hides_work:
        return None
    lines = transcript_lines(folder, run, longest=-1)
    shown = ShownRun(read_timeline(lines), outcome.files_read or ())
    counted = sum(call.count for call in outcome.calls)
    return None if len(shown.calls) < counted else shown


def named_files(criteria: Sequence[Criterion]) -> list[str]:
    """The files that criteria name: by their proofs, or else in their text."""
    files: set[str] = set()
    for criterion in criteria:
        if criterion.proofs:
            files.update(proof.file for proof in criterion.proofs)
            continue
        for piece in cut(criterion.text.replace("`", " ")):
            if piece.kind == "file":
                files.add(piece.text)
    for file in [*files]:
        if any(other.endswith(f"/{file}") for other in files):
            files.discard(file)
    return sorted(files)


def unopened(files: Sequence[str], run: ShownRun) -> list[str]:
    """The files that no call read, and that the arguments of no call that worked name."""
    paths = {*run.read}
    for step in run.calls:
        if not step.failed:
            paths.update(path.rstrip(".") for path in _PATH.findall(_words(step.given)))
    left = []
    for file in files:
        if not any(_is_same(file, path) for path in paths):
            left.append(file)
    return left


def _is_same(file: str, path: str) -> bool:
    """True for a path of a file, for the end of one, and for one that starts outside the repository."""
    one = f"/{file}"
    other = f"/{path.removeprefix('./').lstrip('/')}"
    return one.endswith(other) or other.endswith(one)


def parting(baseline: ShownRun, treatment: ShownRun) -> tuple[Step | None, Step | None]:
    """The first calls in which two runs differ, by tool and arguments; None for a run without a further call."""
    for before, after in zip_longest(baseline.calls, treatment.calls):
        if before is None or after is None or _call(before) != _call(after):
            return before, after
    return None, None


def _call(step: Step) -> tuple[str, str]:
    try:
        given = json.dumps(json.loads(step.given), sort_keys=True)
    except (ValueError, RecursionError):
        given = " ".join(step.given.split())
    return step.title, given


def _words(given: str) -> str:
    """The texts in the arguments of a call, one a line."""
    try:
        return "\n".join(_texts(json.loads(given)))
    except (ValueError, RecursionError):
        return given


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value.values()]
    if not isinstance(value, list):
        yield str(value)
        return
    for item in value:
        yield from _texts(item)


def _shown_call(step: Step | None) -> str:
    """A call on one line; "" for none."""
    if step is None:
        return ""
    words = " ".join(_words(step.given).split())
    return printable(f"{step.title} {words}")[:_LONGEST_CALL].strip()


def lost_run(
    run: ShownRun | None,
    files: Sequence[str],
    parted: Step | None,
    is_compacted: bool,
) -> LostRun[Fraction]:
    """What stands in results.json about a run of a lost pair."""
    found: LostRun[Fraction] = {
        "step": None,
        "call": None,
        "unopened": None,
        "results_tokens": None,
        "share": None,
        "largest": None,
        "largest_tokens": None,
        "cut": None,
        "failed": None,
    }
    if run is None:
        return found
    for number, step in enumerate(run.steps, 1):
        if step is parted:
            found["step"] = number
    found["call"] = _shown_call(parted)
    found["unopened"] = unopened(files, run)
    failed = []
    cut_results = []
    for step in run.calls:
        if step.failed:
            failed.append(step.title)
        if step.is_cut:
            cut_results.append(step.title)
    found["failed"] = failed
    if cut_results or all(step.is_whole for step in run.calls):
        found["cut"] = cut_results
    sizes = _sizes(run)
    if sizes is not None:
        total = sum(tokens for tokens, _ in sizes)
        most, largest = max(sizes, default=(0.0, ""))
        context = max((step.request or 0 for step in run.steps), default=0)
        found["results_tokens"] = round(total)
        found["largest"] = largest
        found["largest_tokens"] = round(most)
        found["share"] = None if is_compacted else share_of(total, context)
    return found


def _sizes(run: ShownRun) -> list[tuple[float, str]] | None:
    """The tokens of the result of each call, with its tool; None where one is not shown."""
    sizes = []
    for step in run.calls:
        tokens = step.result_tokens
        if tokens is None:
            return None
        sizes.append((tokens, step.title))
    return sizes


def share_of(tokens: float, context: int) -> Fraction | None:
    """The part of a context that results of tools take; None without one, and where the estimate exceeds it."""
    if context <= 0 or tokens > context:
        return None
    return Fraction(round(tokens), context)


def lost_pair(
    folder: Path,
    tables: Tables,
    pair: PairRow,
    criteria: Sequence[Criterion],
) -> LostPair[Fraction]:
    """What the runs of a lost pair show; `criteria` are those that the treatment lost."""
    run = run_of_pair(pair)
    base = run._replace(condition=tables.plan["baseline"])
    baseline = shown_run(folder, tables, base)
    treatment = shown_run(folder, tables, run)
    files = named_files(criteria)

    def described(each: RunId, shown: ShownRun | None, parted: Step | None) -> LostRun[Fraction]:
        is_compacted = tables.records[each].outcome.ending == "compaction"
        found = lost_run(shown, files, parted, is_compacted)
        if baseline is None or treatment is None:
            found["call"] = None
        return found

    before: Step | None = None
    after: Step | None = None
    if baseline and treatment:
        before, after = parting(baseline, treatment)
    of_treatment = described(run, treatment, after)
    return {
        "task": run.task,
        "trial": run.trial,
        "delta": exact(pair["delta"]) or Fraction(0),
        "files": files,
        "baseline": described(base, baseline, before),
        "treatment": of_treatment,
        "kinds": kinds_of(of_treatment, pair["called"]),
    }


def kinds_of(run: LostRun[Fraction], called: str) -> dict[LossKind, bool | None]:
    """What is so in the treatment's run; None where it is not shown."""
    share = run["share"]
    kinds: dict[LossKind, bool | None] = {
        "unopened": _is_any(run["unopened"]),
        "cut": _is_any(run["cut"]),
        "failed": _is_any(run["failed"]),
        "large": None,
        "uncalled": None,
    }
    if share is not None:
        kinds["large"] = share > MUCH
    if called:
        kinds["uncalled"] = called == "no"
    return kinds


def _is_any(names: Sequence[str] | None) -> bool | None:
    if names is None:
        return None
    return bool(names)


def kinds_in_words(pair: LostPair[Any]) -> list[str]:
    """What is so in the treatment's run, in words."""
    return [LOSS_KINDS[kind] for kind in LOSS_KINDS if pair["kinds"][kind]]


def frequent_kinds(pairs: Sequence[LostPair[Fraction]]) -> dict[LossKind, int]:
    """In how many pairs each kind occurs, the most frequent first."""
    counts: Counter[LossKind] = Counter()
    for pair in pairs:
        counts.update(kind for kind in LOSS_KINDS if pair["kinds"][kind])
    return dict(counts.most_common())


def in_order(pairs: Sequence[LostPair[Fraction]]) -> list[LostPair[Fraction]]:
    """Pairs of the kind that is most frequent first, then of the next; the greatest loss first in each."""
    kinds = [*frequent_kinds(pairs)]

    def place(pair: LostPair[Fraction]) -> tuple[int, Fraction, str, int]:
        rank = len(kinds)
        for kind in reversed(kinds):
            if pair["kinds"][kind]:
                rank = kinds.index(kind)
        return rank, pair["delta"], pair["task"], pair["trial"]

    return sorted(pairs, key=place)


def repeated(pairs: Sequence[LostPair[Fraction]]) -> list[str]:
    """A line for each kind that occurs more than once, such as `4 of 6 losses: a result was cut`."""
    lines = []
    for kind, count in frequent_kinds(pairs).items():
        known = sum(pair["kinds"][kind] is not None for pair in pairs)
        which = "losses" if known == len(pairs) else "losses that show it"
        if count > 1:
            lines.append(f"{count} of {known} {which}: {LOSS_KINDS[kind]}")
    return lines


def losses(folder: Path, tables: Tables) -> dict[str, Losses[Fraction]]:
    """Treatment -> its lost pairs; without those that lost none."""
    lost = [pair for pair in tables.pairs if (exact(pair["delta"]) or 0) < 0]
    if not lost:
        return {}
    tasks = read_tasks(folder)
    decisions = grouped(read_table(RunFolder(folder).decisions, DecisionRow), run_of_row)
    found: dict[str, list[LostPair[Fraction]]] = {}
    for pair in lost:
        run = run_of_pair(pair)
        numbers = lost_criteria(decisions, run, tables.plan["baseline"])
        criteria = []
        if run.task in tasks:
            for number, criterion in enumerate(tasks[run.task].criteria, 1):
                if number in numbers:
                    criteria.append(criterion)
        described = lost_pair(folder, tables, pair, criteria)
        found.setdefault(run.condition, []).append(described)
    every: dict[str, Losses[Fraction]] = {}
    for name, own in found.items():
        every[name] = {
            "says": repeated(own),
            "pairs": in_order(own),
        }
    return every


def lost_criteria(
    decisions: Mapping[RunId, Sequence[DecisionRow]],
    run: RunId,
    baseline: str,
) -> dict[int, tuple[str, str]]:
    """The numbers of the criteria that the baseline met better, with its verdict and the treatment's."""
    base = run._replace(condition=baseline)
    found = {}
    for before, after in zip(decisions.get(base, ()), decisions.get(run, ()), strict=False):
        old, new = exact(before["points"]), exact(after["points"])
        if old is not None and new is not None and new < old:
            found[int(before["criterion"])] = (before["verdict"], after["verdict"])
    return found
