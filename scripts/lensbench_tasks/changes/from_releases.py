"""Change tasks from two releases of a package on PyPI or npm."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.changes.task import PYTEST, Binary, ChangeTask, Content, FromSource
from lensbench.core.errors import UserError
from lensbench.core.project_files import is_test_program
from lensbench.core.tasks import Npm, Pypi, Source
from lensbench.repositories.prepare import prepare
from lensbench.repositories.sources import npm, pypi
from lensbench_tasks.changes.candidates import ChangeFate, Prover, task_id
from lensbench_tasks.changes.kinds import FileKind, kind_of
from lensbench_tasks.changes.pieces import differences, patch
from lensbench_tasks.changes.prompts import HiddenNeeds, category_of, entry_of, needs, write_prompt
from lensbench_tasks.changes.releases import ReleaseChange, changes_between
from lensbench_tasks.changes.suites import Suite
from lensbench_tasks.changes.telling import without_chaff, without_the_fix

_FORM = re.compile(r"(pypi|npm):(@?[A-Za-z0-9._/-]+?)@([0-9][^@,\s]*?)\.\.([0-9][^@,\s]*)")
MAX_CHANGED_LINES = 200
"""The maximum number of changed lines of a task."""


class Releases(NamedTuple):
    """Two releases of a package, pinned."""

    name: str
    earlier: Source
    later: Source
    versions: tuple[str, str]


def read_releases(text: str) -> Releases:
    """The releases of `<index>:<name>@<earlier>..<later>`, pinned by their hashes in the index.

    Raises UserError.
    """
    match = _FORM.fullmatch(text)
    if not match:
        raise UserError(
            f"--releases {text}: write pypi:<name>@<earlier>..<later>, or npm:<name>@<earlier>..<later>"
        )
    index, name, before, after = match.groups()
    earlier = _pinned(index, name, before)
    later = _pinned(index, name, after)
    return Releases(task_id(name), earlier, later, (before, after))


def _pinned(index: str, name: str, version: str) -> Source:
    if index == "npm":
        return Npm(npm=f"{name}@{version}", integrity=npm.integrity(name, version))
    return Pypi(pypi=f"{name}=={version}", sha256=pypi.sha256(name, version))


def tasks_between(releases: Releases, bench: Prover) -> Iterator[ChangeFate]:
    """A task, or the reasons against it, for each change between the releases. Raises UserError."""
    earlier = prepare(releases.earlier, bench.cache).tree.resolve()
    later = prepare(releases.later, bench.cache).tree.resolve()
    suite = bench.suite(earlier)
    installation = bench.environment(suite.environments[0], earlier)
    tests_of_later = differences(earlier, later, lambda path: kind_of(path) is FileKind.TEST)
    test_paths = [piece.path for piece in tests_of_later if piece.lines]
    files = contents_of(later, test_paths)
    whole: list[str] = []
    if suite.report == PYTEST:
        whole = sorted({path.partition("/")[0] for path in test_paths})

    def run(
        tree: Path, programs: Sequence[str], only: Collection[str]
    ) -> Mapping[str, bool] | None:
        selection = dict(files)
        for path in files:
            if is_test_program(path) and path not in programs:
                del selection[path]
        words = programs or whole
        if only and suite.report == PYTEST:
            words = sorted(only)
        tests = bench.hidden_tests(suite, words, selection)
        trial = bench.run(tree, b"", tests, installation)
        if trial.problem:
            return None
        return {name: name in trial.passing for name in trial.results}

    entries = _news(earlier, later)
    for number, change in enumerate(changes_between(earlier, later, run), 1):
        name = f"{releases.name}-{releases.versions[1].replace('.', '-')}-{number:02}"
        paths = sorted({piece.path for piece in change.pieces})
        lines = sum(piece.size for piece in change.pieces)
        what = f"{', '.join(paths)}: {lines} lines"
        if lines > MAX_CHANGED_LINES:
            problem = f"it changes {lines} lines, more than {MAX_CHANGED_LINES}"
            yield ChangeFate.refused(name, what, problem)
            continue
        text = patch(change.pieces, earlier)
        hidden_texts = [str(files[path]) for path in change.tests]
        terms = needs(text, hidden_texts, earlier)
        task = _task(name, releases, change, suite, entries, terms, text, bench)
        task = task.model_copy(update={"reference": text})
        yield bench.judged(task, what, earlier, installation)


def contents_of(tree: Path, paths: Iterable[str]) -> dict[str, Content | FromSource]:
    """The contents of these files of a tree."""
    contents: dict[str, Content | FromSource] = {}
    for path in paths:
        data = (tree / path).read_bytes()
        contents[path] = Binary.text_or_bytes(data)
    return contents


def _task(
    name: str,
    releases: Releases,
    change: ReleaseChange,
    suite: Suite,
    entries: Sequence[str],
    terms: HiddenNeeds,
    reference: str,
    bench: Prover,
) -> ChangeTask:
    programs = [*filter(is_test_program, change.tests)]
    files = dict.fromkeys(change.tests, FromSource(source=releases.later))
    tests = bench.hidden_tests(suite, programs, files)
    tests = tests.model_copy(update={"fail_to_pass": change.fail_to_pass, "pass_to_pass": "all"})
    words = [*change.fail_to_pass]
    for piece in change.pieces:
        words += [line.decode(errors="replace") for line in piece.lines]
    entry = entry_of(entries, words)
    entry, _ = without_the_fix(without_chaff(entry), reference, terms.own_names)
    return ChangeTask(
        id=name,
        kind="change",
        category=category_of(entry),
        repository=releases.earlier,
        prompt=write_prompt(entry, change.fail_to_pass, terms),
        tests=tests,
        environment=suite.environments[0],
    )


def _news(earlier: Path, later: Path) -> list[str]:
    """The change log entries of the later release that the earlier one lacks."""
    entries: list[str] = []
    for log in later.iterdir():
        former = earlier / log.name
        is_log = re.match(r"(?i)(changelog|changes|history|news)\b", log.name)
        if not is_log or not log.is_file() or not former.is_file():
            continue
        former_text = former.read_text(errors="replace", encoding="utf-8")
        old = set(former_text.splitlines())
        new = log.read_text(errors="replace", encoding="utf-8").splitlines()
        fresh = [line for line in new if line not in old]
        added = "\n".join(fresh)
        for entry in re.split(r"(?m)^\s*[-*+]\s+|\n\s*\n", added):
            words = entry.split()
            if len(words) > 3:
                entries.append(" ".join(words))
    return entries
