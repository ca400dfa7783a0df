"""A plan whose window is used up under way: the runs wait for its reset, and nothing is counted."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from lensbench.workflow.status import Status, lines
from small_benchmark import RUNS, Project, wait_for


@pytest.fixture
def on_a_plan(project: Project) -> Project:
    """Its pauses are short."""
    services = project.copy_program() / "scripts" / "lensbench" / "agents" / "services.py"
    services.write_text(services.read_text().replace("FIRST_S = 30.0", "FIRST_S = 1.0"))
    return project


def check_nothing_was_counted(project: Project, refused: int) -> None:
    assert project.reasons() == {}
    rows = project.table("validity")
    assert [(row["status"], row["attempts"], row["discards"]) for row in rows] == [
        ("valid", "1", "none")
    ] * 4
    assert json.loads((project.bench / "spent.json").read_text())["runs"] == 4
    assert (len(project.ledger()), len(project.ledger("end"))) == (4 + refused, 4)


def test_runs_wait_for_the_reset_and_no_attempt_and_no_discard_is_counted(
    on_a_plan: Project,
) -> None:
    reset = time.time() + 12
    on_a_plan.behave(
        anna_with=[f"window {reset:.0f}", "answer"], anna_without=[f"window {reset:.0f}", "answer"]
    )
    on_a_plan.configure(budget={"max_runs": 5})
    on_a_plan.start(target="validity")
    check_nothing_was_counted(on_a_plan, refused=2)
    pair = [on_a_plan.record(f"anna-{condition}")["attempt"] for condition in ("with", "without")]
    assert all(
        each["started_at"] >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(reset - 1))
        for each in pair
    )
    assert abs(pair[0]["waited_s"] - pair[1]["waited_s"]) < 8, "they go on together"


def test_the_wait_is_shown_ends_at_ctrl_c_and_goes_on_at_the_next_start(on_a_plan: Project) -> None:
    reset = time.time() + 3600
    on_a_plan.behave(others=[f"window {reset:.0f}", "answer"])
    on_a_plan.configure()
    waiting: Any = on_a_plan.begin(target="validity")
    state = on_a_plan.folder / "bench" / ".services" / "command-events.json"
    logs = on_a_plan.bench / "logs"
    assert wait_for(
        lambda: sum("used up until" in path.read_text() for path in logs.glob("*-with*.log")) == 4
    )
    shown = [line for line in lines(Status(Path(on_a_plan.bench))) if line.startswith("waiting: ")]
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(int(f"{reset:.0f}")))
    assert shown[0].startswith(
        f"waiting: command-events: the plan's window is used up until {until}"
    )
    os.killpg(waiting.pid, signal.SIGINT)
    said, _ = waiting.communicate(timeout=60)
    assert "Traceback" not in said
    assert wait_for(lambda: not on_a_plan.processes()), on_a_plan.processes()
    assert not [*(on_a_plan.bench / "attempts").rglob("answer.md")]

    state.write_text(json.dumps({**json.loads(state.read_text()), "until": time.time()}))
    on_a_plan.start(*RUNS)
    check_nothing_was_counted(on_a_plan, refused=4)


def test_a_window_that_resets_next_week_stops_everything_with_its_time(on_a_plan: Project) -> None:
    on_a_plan.behave(others=f"window {time.time() + 7 * 86400:.0f}")
    on_a_plan.configure()
    said = on_a_plan.start("--cores", "1", target="validity", fails=True)
    assert "the plan's window is used up until 20" in said
    assert "; start again then" in said
    assert {row["status"] for row in on_a_plan.table("validity")} == {"missing"}
    assert not [*(on_a_plan.bench / "attempts").rglob("discard.json")]
