"""The account of error: what looks at a benchmark have spent, so that people may add tasks or trials and look again.

Whoever sees a verdict and then decides to go on has had one chance of a false one already. So every verdict that is
shown is a line of the ledger in the run folder, and a further one has what is left: FIRST of `alpha` for the benchmark
as it was planned, then half of the remainder each time. Boundaries are those of group-sequential designs: they know
that a look shares pairs with the looks before it (Lan and DeMets, Biometrika 70, 1983).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json
from lensbench.core.tasks import Strict
from lensbench.scores.sequential import FIRST, next_boundary, spending

REMEMBERED = 6
"""Looks that a boundary takes into account. To leave one out makes the boundary stricter, never looser."""


class Draw(Strict):
    """A verdict that was shown, and what it has cost: a line of the ledger."""

    comparison: str
    """The treatment, or a contrast of two."""
    pairs: tuple[str, ...]
    """What was looked at: a short hash of every complete pair's task, trial and delta."""
    fraction: float
    """The share of the planned pairs that this is; 1 when nothing is due any more."""
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
    """What the normal deviate had to reach."""
    verdict: str = ""


def digests(pairs: Iterable[tuple[str, int, Any]]) -> tuple[str, ...]:
    """Short hashes of pairs: task, trial and delta."""
    texts = (f"{task}/{trial}/{delta}" for task, trial, delta in pairs)
    return tuple(sorted(hashlib.sha256(text.encode()).hexdigest()[:10] for text in texts))


def number_of(drawn: Draw, earlier: Sequence[Draw]) -> int:
    """Which look at its comparison this is, from 1: as many as there were different sets of pairs up to it."""
    seen: list[tuple[str, ...]] = []
    for draw in earlier:
        if draw.comparison == drawn.comparison and draw.pairs not in seen:
            seen.append(draw.pairs)
    return seen.index(drawn.pairs) + 1 if drawn.pairs in seen else len(seen) + 1


def draw(
    earlier: Sequence[Draw], comparison: str, pairs: tuple[str, ...], gate: GateSettings, size: tuple[int, int],
    fraction: float, among: int = 1,
) -> Draw:  # fmt: skip
    """What a look at these pairs may spend, and the boundary that this gives; `size` is tasks and trials.

    The same pairs as at an earlier look draw nothing, whatever the settings are now: the data had their chance. `alpha`
    is the smallest of all looks, because one that is raised when the result is known promises nothing.
    """
    own = [each for each in earlier if each.comparison == comparison]
    alpha = min([gate["alpha"], *(each.alpha for each in own)])
    at = next((index for index, each in enumerate(own) if each.pairs == pairs), len(own))
    before, same = own[:at], own[at:]
    spent = before[-1].spent if before else 0.0
    total = _total(spent, alpha, fraction)
    if same and any(each.pairs != pairs for each in same):
        boundary, total = same[0].boundary, own[-1].spent
    else:
        boundary = next_boundary(
            tuple(each.boundary for each in before[-REMEMBERED:]),
            _correlations([each.pairs for each in before[-REMEMBERED:]] + [pairs]), (total - spent) / among,
        )  # fmt: skip
        total = max([total, *(each.spent for each in same)])
    return Draw(
        comparison=comparison, pairs=pairs, fraction=round(fraction, 6), tasks=size[0], trials=size[1],
        effect=float(gate["effect"]), alpha=float(gate["alpha"]), looks=gate["looks"], over=gate["over"], among=among,
        spent=round(total, 9), boundary=boundary,
    )  # fmt: skip


def _total(spent: float, alpha: float, fraction: float) -> float:
    """The error that may be spent when this look is over."""
    planned = FIRST * alpha
    if spent < planned:
        return max(spent, spending(fraction, planned))
    return spent + max(alpha - spent, 0) / 2


def _correlations(sets: Sequence[tuple[str, ...]]) -> tuple[tuple[float, ...], ...]:
    """Of the estimates that rest on these pairs: the shared pairs over the root of both numbers.

    That is exact for pairs alike, and too low for further trials of the same tasks and for repositories that share
    tasks, which makes boundaries stricter (Slepian's inequality).
    """
    own = [frozenset(each) for each in sets]
    return tuple(tuple(len(a & b) / math.sqrt(max(len(a) * len(b), 1)) for b in own) for a in own)


def holm(
    names: Iterable[str], draw_for: Callable[[str, int], Draw], holds: Callable[[str, Draw], bool]
) -> dict[str, Draw]:
    """The draw of every comparison: all share the error, and what is decided leaves its part to the others.

    `draw_for` gives a comparison's draw among so many; `holds` is true when it excludes 0 at that draw's level.
    """
    left = list(names)
    found: dict[str, Draw] = {}
    while left:
        draws = {name: draw_for(name, len(left)) for name in left}
        decided = {name: each for name, each in draws.items() if holds(name, each)} or draws
        found |= decided
        left = [name for name in left if name not in decided]
    return found


def read_ledger(folder: Path) -> list[Draw]:
    """The lines of a run folder's ledger, oldest first. Raises UserError when it is damaged, and when it is not there
    although results were shown."""
    path = RunFolder(folder).look_ledger.resolve()
    if not path.exists():
        if _was_shown(read_json(RunFolder(path.parent).results_json)):
            raise UserError(
                f"{path.name} is missing, though a verdict was shown, so the error that is left to spend is unknown"
            )
        return []
    return [draw for draw, _ in _lines(path)]


def _was_shown(results: Mapping[str, Any]) -> bool:
    """True when one of the verdicts rested on an interval: only such a look spends error, and has its line."""
    found = results.get("estimates", {}).values()
    return any("look_number" in each and each["gate"]["low"] is not None for each in found)


def note(folder: Path, draws: Iterable[Draw]) -> None:
    """Appends the draws that are not the last line about their comparison already. Raises UserError when the ledger
    is damaged."""
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
        with path.open("a") as ledger:
            ledger.write(text)


def _lines(path: Path) -> Iterator[tuple[Draw, str]]:
    """The draws with their checksums, each of which covers all lines before."""
    checksum = ""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
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
