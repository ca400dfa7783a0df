"""Tests of a group (`xdist_group`) are remembered by their own names.

pytest-xdist adds `@group` to them. As `--last-failed` knows no such test, the second try of `make test` would leave out
those that failed.
"""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Takes the group out of the name, in the process that reports: a worker's names are compared with its tests."""
    name, mark, group = report.nodeid.rpartition("@")
    if mark and group.isidentifier() and "PYTEST_XDIST_WORKER" not in os.environ:
        report.nodeid = name
