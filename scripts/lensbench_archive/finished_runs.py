"""Reads a finished run in the protocol's format that others made, and lists its rule violations.

    <folder>/scenarios*.md                        the tasks, in one file or several
    <folder>/runs/<task>-<condition>.md           the answers
    <folder>/runs/timing.csv                      `task,condition,seconds,attempt=N`, and model_mapping rows
    <folder>/results.md                           its date, and `**Repo**: <path>`, with which cited files begin; with
                                                  `**Repos**:` each file of tasks, or each beginning of their ids,
                                                  is about one of several

Values that cannot be read are never guessed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.handed_over import read_handed_over
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.tasks import Task
from lensbench.plan.task_files import read_scenarios
from lensbench.runs.reports import parse_report

BASELINE = "without"
TREATMENT = "with"
"""The protocol's two conditions."""

_CONDITION = re.compile(r"[a-z][a-z0-9_]{0,31}")
_REPOSITORY = re.compile(
    r"^\*\*Repo(?:sitory)?\*\*:[ \t]*(?:`(/[^`\r\n]*)`|(/[^`\r\n]*)$)", re.MULTILINE
)
"""A path in backticks, or with a note in brackets."""
_REPOSITORIES = re.compile(
    r"^\*\*Repo(?:sitorie)?s\*\*:(?P<paths>[^\r\n]*(?:\r?\n(?:[ \t]*\r?\n)?[ \t]*[-*+|][^\r\n]*)*)",
    re.MULTILINE,
)
_PATH = re.compile(r"`(/[^`\r\n]+)`|(?<![\w.`/])(/[^`,;()|\r\n]*[^\s`,;()|])")
_DATE = re.compile(r"^\*\*Date\*\*:[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2})\b", re.MULTILINE)
_TIMING_ROW = re.compile(
    r"([^,]+),([^,]+),\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*,\s*attempt=([1-9][0-9]{0,3})\s*", re.ASCII
)


class Timed(NamedTuple):
    """The duration in seconds and the number of the attempt that gave the answer."""

    seconds: float
    attempt: int


@dataclass(frozen=True)
class Timing:
    """The content of timing.csv. Of several rows for a run the last one counts."""

    runs: Mapping[tuple[str, str], Timed]
    """By task and condition."""
    models: Mapping[str, str]
    repeated: tuple[str, ...] = ()
    """Runs with more than one row."""
    problems: tuple[str, ...] = ()
    """The ignored lines, one sentence each."""


def parse_timing(text: str) -> Timing:
    """The rows of a timing.csv. A line that does not match the protocol's format becomes a problem, never a number."""
    runs: dict[tuple[str, str], Timed] = {}
    models: dict[str, str] = {}
    repeats: dict[str, None] = {}
    problems: list[str] = []
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), 1):
        name, _, rest = line.partition(",")
        if name.strip() == "model_mapping":
            for pair in rest.split(","):
                names = [part.strip() for part in pair.split("=")]
                if len(names) != 2 or not all(names):
                    problems.append(
                        f"timing.csv:{number}: ignored this model mapping: {pair[:80]!r}"
                    )
                elif models.setdefault(*names) != names[1]:
                    name_here, model = names
                    problems.append(
                        f"timing.csv:{number}: {name_here} is {model} here, but {models[name_here]} above"
                    )
        elif row := _TIMING_ROW.fullmatch(line):
            run = (row[1].strip(), row[2].strip())
            if run in runs:
                repeats["-".join(run)] = None
            runs[run] = Timed(float(row[3]), int(row[4]))
        elif line.strip():
            problems.append(f"timing.csv:{number}: ignored this line: {line[:80]!r}")
    return Timing(runs, models, tuple(repeats), tuple(problems))


