"""What a condition brings into the workspace: there for its runs alone, and no part of what the agent did."""

import json
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.core.records import Record, RunId, sha256
from lensbench.core.store import run_files
from lensbench.core.system.trees import copy_tree, hash_tree
from lensbench.plan.freeze import changes, make_plan, write_plan
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import main as fetch
from lensbench.runs.brought import brought, take_back, write_brought
from lensbench.runs.run import make_run, read_job
from lensbench.workflow.read_schedule import read_schedule

LOOK = "cat AGENTS.md README.md docs/map.md .claude/skills/x/run.sh; git status --short; ls -aR"
BROUGHT = {
    "AGENTS.md": "words.md",
    "README.md": "read.md",
    "docs/map.md": "map.md",
    ".claude/skills/x/run.sh": "run.sh",
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("repo").mkdir()
    Path("repo/README.md").write_text("ITS OWN\n", encoding="utf-8")
    Path("repo/AGENTS.md").write_text("REMOVED\n", encoding="utf-8")
    for name, text in zip(
        BROUGHT.values(), ("WORDS", "OTHERWISE", "MAP", "#!/bin/sh\necho RAN"), strict=True
    ):
        Path(name).write_text(f"{text}\n", encoding="utf-8")
    criteria = [{"text": "one", "all_of": "a"}, {"text": "two", "all_of": "b"}]
    task = {"id": "anna", "category": "Debug", "prompt": "Where?", "criteria": criteria}
    Path("tasks.yaml").write_text(json.dumps({"name": "set", "tasks": [task]}), encoding="utf-8")


def planned(shell: str, condition: dict[str, Any], **agent: Any) -> Path:
    command = ["/bin/sh", "-c", shell, "sh", "{prompt_file}"]
    given = {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "sandbox": "none",
        "conditions": {"without": {}, "words": condition},
        "agent": {"kind": "command", "command": command, "retries": 1, **agent},
    }
    schedule = read_schedule({**given, "accept_changes": True}, [])
    folder = Path("bench/r")
    write_plan(schedule.config, [], folder)
    assert not fetch(
        ["--plan", "bench/r/plan.json", "--cache", "cache", "--output", "bench/r/repositories.json"]
    )
    return folder


def run(folder: Path, condition: str) -> tuple[str, Record]:
    this = RunId("anna", condition)
    make_run(read_job(folder, this, 0))
    record = run_files(folder, this).read_record(this)
    assert record
    return run_files(folder, this).answer.read_text(), record


def test_the_files_are_there_for_one_condition_and_change_nothing_that_is_measured() -> None:
    folder = planned(LOOK, {"files": BROUGHT, "agent": {"max_turns": 2}})
    seen, record = run(folder, "words")
    bare, other = run(folder, "without")
    assert seen.startswith("WORDS\nOTHERWISE\nMAP\n#!/bin/sh\necho RAN\n M README.md\n?? docs/\n")
    assert "ITS OWN" in bare
    assert [word for word in ("WORDS", "OTHERWISE", "MAP", "skills", "docs") if word in bare] == []
    assert [each.attempt.reason for each in (record, other)] == ["", ""]
    assert record.tree_before == record.tree_after == other.tree_before
    assert record.made_with["condition"]["files"]["AGENTS.md"] == sha256(b"WORDS\n")
    assert record.made_with["condition"]["agent"] == {"max_turns": 2}
    assert (record.made_with["agent"], record.agent_sha256) == (
        other.made_with["agent"],
        other.agent_sha256,
    )


@pytest.mark.parametrize(
    "damage", ["echo x >> AGENTS.md", "rm README.md", "rm -r docs; ln -s / docs", "touch new.md"]
)
def test_an_agent_that_changes_what_was_brought_changed_the_workspace(damage: str) -> None:
    _, record = run(planned(f"{damage}; echo an answer", {"files": BROUGHT}), "words")
    assert record.attempt.reason == "workspace_changed"


def test_of_a_change_nothing_that_was_brought_is_left_whatever_the_agent_did_with_it() -> None:
    files = {path: Path(name).read_bytes() for path, name in BROUGHT.items()}
    copy_tree("repo", "work")
    write_brought(files, Path("work"))
    Path("work/AGENTS.md").write_text("changed", encoding="utf-8")
    Path("work/README.md").unlink()
    Path("work/new.txt").write_text("its own", encoding="utf-8")
    take_back(files, Path("work"), Path("repo"), even_changed=True)
    Path("work/new.txt").unlink()
    assert hash_tree("work") == hash_tree("repo")


def test_other_words_are_another_experiment_and_a_mistake_is_told_with_its_key(
    tmp_path: Path,
) -> None:
    def plan_now(condition: dict[str, Any]) -> Any:
        config = read_schedule(
            {
                "run_id": "r",
                "scenarios": "tasks.yaml",
                "repository": {"path": "repo"},
                "conditions": {"without": {}, "words": condition},
                "accept_changes": True,
            },
            [],
        ).config
        return make_plan(
            config, read_scenarios(config.scenario_files, config.repository, False), []
        )

    before = plan_now({"files": {"CLAUDE.md": "words.md"}})
    Path("words.md").write_text("OTHER\n", encoding="utf-8")
    found = changes(before, plan_now({"files": {"CLAUDE.md": "words.md"}}))
    was, now = (sha256(f"{word}\n".encode()) for word in ("WORDS", "OTHER"))
    assert found == [f"conditions.words.files.CLAUDE.md: was '{was}', is '{now}'"]
    for condition, told in (
        *(
            (
                {"files": {path: "words.md"}},
                f"words.files.{path} must be the path of a file in the workspace",
            )
            for path in ("../CLAUDE.md", ".git/config", ".", "..", "/a", "a//b")
        ),
        ({"files": {"CLAUDE.md": "none.md"}}, "none.md cannot be read: No such file"),
        ({"skills": "repo"}, "conditions.words.skills is not possible for agent.kind 'offline'"),
        ({"agent": {"model": "x"}}, "conditions.words.agent.model"),
    ):
        with pytest.raises(UserError) as error:
            plan_now(condition)
        assert told in str(error.value)


def test_programs_can_be_started_and_a_text_of_the_plan_that_was_changed_is_refused() -> None:
    write_brought({"run.sh": b"#!/bin/sh\n", "a.md": b"x"}, Path("repo"))
    assert [Path("repo", name).stat().st_mode & 0o777 for name in ("run.sh", "a.md")] == [
        0o755,
        0o644,
    ]
    digest = sha256(b"WORDS\n")
    plan: Any = {"texts": {digest: "WORDS\n"}}
    condition: Any = {"files": {"AGENTS.md": digest}}
    assert brought(plan, condition) == {"AGENTS.md": b"WORDS\n"}
    plan["texts"][digest] = "OTHERS\n"
    with pytest.raises(
        UserError,
        match=r"plan\.json: the text of AGENTS\.md was changed; start the benchmark again",
    ):
        brought(plan, condition)
