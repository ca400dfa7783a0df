"""Starts pytest with its own reporter: `python -s pytest_starter.py <report> <pytest's arguments>`; the nonce on stdin.

It runs in the environment of the tests, where lensbench is not installed, so it needs only pytest. The report is opened
before any code of the repository is imported. The current folder is last on the module path.
"""

import json
import os
import sys
from importlib.metadata import distributions
from typing import Any, TextIO


class Reporter:
    """Writes the result of each phase of a test as it ends; nothing is kept that could be changed later."""

    def __init__(self, report: TextIO, nonce: str) -> None:
        self._report = report
        self._nonce = nonce
        self._lines = 0

    def _write(self, *values: str | int) -> None:
        self._report.write(json.dumps([self._nonce, *values]) + "\n")
        self._report.flush()
        self._lines += 1

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Writes the result of a test: that of its call, and a failure in its preparation or end."""
        if report.passed and report.when != "call":
            return
        self._write(report.nodeid, report.outcome)

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Writes that a test failed by an assertion."""
        is_assertion = (
            isinstance(call.excinfo.value, AssertionError) or call.excinfo.typename == "Failed"
        )
        if call.when == "call" and is_assertion:
            self._write(report.nodeid, "failed by an assertion")

    def pytest_collectreport(self, report: Any) -> None:
        """Writes that a file does not load."""
        if report.failed:
            self._write(report.nodeid, "failed")

    def pytest_sessionfinish(self) -> None:
        """Writes the number of lines."""
        self._write(self._lines)


def plugins_of_environment(arguments: list[str]) -> list[str]:
    """The options that load the plugins installed in the environment, and none that lies in the repository."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if "--disable-plugin-autoload" in arguments:
        return []
    own = os.path.join(os.getcwd(), "")
    names = dict.fromkeys(
        point.name
        for distribution in distributions()
        if not str(distribution.locate_file("")).startswith(own)
        for point in distribution.entry_points
        if point.group == "pytest11" and f"no:{point.name}" not in arguments
    )
    return [word for name in names for word in ("-p", name)]


def main() -> int:
    """pytest's exit status."""
    with open(sys.argv.pop(1), "w", encoding="utf-8") as report:
        nonce = sys.stdin.readline().strip()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        own = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [path for path in sys.path if path not in ("", own)]
        plugins = plugins_of_environment(sys.argv[1:])
        import pytest

        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        # pytest's own form of traceback reads the whole test file again for each failure
        options = [
            *plugins,
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
            "--tb=native",
        ]
        return int(pytest.main([*options, *sys.argv[1:]], plugins=[Reporter(report, nonce)]))


if __name__ == "__main__":
    sys.exit(main())
