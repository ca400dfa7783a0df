"""The account of error: what looks at a benchmark have spent, so that people may add tasks or trials and look again.

Whoever sees a verdict and then decides to go on has had one chance of a false one already. So every verdict that is
shown is a line of the ledger in the run folder, and a further one has what is left: FIRST of `alpha` for the benchmark
as it was planned, then half of the remainder each time. Boundaries are those of group-sequential designs: they know
that a look shares pairs with the looks before it (Lan and DeMets, Biometrika 70, 1983).

Comparisons that are looked at together share what the look may spend (Holm); one that is added later has what the
looks before it have left.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_checksums, read_json, write_atomic
from lensbench.core.tasks import Strict
from lensbench.scores.sequential import FIRST, next_boundary, spending

ROUNDED = 1e-6
"""What rounding may take from an amount of error."""
REMEMBERED = 6
"""Looks that a boundary takes into account. To leave one out makes the boundary stricter, never looser."""


class Shown(NamedTuple):
    """A pair as a look saw it."""

    delta: str
    runs: tuple[str, ...]
    """Short hashes of the runs that it rests on, which change when a run is made again."""


class Draw(Strict):
    """A verdict that was shown, and what it has cost: a line of the ledger. Older ones lack what has a default."""

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
    family: tuple[str, ...] = ()
    """The comparisons that share the error, as far as they were not decided before."""
    seen: dict[str, Shown] = Field(default={})
    """The pairs by task and trial, such as `httpx-exp-01/1`."""


def digests(seen: Mapping[str, Shown]) -> tuple[str, ...]:
    """Short hashes of pairs: task, trial and delta."""
    texts = (f"{place}/{pair.delta}" for place, pair in seen.items())
    return tuple(sorted(hashlib.sha256(text.encode()).hexdigest()[:10] for text in texts))


def number_of(drawn: Draw, earlier: Sequence[Draw]) -> int:
    """Which look this is, from 1: as many as there were different sets of pairs of its comparison up to it, and one
    more when the comparison was added after a look at others."""
    sets: list[tuple[str, ...]] = []
    for draw in earlier:
        if draw.comparison == drawn.comparison and draw.pairs not in sets:
            sets.append(draw.pairs)
    own = sets.index(drawn.pairs) + 1 if drawn.pairs in sets else len(sets) + 1
    return own + any(_is_without(draw, drawn.comparison) for draw in _before(drawn.comparison, drawn.pairs, earlier))


def _is_without(draw: Draw, comparison: str) -> bool:
    """True for a look that had another comparison and not this one."""
    return bool(draw.family) and comparison not in draw.family


def _before(comparison: str, pairs: tuple[str, ...], earlier: Sequence[Draw]) -> Sequence[Draw]:
    """The lines before the first look of the comparison at these pairs."""
    same = (index for index, each in enumerate(earlier) if (each.comparison, each.pairs) == (comparison, pairs))
    return earlier[: next(same, len(earlier))]


def families(earlier: Sequence[Draw], pairs: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """For each comparison of this look the ones that it shares the error with, itself included.

    Those are all that are looked at now; but pairs that an earlier look had share with whom they shared then, because
    they spend nothing now. A comparison that has been taken out since still holds its part, unless it was decided.
    """
    last = {draw.comparison: draw for draw in earlier}
    then = {
        name: last[name].family or tuple(pairs)
        for name, own in pairs.items()
        if name in last and last[name].pairs == own
    }
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
    among: int = 1,
    family: tuple[str, ...] = (),
) -> Draw:
    """What a look at these pairs may spend, and the boundary that this gives, when so many of a family are undecided.

    The same pairs as at an earlier look draw nothing, whatever the settings are now: the data had their chance. `alpha`
    is the smallest of all looks, because one that is raised when the result is known promises nothing.
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
    """The error that may be spent when this look is over."""
    planned = FIRST * alpha
    if spent < planned * (1 - ROUNDED):
        return max(spent, spending(fraction, planned))
    return spent + max(alpha - spent, 0) / 2


def left_after(drawn: Draw) -> float:
    """The error, two-sided, that the next look at this comparison may spend."""
    return max(drawn.alpha - drawn.spent, 0) / 2 / drawn.among


def _correlations(sets: Sequence[tuple[str, ...]]) -> tuple[tuple[float, ...], ...]:
    """Of the estimates that rest on these pairs: the shared pairs over the root of both numbers.

    That is exact for pairs alike, and too low for further trials of the same tasks and for repositories that share
    tasks, which makes boundaries stricter (Slepian's inequality).
    """
    own = [frozenset(each) for each in sets]
    return tuple(tuple(len(a & b) / math.sqrt(max(len(a) * len(b), 1)) for b in own) for a in own)


class Asked(NamedTuple):
    """What a look asks about a comparison."""

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
    """The draw of every comparison: a family shares the error, and what is decided leaves its part to the others.

    `holds` is true for a comparison that excludes 0 at this draw's level (Holm).
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
    """The pairs of earlier looks at a comparison whose runs have been made again since, or that are gone: each as the
    first look had it that had it, by task and trial. A pair does not count that rests on one of the runs in `voided`.
    """
    found: dict[str, Shown] = {}
    for draw in earlier:
        if draw.comparison == comparison:
            for place, pair in draw.seen.items():
                if not set(pair.runs) & set(voided):
                    found.setdefault(place, pair)
    return {place: pair for place, pair in found.items() if place not in now or now[place].runs != pair.runs}


def read_ledger(folder: Path) -> list[Draw]:
    """The lines of a run folder's ledger, oldest first; one that was deleted is restored from its copy. Raises
    UserError when it is damaged, and when it is not there although results were shown."""
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
        write_atomic(path, (path.read_text() if path.exists() else "") + text)


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
