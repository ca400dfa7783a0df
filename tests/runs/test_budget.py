"""What a benchmark may cost, and how everything is stopped."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lensbench.agents.adapters.claude_code import read
from lensbench.agents.prices import Prices, priced
from lensbench.core.errors import UserError
from lensbench.core.records import Outcome
from lensbench.core.run_folder import RunFolder
from lensbench.runs.stopping import (
    NOT_STARTED,
    USUAL_HOURS,
    USUAL_USD,
    Ledger,
    StopEverything,
    check_budget,
    check_not_stopped,
    clear,
    free_if_it_fails,
    spend,
    spend_on_request,
    spent,
    start_attempt,
    stop_everything,
)


def attempt(folder: Path, usd: float | None, hours: float = 0.0, **facts: Any) -> None:
    """An attempt from its start to its end."""
    start_attempt(folder)
    spend(folder, Outcome(cost_usd=usd, **facts), hours)


def test_nothing_is_spent_at_first_and_many_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    assert spent(tmp_path) == Ledger()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: attempt(tmp_path, 0.1), range(200)))
    ledger = spent(tmp_path)
    assert (ledger.runs, ledger.usd, ledger.at_work, ledger.unknown) == (200, 20.0, 0, 0)


def test_an_attempt_of_unknown_cost_counts_as_the_dearest_known_one_until_its_cost_is_known(
    tmp_path: Path,
) -> None:
    start_attempt(tmp_path)
    attempt(tmp_path, None)  # its agent shows no cost
    for usd in (0.5, 2.0, 1.0):
        attempt(tmp_path, usd)
    assert (spent(tmp_path).usd_so_far, spent(tmp_path).usd_at_most) == (3.5, 3.5 + 2 * 2.0)
    with pytest.raises(StopEverything, match=r"7\.50 of 7 US dollars: 3\.50 known.*2 of unknown"):
        check_budget(tmp_path, {"max_usd": 7})
    spend(tmp_path, Outcome(cost_usd=0.25), 0.0)
    assert spent(tmp_path).usd_at_most == 3.75 + 2.0


def test_an_attempt_that_was_cut_off_costs_what_is_seen_or_its_hours_whichever_is_more(
    tmp_path: Path,
) -> None:
    attempt(tmp_path, 0.1, 1.0, finished=False)
    attempt(tmp_path, None, 0.5, finished=False)
    attempt(tmp_path, 9.0, 0.5, tokens_at_least=True)
    assert spent(tmp_path).usd_so_far == pytest.approx(1.5 * USUAL_USD / USUAL_HOURS + 9)
    attempt(tmp_path, 8.0, 4.0)  # 2 dollars an hour
    assert spent(tmp_path).usd_so_far == pytest.approx(8 + 2 + 1 + 9)
    assert spent(tmp_path).usd_at_most == spent(tmp_path).usd_so_far


def test_where_no_run_ever_shows_a_cost_each_counts_as_the_dearest_usual_one(
    tmp_path: Path,
) -> None:
    for _ in range(4):
        check_budget(tmp_path, {"max_usd": 4})
        attempt(tmp_path, None, 0.1)
    assert spent(tmp_path).usd_at_most == pytest.approx(4 * USUAL_USD)
    why = "4 of unknown cost at 1.19 each .as the dearest usual run, since no cost is known: add `prices`"
    with pytest.raises(StopEverything, match=why):
        check_budget(tmp_path, {"max_usd": 4})


def test_runs_at_work_do_not_use_up_a_small_limit_before_any_cost_is_known(tmp_path: Path) -> None:
    for _ in range(8):
        start_attempt(tmp_path)
        check_budget(tmp_path, {"max_usd": 0.5})
    spend(tmp_path, Outcome(cost_usd=0.1), 0.1)
    with pytest.raises(
        StopEverything, match=r"0\.80 of 0\.5 US dollars.*7 of unknown cost at 0\.10"
    ):
        check_budget(tmp_path, {"max_usd": 0.5})


def test_what_was_at_work_when_a_start_was_killed_has_a_cost_at_the_next_start(
    tmp_path: Path,
) -> None:
    start_attempt(tmp_path)
    clear(tmp_path)
    assert spent(tmp_path).usd_at_most == USUAL_USD
    spend(tmp_path, Outcome(cost_usd=0.25), 0.1)  # it was alive, on another machine
    assert spent(tmp_path).usd_at_most == 0.25


def test_known_costs_of_0_are_believed(tmp_path: Path) -> None:
    attempt(tmp_path, 0.0, 0.1)
    attempt(tmp_path, None, 0.1)
    attempt(tmp_path, None, 9.0, finished=False)
    assert spent(tmp_path).usd_at_most == 0


def test_only_an_error_before_the_agent_books_no_cost(tmp_path: Path) -> None:
    attempt(tmp_path, 2.0, 1.0)
    start_attempt(tmp_path)
    with pytest.raises(UserError), free_if_it_fails(tmp_path):
        raise UserError("it is not there")
    assert (spent(tmp_path).at_work, spent(tmp_path).usd_at_most) == (0, 2.0)


def test_an_attempt_without_an_agent_costs_nothing_and_a_request_is_no_attempt(
    tmp_path: Path,
) -> None:
    attempt(tmp_path, 2.0, 1.0)
    start_attempt(tmp_path)
    spend(tmp_path, NOT_STARTED, 0.0)
    spend_on_request(tmp_path, Outcome(cost_usd=0.5))
    spend_on_request(tmp_path, Outcome(error="overloaded"))
    assert (spent(tmp_path).usd_at_most, spent(tmp_path).runs) == (2.5, 2)
    spend_on_request(tmp_path, Outcome())
    assert spent(tmp_path).usd_at_most == 4.5


def test_a_ledger_of_an_older_version_is_read(tmp_path: Path) -> None:
    RunFolder(tmp_path).spent.write_text('{"runs": 24, "hours": 0.5, "usd": 3.0}  ')
    assert spent(tmp_path) == Ledger(runs=24, hours=0.5, usd=3.0, hours_known=0.5)


@pytest.mark.parametrize(
    "damaged", ['{"runs": 3', "[1]", '{"usd": "much"}', "\x00\x00", '{"usd": null}']
)
def test_a_damaged_ledger_forgets_no_budget(tmp_path: Path, damaged: str) -> None:
    RunFolder(tmp_path).spent.write_text(damaged)
    attempt(tmp_path, 1.0)
    assert RunFolder(tmp_path).spent.read_text() == damaged
    with pytest.raises(StopEverything, match=r"spent\.json is damaged"):
        check_budget(tmp_path, {"max_usd": 5})
    check_budget(tmp_path, {"max_usd": None})


NO_ROOM = """
import resource, sys
from pathlib import Path
from lensbench.core.records import Outcome
from lensbench.runs.stopping import spend, start_attempt
start_attempt(Path(sys.argv[1]))
spend(Path(sys.argv[1]), Outcome(cost_usd=2.5), 0.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
start_attempt(Path(sys.argv[1]))
"""


def test_a_ledger_that_cannot_be_written_forgets_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(tmp_path)], capture_output=True, text=True
    )
    assert "OSError" in done.stderr
    assert spent(tmp_path) == Ledger(runs=1, usd=2.5, largest_usd=2.5)


@pytest.mark.parametrize(
    ("limits", "stops"),
    [
        ({}, False),
        ({"max_runs": None, "max_usd": None, "max_hours": None}, False),
        ({"max_runs": 2}, False),
        ({"max_runs": 1}, True),
        ({"max_usd": 1.5}, True),
        ({"max_usd": 1.51}, False),
        ({"max_hours": 0.5}, True),
    ],
)
def test_a_limit_that_is_reached_stops_everything(
    tmp_path: Path, limits: dict[str, float], stops: bool
) -> None:
    attempt(tmp_path, 1.5, 0.5)
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


def test_what_stays_in_the_cache_for_an_hour_costs_twice_the_input() -> None:
    written = Outcome(models=("claude-sonnet-5",), tokens={"cache_write": 10**6})
    costs = [
        priced(replace(written, cache_write_1h=part), {}).cost_usd for part in (None, 0, 10**6)
    ]
    assert costs == [2.5, 2.5, 4.0]


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
        (Outcome(models=("gpt-5-pro",), tokens=MILLION), 165),
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
