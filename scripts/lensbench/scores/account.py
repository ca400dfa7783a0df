"""The error account: the error that looks at a benchmark have spent, so that tasks or trials may be added later.

Each verdict that is shown is one more chance of a false one. Therefore every shown verdict is recorded as a line of the
ledger in the run folder. The planned benchmark may spend `alpha`, which is SHARE of the whole error; each later
addition SHARE of what is left of it. The boundaries are those of group-sequential designs, which take into account that
a look shares pairs with the one before (Lan and DeMets, Biometrika 70, 1983). A look while runs are due can give no
verdict, and has no line.

A look is a set of runs. The same runs with other criteria, judges or labels spend nothing, and a verdict must also hold
with every figure that was shown of them (`shown_before`).

Comparisons in the same look share the error that it may spend (Holm); one that is added later may spend what earlier
looks have left.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_checksums, read_json, write_atomic
from lensbench.core.tasks import Strict
from lensbench.scores.rules import ReasonKind
from lensbench.scores.sequential import SHARE, EarlierLook, next_boundary, spending

ROUNDED = 1e-6
"""The relative tolerance for rounding in amounts of error."""
Pairs = frozenset[tuple[str, tuple[str, ...]]]


class SeenPair(NamedTuple):
    """A pair at the time of a look."""

    delta: str
    runs: tuple[str, ...]
    """Short hashes of its runs, which change when a run is repeated."""
    criteria: str = ""
    """A short hash of the task's criteria."""


SeenPairs = Mapping[str, SeenPair]
"""The complete pairs by task and trial, such as `httpx-exp-01/1`."""


class Draw(Strict):
    """A line of the ledger: a verdict that was shown, and the error it spent."""

    comparison: str
    """Its name, such as `with` or `v2 against v1`."""
    alpha: float
    among: int
    """Comparisons that share the error (Holm)."""
    spent: float
    """The error spent so far, two-sided, this look included."""
    boundary: float
    """The value that the normal deviate had to reach."""
    verdict: str = ""
    family: tuple[str, ...]
    """The undecided comparisons that share the error."""
    due: bool = False
    """True when runs were due: no verdict was possible, so this is no look and spends nothing. Its figures count."""
    seen: dict[str, SeenPair]
    """The complete pairs by task and trial, such as `httpx-exp-01/1`."""

    @property
    def pairs(self) -> Pairs:
        return pairs_of(self.seen)


LookLedger = Sequence[Draw]
"""The looks so far, oldest first."""


def pairs_of(look: SeenPairs) -> Pairs:
    """The pairs of a look: their places and runs, but not their scores."""
    return frozenset((place, pair.runs) for place, pair in look.items())


def looks_among(lines: Iterable[Draw]) -> list[Draw]:
    """The lines at which a verdict was possible."""
    return [line for line in lines if not line.due]


def number_of(look: Draw, earlier: LookLedger) -> int:
    """The number of this look, from 1: the sets of runs of the comparison that were looked at up to now, plus one if it
    was added after a look at others."""
    earlier = looks_among(earlier)
    seen = {line.pairs: None for line in [*earlier, look] if line.comparison == look.comparison}
    was_added = any(look.comparison not in line.family for line in earlier)
    return list(seen).index(look.pairs) + 1 + was_added


def families(earlier: LookLedger, pairs: Mapping[str, Pairs]) -> dict[str, tuple[str, ...]]:
    """For each comparison of this look the comparisons that share its error, with itself: all of this look, or those
    that shared it when an earlier look had the same pairs, because these pairs spend nothing now. A comparison that has
    been removed since keeps its part, unless it was decided."""
    repeated = {}
    decided = set()
    for line in {line.comparison: line for line in earlier}.values():
        if pairs.get(line.comparison) == line.pairs:
            repeated[line.comparison] = {*line.family}
        if line.comparison not in pairs and line.verdict in ("GO", "HARM"):
            decided.add(line.comparison)
    result = {}
    for name in pairs:
        family = repeated.get(name)
        if family is None:
            family = {other for other in pairs if name in repeated.get(other, pairs)}
        result[name] = tuple(sorted(family - decided))
    return result


