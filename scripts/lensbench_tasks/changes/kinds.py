"""Classifies the files of a project by their names as source, tests or neither."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePosixPath

from lensbench.core.project_files import is_test


class FileKind(Enum):
    """The purpose of a file."""

    SOURCE = "source"
    TEST = "test"
    OTHER = "other"


CODE = frozenset(
    (
        ".py",
        ".pyi",
        ".pyx",
        ".js",
        ".mjs",
        ".cjs",
        ".jsx",
        ".ts",
        ".mts",
        ".cts",
        ".tsx",
        ".go",
        ".rs",
        ".java",
        ".cs",
    )
)
"""Extensions of source files."""

_OTHER_FOLDERS = frozenset(
    (
        "doc",
        "docs",
        "example",
        "examples",
        "bench",
        "benches",
        "benchmark",
        "benchmarks",
        "script",
        "scripts",
        "tools",
        "node_modules",
        "tasks",
        ".github",
        ".circleci",
        "ci",
    )
)
_OTHER_NAMES = re.compile(
    r"setup\.py|noxfile\.py|conf\.py|_?version\.py|.*\.config\.[cm]?[jt]s|\..*|.*\.d\.[cm]?ts"
)


def kind_of(path: str) -> FileKind:
    """The kind of the file at `path`."""
    if is_test(path):
        return FileKind.TEST
    pure = PurePosixPath(path.lower())
    if (
        _OTHER_FOLDERS.intersection(pure.parts[:-1])
        or _OTHER_NAMES.fullmatch(pure.name)
        or pure.suffix not in CODE
    ):
        return FileKind.OTHER
    return FileKind.SOURCE
