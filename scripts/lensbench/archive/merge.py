"""Merges the parts of one benchmark that ran on several machines (docs/merging.md).

The parts must have the same plan, the same repository files and the same criteria. They are only read. The merged
folder is renamed into place when it is complete; one left by a killed merge is rebuilt. If a run is valid in several
parts, the part that started the task's runs first is used, whatever the scores.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.preflight_results import read_listed_tools
from lensbench.core.records import Record, RunId, run_files, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.claim import at_work
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.program import run_program
from lensbench.judging.shown_answers import read_tasks
from lensbench.plan.config import RUN_ID
from lensbench.plan.freeze import differences
from lensbench.plan.frozen import frozen_tasks, read_plan
from lensbench.runs.budget import spend, spent
from lensbench.runs.discards import discard_files_of, is_discarded
from lensbench.runs.validity import planned_runs, read_filed, read_records
from lensbench.scores.account import note, read_ledger

_FROZEN = (RunFolder.config, RunFolder.protocol)
_OWN = (RunFolder.checksums, RunFolder.copies, RunFolder.look_ledger)
_SHORT = 80


class Part(NamedTuple):
    """A run folder with some of the runs."""

    folder: Path
    plan: Plan
    records: Mapping[RunId, Record]

    @property
    def name(self) -> str:
        """The name that the user gave."""
        return str(self.folder)

    def counts(self, run: RunId) -> bool:
        """True for a run that exists and was not discarded."""
        record = self.records.get(run)
        return record is not None and not record.last.reason and not is_discarded(self.folder, run)


def merge(folders: Sequence[Path], output: Path) -> list[str]:
    """Merges the parts into a new run folder; returns lines for the user.

    Raises UserError for parts of different experiments, and when the folder exists with other content.
    """
    if not re.fullmatch(RUN_ID, output.name):
        raise UserError(f"{output}: is not a valid run name; use letters, digits and '-' only, such as bench/joined")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError("a part is named twice, so its spending would count twice; name each once")
    parts = [_read(folder) for folder in folders]
    if any("bank" in part.plan for part in parts):
        raise UserError("parts with a borrowed baseline (bank) cannot be merged; do all runs on one machine")
    if found := [line for part in parts[1:] for line in _differences(parts[0], part)]:
        listed = "\n".join(f"  {line}" for line in found)
        raise UserError(f"these are not parts of one benchmark:\n{listed}")
    new = output.with_name(f".{output.name}.merging")
    shutil.rmtree(new, ignore_errors=True)
    lines = _join(parts, new, output.name)
    if not output.exists():
        new.rename(output)
        return [*lines, f"{output} is complete; continue with: snakemake --cores N --config run_id={output.name}"]
    made = (path.relative_to(new) for path in new.rglob("*") if path.is_file())
    has_all = all(_same(new / path, output / path) for path in made if path.parts[0] not in _OWN)
    shutil.rmtree(new)
    if not has_all:
        raise UserError(f"{output}: already exists and is something else; name a new folder")
    return [*lines, f"{output} has all of this already"]


def _read(folder: Path) -> Part:
    if worker := at_work(folder):
        raise UserError(f"{folder}: process {worker.process} is running on it; merge the parts when it has ended")
    plan = read_plan(folder)
    return Part(folder, plan, read_records(folder, plan))


def _differences(first: Part, other: Part) -> Iterator[str]:
    """The differences between two parts, one sentence each."""
    plans = _fingerprint(first.plan), _fingerprint(other.plan)
    for name, before, now in differences(*plans, sorted({*plans[0], *plans[1]})):
        yield f"{name}: {_shown(before)} in {first.name}, {_shown(now)} in {other.name}"
    criteria = read_tasks(first.folder), read_tasks(other.folder)
    for task in first.plan["order"]:
        if criteria[0].get(task) != criteria[1].get(task) and task in other.plan["tasks"]:
            yield f"task {task}: the criteria in {first.name} and {other.name} differ"
    trees = _trees(first.folder), _trees(other.folder)
    for source in sorted(trees[0].keys() & trees[1].keys()):
        if trees[0][source] != trees[1][source]:
            yield f"repository {source}: the files in {first.name} and {other.name} differ"
    tools = read_listed_tools(first.folder), read_listed_tools(other.folder)
    if all(tools) and tools[0] != tools[1]:
        listed = [f"{', '.join(names)} in {part.name}" for names, part in zip(tools, (first, other), strict=True)]
        yield f"the servers' tools differ: {'; '.join(listed)}"


def _fingerprint(plan: Plan) -> Mapping[str, object]:
    """The plan without the values that may differ between machines: the name and the cache folder."""
    sandbox = {name: value for name, value in plan.get("sandbox", {}).items() if name != "hidden"}
    return {**plan, "run_id": "", "sandbox": sandbox}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _trees(folder: Path, fact: str = "tree_sha256") -> dict[str, str]:
    """A fact of each repository that was fetched for a part; none when the file is missing or damaged."""
    try:
        fetched = json.loads(RunFolder(folder).repositories.read_text(encoding="utf-8"))
        return {source: repository[fact] for source, repository in fetched.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _join(parts: Sequence[Part], new: Path, run_id: str) -> list[str]:
    first = parts[0]
    new.mkdir(parents=True)
    RunFolder(new).checksums.touch()  # from here on, checksums are noted, and discards are copied
    for name in _FROZEN:
        write_atomic(new / name, (first.folder / name).read_bytes())
    write_atomic(RunFolder(new).tasks, frozen_tasks(first.folder).read_bytes())
    settings = yaml.safe_load(RunFolder(new).config.read_text(encoding="utf-8")) | {"run_id": run_id}
    write_atomic(RunFolder(new).config, yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
    shutil.copytree(RunFolder(first.folder).prompts, RunFolder(new).prompts)
    chosen = {run: _chosen(parts, run) for run in planned_runs(first.plan)}
    for run, part in chosen.items():
        if part:
            _copy_run(part.folder, new, run)
    for run in chosen:
        _copy_discards(parts, new, run)
    _copy_judging(parts, new)
    for part in parts:
        _copy_once(part, new, sorted(RunFolder(part.folder).human.glob("*.json")))
        spend(new, **spent(part.folder))
        note(new, read_ledger(part.folder))
        _copy_missing(part, new, RunFolder.preflight)
        if all(
            Path(tree).exists() for tree in _trees(part.folder, "tree").values()
        ):  # otherwise they are fetched on this machine
            _copy_missing(part, new, RunFolder.repositories)
    write_json(RunFolder(new).plan, {**first.plan, "run_id": run_id})
    return _told(parts, chosen)


def _chosen(parts: Sequence[Part], run: RunId) -> Part | None:
    """The part whose run is used: a valid one if there is any, of several the one that started the task first."""
    having = [part for part in parts if run in part.records]
    counting = [part for part in having if part.counts(run)]
    if counting:
        return min(counting, key=lambda part: _began(part, run))
    return max(having, key=lambda part: _started(part.records[run]), default=None)


def _began(part: Part, run: RunId) -> str:
    """The start time of the part's first valid run of the task and trial."""
    together = [other for other in part.records if (other.task, other.trial) == (run.task, run.trial)]
    return min(_started(part.records[other]) for other in together if part.counts(other))