@dataclass(frozen=True)
class Finished:
    """A finished run as found."""

    sets: Mapping[str, tuple[Task, ...]]
    """File name -> its tasks."""
    conditions: tuple[str, ...]
    """The baseline first."""
    answers: Mapping[RunId, bytes]
    timing: Timing
    originals: Mapping[str, bytes]
    """Task sets, and timing.csv and results.md if there are any, by name."""
    left_out: tuple[str, ...]
    """Names of answers that belong to no task or no condition."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The ids of all tasks."""
        return tuple(task.id for tasks in self.sets.values() for task in tasks)

    @property
    def said(self) -> str:
        """The text of its results.md."""
        return text(self.originals.get("results.md", b""))

    @cached_property
    def workspaces(self) -> Mapping[str, str]:
        """Task -> path of its repository at the time, from results.md; a name instead of a path when several cannot be
        told apart."""
        paths = self._listed_paths()
        if len(paths) < 2:
            path = paths[0] if paths else self._only_path()
            return dict.fromkeys(self.tasks, path)
        groups = self._groups()
        matches = match_repositories(groups, paths)
        found = {}
        for group, tasks in groups.items():
            for task in tasks:
                found[task] = matches[group]
        return found

    def _listed_paths(self) -> list[str]:
        """The paths of a list of repositories."""
        several = _REPOSITORIES.search(self.said)
        if not several:
            return []
        listing = _PATH.findall(several["paths"])
        return list(dict.fromkeys(literal or bare for literal, bare in listing))

    def _only_path(self) -> str:
        """The path of the line that names one repository; "" without it."""
        one = _REPOSITORY.search(self.said)
        if not one:
            return ""
        return one[1] or _without_note(one[2] or "")

    def _groups(self) -> dict[str, list[str]]:
        """The tasks grouped by file (its name without `scenarios`), or with a single file, by the prefix of their
        ids."""
        if len(self.sets) > 1:
            return {
                Path(name).stem.removeprefix("scenarios").strip("-_. ") or name: [
                    task.id for task in tasks
                ]
                for name, tasks in self.sets.items()
            }
        groups: dict[str, list[str]] = {}
        for task in self.tasks:
            groups.setdefault(task.partition("-")[0], []).append(task)
        return groups


def match_repositories(groups: Iterable[str], paths: Sequence[str]) -> dict[str, str]:
    """Group -> the path whose last part contains its name, or the only path left, else the name itself."""
    matches: dict[str, str] = {}
    unknown = []
    for group in groups:
        fits = [path for path in paths if _is_named(group, path)]
        if len(fits) == 1:
            matches[group] = fits[0]
        else:
            unknown.append(group)
    left = [path for path in paths if path not in matches.values()]
    if len(left) == len(unknown) == 1:
        matches[unknown[0]] = left[0]
    for group in unknown:
        matches.setdefault(group, group)
    return matches


def _is_named(group: str, path: str) -> bool:
    """True when one of the two names, the group's and that of the path's last part, is in the other."""
    name = _letters(group)
    last = _letters(basename(path))
    return bool(name and last) and (name in last or last in name)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def read_finished(folder: Path) -> Finished:
    """The finished run in `folder`. Raises UserError when it is none, or its tasks cannot be read."""
    _refuse_links(folder)
    sets = sorted(path for path in folder.glob("scenarios*.md") if path.is_file())
    if not sets:
        raise UserError(
            f"{folder}: has no scenarios.md; a finished run has tasks there and answers in runs/"
        )
    tasks = tuple(task.id for task in read_scenarios(map(str, sets), imported=True).tasks)
    by_file = {path.name: read_scenarios([str(path)], imported=True).tasks for path in sets}
    runs = RunFolder(folder).runs
    paths = [path for path in sorted(runs.rglob("*.md")) if path.is_file()]
    files = {path.relative_to(runs).with_suffix("").as_posix(): path for path in paths}
    conditions = find_conditions(tasks, files)
    stems = set()
    answers = {}
    for task, name in itertools.product(tasks, conditions):
        run = RunId(task, name)
        stems.add(run.stem)
        if run.stem in files:
            answers[run] = read_handed_over(files[run.stem]).encode()
    if not answers:
        raise UserError(
            f"{RunFolder(folder).runs}: has no answer to a task of {sets[0].name}; answers are <task>-<condition>.md"
        )
    contents = {}
    for path in (*sets, RunFolder(folder).timing, RunFolder(folder).results):
        if path.is_file():
            contents[path.name] = read_handed_over(path).encode()
    timing = parse_timing(text(contents.get("timing.csv", b"")))
    left_out = tuple(sorted(files.keys() - stems))
    return Finished(by_file, conditions, answers, timing, contents, left_out)


