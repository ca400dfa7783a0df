"""What a benchmark may cost, and how everything is stopped."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lensbench.agents.adapters.claude_code import read
from lensbench.agents.prices import Prices, priced
from lensbench.core.errors import UserError
from lensbench.core.records import Outcome
from lensbench.core.run_folder import RunFolder
from lensbench.runs.stopping import (
    StopEverything,
    check_budget,
    check_not_stopped,
    clear,
    spend,
    spent,
    stop_everything,
)


def test_nothing_is_spent_at_first_and_many_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    assert spent(tmp_path) == {"runs": 0, "hours": 0, "usd": 0}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: spend(tmp_path, runs=1, usd=0.1), range(200)))
    spend(tmp_path, runs=1)  # its cost is told at its end
    assert spent(tmp_path) == {"runs": 201, "hours": 0, "usd": 20.0}


def test_hours_without_a_cost_count_at_the_price_of_an_hour_so_far(tmp_path: Path) -> None:
    spend(tmp_path, runs=1, hours=1.0, usd=None)
    assert spent(tmp_path)["usd"] == 0
    spend(tmp_path, runs=3, hours=3.0, usd=8.0)
    spend(tmp_path, runs=1, hours=0.5, usd=None)
    assert spent(tmp_path) == {"runs": 5, "hours": 4.5, "usd": 9.0}


@pytest.mark.parametrize(
    "damaged", ['{"runs": 3', "[1]", '{"usd": "much"}', "\x00\x00", '{"usd": null}']
)
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
from lensbench.runs.stopping import spend
spend(Path(sys.argv[1]), runs=3, usd=2.5)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
spend(Path(sys.argv[1]), runs=1)
"""


def test_a_ledger_that_cannot_be_written_forgets_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(tmp_path)], capture_output=True, text=True
    )
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
def test_a_limit_that_is_reached_stops_everything(
    tmp_path: Path, limits: dict[str, float], stops: bool
) -> None:
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


OWN: Prices = {
    "*glm*": {"input": 7, "output": 0, "cache_read": 0, "cache_write": 0, "date": "", "source": ""}
}
MILLION = {"input": 10**6, "output": 10**6, "cache_read": 10**6, "cache_write": 10**6}


@pytest.mark.parametrize(
    ("outcome", "usd"),
    [
        (Outcome(cost_usd=0.25, models=("claude-sonnet-5",), tokens=MILLION), 0.25),
        (Outcome(models=("claude-sonnet-5-20260301",), tokens=MILLION), 2 + 10 + 0.2 + 2.5),
        (Outcome(models=("us.anthropic.Claude-Opus-4-6",), tokens={"output": 2 * 10**6}), 50),
        (Outcome(models_asked=("gpt-5",), tokens={"input": 10**6, "output": 0}), 1.25),
        (Outcome(models=("gpt-5-mini", "gpt-5"), tokens={"input": 10**6}), 0.25),
        (Outcome(models=("GLM-5",), tokens=MILLION), 7),
        (Outcome(models=("glm-5",), tokens=MILLION, cost_usd=0.002, cost_is_guess=True), 7),
        (Outcome(models=("who",), tokens=MILLION, cost_usd=0.002, cost_is_guess=True), 0.002),
        (Outcome(models=("gpt-5-pro",), tokens=MILLION), 0),
        (Outcome(models=("openai/gpt-5-2025-08-07",), tokens=MILLION), 12.625),
        (Outcome(models=("my-own-model",), tokens=MILLION), 0),
        (Outcome(models=("gpt-5",)), 0),
    ],
)
def test_where_no_cost_is_reported_the_least_that_the_tokens_cost_is_spent(
    outcome: Outcome, usd: float
) -> None:
    assert (priced(outcome, OWN).cost_usd or 0) == pytest.approx(usd)


def test_a_run_without_a_result_has_the_tokens_of_its_messages() -> None:
    usage = {"input_tokens": 800_000, "cache_read_input_tokens": 100, "output_tokens": 1}
    message = {"id": "m1", "model": "claude-sonnet-5", "usage": usage}
    events = [
        message,
        {**message, "usage": {**usage, "output_tokens": 50}},
        {**message, "id": "m2"},
    ]
    outcome = read(json.dumps({"type": "assistant", "message": event}) for event in events)
    assert outcome.tokens == {"input": 1_600_000, "output": 51, "cache_read": 200, "cache_write": 0}
    assert (priced(outcome, {}).cost_usd or 0) > 3.2
    assert read(['{"type": "assistant", "message": {"model": "m"}}']).tokens is None
