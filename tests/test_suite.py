"""What the suite itself rests on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.xdist_group("together")
def test_tests_of_a_group_share_a_worker(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("one process runs all tests")
    assert request.node.nodeid.endswith("@together")


def test_what_failed_in_a_group_is_tried_again(tmp_path: Path) -> None:
    support = Path(__file__).parent / "support"
    (tmp_path / "conftest.py").write_text("from groups import pytest_runtest_logreport\n")
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n\n@pytest.mark.xdist_group('slurm')\n@pytest.mark.parametrize('sign', ['@', 'a@b'])\n"
        "def test_a(sign):\n    assert False\n\n\ndef test_b():\n    assert False\n\n\ndef test_c():\n    pass\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:randomly",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
    }
    environment["PYTHONPATH"] = str(support)

    def tried(*arguments: str) -> str:
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.splitlines()[-1]

    assert "3 failed, 1 passed" in tried("-n", "2", "--dist", "loadgroup")
    assert "3 failed" in tried("-n", "0", "--last-failed", "--last-failed-no-failures", "none")


def test_no_module_of_the_suite_is_hidden() -> None:
    """Tests of measurements put benchmarks/ on the path, where it would hide a module of the same name."""
    top = Path(__file__).parents[1]
    assert not {path.name for path in top.glob("benchmarks/*.py")} & {
        path.name for path in top.glob("tests/**/*.py")
    }
