"""Which files of a project are tests, by their paths: the one answer for tasks, questions and judges."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_TEST_FOLDER = re.compile(
    r"_*(test|spec|e2e)_*"  # test/, __tests__/, spec/
    r"|(.*[._-])?(tests|specs)_*"  # unit_tests/, Shop.Tests/
    r"|(unit|integration|functional|acceptance|android|regression)[_-]?tests?",
    re.IGNORECASE,
)
_CAMEL_FOLDER = re.compile(r"\w*[a-z](Tests|Specs)")
_FOR_TESTS = re.compile(
    r"testing|testdata|fixtures|__(mocks|snapshots|fixtures)__"
    r"|(.*[_-])?test[_-]?(utils?|helpers?|support|kit)",
    re.IGNORECASE,
)
"""A folder, or a file without its extension, with what only tests use."""
_PROGRAM = re.compile(
    r"(unit)?test_.*\.py"
    r"|tests?\.(py|[cm]?[jt]sx?)"
    r"|.*_tests?\.(py|go|rs|cc|cpp|rb|exs|dart)"
    r"|.*[._-](tests?|specs?|tst|e2e|cy)\.[cm]?[jt]sx?"
    r"|.*\.test-d\.[cm]?tsx?"
    r"|.*_spec\.rb",
    re.IGNORECASE,
)
_CAMEL_PROGRAM = re.compile(
    r"(.*[a-z0-9])?(Tests?|TestCase|Spec|IT)\.(java|kt|cs|scala|groovy|php|swift)"
    r"|Tests?[A-Z].*\.(java|kt)"
)
_ALSO = re.compile(r"conftest\.py|tests?\.rs|test[_-].*\.[cm]?[jt]sx?", re.IGNORECASE)
"""Names of tests that no runner starts because of them."""


def is_test(path: str) -> bool:
    """True for a test, and for what only tests use: helpers, fixtures and data in their folders."""
    *folders, name = PurePosixPath(path).parts
    if is_test_program(path) or _ALSO.fullmatch(name):
        return True
    if _FOR_TESTS.fullmatch(name.partition(".")[0]):
        return True
    return any(is_test_folder(folder) or _FOR_TESTS.fullmatch(folder) for folder in folders)


def is_test_folder(name: str) -> bool:
    """True for the name of a folder of tests."""
    return bool(_TEST_FOLDER.fullmatch(name) or _CAMEL_FOLDER.fullmatch(name))


def is_test_program(path: str) -> bool:
    """True when test runners start the file at `path` because of its name; False for helpers and data."""
    name = PurePosixPath(path).name
    return bool(_PROGRAM.fullmatch(name) or _CAMEL_PROGRAM.fullmatch(name))
