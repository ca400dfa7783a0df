"""The self-test: it passes when the pipeline tells the truth, and fails when it does not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.core.system.places import ROOT
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import Estimate
from lensbench_demo import selftest
from lensbench_demo.controls import CONTROLS, Control, Planted
from programs import refusal, run_here, run_module
from small_benchmark import wait_for

LIFT, ORACLE, SAME = CONTROLS["lift"], CONTROLS["oracle"], CONTROLS["a-a"]


@pytest.mark.slow
def test_a_pipeline_that_scores_wrongly_fails_and_what_it_did_can_be_looked_at(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program"
    for name in ("rules", "scripts", "templates", "docs", "profiles"):
        shutil.copytree(ROOT / name, program / name)
    for name in ("Snakefile", "requirements.lock"):
        shutil.copy(ROOT / name, program)
    judges = program / "scripts" / "lensbench" / "judging" / "judges" / "__init__.py"
    right = "Verdict.MET: Fraction(1)"
    assert right in judges.read_text()
    judges.write_text(judges.read_text().replace(right, "Verdict.MET: Fraction(1, 2)"))
    options = ("oracle", "--keep", "kept")
    ended = run_module(
        "lensbench_demo.selftest", *options, cwd=tmp_path, PYTHONPATH=str(program / "scripts")
    )
    assert ended.stdout.startswith("FAIL oracle ")
    assert "found: 0 of 8 scores right, without 50%, with 50%" in ended.stdout
    assert ended.returncode == 1
    assert "the self-test failed (oracle)" in ended.stderr
    assert (tmp_path / "kept" / "oracle" / "bench" / "oracle" / "results.md").exists()


def test_a_control_that_nobody_knows_and_a_folder_in_use_are_refused_in_one_sentence(
    tmp_path: Path,
) -> None:
    wanted = "there is no control 'placebo'; known are null, oracle, a-a, lift, broken, outside"
    assert refusal(selftest.main, "placebo") == wanted
    (tmp_path / "mine.txt").write_text("mine")
    assert (
        refusal(selftest.main, "--keep", tmp_path)
        == f"--keep: {tmp_path} is not empty; name a new folder"
    )


def test_a_control_that_needs_a_sandbox_is_skipped_without_one_and_none_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    assert "skipped: it needs the sandbox" in run_here(selftest.main, "outside")


@pytest.mark.slow
def test_a_self_test_that_is_told_to_stop_does_not_wait_for_its_benchmarks(tmp_path: Path) -> None:
    argv = [sys.executable, "-P", "-m", "lensbench_demo.selftest", "lift", "--keep", "kept"]
    with subprocess.Popen(
        argv, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    ) as process:
        assert wait_for((tmp_path / "kept" / "lift" / "bench").exists)
        process.terminate()
        assert process.wait(15) == 143


PLANTED: dict[str, Planted] = {
    LIFT.name: {
        (f"t{number}", condition): Fraction(2 + (condition == "with" and number % 2), 5)
        for number in range(LIFT.tasks)
        for condition in ("without", "with")
    },
    SAME.name: {
        (f"t{number}", name): Fraction(2, 5) for number in range(SAME.tasks) for name in ("a", "b")
    },
    ORACLE.name: {
        (f"t{number}", name): Fraction(1) for number in range(4) for name in ("without", "with")
    },
}


def judged(
    control: Control,
    delta: float | None,
    interval: tuple[float, float] | None,
    verdict: str,
    change: Callable[[dict[str, Any]], object] = lambda results: None,
) -> tuple[bool, str]:
    """What the self-test makes of results in which every score is as planted, but for `change`."""
    planted = PLANTED[control.name]
    low, high = interval or (None, None)
    overall = Estimate(delta=delta, low=low, high=high)
    gate = GateVerdict(verdict, "", "", low, high)
    score = {"treatment": 0.5, "baseline": 0.4}
    results: dict[str, Any] = {
        "runs": [
            {"task": task, "condition": condition, "score": float(value)}
            for (task, condition), value in planted.items()
        ],
        "comparisons": {control.treatment: {"measures": {"score": score}}},
        "estimates": {control.treatment: {"score": {"overall": overall}, "gate": gate}},
    }
    change(results)
    return selftest.judge(control, planted, results)  # type: ignore[arg-type]


def test_a_lift_passes_with_its_own_delta_an_interval_around_the_true_one_and_a_go() -> None:
    said = "48 of 48 scores right, without 40%, with 50%, delta +10.0 points, interval +5.0 points to +15.0 points, GO"
    assert judged(LIFT, 0.1, (0.05, 0.15), "GO") == (True, said)


@pytest.mark.parametrize(
    ("control", "delta", "interval", "verdict"),
    [
        (LIFT, -0.1, (-0.15, 0.15), "GO"),  # the sign is wrong
        (LIFT, 0.1, (0.11, 0.15), "GO"),  # the interval misses what was planted
        (LIFT, 0.1, None, "GO"),  # there is no interval although the answers vary
        (LIFT, 0.1, (0.05, 0.15), "INCONCLUSIVE"),  # the gate never says GO
        (LIFT, None, None, "INCONCLUSIVE"),  # there is no delta
        (SAME, 0.0, (-0.05, 0.05), "GO"),  # chance alone is sold as a difference
        (SAME, 0.0, (-0.05, 0.05), "HARM"),
        (SAME, 0.0, (0.01, 0.05), "INCONCLUSIVE"),
        (ORACLE, 0.05, None, "INCONCLUSIVE"),  # a difference out of nowhere
    ],
)
def test_an_instrument_that_says_anything_else_than_what_was_planted_fails(
    control: Control, delta: float | None, interval: tuple[float, float] | None, verdict: str
) -> None:
    assert not judged(control, delta, interval, verdict)[0]


def test_one_wrong_score_and_one_lost_run_fail_although_the_averages_are_right() -> None:
    def wrong(results: dict[str, Any]) -> None:
        results["runs"][0]["score"] = None

    assert not judged(SAME, 0.0, (-0.05, 0.05), "INCONCLUSIVE", wrong)[0]
    assert not judged(
        SAME, 0.0, (-0.05, 0.05), "INCONCLUSIVE", lambda results: results["runs"].pop()
    )[0]
    assert judged(SAME, 0.0, (-0.05, 0.05), "INCONCLUSIVE")[0]


def test_a_control_whose_runs_exceeded_their_time_says_so_and_blames_no_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(controls: object, folder: Path, at_once: int) -> list[selftest.ControlOutcome]:
        found = "2 of 4 scores right; discarded: timed_out 2"
        return [selftest.ControlOutcome("outside", "0%", found, ok=False, is_late=True)]

    monkeypatch.setattr(selftest, "selftest", late)
    said = refusal(selftest.main, "outside")
    assert "exceeded their time limit" in said
    assert "lensbench selftest outside" in said
    assert "do not trust" not in said


@pytest.mark.parametrize(
    ("reasons", "is_late"),
    [
        (["timed_out", "timed_out"], True),
        (["timed_out", "crashed"], False),
        (["mcp_failed"], False),
    ],
)
def test_only_time_outs_make_a_control_late(
    reasons: list[str], is_late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RunFolder(tmp_path / "bench" / SAME.name).results_json
    write_json(file, {"runs": [{"reason": reason} for reason in [*reasons, ""]]})
    monkeypatch.setattr(selftest, "_known", lambda control, project: (False, "0 of 4 right"))
    finding = selftest._finding(SAME, tmp_path)
    assert finding.is_late == is_late
    assert f"{reasons[0]} {reasons.count(reasons[0])}" in finding.found
