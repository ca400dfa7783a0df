"""Words that work, with a real run: an agent that does what the descriptions of its tools say."""

import json
import sys
from pathlib import Path

import pytest
import test_ladder

from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.plan.freeze import write_plan
from lensbench.repositories.prepare import main as fetch
from lensbench.runs.run import make_run, read_job
from lensbench.workflow.read_schedule import read_schedule
from lensbench_archive.rebuilding import rebuild

TASKS = [f"t{number:02}" for number in range(12)]


@pytest.mark.slow
def test_the_words_that_make_an_agent_call_are_chosen_and_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(test_ladder, "TASKS", TASKS)
    test_ladder.planted("")
    Path("plain.yaml").write_text("lens: {tools: {find: Finds much code.}}\n", encoding="utf-8")
    Path("bold.yaml").write_text("lens: {tools: {find: Call it always.}}\n", encoding="utf-8")
    program = str(test_ladder.FAKES / "obedient_agent.py")
    places = ["{prompt_file}", "{workspace}", "{mcp_file}"]
    given = {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "sandbox": "none",
        "conditions": {
            "now": {"mcp": "mcp.json"},
            "plain": {"mcp": "mcp.json", "describe": "plain.yaml"},
            "bold": {"mcp": "mcp.json", "describe": "bold.yaml"},
        },
        "baseline": "now",
        "gate": {"holdout": 0.5},
        "agent": {
            "kind": "command-events",
            "command": [sys.executable, "-I", program, *places],
            "retries": 1,
        },
    }
    folder = Path("bench/r")
    write_plan(read_schedule(given, []).config, [], folder)
    assert not fetch(
        ["--plan", "bench/r/plan.json", "--cache", "cache", "--output", "bench/r/repositories.json"]
    )
    for task in TASKS:
        for condition in given["conditions"]:  # type: ignore[attr-defined]
            make_run(read_job(folder, RunId(task, condition), 0))
    assert rebuild(folder) == []
    plan = json.loads(RunFolder(folder).plan.read_text())
    assert len(plan["holdout"]) == 6
    results = json.loads(RunFolder(folder).results_json.read_text())
    words = results["wording"]
    assert words["chosen"] == "bold"
    assert words["is_better"]
    assert "bold was called in 6 of 6 runs, now in 0: +100 points" in words["sentences"][1]
    assert words["sentences"][2].startswith("The score changes by +100.0 points")
    for file in (RunFolder(folder).results, RunFolder(folder).summary, folder / "report.html"):
        assert "Words: take bold." in file.read_text(encoding="utf-8")
