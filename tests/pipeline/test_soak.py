"""The soak in small: every kind of fault is injected, and nothing is lost, doubled, wrongly counted or left over."""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"
AIMS = (
    "lost",
    "doubled",
    "wrongly counted",
    "processes left at the end",
    "temporary files and locks left",
)


def test_a_small_soak() -> None:
    command = [
        sys.executable,
        str(SOAK),
        "--runs",
        "12",
        "--agent",
        "command",
        "--seed",
        "2",
        "--minutes",
        "4",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| runs planned / counted | 12 / 12 |" in done.stdout
    assert [f"| **{aim}** | 0 |" in done.stdout for aim in AIMS] == [True] * len(AIMS)
    assert "kill -9 of Snakemake | 1" in done.stdout
