"""The error account: the error that looks at a benchmark have spent, so that tasks or trials may be added later.

Each verdict that is shown is one more chance of a false one. Therefore every shown verdict is recorded as a line of the
ledger in the run folder, and the next one may only spend what is left: FIRST of `alpha` for the planned benchmark, then
half of the remainder each time. The boundaries are those of group-sequential designs, which take into account that a
look shares pairs with earlier looks (Lan and DeMets, Biometrika 70, 1983).

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
from lensbench.scores.sequential import FIRST, next_boundary, spending

ROUNDED = 1e-6
"""The relative tolerance for rounding in amounts of error."""
REMEMBERED = 6
"""The number of earlier looks that a boundary takes into account. Omitting one makes the boundary stricter."""


class Shown(NamedTuple):
    """A pair at the time of a look."""

    delta: str
    runs: tuple[str, ...]
    """Short hashes of its runs, which change when a run is repeated."""


class Draw(Strict):
    """A line of the ledger: a verdict that was shown, and the error it spent."""

    comparison: str
    """The treatment, or a contrast of two."""
    pairs: tuple[str, ...]
    """The data of the look: a short hash of the task, trial and delta of every complete pair."""
    fraction: float
    """The share of the planned pairs that are complete; 1 when no more runs are due."""
    tasks: int
    trials: int
    effect: float
    alpha: float
    looks: int
    over: str
    among: int
    """Comparisons that share the error (Holm)."""
    spent: float
    """The error spent so far, two-sided, this look included."""
    boundary: float
    """The value that the normal deviate had to reach."""
    verdict: str = ""
    family: tuple[str, ...]
    """The undecided comparisons that share the error."""
    seen: dict[str, Shown]
    """The pairs by task and trial, such as `httpx-exp-01/1`."""


def digests(seen: Mapping[str, Shown]) -> tuple[str, ...]:
    """Short hashes of pairs: task, trial and delta."""
    texts = (f"{place}/{pair.delta}" for place, pair in seen.items())
    return tuple(sorted(hashlib.sha256(text.encode()).hexdigest()[:10] for text in texts))


def number_of(drawn: Draw, earlier: Sequence[Draw]) -> int:
    """The number of this look, from 1: it counts the different sets of pairs of the comparison up to now, plus one if
    the comparison was added after a look at others."""
    sets: list[tuple[str, ...]] = []
    for draw in earlier:
        if draw.comparison == drawn.comparison and draw.pairs not in sets:
            sets.append(draw.pairs)
    own = sets.index(drawn.pairs) + 1 if drawn.pairs in sets else len(sets) + 1
    return own + any(_is_without(draw, drawn.comparison) for draw in _before(drawn.comparison, drawn.pairs, earlier))


def _is_without(draw: Draw, comparison: str) -> bool:
    """True for a look at other comparisons without this one."""
    return comparison not in draw.family


def _before(comparison: str, pairs: tuple[str, ...], earlier: Sequence[Draw]) -> Sequence[Draw]:
    """The lines before the first look of the comparison at these pairs."""
    same = (index for index, each in enumerate(earlier) if (each.comparison, each.pairs) == (comparison, pairs))
    return earlier[: next(same, len(earlier))]


def families(earlier: Sequence[Draw], pairs: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """For each comparison of this look the comparisons that share its error, including itself.

    These are all comparisons of this look; but if an earlier look had the same pairs, they are the comparisons that
    shared the error then, because these pairs spend nothing now. A comparison that has been removed since keeps its
    part, unless it was decided.
    """
    last = {draw.comparison: draw for draw in earlier}
    then = {name: last[name].family for name, own in pairs.items() if name in last and last[name].pairs == own}
    decided = {name for name, draw in last.items() if name not in pairs and draw.verdict in ("GO", "HARM")}
    return {
        name: tuple(sorted({*then.get(name, [other for other in pairs if name in then.get(other, pairs)])} - decided))
        for name in pairs
    }


def draw(
    earlier: Sequence[Draw],
    comparison: str,
    pairs: tuple[str, ...],
    asked: Asked,
    among: int,
    family: tuple[str, ...],
) -> Draw:
    """The error that a look at these pairs may spend, and the resulting boundary; `among` comparisons of the family are
    undecided.

    Pairs that an earlier look has already used spend nothing, even if settings have changed since. `alpha` is the
    smallest of all looks, because raising it once the result is known would void its guarantee.
    """
    own, gate = [each for each in earlier if each.comparison == comparison], asked.gate
    alpha = min([gate["alpha"], *(each.alpha for each in earlier)])
    at = next((index for index, each in enumerate(own) if each.pairs == pairs), len(own))
    before, same = own[:at], own[at:]
    others = [each.spent for each in _before(comparison, pairs, earlier) if _is_without(each, comparison)]
    spent = max([0.0, *others, *(each.spent for each in before)])
    total = _total(spent, alpha, asked.fraction)
    if same and any(each.pairs != pairs for each in same):
        boundary, total = same[0].boundary, own[-1].spent
    else:
        boundary = next_boundary(
            tuple(each.boundary for each in before[-REMEMBERED:]),
            _correlations([each.pairs for each in before[-REMEMBERED:]] + [pairs]), (total - spent) / among,
        )  # fmt: skip
        total = max([total, *(each.spent for each in same)])
    return Draw(
        comparison=comparison, pairs=pairs, fraction=round(asked.fraction, 6), tasks=asked.size[0],
        trials=asked.size[1], effect=float(gate["effect"]), alpha=float(gate["alpha"]), looks=gate["looks"],
        over=gate["over"], among=among, spent=round(total, 9), boundary=boundary, family=family, seen=dict(asked.seen),
    )  # fmt: skip


def _total(spent: float, alpha: float, fraction: float) -> float:
    """The error that may be spent up to and including this look."""
    planned = FIRST * alpha
    if spent < planned * (1 - ROUNDED):
        return max(spent, spending(fraction, planned))
    return spent + max(alpha - spent, 0) / 2


def left_after(drawn: Draw) -> float:
    """The error, two-sided, that the next look at this comparison may spend."""
    return max(drawn.alpha - drawn.spent, 0) / 2 / drawn.among


def _correlations(sets: Sequence[tuple[str, ...]]) -> tuple[tuple[float, ...], ...]:
    """The correlations of the estimates from these sets of pairs: shared pairs / sqrt(size of one * size of the other).

    This is exact if all pairs are equally informative. It is too low for further trials of the same tasks and for tasks
    that share repositories, which makes the boundaries stricter (Slepian's inequality).
    """
    own = [frozenset(each) for each in sets]
    return tuple(tuple(len(a & b) / math.sqrt(max(len(a) * len(b), 1)) for b in own) for a in own)


class Asked(NamedTuple):
    """The input of a look at a comparison."""

    seen: Mapping[str, Shown]
    """The complete pairs by task and trial."""
    gate: GateSettings
    size: tuple[int, int]
    """Tasks and trials."""
    fraction: float
    """The share of the planned pairs that are complete."""


def draw_all(
    earlier: Sequence[Draw], asked: Mapping[str, Asked], holds: Callable[[str, Draw], bool]
) -> dict[str, Draw]:
    """The draw of every comparison: a family shares the error, and a decided comparison leaves its part to the others.

    `holds` is true for a comparison that excludes 0 at the level of its draw (Holm).
    """
    pairs = {name: digests(each.seen) for name, each in asked.items()}
    sharing = families(earlier, pairs)
    left = list(asked)
    found: dict[str, Draw] = {}
    while left:
        draws = {}
        for name in left:
            among = sum(other in left or other not in asked for other in sharing[name])
            draws[name] = draw(earlier, name, pairs[name], asked[name], among, sharing[name])
        decided = {name: each for name, each in draws.items() if holds(name, each)} or draws
        found |= decided
        left = [name for name in left if name not in decided]
    return found


def first_seen(
    earlier: Sequence[Draw], comparison: str, now: Mapping[str, Shown], voided: Collection[str] = ()
) -> dict[str, Shown]:
    """The pairs of earlier looks at a comparison whose runs have been repeated since, or that are missing now, by task
    and trial: each as the first look that included it recorded it. Pairs with a run in `voided` are ignored.
    """
    found: dict[str, Shown] = {}
    for draw in earlier:
        if draw.comparison == comparison:
            for place, pair in draw.seen.items():
                if not set(pair.runs) & set(voided):
                    found.setdefault(place, pair)
    return {place: pair for place, pair in found.items() if place not in now or now[place].runs != pair.runs}


def read_ledger(folder: Path) -> list[Draw]:
    """The lines of a run folder's ledger, oldest first; a deleted ledger is restored from its copy. Raises UserError
    when it is damaged, and when it is missing although results were shown."""
    path = RunFolder(folder).look_ledger.resolve()
    copy = RunFolder(path.parent).copies / path.name
    if not path.exists() and copy.exists():
        write_atomic(path, copy.read_bytes())
    if not path.exists():
        if path.name in read_checksums(path.parent) or _was_shown(read_json(RunFolder(path.parent).results_json)):
            raise UserError(
                f"{path.name} is missing, though a verdict was shown, so the error that is left to spend is unknown"
            )
        return []
    return [draw for draw, _ in _lines(path)]


def _was_shown(results: Mapping[str, Any]) -> bool:
    """True when a verdict was based on an interval: only such a look spends error and has a line in the ledger."""
    found = results.get("estimates", {}).values()
    return any("look_number" in each and each["gate"]["low"] is not None for each in found)


def note(folder: Path, draws: Iterable[Draw]) -> None:
    """Appends each draw, unless it is already the last line about its comparison. Raises UserError when the ledger is
    damaged."""
    path = RunFolder(folder).look_ledger.resolve()
    lines = list(_lines(path)) if path.exists() else []
    last = {draw.comparison: draw for draw, _ in lines}
    checksum = lines[-1][1] if lines else ""
    text = ""
    for draw in draws:
        if last.get(draw.comparison) != draw:
            told = draw.model_dump(mode="json")
            checksum = _checksum(checksum, told)
            text += json.dumps(told | {"checksum": checksum}, sort_keys=True) + "\n"
    if text:
        write_atomic(path, (path.read_text(encoding="utf-8") if path.exists() else "") + text)


def _lines(path: Path) -> Iterator[tuple[Draw, str]]:
    """The draws with their checksums, each of which covers all earlier lines."""
    checksum = ""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            told = json.loads(line)
            before, checksum = checksum, told.pop("checksum")
            draw = Draw.model_validate_json(json.dumps(told))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            checksum = ""
        if not checksum or checksum != _checksum(before, told):
            raise UserError(
                f"{RunFolder.look_ledger}, line {number}, is damaged, so the error that is left to spend is unknown"
            )
        yield draw, checksum


def _checksum(before: str, told: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{before}{json.dumps(told, sort_keys=True)}".encode()).hexdigest()[:16]
