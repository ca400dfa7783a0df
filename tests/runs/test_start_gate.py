import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from lensbench.runs import start_gate
from lensbench.runs.start_gate import at_the_gate

SCRIPTS = Path(__file__).parents[2] / "scripts"

# A run: comes after a while, passes, works, goes. Every step is a line of one file, in the order in which it happened.
RUN = """
    import json, os, sys, time
    from lensbench.runs import start_gate
    job = json.loads(sys.argv[1])
    limit, grace = job.get("limit", 60), job.get("grace", start_gate.GRACE_S)
    log = os.open(job["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    def say(word):
        os.write(log, f"{word} {job['name']}\\n".encode())
    time.sleep(job.get("before", 0))
    say("came")
    with start_gate.at_the_gate(job["folder"], job["name"], job["partners"], limit, grace):
        say("passed")
        time.sleep(job.get("work", 0))
        say("left")
"""


class Gate:
    """Starts runs at a gate and tells what happened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gate"
        self.log = folder / "log"
        self.started: list[subprocess.Popen[bytes]] = []

    def run(self, name: str, *partners: str, **settings: float) -> subprocess.Popen[bytes]:
        job = {
            "folder": str(self.folder),
            "log": str(self.log),
            "name": name,
            "partners": partners,
            **settings,
        }
        command = [sys.executable, "-SP", "-c", textwrap.dedent(RUN), json.dumps(job)]
        self.started.append(subprocess.Popen(command, env={"PYTHONPATH": str(SCRIPTS)}))
        return self.started[-1]

    def events(self) -> list[str]:
        """What happened, once all runs are gone."""
        for process in self.started:
            process.wait(60)
        return self.log.read_text().splitlines()

    def happened(self, event: str) -> bool:
        return self.log.exists() and event in self.log.read_text().splitlines()

    def wait_for(self, event: str) -> None:
        while not self.happened(event):
            assert any(process.poll() is None for process in self.started), event


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def test_nobody_passes_before_all_partners_have_come(gate: Gate) -> None:
    names = ["a", "b", "c"]
    for number, name in enumerate(names):
        gate.run(name, *(other for other in names if other != name), before=0.3 * number)
    events = gate.events()
    assert max(events.index(f"came {name}") for name in names) < min(
        events.index(f"passed {name}") for name in names
    )
    assert os.listdir(gate.folder) == []


def test_a_partner_that_is_done_before_the_other_looks_has_come(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick one passes and goes while the slow one sleeps between two looks; the slow one need not wait for GRACE_S."""
    gate.run("slow", "quick", work=0.2, grace=1000)
    gate.wait_for("came slow")
    gate.run("quick", "slow", grace=1000)
    assert gate.events()[-1] == "left slow"


@pytest.mark.parametrize("partners", [[], ["never"]])
def test_a_limit_of_nothing_or_nobody_to_wait_for_opens_at_once(
    gate: Gate, partners: list[str]
) -> None:
    gate.run("a", *partners, limit=0 if partners else 60, grace=1000)
    assert gate.events() == ["came a", "passed a", "left a"]


def test_the_limit_opens_the_gate_although_somebody_runs(gate: Gate) -> None:
    gate.run("other", limit=0, work=600)
    gate.wait_for("passed other")
    gate.run("a", "b", limit=0.5, grace=1000).wait(30)
    gate.started[0].kill()
    assert gate.events()[-2:] == ["passed a", "left a"]


@pytest.mark.slow
def test_a_partner_that_never_comes_is_given_up_when_nobody_runs(gate: Gate) -> None:
    gate.run("a", "b", grace=0.3, limit=1000)
    assert gate.events() == ["came a", "passed a", "left a"]


@pytest.mark.slow
def test_a_partner_is_waited_for_while_somebody_runs_whose_end_could_make_room_for_it(
    gate: Gate,
) -> None:
    gate.run("other", limit=0, work=600)
    gate.wait_for("passed other")
    gate.run("a", "b", grace=0.3, limit=1000)
    gate.wait_for("came a")
    time.sleep(1.5)  # five times as long as it waits where nobody runs
    assert not gate.happened("passed a")
    gate.started[0].kill()
    assert gate.events()[-2:] == ["passed a", "left a"]


