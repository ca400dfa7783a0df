"""What a benchmark may cost, and how everything is stopped."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.runs.budget import check_budget, spend, spent
from lensbench.runs.stopping import StopEverything, check_not_stopped, clear, stop_everything


def test_nothing_is_spent_at_first(tmp_path: Path) -> None:
    assert spent(tmp_path) == {"runs": 0, "hours": 0, "usd": 0}


def test_many_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: spend(tmp_path, runs=1, usd=0.1), range(200)))
    assert spent(tmp_path) == {"runs": 200, "hours": 0, "usd": 20.0}


@pytest.mark.parametrize("damaged", ['{"runs": 3', "[1]", '{"usd": "much"}', "\x00\x00", '{"usd": null}'])
def test_a_damaged_ledger_forgets_no_budget(tmp_path: Path, damaged: str) -> None:
    RunFolder(tmp_path).spent.write_text(damaged)
    spend(tmp_path, runs=1)
    assert RunFolder(tmp_path).spent.read_text() == damaged
    with pytest.raises(StopEverything, match=r"spent\.json is damaged"):
        check_budget(tmp_path, {"max_usd": 5})
    check_budget(tmp_path, {"max_usd": None})


NO_ROOM = """
import resource, sys
from pathlib import Path
from lensbench.runs.budget import spend
spend(Path(sys.argv[1]), runs=3, usd=2.5)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
spend(Path(sys.argv[1]), runs=1)
"""


def test_a_ledger_that_cannot_be_written_forgets_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", NO_ROOM, str(tmp_path)], capture_output=True, text=True)
    assert "OSError" in done.stderr
    assert spent(tmp_path) == {"runs": 3, "hours": 0, "usd": 2.5}


@pytest.mark.parametrize(
    ("limits", "stops"),
    [
        ({}, False),
        ({"max_runs": None, "max_usd": None, "max_hours": None}, False),
        ({"max_runs": 3}, False),
        ({"max_runs": 2}, True),
        ({"max_usd": 1.5}, True),
        ({"max_usd": 1.51}, False),
        ({"max_hours": 0.5}, True),
    ],
)
def test_a_limit_that_is_reached_stops_everything(tmp_path: Path, limits: dict[str, float], stops: bool) -> None:
    spend(tmp_path, runs=2, usd=1.5, hours=0.5)
    if not stops:
        check_budget(tmp_path, limits)
        return
    with pytest.raises(StopEverything, match=r"raise budget\.max_"):
        check_budget(tmp_path, limits)


def test_after_a_stop_no_other_run_starts_until_the_next_start(tmp_path: Path) -> None:
    check_not_stopped(tmp_path)
    stop_everything(tmp_path, "the key was refused")
    with pytest.raises(UserError, match="the key was refused"):
        check_not_stopped(tmp_path)
    clear(tmp_path)
    check_not_stopped(tmp_path)