def draw(
    earlier: LookLedger, comparison: str, look: LookInput, among: int, family: tuple[str, ...]
) -> Draw:
    """The error that a look at these runs may spend, and the resulting boundary; `among` comparisons of the family are
    undecided. Runs that an earlier look has used spend nothing. `alpha` is the smallest of all looks, because raising
    it once the result is known would void its guarantee."""
    pairs = pairs_of(look.seen)
    alpha = min([look.gate["alpha"], *(line.alpha for line in earlier)])
    first = _first_look(earlier, comparison, pairs)
    before = [line for line in earlier[:first] if line.comparison == comparison]
    same = [line for line in earlier[first:] if line.comparison == comparison]
    debit = 0.0
    for line in earlier[:first]:
        if line.comparison == comparison or comparison not in line.family:
            debit = max(debit, line.spent)
    if any(line.pairs != pairs for line in same):
        boundary = same[0].boundary
        total = same[-1].spent
    else:
        last = None
        if before:
            last = EarlierLook(before[-1].boundary, _correlation(before[-1].pairs, pairs))
        total = _total(debit, alpha, look.fraction)
        boundary = next_boundary((total - debit) / among, last)
        total = max([total, *(line.spent for line in same)])
    return Draw(
        comparison=comparison,
        alpha=float(look.gate["alpha"]),
        among=among,
        spent=round(total, 9),
        boundary=boundary,
        family=family,
        seen=dict(look.seen),
    )


def _first_look(earlier: LookLedger, comparison: str, pairs: Pairs) -> int:
    """The index of the first look at these runs of a comparison: that of this one when there was none."""
    for index, line in enumerate(earlier):
        if line.comparison == comparison and line.pairs == pairs:
            return index
    return len(earlier)


def _total(debit: float, alpha: float, fraction: float) -> float:
    """The error that may be spent up to and including this look."""
    if debit < alpha * (1 - ROUNDED):
        return max(debit, spending(fraction, alpha))
    return debit + max(alpha / SHARE - debit, 0) * SHARE


def left_after(line: Draw) -> float:
    """The error, two-sided, that the next look at this comparison may spend."""
    return max(line.alpha / SHARE - line.spent, 0) * SHARE / line.among


def _correlation(one: Pairs, other: Pairs) -> float:
    """The correlation of the estimates from these sets of pairs: shared pairs / sqrt(size of one * size of the other).

    This is exact if all pairs are equally informative. It is too low for further trials of the same tasks and for tasks
    that share repositories, which makes the boundaries stricter (Slepian's inequality).
    """
    return len(one & other) / math.sqrt(max(len(one) * len(other), 1))


class LookInput(NamedTuple):
    """The input of a look at a comparison."""

    seen: SeenPairs
    """The complete pairs by task and trial."""
    gate: GateSettings
    fraction: float
    """The share of the planned pairs that are complete."""


def draw_all(
    earlier: LookLedger, inputs: Mapping[str, LookInput], holds: Callable[[str, Draw], bool]
) -> dict[str, Draw]:
    """The draw of every comparison: a family shares the error, and a decided comparison leaves its part to the others.
    `holds` is true for a comparison that excludes 0 at the level of its draw (Holm)."""
    earlier = looks_among(earlier)
    sharing = families(earlier, {name: pairs_of(look.seen) for name, look in inputs.items()})
    result: dict[str, Draw] = {}
    left = list(inputs)
    while left:
        draws = {}
        for name in left:
            among = sum(other in left or other not in inputs for other in sharing[name])
            draws[name] = draw(earlier, name, inputs[name], among, sharing[name])
        final = {name: line for name, line in draws.items() if holds(name, line)} or draws
        result |= final
        left = [name for name in left if name not in final]
    return result


