"""Two files of benchmark figures, compared in units of a loop that both machines timed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BEFORE = {
    "yardstick_s": 0.1,
    "steps": {"all runs": 10.0, "nothing to do": 1.5, "page": 0.01, "gone": 1.0},
}


def compared(folder: Path, after: object) -> subprocess.CompletedProcess[str]:
    (folder / "before.json").write_text(json.dumps(BEFORE))
    (folder / "after.json").write_text(after if isinstance(after, str) else json.dumps(after))
    program = [sys.executable, str(ROOT / "benchmarks" / "figures.py"), "before.json", "after.json"]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("yardstick", "all_runs", "word"),
    [
        (0.1, 11.9, ""),
        (0.1, 12.1, "slower"),
        (0.1, 8.2, "faster"),
        (0.2, 20.0, ""),
        (0.2, 12.0, "faster"),
        (0.05, 6.1, "slower"),
    ],
)
def test_a_step_that_costs_a_fifth_more_is_seen(
    tmp_path: Path, yardstick: float, all_runs: float, word: str
) -> None:
    found = compared(
        tmp_path, {"yardstick_s": yardstick, "steps": {"all runs": all_runs, "new": 1.0}}
    )
    (row,) = (line for line in found.stdout.splitlines() if line.startswith("| all runs |"))
    assert row.split("|")[-2].strip() == word
    assert found.returncode == (word == "slower")
    assert "| gone | | | | in one file only |" in found.stdout
    assert "| new | | | | in one file only |" in found.stdout


def test_what_the_clock_cannot_tell_is_not_said(tmp_path: Path) -> None:
    found = compared(tmp_path, {"yardstick_s": 0.1, "steps": {"page": 0.02}})
    assert found.returncode == 0
    assert "slower" not in found.stdout


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"yardstick_s": "x", "steps": {}}'])
def test_another_file_is_named(tmp_path: Path, text: str) -> None:
    found = compared(tmp_path, text)
    assert found.returncode == 1
    assert found.stderr.startswith("after.json has no figures (")
    assert "Traceback" not in found.stderr
