"""Whatever is asked for, also a single file, the plan of the present settings comes first."""

from __future__ import annotations

import os

import pytest
import yaml

from lensbench.plan.freeze import write_plan
from lensbench.workflow.read_schedule import read_schedule
from small_benchmark import Project


def test_a_plan_of_other_settings_is_older_than_whatever_it_is_made_of(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    given = yaml.safe_load((project.folder / "config.yaml").read_text())
    schedule = read_schedule(given, [])
    write_plan(schedule.config, [], project.bench)
    before = (project.bench / "plan.json").stat().st_mtime
    schedule.outdate_plan()
    assert (project.bench / "plan.json").stat().st_mtime == before
    read_schedule({**given, "trials": 2}, []).outdate_plan()
    assert (project.bench / "plan.json").stat().st_mtime < min(map(os.path.getmtime, schedule.inputs))
