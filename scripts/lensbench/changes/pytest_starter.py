"""Starts pytest with its own reporter: `python -I pytest_starter.py <report> <pytest's arguments>`; the nonce on stdin.

It runs in the environment of the tests, where lensbench is not installed, so it needs only pytest. The report is opened
before any code of the repository is imported. The current folder is last on the module path: nothing in it can replace
modules of the standard library or pytest.
"""

import json
import os
import sys
from typing import Any, TextIO

ORDER = ("failed", "skipped", "passed")


class Reporter:
    """Collects the worst result of each test's phases, and writes them when the session ends."""

    def __init__(self, report: TextIO, nonce: str) -> None:
        self._report, self._nonce = report, nonce
        self._results: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Records one phase of one test."""
        found = "failed" if report.failed else "skipped" if report.skipped else "passed"
        self._results[report.nodeid] = min(found, self._results.get(report.nodeid, found), key=ORDER.index)

    def pytest_collectreport(self, report: Any) -> None:
        """Records a file that does not load."""
        if report.failed:
            self._results[report.nodeid] = "failed"

    def pytest_sessionfinish(self) -> None:
        """Writes the results and their number."""
        for name, result in self._results.items():
            self._report.write(json.dumps([self._nonce, name, result]) + "\n")
        self._report.write(json.dumps([self._nonce, len(self._results)]) + "\n")
        self._report.flush()


def main() -> int:
    """pytest's exit status."""
    with open(sys.argv.pop(1), "w", encoding="utf-8") as report:
        nonce = sys.stdin.readline().strip()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        own = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [path for path in sys.path if path not in ("", own)]
        import pytest

        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        options = ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
        return int(pytest.main([*options, *sys.argv[1:]], plugins=[Reporter(report, nonce)]))


if __name__ == "__main__":
    sys.exit(main())
