"""What the suite itself rests on."""

import os

import pytest


@pytest.mark.xdist_group("together")
def test_tests_of_a_group_share_a_worker(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("one process runs all tests")
    assert request.node.nodeid.endswith("@together")
