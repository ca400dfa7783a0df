"""A plan whose window is used up under way: the runs wait for its reset, and nothing is counted."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from lensbench.workflow.status import Status, lines
from small_benchmark import RUNS, Project, wait_for


def check_nothing_was_counted(project: Project, refused: int) -> None:
    assert project.reasons() == {}
    rows = project.table("validity")
    assert [(row["status"], row["attempts"], row["discards"]) for row in rows] == [
        ("valid", "1", "none")
    ] * 4
    assert json.loads((project.bench / "spent.json").read_text())["runs"] == 4
    assert (len(project.ledger()), len(project.ledger("end"))) == (4 + refused, 4)


def test_runs_wait_for_the_reset_and_no_attempt_and_no_discard_is_counted(
    impatient: Project,
) -> None:
    reset = time.time() + 12
    impatient.behave(
        anna_with=[f"window {reset:.0f}", "answer"], anna_without=[f"window {reset:.0f}", "answer"]
    )
    impatient.configure(budget={"max_runs": 5})
    impatient.start(target="validity")
    check_nothing_was_counted(impatient, refused=2)
    pair = [impatient.record(f"anna-{condition}")["attempt"] for condition in ("with", "without")]
    assert all(
        each["started_at"] >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(reset - 1))
        for each in pair
    )
    assert abs(pair[0]["waited_s"] - pair[1]["waited_s"]) < 8, "they go on together"


def test_the_wait_is_shown_ends_at_ctrl_c_and_goes_on_at_the_next_start(impatient: Project) -> None:
    reset = time.time() + 3600
    impatient.behave(others=[f"window {reset:.0f}", "answer"])
    impatient.configure()
    waiting: Any = impatient.begin(target="validity")
    state = impatient.folder / "bench" / ".services" / "command-events.json"
    logs = impatient.bench / "logs"
    assert wait_for(
        lambda: sum("used up until" in path.read_text() for path in logs.glob("*-with*.log")) == 4
    )
    shown = [line for line in lines(Status(Path(impatient.bench))) if line.startswith("waiting: ")]
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(int(f"{reset:.0f}")))
    assert shown[0].startswith(
        f"waiting: command-events: the plan's window is used up until {until}"
    )
    os.killpg(waiting.pid, signal.SIGINT)
    said, _ = waiting.communicate(timeout=60)
    assert "Traceback" not in said
    assert wait_for(lambda: not impatient.processes()), impatient.processes()
    assert not [*(impatient.bench / "attempts").rglob("answer.md")]

    state.write_text(json.dumps({**json.loads(state.read_text()), "until": time.time()}))
    impatient.start(*RUNS)
    check_nothing_was_counted(impatient, refused=4)


def test_a_window_that_resets_next_week_stops_everything_with_its_time(impatient: Project) -> None:
    impatient.behave(others=f"window {time.time() + 7 * 86400:.0f}")
    impatient.configure()
    said = impatient.start("--cores", "1", target="validity", fails=True)
    assert "the plan's window is used up until 20" in said
    assert "; start again then" in said
    assert {row["status"] for row in impatient.table("validity")} == {"missing"}
    assert not [*(impatient.bench / "attempts").rglob("discard.json")]
