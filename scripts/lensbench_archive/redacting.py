"""Replaces names, paths and texts in the files of an archive: the same text by the same word everywhere, so that every
number can be rebuilt (docs/archives.md)."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import MECHANICAL
from lensbench.core.handed_over import read_answer
from lensbench.core.records import RunId, sealed_again, sha256
from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import RECORD, all_records
from lensbench.core.system.files import write_atomic
from lensbench.core.tables import read_table, run_of_row
from lensbench.judging.blinding import opaque_id, without_report
from lensbench.judging.judges import mechanical
from lensbench.judging.judges.normalising import normalise
from lensbench.judging.shown_answers import read_tasks
from lensbench.plan.frozen import read_plan
from lensbench_archive import RUN
from lensbench_archive.completeness import check_plan
from lensbench_archive.leaks import read_text
from lensbench_archive.rebuilding import rebuild
from lensbench_archive.redaction import Line, Redaction, find_texts
from lensbench_archive.unpacking import files_in

_DIGEST = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{10})\b")
"""A hash, or the name of an answer on the judge sheet."""


def redact(
    bag: Path, names: Sequence[str], target: Path, lines: Sequence[Line]
) -> tuple[Redaction, Counter[str]]:
    """Copies these files of an archive to `target` with words for texts, also in names, and the hashes of what changed.
    Returns the texts, and how often each word took the place of one."""
    contents: dict[str, str] = {}
    texts = [bag.name, *names]
    for name in names:
        contents[name] = read_text(bag / name)
        texts.extend(_parts(name, contents[name]))
    redaction = find_texts(lines, texts)
    digests = _answer_names(bag / RUN, redaction)
    for digest, text in read_plan(bag / RUN).get("texts", {}).items():
        digests[digest] = _hash(redaction(text))
    counts = Counter[str]()
    for name, text in contents.items():
        contents[name] = redaction(text, ".json" in name, counts)
        digests[_hash(text)] = _hash(contents[name])

    def digest_now(match: re.Match[str]) -> str:
        digest = match[0]
        return digests.get(digest, digest)

    for name, text in contents.items():
        path = target / redaction(name, counts=counts)
        if path.exists():
            raise UserError(f"{name}: another file has the same name after redaction; rename it")
        after = _DIGEST.sub(digest_now, text)
        if path.name == RECORD:
            after = sealed_again(after)
        _write(path, after)
    return redaction, counts


def _parts(name: str, text: str) -> Iterator[str]:
    """The strings in a file of JSON, or of lines of JSON; a line that is none, and any other file, as it is."""
    if ".json" not in name:
        yield text
        return
    with suppress(ValueError, RecursionError):
        yield from _strings_in(json.loads(text))
        return
    for line in text.splitlines():
        try:
            yield from _strings_in(json.loads(line))
        except (ValueError, RecursionError):
            yield line


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item)


def _answer_names(folder: Path, redaction: Redaction) -> dict[str, str]:
    """The names of answers on the judge sheet, before and after."""
    seed = read_plan(folder)["seed"]
    names: dict[str, str] = {}
    for entry, record in all_records(folder):
        answer = read_answer(entry.answer)
        before = opaque_id(seed, record.run, answer)
        task = redaction(record.task)
        condition = redaction(record.condition)
        run = RunId(task, condition, record.trial)
        names[before] = opaque_id(seed, run, redaction(answer))
    return names


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape"))


def _write(path: Path, text: str) -> None:
    content = text.encode(errors="surrogateescape")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, content)


def check(run: Path, before: Path, redaction: Redaction, lines: Iterable[Line]) -> None:
    """Rebuilds the redacted run folder. Raises UserError when a verdict or a figure differs from those of `before`, or
    when one of the texts is left."""
    try:
        check_plan(run)
        problems = rebuild(run)
    except UserError as error:
        raise UserError(f"with these redactions no figure can be rebuilt: {error}") from None
    _refuse_other_verdicts(before, run, redaction)
    if problems:
        raise UserError(
            f"redaction changes what a judge has read, so its stored replies support nothing: {problems[0]};"
            " judge by patterns and people (judging: {private: true})"
        )
    figures = set(_figures(_results(before), redaction))
    changed = figures ^ set(_figures(_results(run), Redaction()))
    if changed:
        place = min(place for place, _ in changed)
        raise UserError(
            f"redaction would change results.json, {place}; leave out the lines that name tasks, conditions or tools"
        )
    for name, path in files_in(run).items():
        parts = [name, *_parts(name, read_text(path))]
        for line in lines:
            if any(map(line.finds, parts)):
                raise UserError(
                    f"{line.place}: fits what is left in {name}; no archive was written"
                )


def _results(folder: Path) -> Any:
    return json.loads(RunFolder(folder).results_json.read_text(encoding="utf-8"))


def _refuse_other_verdicts(before: Path, run: Path, redaction: Redaction) -> None:
    """Raises UserError for the first verdict that differs."""
    again = {}
    for row in read_table(RunFolder(run).verdicts, VerdictRow):
        again[_key(row, Redaction())] = row["verdict"]
    for row in read_table(RunFolder(before).verdicts, VerdictRow):
        now = again.get(_key(row, redaction))
        if now != row["verdict"]:
            what = f"task {row['task']}, {row['condition']}, trial {row['trial']}, criterion {row['criterion']}"
            raise UserError(
                f"{_culprit(before, row, redaction)}: would change the verdict of {row['judge']} on {what} from"
                f" {row['verdict']} to {now}; its pattern must have the whole text, or leave the line out"
            )


def _key(row: VerdictRow, redaction: Redaction) -> tuple[str, ...]:
    return (
        redaction(row["task"]),
        redaction(row["condition"]),
        redaction(row["judge"]),
        str(row["trial"]),
        str(row["criterion"]),
    )


def _culprit(before: Path, row: VerdictRow, redaction: Redaction) -> str:
    """The line that alone changes a verdict of the patterns; without one, all lines together."""
    places = redaction.places
    if row["judge"] == MECHANICAL:
        criterion = read_tasks(before)[row["task"]].criteria[int(row["criterion"]) - 1]
        answer = read_answer(RunFolder(before).runs / f"{run_of_row(row).stem}.md")
        for place in places:
            alone = redaction.of_line(place)
            changed = criterion.model_validate_json(
                alone(criterion.model_dump_json(), is_json=True)
            )
            shown = normalise(without_report(alone(answer)).text)
            if mechanical.judge(changed, shown).verdict != row["verdict"]:
                return place
    return ", ".join(places)


def _figures(value: Any, redaction: Redaction, place: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and truth values in plain data, with their places; texts are left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _figures(item, redaction, f"{place}{redaction(key)}.")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _figures(item, redaction, f"{place}{number}.")
    elif not isinstance(value, str):
        yield place, value


def summary(
    redaction: Redaction, lines: Sequence[Line], counts: Mapping[str, int]
) -> dict[str, Any]:
    """What was replaced, for the archive: how many lines found something, and how often each word stands for a text."""
    return {
        "lines": len(lines),
        "used": len(redaction.places),
        "replaced": dict(sorted(counts.items())),
    }
