"""Writes pages of docs/measured/ by running the programs that measure: `python tools/docs/measured.py [NAME ...]`.

Each page has the command, commit, date and machine at its head, and below it what the command printed.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "measured"
PROGRAMS = {
    "attacks": ("Attacks on judges", "attacks.py"),
    "hostile": ("What a hostile agent reaches", "hostile_agent.py"),
    "judges": ("Verdicts with bad judges", "bad_judges.py --replications 50"),
    "drafts": ("Drafted patterns", "drafted_patterns.py"),
    "counts": ("Intervals of counts with runaways", "counts.py --replications 400"),
    "adoption": ("Intervals of adoption", "adoption.py --replications 4000"),
    "ablations": (
        "What an ablation says of its members",
        "real_ablations.py",
        "ablations.py --replications 100",
        "ablations.py --replications 200 --tasks 48 --world replace",
    ),
    "history": (
        "Steps of a server over its versions, and agents side by side",
        "history.py --replications 500",
    ),
    "savings": ("How often SAVES is right", "savings.py --replications 1000"),
    "methods": ("How often other methods are wrong", "methods.py --replications 2000"),
    "first_requests": ("What differs in the first request", "first_requests.py"),
    "repeats": (
        "What is asked again after something broke",
        "scenarios.py store_scenarios repeating",
    ),
    "gate": ("How often the gate is right", "calibration.py --replications 2000"),
}
"""The name of a page, its title and its commands in benchmarks/."""


def measured(title: str, *commands: str) -> str:
    """The page: its title, and of each command the head and the output."""
    return "\n".join([f"# {title}\n", *map(printed, commands)])


def printed(command: str) -> str:
    """What a command prints, below its head."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    program, *arguments = command.split()
    started = [sys.executable, str(ROOT / "benchmarks" / program), *arguments]
    done = subprocess.run(started, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}{command} failed")
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    made = f"Commit {commit.stdout.strip()}, {datetime.now(UTC):%Y-%m-%d}, {machine}."
    shown = done.stdout.strip()
    body = shown if shown.startswith(("|", "#")) else f"```text\n{shown}\n```"
    return f"Printed by `python benchmarks/{command}`. {made}\n\n{body}\n"


def main() -> None:
    """Writes the pages that are named, or all."""
    for name in sys.argv[1:] or PROGRAMS:
        (FOLDER / f"{name}.md").write_text(measured(*PROGRAMS[name]), encoding="utf-8")


if __name__ == "__main__":
    main()