def _refuse_links(folder: Path) -> None:
    """Raises UserError for a symbolic link, which could lead to private files of this machine."""
    for path in (
        *folder.glob("scenarios*.md"),
        RunFolder(folder).results,
        RunFolder(folder).runs,
        *RunFolder(folder).runs.rglob("*"),
    ):
        if path.is_symlink():
            target = os.readlink(path)
            raise UserError(
                f"{path}: is a link to {target}; links are not imported: put the file itself there"
            )


def find_conditions(tasks: Iterable[str], stems: Iterable[str]) -> tuple[str, ...]:
    """The conditions in the names of the answers, the baseline first.

    Words other than with and without count if they follow the last `-` in the answers of at least two tasks.
    """
    ids = set(tasks)
    counts: Counter[str] = Counter()
    for stem in stems:
        task, _, name = stem.rpartition("-")
        if task in ids:
            counts[name] += 1
    names = {name for name, count in counts.items() if count > 1 and _CONDITION.fullmatch(name)}
    if TREATMENT in counts:
        names.add(TREATMENT)
    treatments = sorted(names - {BASELINE}, key=lambda name: (name != TREATMENT, name))
    return (BASELINE, *(treatments or [TREATMENT]))


def find_warnings(old_run: Finished) -> list[str]:
    """The rule violations of a finished run, one sentence each, except those inside a task set."""
    has_timing = "timing.csv" in old_run.originals
    stems = {run.stem for run in old_run.answers}
    timed = set()
    late = []
    for (task, condition), row in old_run.timing.runs.items():
        stem = RunId(task, condition).stem
        timed.add(stem)
        if row.attempt > 1:
            late.append(f"{stem} ({row.attempt})")
    answered = {run.task for run in old_run.answers}
    unanswered = []
    missing = []
    for task in old_run.tasks:
        if task not in answered:
            unanswered.append(task)
            continue
        for condition in old_run.conditions:
            stem = RunId(task, condition).stem
            if stem not in stems:
                missing.append(stem)
    reports = {run: parse_report(text(answer)) for run, answer in old_run.answers.items()}
    unreported = [run.stem for run, report in reports.items() if not report.present]
    groups: dict[str, Iterable[str]] = {
        "Answers ignored, because their names have no known task or condition": old_run.left_out,
        "Tasks without any answer": unanswered,
        "Runs without an answer, although another condition has one": missing,
        "Answers without a report": unreported,
        "Runs whose answer came from a later attempt": late,
        "Runs with several rows in timing.csv, of which the last one counts": old_run.timing.repeated,
        "Runs in timing.csv that have no answer": sorted(timed - stems),
    }
    if has_timing:
        groups["Runs without a duration in timing.csv"] = sorted(stems - timed)
    warnings = []
    if len(old_run.sets) > 1:
        warnings.append(f"The tasks come from several files: {', '.join(old_run.sets)}.")
    for what, names in groups.items():
        if names:
            warnings.append(f"{what}: {', '.join(names)}.")
    unknown = set()
    for workspace in old_run.workspaces.values():
        if workspace and not workspace.startswith("/"):
            unknown.add(workspace)
    if unknown:
        names = ", ".join(sorted(unknown))
        warnings.append(
            f"results.md names several repositories, and it is unknown which ones these are: {names}."
        )
    if date := _DATE.search(old_run.said):
        warnings.append(f"The date in results.md is {date[1]}.")
    if not has_timing:
        warnings.append("There is no timing.csv: no run has a duration, and the model is unknown.")
    return [shown(warning) for warning in [*warnings, *old_run.timing.problems]]


def text(content: bytes) -> str:
    """The content of a foreign file as text."""
    return content.decode()


def shown(text: str) -> str:
    """The text, made printable: file names may contain bytes that are not text."""
    return text.encode(errors="backslashreplace").decode()


def _without_note(path: str) -> str:
    bare, bracket, note = path.rstrip().rpartition(" (")
    return bare.rstrip() if bracket and note.endswith(")") else path.rstrip()
