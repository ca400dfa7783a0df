"""Files of a clock that was ahead: brought back together, in their order; nothing else is touched."""

import os
import time
from pathlib import Path

from lensbench.workflow.begin import date_back
from stock import write

HOUR = 3600 * 10**9


def test_what_is_dated_in_the_future_comes_back_in_its_order(tmp_path: Path) -> None:
    began = time.time_ns()
    ages = {"old": began - HOUR, "first": began + HOUR - 5 * 10**9, "second": began + HOUR}
    for name, date in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(date, date))
    date_back(tmp_path, {})
    dates = {name: (tmp_path / name).stat().st_mtime_ns for name in ages}
    assert dates["old"] == began - HOUR
    assert began <= dates["second"] <= time.time_ns()
    assert dates["second"] - dates["first"] == 5 * 10**9


def test_everything_that_rules_read_is_looked_at(tmp_path: Path) -> None:
    names = (
        "plan.json",
        ".plan/settings-0",
        "prompts/a.md",
        "changes/a.json",
        "runs/t2/a-with.md",
        "attempts/made-1.csv",
        "attempts/a-with/1/record.json",
        "tests/t2/a-with.json",
    )
    later = time.time_ns() + HOUR
    write(tmp_path, dict.fromkeys(names, ""))
    for name in names:
        os.utime(tmp_path / name, ns=(later, later))
    os.utime(tmp_path / "runs", ns=(later, later))
    date_back(
        tmp_path, dict.fromkeys(("runs/t2/a-with.md", "attempts/a-with/1/record.json"), later)
    )
    assert all((tmp_path / name).stat().st_mtime_ns <= time.time_ns() for name in (*names, "runs"))