def _started(record: Record) -> str:
    return record.last.started_at


def _copy_run(source: Path, target: Path, run: RunId) -> None:
    """Copies a run with its timestamps, because Snakemake repeats a run whose discard is newer."""
    for old, new in zip(run_files(source, run), run_files(target, run), strict=True):
        if old.exists():
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)


def _copy_discards(parts: Sequence[Part], new: Path, run: RunId) -> None:
    """Copies the discards of all parts, each once, in the order in which their runs started. An invalid run that was
    not filed yet, and is not used, is filed as well, so that no paid run is lost."""
    found = {}
    for part in parts:
        for path in discard_files_of(part.folder, run):
            told = read_filed(path)
            said = {"reason": told.reason, "detail": told.detail} | ({"score": told.score} if told.score else {})
            found[told.record_sha256] = (told.record, said, path.with_suffix(".md").read_bytes())
        record = part.records.get(run)
        if record and record.last.reason and not is_discarded(part.folder, run):
            files = run_files(part.folder, run)
            content, said = files.record.read_bytes(), {"reason": record.last.reason, "detail": record.last.detail}
            found[sha256(content)] = (json.loads(content), said, files.answer.read_bytes())
    ordered = sorted(found.items(), key=lambda each: (each[1][0]["attempts"][-1]["started_at"], each[0]))
    for number, (digest, (told_record, said, answer)) in enumerate(ordered, 1):
        path = RunFolder(new).discards / f"{run.stem}-{number}.json"
        write_atomic(path.with_suffix(".md"), answer)
        write_json(path, {"number": number, **said, "record_sha256": digest, "record": told_record})


def _copy_judging(parts: Sequence[Part], new: Path) -> None:
    """Copies the replies of model judges, by the hash of the request; of two replies the first that is a verdict."""
    for part in parts:
        for path in sorted(RunFolder(part.folder).judging.glob("*/*.json")):
            target = new / path.relative_to(part.folder)
            if not _is_reply(target):
                write_atomic(target, path.read_bytes())


def _is_reply(path: Path) -> bool:
    try:
        return not json.loads(path.read_text(encoding="utf-8")).get("failure")
    except (OSError, ValueError, AttributeError):
        return False


def _copy_once(part: Part, new: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        target = new / path.relative_to(part.folder)
        if target.exists() and not _same(path, target):
            raise UserError(f"{path}: another part has a different file with this name; rename one of them")
        write_atomic(target, path.read_bytes())


def _copy_missing(part: Part, new: Path, name: str) -> None:
    if (part.folder / name).exists() and not (new / name).exists():
        write_atomic(new / name, (part.folder / name).read_bytes())


def _same(path: Path, other: Path) -> bool:
    return other.is_file() and path.read_bytes() == other.read_bytes()


def _told(parts: Sequence[Part], chosen: Mapping[RunId, Part | None]) -> list[str]:
    """A line for each part, and one for each difference from a benchmark on one machine."""
    counts = Counter(part.name for part in chosen.values() if part)
    lines = [f"{part.name}: {counts[part.name]} of {len(chosen)} runs" for part in parts]
    for run, standing in chosen.items():
        others = [part.name for part in parts if standing and part is not standing and part.counts(run)]
        if standing and others:
            lines.append(
                f"{run.stem}: is valid in {standing.name} and {', '.join(others)}; the first, started earlier, is used"
            )
    origins: dict[tuple[str, int], set[str]] = {}
    for run, standing in chosen.items():
        if standing:
            origins.setdefault((run.task, run.trial), set()).add(standing.name)
    for (task, trial), names in origins.items():
        if len(names) > 1:
            lines.append(
                f"{task}, trial {trial}: its runs come from {' and '.join(sorted(names))}, which started apart"
            )
    return lines


def main() -> None:
    """Merge the parts of one benchmark into a new run folder."""
    parser = argparse.ArgumentParser(prog="lensbench merge", description=main.__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="run", help="a run folder with a part of the runs")
    parser.add_argument("--output", required=True, type=Path, help="the merged run folder, bench/<run_id>")
    given = parser.parse_args()
    print(*merge(given.runs, given.output), sep="\n")


if __name__ == "__main__":
    run_program(main)
