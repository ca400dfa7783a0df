"""The outcome of every attempt and every fault: compares the injector's journal with lensbench's files."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lensbench.core.records import RunId
from lensbench.core.store import DISCARD, RECORD, entries, run_files
from soaking.chaos import Disruption
from soaking.injector import Attempt, Injector

COUNTS, IN_FLIGHT = "counts", "in flight, made again"


@dataclass
class Accounts:
    """Errors, each with the affected runs; and the outcome of each attempt, by its place."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrongly_counted: list[str] = field(default_factory=list)
    fates: dict[str, str] = field(default_factory=dict)
    spared: Counter[str] = field(default_factory=Counter)
    """Good answers that were discarded, by reason: those of a pair whose other run had a fault."""


def settle(
    bench: Path,
    runs: Sequence[RunId],
    injector: Injector,
    disruptions: Sequence[Disruption],
    stood: set[str],
) -> Accounts:
    """The accounts. `stood` are the places of all answers that were finished at the end of a start."""
    accounts = Accounts()
    seen: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in sorted(injector.attempts.values(), key=lambda attempt: attempt.first_seen):
        seen[attempt.stem].append(attempt)
    for run in runs:
        attempts = seen[run.stem]
        kept = _kept(bench, run)
        fates = _fates([attempt.place for attempt in attempts], kept)
        accounts.fates |= {
            attempt.place: fates.get(attempt.place, IN_FLIGHT) for attempt in attempts
        }
        if COUNTS not in fates.values():
            accounts.lost.append(f"{run.stem}: no answer counts")
        for attempt, following in zip(attempts, [*attempts[1:], None], strict=True):
            fate = accounts.fates[attempt.place]
            if fate == COUNTS and (why := _wrong(bench, run, attempt)):
                accounts.wrongly_counted.append(f"{run.stem}: {why}")
            if not attempt.is_good or fate == COUNTS:
                continue
            if fate != IN_FLIGHT:
                accounts.spared[fate] += 1
            elif attempt.place in stood:
                accounts.lost.append(f"{run.stem}: the finished answer of {attempt.place} is gone")
            elif not _was_disrupted(attempt, following, disruptions):
                accounts.doubled.append(
                    f"{run.stem}: the answer of {attempt.place} was bought and thrown away"
                )
    accounts.wrongly_counted += _wrong_tables(bench, runs)
    return accounts


def _kept(bench: Path, run: RunId) -> list[tuple[str, dict[str, Any]]]:
    """The records of a run's attempts, oldest first, and why each does not count."""
    made = [entry for entry in entries(bench, run) if RECORD in entry.files]
    reasons = [entry.read_discard().reason if DISCARD in entry.files else "" for entry in made]
    return [
        (why, json.loads(e.record.read_text(encoding="utf-8")))
        for why, e in zip(reasons, made, strict=True)
    ]


def place_of(record: dict[str, Any]) -> str:
    """The private folder of the attempt that gave the answer."""
    return Path(record["workspace"]).parent.name


def _fates(places: Sequence[str], kept: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    """The outcomes of the attempts in `places` by the records."""
    known = ((place_of(record), reason) for reason, record in kept)
    return {
        place: f"discarded: {reason}" if reason else COUNTS
        for place, reason in known
        if place in places
    }


def _wrong(bench: Path, run: RunId, attempt: Attempt) -> str:
    """Why the answer of this attempt must not count; "" when it may."""
    if not attempt.is_good:
        fault = attempt.fault.name if attempt.fault else "no whole answer was given"
        return f"counts although: {fault}"
    answer = run_files(bench, run).answer.read_bytes()
    is_cut = (
        attempt.fault is not None
        and attempt.fault.reply is not None
        and attempt.fault.reply.stop_reason
    )
    is_its_own = (
        attempt.place.encode() in answer
        if is_cut
        else hashlib.sha256(answer).hexdigest() == attempt.given
    )
    if not is_its_own:
        return "its answer is not the one that was given"
    return ""


def _wrong_tables(bench: Path, runs: Sequence[RunId]) -> list[str]:
    """Wrong rows of the tables: each WITH answer must have both facts, each WITHOUT answer one."""
    wrong = []
    for row in _rows(bench / "scores.csv"):
        expected = {"with": "1", "without": "0.5"}[row["condition"]]
        if row["score"] != expected:
            wrong.append(
                f"{row['task']}-{row['condition']}: scored {row['score'] or 'nothing'}, not {expected}"
            )
    lines = (bench / "runs" / "timing.csv").read_text(encoding="utf-8").splitlines()[1:]
    last = {tuple(line.split(",")[:2]): line.split(",")[2] for line in lines}
    recorded = 0
    for run in runs:
        records = [record for _, record in _kept(bench, run)]
        recorded += len(records)
        truth = f"{records[-1]['attempt']['duration_s']:g}" if records else None
        if (timed := last.get((run.task, run.condition))) != truth:
            wrong.append(f"{run.stem}: timing.csv says {timed} s last, its record {truth}")
    spent = json.loads((bench / "spent.json").read_text(encoding="utf-8"))["runs"]
    if spent < recorded:
        wrong.append(f"spent.json knows of {spent} attempts, the records of {recorded}")
    return wrong


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _was_disrupted(
    attempt: Attempt, following: Attempt | None, disruptions: Sequence[Disruption]
) -> bool:
    """True when a disruption hit the run after the start of this attempt, and before that of the next one."""
    until = following.first_seen if following else float("inf")
    return any(
        (attempt.stem in each.runs or each.hits_all)
        and each.ended >= attempt.first_seen
        and each.began <= until
        for each in disruptions
    )
