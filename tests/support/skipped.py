"""Writes down which tests were skipped, so that they can be asked again where what they lack is there:

    PATH=... pytest --note-skipped FILE; pytest @FILE

`.ci/run` does so. A file of names is what pytest takes with `@`, one a line.
"""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.addoption(
        "--note-skipped", type=Path, metavar="FILE", help="write the names of skipped tests there"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Listens in the process that reports; a second attempt at what failed knows only these tests."""
    file = config.getoption("--note-skipped")
    is_second = config.getoption("--last-failed", False)
    if file and not is_second and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Skipped(file))


class Skipped:
    """The names of the tests that this session skips."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.names: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a skipped test; one that was expected to fail is none."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.names.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Writes the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("".join(f"{name}\n" for name in sorted(self.names)), encoding="utf-8")