@pytest.mark.slow
def test_two_halves_of_pairs_do_not_wait_for_each_other(gate: Gate) -> None:
    gate.run("a-with", "a-without", grace=0.3, limit=1000)
    gate.run("b-with", "b-without", grace=0.3, limit=1000)
    assert sorted(gate.events()[-4:]) == [
        "left a-with",
        "left b-with",
        "passed a-with",
        "passed b-with",
    ]


@pytest.mark.slow
def test_a_killed_partner_counts_as_gone_and_its_file_is_no_partner(gate: Gate) -> None:
    gate.run("b", limit=0, work=600)
    gate.wait_for("passed b")
    gate.started[0].send_signal(signal.SIGKILL)
    gate.started[0].wait()
    assert os.listdir(gate.folder) == ["b"]
    gate.run("a", "b", grace=0.3, limit=1000)
    gate.events()
    again = [gate.run("a", "b", grace=1000, limit=1000), gate.run("b", "a", grace=1000, limit=1000)]
    assert [process.wait(30) for process in again] == [0, 0]
    assert os.listdir(gate.folder) == []


def test_what_a_killed_run_noted_lets_its_repetition_not_pass(gate: Gate) -> None:
    gate.folder.mkdir()
    (gate.folder / "a").write_text("b\n")
    gate.run("a", "b", grace=1000)
    gate.run("b", "a", grace=1000, before=0.5)
    events = gate.events()
    assert events.index("came b") < events.index("passed a")


@pytest.mark.slow
def test_a_partner_that_is_killed_at_the_gate_does_not_hold_up_the_other(gate: Gate) -> None:
    gate.run("c", "a", "b", grace=1000, limit=1000)
    gate.wait_for("came c")
    gate.started[0].kill()
    gate.started[0].wait()
    gate.run("a", "b", "c", grace=0.3, limit=1000)
    gate.run("b", "a", "c", grace=0.3, limit=1000)
    assert sorted(gate.events()[-4:]) == ["left a", "left b", "passed a", "passed b"]


def test_an_error_inside_leaves_the_gate_clean(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), at_the_gate(str(tmp_path), "a", [], 0):
        raise RuntimeError
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_quick_pairs_all_pass_together_and_none_is_stuck(gate: Gate, seed: int) -> None:
    """Up to four at a time, as Snakemake starts them: neighbours in the queue, the next one when one has gone."""
    rng = random.Random(seed)
    names = [f"{number}{side}" for number in range(12) for side in "ab"]
    waiting = [*names]
    while waiting:
        if sum(process.poll() is None for process in gate.started) < 4:
            name = waiting.pop(0)
            partner = name[:-1] + ("b" if name.endswith("a") else "a")
            settings = {"before": rng.choice([0, 0, 0.02]), "work": rng.choice([0, 0, 0.03])}
            gate.run(name, partner, grace=1000, limit=1000, **settings)
    events = gate.events()
    assert [process.returncode for process in gate.started] == [0] * len(names)
    for name in names:
        assert events.index(f"passed {name}") > events.index(f"came {name[:-1]}a")
        assert events.index(f"passed {name}") > events.index(f"came {name[:-1]}b")
    assert os.listdir(gate.folder) == []


def test_the_grace_is_long_enough_for_the_next_job_and_a_removed_gate_file_fails_no_run(
    tmp_path: Path,
) -> None:
    assert start_gate.GRACE_S >= 1
    with at_the_gate(str(tmp_path), "a", [], 0):
        (tmp_path / "a").unlink()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("is_due", [True, False])
def test_a_run_finished_elsewhere_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_due: bool
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    with at_the_gate(str(tmp_path), "a-with", ["a-without"], 0.1, 0.1, lambda: is_due):
        assert bool(pauses) == is_due
