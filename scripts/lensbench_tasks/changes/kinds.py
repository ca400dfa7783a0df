"""Classifies the files of a project by their names as source, tests or neither."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePosixPath


class Kind(Enum):
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

_TEST_FOLDERS = frozenset(
    ("test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures")
)
_TEST_NAME = re.compile(
    r"test_.*\.py|.*_tests?\.(py|go|rs)|tests?\.(py|[cm]?[jt]sx?)|conftest\.py|.*[._-](test|spec|tst)\.[cm]?[jt]sx?"
)
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


def kind_of(path: str) -> Kind:
    """The kind of the file at `path`. Fixtures next to tests are tests."""
    pure = PurePosixPath(path.lower())
    if _TEST_FOLDERS.intersection(pure.parts[:-1]) or _TEST_NAME.fullmatch(pure.name):
        return Kind.TEST
    if (
        _OTHER_FOLDERS.intersection(pure.parts[:-1])
        or _OTHER_NAMES.fullmatch(pure.name)
        or pure.suffix not in CODE
    ):
        return Kind.OTHER
    return Kind.SOURCE


def is_program(path: str) -> bool:
    """True when a test runner starts the test file at `path`; False for helpers and data."""
    return bool(_TEST_NAME.fullmatch(PurePosixPath(path.lower()).name)) and not path.endswith(
        "conftest.py"
    )
