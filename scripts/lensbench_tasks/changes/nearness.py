"""The tests of a large repository that are nearest to a change: its whole suite would take hours."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from lensbench.core.project_files import is_test_program
from lensbench.core.system.trees import walk

LARGE = 1000
"""A repository of so many files has a suite that takes hours, so the tests nearest to the reference stand for it."""
_CHANGED = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)
_WORD = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_ROOTS = ("src", "lib")


def tree_files(tree: Path) -> Iterator[str]:
    """The paths of the files of a repository, without git's."""
    for folder, folders, names in walk(str(tree)):
        if folder == str(tree) and ".git" in folders:
            folders.remove(".git")
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), tree)


def changed_files(reference: str) -> list[str]:
    """The files that a patch writes, in its order."""
    return _CHANGED.findall(reference)


def nearest_tests(
    tree: Path,
    reference: str,
    hidden: Collection[str],
    count: int,
) -> tuple[str, ...]:
    """The `count` test programs nearest to a patch: those that are replaced by hidden ones, then those that name most
    of its files in their path, imports or place."""
    changed = [PurePosixPath(path) for path in changed_files(reference)]
    scores = {}
    for path in tree_files(tree):
        if path in hidden or not is_test_program(path):
            continue
        text = (tree / path).read_text(encoding="utf-8", errors="replace")
        test = PurePosixPath(path)
        scores[path] = sum(_nearness(test, text, file) for file in changed)
    near = [path for path in scores if scores[path]]
    near.sort(key=lambda path: (-scores[path], path))
    own = []
    for path in sorted(hidden):
        if (tree / path).is_file() and is_test_program(path):
            own.append(path)
    return (*own, *near[: max(0, count - len(own))])


def _nearness(
    test: PurePosixPath,
    text: str,
    changed: PurePosixPath,
) -> int:
    """3 for the names of the changed file and one of its folders in the path of the test, 2 for its import, 1 for a
    place beside it."""
    parts = [part for part in changed.with_suffix("").parts if part not in _ROOTS]
    if parts[-1] == "__init__":
        parts.pop()
    *folders, stem = parts
    module = ".".join([*folders, stem])
    words = set(_WORD.findall(str(test)))
    inner = set(folders[1:])
    is_named = stem.strip("_") in words and (not inner or bool(words & inner))
    is_imported = re.search(rf"\b{re.escape(module)}\b", text) is not None
    is_beside = changed.parent in (test.parent, test.parent.parent)
    return 3 * is_named + 2 * is_imported + is_beside