def shown_before(
    earlier: LookLedger,
    comparison: str,
    now: SeenPairs,
    discards: Collection[str] = (),
) -> list[dict[str, SeenPair]]:
    """What each earlier look at a comparison showed otherwise than now, by task and trial: pairs whose runs, criteria
    or verdicts have changed since, and those that are missing now. Pairs with a run in `discards` are ignored."""
    looks: list[dict[str, SeenPair]] = []
    for line in earlier:
        if line.comparison != comparison:
            continue
        others = {}
        for place, pair in line.seen.items():
            is_same = place in now and now[place].delta == pair.delta
            if not is_same and not set(pair.runs) & set(discards):
                others[place] = pair
        if others and others not in looks:
            looks.append(others)
    return looks


NOTHING_SPENT = {ReasonKind.OFFLINE, ReasonKind.TOO_FEW_CALLS, ReasonKind.MIXED_RUNS}
"""Reasons for which a look can give no verdict, whatever its user does with these runs."""


def spends(low: float | None, reasons: Iterable[str]) -> bool:
    """True when a look with this lower limit and these reasons could have given a verdict, and has a line."""
    return low is not None and not NOTHING_SPENT.intersection(reasons)


def was_looked_at(folder: Path) -> bool:
    """True when a verdict was shown, or may have been, since the ledger was emptied or cannot be trusted."""
    try:
        lines = read_ledger(folder)
    except UserError:
        return True
    if not lines:
        return RunFolder(folder).look_ledger.exists()
    return bool(looks_among(lines))


def read_ledger(folder: Path) -> list[Draw]:
    """The lines of a run folder's ledger, oldest first; a deleted ledger is restored from its copy. Raises UserError
    when it is damaged, and when it is missing although results were shown."""
    path = RunFolder(folder).look_ledger.resolve()
    home = RunFolder(path.parent)
    copy = home.copies / path.name
    if not path.exists() and copy.exists():
        write_atomic(path, copy.read_bytes())
    if path.exists():
        return [draw for draw, _ in _lines(path)]
    if path.name in read_checksums(path.parent) or _was_shown(read_json(home.results_json)):
        raise UserError(
            f"{path.name} is missing, though a verdict was shown, so the error that is left to spend is unknown"
        )
    return []


def _was_shown(results: Mapping[str, Any]) -> bool:
    for entry in results.get("estimates", {}).values():
        if "look_number" in entry:
            gate = entry["gate"]
            if spends(gate["low"], [reason["kind"] for reason in gate["reasons"]]):
                return True
    return False


def note(folder: Path, draws: Iterable[Draw]) -> None:
    """Appends each draw that is not already the last line about its comparison to the ledger."""
    path = RunFolder(folder).look_ledger.resolve()
    lines = list(_lines(path)) if path.exists() else []
    last = {draw.comparison: draw for draw, _ in lines}
    checksum = lines[-1][1] if lines else ""
    added = ""
    for draw in draws:
        if last.get(draw.comparison) != draw:
            entry = draw.model_dump(mode="json")
            checksum = _checksum(checksum, entry)
            added += json.dumps(entry | {"checksum": checksum}, sort_keys=True) + "\n"
    if added:
        before = path.read_text(encoding="utf-8") if lines else ""
        write_atomic(path, before + added)


def _lines(path: Path) -> Iterator[tuple[Draw, str]]:
    """The draws with their checksums, each of which covers all earlier lines."""
    checksum = ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            before = checksum
            checksum = entry.pop("checksum")
            draw = Draw.model_validate_json(json.dumps(entry))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            checksum = ""
        if not checksum or checksum != _checksum(before, entry):
            raise UserError(
                f"{RunFolder.look_ledger}, line {number}, is damaged, so the error that is left to spend is unknown"
            )
        yield draw, checksum


def _checksum(before: str, entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{before}{json.dumps(entry, sort_keys=True)}".encode()).hexdigest()[:16]
