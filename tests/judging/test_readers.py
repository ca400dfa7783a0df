"""Who will read the criteria, said before the runs are paid."""

from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.judging.readers import check_readers
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios

PAID = {"kind": "claude-code", "model": "sonnet", "version": "1"}
PROSE = "names the line}"


def told(given: dict[str, Any], **settings: Any) -> str:
    """What is said about the set in `project`, in which one of two criteria has no patterns."""
    config = load_config({**given, **settings})
    return check_readers(config, read_scenarios(config.scenario_files).tasks)


def test_runs_that_nobody_can_judge_are_refused_before_they_are_paid(
    project: Path, given: dict[str, Any]
) -> None:
    with pytest.raises(UserError) as error:
        told(given, agent=PAID)
    for part in (
        "1 of 2 criteria have no patterns, and no judge can read them",
        "add {agent: {kind: claude-code, model: sonnet}} to judges (about 10 requests, 0.02 to 0.2 US dollars",
        "human",
        "`lensbench draft` proposes them",
        "nothing was started",
    ):
        assert part in str(error.value)


def test_a_judge_that_reads_is_priced_offline_runs_and_patterns_need_none(
    project: Path, given: dict[str, Any]
) -> None:
    model = {"agent": {"kind": "claude-code", "model": "haiku"}, "name": "reader"}
    assert "read by reader: about 30 requests" in told(
        given, agent=PAID, judges=["mechanical", model], trials=3
    )
    assert "read by human, on the judge sheet" in told(given, agent=PAID, judges=["human"])
    assert "no judge can read them" in told(given)
    text = (project / "set.yaml").read_text()
    (project / "set.yaml").write_text(text.replace(PROSE, "names the line, all_of: line 1}"))
    assert told(given, agent=PAID) == ""
