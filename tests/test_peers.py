"""The comparison with other harnesses: what its own counting rests on. No peer is installed or started."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from metering import Kept, Ledger, Meter, account  # noqa: E402

AGENT = BENCHMARKS / "peers" / "agent.sh"
PLANNED = [("t-0", "without"), ("t-0", "with"), ("t-1", "without"), ("t-1", "with")]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="adopts orphans as only Linux lets it"),
]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger")
    yield made
    made.close()


def run(ledger: Ledger, *command: str, kill_at: int | None = None) -> tuple[float, int, int]:
    """CPU seconds, processes left, exit code."""
    cost = Meter(ledger).run(
        command, ledger.path.parent, dict(os.environ), ledger.path.parent / "log", kill_at
    )
    return cost.cpu_s, cost.left, cost.exit_code


def test_a_resume_that_loses_doubles_or_buys_what_was_not_in_flight_is_seen() -> None:
    before = ["start t-0 without", "start t-0 with", "end t-0 without", "start t-1 without"]
    after = ["start t-0 without", "end t-0 without", "start t-0 with", "end t-0 with"]
    rows = [("t-0", "without"), ("t-0", "without"), ("t-0", "with"), ("t-1", "without")]
    assert account(PLANNED, before, after, rows) == Kept(
        finished=1, bought=5, again=1, final=3, doubled=1, lost=1
    )
    before = ["start t-0 without", "start t-0 with", "end t-0 with"]
    after = [
        f"{word} {task} {name}"
        for task, name in PLANNED
        if name != "with"
        for word in ("start", "end")
    ]
    after += ["start t-1 with", "end t-1 with"]
    assert account(PLANNED, before, after, PLANNED) == Kept(
        finished=1, bought=5, again=0, final=4, doubled=0, lost=0
    )


@pytest.mark.parametrize("condition", ["without", "with"])
def test_the_agent_notes_the_same_for_words_and_for_files(ledger: Ledger, condition: str) -> None:
    folder = ledger.path.parent
    (folder / f"{condition}.md").write_text("Only this condition has it.")
    (folder / "prompt").write_text("t-7: What is fact 7?\n\nMore.")
    for third, fourth in (
        (str(folder / "with.md"), str(folder / "prompt")),
        (condition, "t-7: What is fact 7?"),
    ):
        assert run(ledger, str(AGENT), str(ledger.path), "0", third, fourth)[2] == 0
    assert ledger.lines == [f"start t-7 {condition}", f"end t-7 {condition}"] * 2
    assert (folder / "log").read_text().count("forty-two") == 2


def test_a_harness_is_killed_at_its_place_and_what_it_leaves_is_counted_and_ended(
    ledger: Ledger,
) -> None:
    endless = f"sleep 300 & while true; do {AGENT} {ledger.path} 0 with t-1: ; done"
    _, left, code = run(ledger, "sh", "-c", endless, kill_at=3)
    assert code == -9
    assert left >= 1
    assert len([line for line in ledger.lines if line.startswith("start")]) >= 3


def test_work_of_a_detached_child_counts(ledger: Ledger) -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    cpu_s, left, code = run(ledger, "sh", "-c", f"setsid '{sys.executable}' -S -c '{busy}' &")
    assert (left, code) == (0, 0)
    assert cpu_s >= 0.2
