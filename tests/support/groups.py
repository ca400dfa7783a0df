"""Reports tests of a group (`xdist_group`) by their own names.

pytest-xdist adds `@group` to the names. `--last-failed` does not find such tests, so that the second attempt of
`make test` would skip failed ones.
"""

import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Removes the group from the name in the reporting process; in a worker, names must match its tests."""
    name, mark, group = report.nodeid.rpartition("@")
    if mark and group.isidentifier() and "PYTEST_XDIST_WORKER" not in os.environ:
        report.nodeid = name
