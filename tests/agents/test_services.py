import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lensbench.agents import services
from lensbench.agents.services import (
    LONGEST_WAIT_S,
    pause_left,
    record_response,
    service_of,
    used_up,
    wait_for,
)
from lensbench.core.errors import UserError
from lensbench.plan.config import Agent

SCRIPTS = Path(__file__).parents[2] / "scripts"
ASKING = """
import time
from lensbench.agents.services import record_response
for number in range(20):
    record_response("s", True, time.time())
    record_response("s", False, time.time())
"""


@pytest.fixture
def slept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waiting takes no time here: the clock is moved instead; how long was waited."""
    monkeypatch.chdir(tmp_path)
    found: list[float] = []
    clock = {"now": 1_000_000.0}

    def sleep(seconds: float) -> None:
        clock["now"] += seconds
        found.append(seconds)

    monkeypatch.setattr(time, "time", lambda: clock["now"])
    monkeypatch.setattr(time, "sleep", sleep)
    return found


def refuse() -> None:
    record_response("s", True, time.time())


def state(service: str) -> dict[str, float]:
    """What all programs read of a service."""
    found: dict[str, float] = json.loads((services.PLACE / f"{service}.json").read_text())
    return found


def pause_of(party: str, slept: list[float]) -> float:
    wait_for("s", party)
    return slept.pop() if slept else 0.0


@pytest.mark.parametrize(
    ("settings", "service"),
    [
        ({"kind": "claude-code"}, "claude-code"),
        ({"kind": "claude-code", "provider": "zai"}, "zai"),
        ({"base_url": "https://api.z.ai/api/anthropic", "provider": "custom"}, "api.z.ai"),
        ({"base_url": "http://user:secret@127.0.0.1:4000?x=secret"}, "127.0.0.1:4000"),
        ({"base_url": "gateway.example"}, "gateway.example"),
    ],
)
def test_a_service_is_named_without_secrets(settings: dict[str, Any], service: str) -> None:
    assert service_of(Agent.model_validate(settings).model_dump()) == service


def test_nobody_waits_and_nothing_is_written_before_a_service_refuses(slept: list[float]) -> None:
    record_response("s", False, time.time())
    assert pause_of("a", slept) == 0
    assert not Path("bench").exists()


def test_after_a_refusal_all_wait_parties_together(
    slept: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    refuse()
    left = [pause_left(state("s"), party) for party in ("a", "a", "b", "c")]
    assert (left[0], len(set(left))) == (left[1], 3)
    assert all(services.FIRST_S <= each <= 2 * services.FIRST_S for each in left)
    assert pause_of("a", slept) == pytest.approx(left[0])
    assert "s asked for a pause or is overloaded: waiting" in capsys.readouterr().err


def test_a_used_up_window_is_waited_for_unless_too_long(
    slept: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    record_response("s", True, time.time(), time.time() + 3600)
    said = used_up("s")
    assert said.startswith("s: the plan's window is used up until 1970-01-1")
    wait_for("s", "a")
    assert 3600 <= sum(slept) <= 3660
    assert f"{said}: waiting 36" in capsys.readouterr().err
    assert used_up("s") == ""
    with pytest.raises(
        UserError, match=r"s: the plan's window is used up until 1970-01-14 .*; start again then"
    ):
        record_response("s", True, time.time(), time.time() + 2 * 86400)


def test_another_service_goes_on(slept: list[float]) -> None:
    refuse()
    wait_for("other", "a")
    assert slept == []


def test_the_pause_grows_while_refusals_go_on_and_is_short_again_after_an_answer(
    slept: list[float],
) -> None:
    lengths = []
    for _ in range(7):
        refuse()
        refuse()  # the others that were refused in the same moment
        lengths.append(state("s")["pause_s"])
        wait_for("s", "a")
    assert lengths == [30, 60, 120, 240, 480, LONGEST_WAIT_S, LONGEST_WAIT_S]
    record_response("s", False, time.time())
    refuse()
    assert state("s")["pause_s"] == 30


def test_an_answer_to_an_older_request_ends_no_pause_and_an_older_refusal_adds_none(
    slept: list[float],
) -> None:
    before = time.time()
    refuse()
    record_response("s", False, before)
    assert state("s")["pause_s"] == 30
    wait_for("s", "a")
    record_response("s", True, before)
    assert state("s")["pause_s"] == 30
    assert state("s")["until"] > time.time()


def test_a_damaged_file_or_a_clock_that_was_set_back_causes_no_long_pause(
    slept: list[float],
) -> None:
    refuse()
    (file,) = Path("bench/.services").glob("*.json")
    file.write_text('{"until": 99999999999, "pause_s": 30}')
    assert pause_of("a", slept) == 0
    refuse()
    assert state("s")["pause_s"] == 30
    file.write_text("{")
    assert pause_of("a", slept) == 0
    refuse()
    assert state("s")["pause_s"] == 30


def test_many_processes_that_are_killed_leave_a_file_that_reads(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", ASKING]
    started = [
        subprocess.Popen(command, cwd=tmp_path, env={"PYTHONPATH": str(SCRIPTS)}) for _ in range(6)
    ]
    for process in started[:3]:
        process.kill()
    assert [process.wait(60) for process in started[3:]] == [0, 0, 0]
    assert set(json.loads((tmp_path / services.PLACE / "s.json").read_text())) == {
        "pause_s",
        "until",
        "is_window",
    }
