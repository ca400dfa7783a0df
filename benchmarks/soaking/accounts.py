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

from lensbench.core.records import RunId, run_files
from lensbench.runs.discards import discard_files_of
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
    bench: Path, runs: Sequence[RunId], injector: Injector, disruptions: Sequence[Disruption], stood: set[str]
) -> Accounts:
    """The accounts. `stood` are the places of all answers that were finished at the end of a start."""
    accounts = Accounts()
    seen: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in sorted(injector.attempts.values(), key=lambda attempt: attempt.first_seen):
        seen[attempt.stem].append(attempt)
    for run in runs:
        attempts, kept = seen[run.stem], _kept(bench, run)
        fates = _fates([attempt.place for attempt in attempts], kept)
        accounts.fates |= {attempt.place: fates.get(attempt.place, IN_FLIGHT) for attempt in attempts}
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
                accounts.doubled.append(f"{run.stem}: the answer of {attempt.place} was bought and thrown away")
    accounts.wrongly_counted += _wrong_tables(bench, runs)
    return accounts


def _kept(bench: Path, run: RunId) -> list[tuple[str, dict[str, Any]]]:
    """The records of a run, and why each does not count: those of its discards, then the current one."""
    discards = [json.loads(path.read_text(encoding="utf-8")) for path in discard_files_of(bench, run)]
    kept = [(str(discard["reason"]), discard["record"]) for discard in discards]
    final = run_files(bench, run).record
    standing = json.loads(final.read_text(encoding="utf-8")) if final.exists() else None
    return [*kept, ("", standing)] if standing and standing not in (record for _, record in kept) else kept


def place_of(record: dict[str, Any]) -> str:
    """The private folder of the attempt that gave the answer."""
    return Path(record["workspace"]).parent.name


def _fates(places: Sequence[str], kept: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    """The outcomes of the attempts in `places` by the records, in the order of the attempts.

    Only the last attempt of a record names its place; the others are those just before it.
    """
    fates: dict[str, str] = {}
    begin = 0
    for reason, record in kept:
        place = place_of(record)
        if place not in places:
            continue  # it ended before it asked for anything
        end = places.index(place)
        fates[place] = f"discarded: {reason}" if reason else COUNTS
        earlier = [attempt["reason"] for attempt in record["attempts"][:-1]]
        for other, why in zip(reversed(places[begin:end]), reversed(earlier), strict=False):
            fates[other] = f"tried again: {why}"
        begin = end + 1
    return fates


def _wrong(bench: Path, run: RunId, attempt: Attempt) -> str:
    """Why the answer of this attempt must not count; "" when it may."""
    if not attempt.is_good:
        fault = attempt.fault.name if attempt.fault else "no whole answer was given"
        return f"counts although: {fault}"
    answer = run_files(bench, run).answer.read_bytes()
    is_cut = attempt.fault is not None and attempt.fault.reply is not None and attempt.fault.reply.stop_reason
    is_its_own = attempt.place.encode() in answer if is_cut else hashlib.sha256(answer).hexdigest() == attempt.given
    if not is_its_own:
        return "its answer is not the one that was given"
    return ""


def _wrong_tables(bench: Path, runs: Sequence[RunId]) -> list[str]:
    """Wrong rows of the tables: each WITH answer must have both facts, each WITHOUT answer one."""
    wrong = []
    for row in _rows(bench / "scores.csv"):
        expected = {"with": "1", "without": "0.5"}[row["condition"]]
        if row["score"] != expected:
            wrong.append(f"{row['task']}-{row['condition']}: scored {row['score'] or 'nothing'}, not {expected}")
    lines = (bench / "runs" / "timing.csv").read_text(encoding="utf-8").splitlines()[1:]
    last = {tuple(line.split(",")[:2]): line.split(",")[2] for line in lines}
    recorded = 0
    for run in runs:
        records = [record for _, record in _kept(bench, run)]
        recorded += sum(len(record["attempts"]) for record in records)
        truth = f"{records[-1]['attempts'][-1]['duration_s']:g}" if records else None
        if (timed := last.get((run.task, run.condition))) != truth:
            wrong.append(f"{run.stem}: timing.csv says {timed} s last, its record {truth}")
    spent = json.loads((bench / "spent.json").read_text(encoding="utf-8"))["runs"]
    if spent < recorded:
        wrong.append(f"spent.json knows of {spent} attempts, the records of {recorded}")
    return wrong


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _was_disrupted(attempt: Attempt, following: Attempt | None, disruptions: Sequence[Disruption]) -> bool:
    """True when a disruption hit the run after the start of this attempt, and before that of the next one."""
    until = following.first_seen if following else float("inf")
    return any(
        (attempt.stem in each.runs or each.hits_all) and each.ended >= attempt.first_seen and each.began <= until
        for each in disruptions
    )
