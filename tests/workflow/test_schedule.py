import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from handmade import file_discard, store
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Record, RunId, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import withdraw
from lensbench.core.system.files import write_json
from lensbench.plan.freeze import write_plan
from lensbench.runs.stopping import spent
from lensbench.workflow import begin as beginning
from lensbench.workflow.begin import begin, follow_store
from lensbench.workflow.read_schedule import frozen_schedule, read_schedule
from lensbench.workflow.schedule import Schedule, run_of

RUN = RunId("t0", "with")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A config whose files are there; the current folder is the project's."""
    monkeypatch.chdir(tmp_path)
    Path("mcp.json").write_text(
        json.dumps({"mcpServers": {"fake": {"command": "true"}}}), encoding="utf-8"
    )
    write_tasks(6)
    return {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "repository": {"git": "https://example.org/shop", "revision": "v1"},
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
    }


def write_tasks(count: int, criterion: str = "one") -> None:
    criteria = [{"text": criterion, "all_of": "a"}, {"text": "two", "all_of": "b"}]
    tasks = [
        {"id": f"t{n}", "category": "Debug", "prompt": "Where?", "criteria": criteria}
        for n in range(count)
    ]
    Path("tasks.yaml").write_text(json.dumps({"name": "set", "tasks": tasks}), encoding="utf-8")


def schedule_of(config: dict[str, Any], **changes: Any) -> Schedule:
    return read_schedule({**config, **changes}, [])


def finish(schedule: Schedule, *runs: RunId, text: str = "answer") -> None:
    """Leaves the files of finished runs."""
    for run in runs:
        attempt = Attempt(1, "2026-01-01T00:00:00.000Z", 1.0, 0.0, 0, False)
        store(
            schedule.folder, Record(*run, "run", attempt, answer_sha256=sha256(text.encode())), text
        )


def begun(config: dict[str, Any]) -> Schedule:
    """A benchmark that is planned and has one run that counts."""
    schedule = schedule_of(config)
    write_plan(schedule.config, [], schedule.folder)
    finish(schedule, RUN)
    return schedule


def test_the_runs_of_a_task_are_neighbours_and_the_order_inside_is_by_seed_and_balanced(
    config: dict[str, Any],
) -> None:
    orders = set()
    for seed in range(8):
        schedule = schedule_of(config, seed=seed, trials=2)
        queue = sorted(schedule.runs, key=lambda run: -schedule.priority(run.stem))
        pairs = [queue[index : index + 2] for index in range(0, len(queue), 2)]
        assert all(one.task == other.task and one.trial == other.trial for one, other in pairs)
        for trial in (1, 2):
            assert Counter(one.condition for one, _ in pairs if one.trial == trial) == {
                "with": 3,
                "without": 3,
            }
        orders.add(tuple(one.condition for one, _ in pairs))
        again = schedule_of(config, seed=seed, trials=2)
        assert [again.priority(run.stem) for run in queue] == [
            schedule.priority(run.stem) for run in queue
        ]
    assert len(orders) > 4


def test_repositories_are_fetched_again_to_another_cache(config: dict[str, Any]) -> None:
    schedule = schedule_of(config)
    assert schedule.lacks_repositories
    for cache, is_other in ((schedule.config.cache, False), ("elsewhere", True)):
        trees = {name: {"tree": f"{cache}/{name}/tree"} for name in schedule.plan["repositories"]}
        write_json(RunFolder(schedule.folder).repositories, trees)
        assert schedule.lacks_repositories == is_other
    assert not schedule_of(config, agent={"kind": "none"}, cache="third").lacks_repositories


def test_a_dry_run_of_a_folder_with_runs_writes_nothing(config: dict[str, Any]) -> None:
    schedule = begun(config)
    before = {path: path.stat().st_mtime_ns for path in schedule.folder.rglob("*")}
    assert [*begin(schedule, is_dry=True)] == [RUN.stem]
    follow_store(schedule, is_dry=True)
    assert {path: path.stat().st_mtime_ns for path in schedule.folder.rglob("*")} == before


def test_a_run_waits_only_for_a_partner_that_this_start_makes_and_has_a_core_for(
    config: dict[str, Any],
) -> None:
    schedule = schedule_of(config)
    assert [schedule.gate_s(RUN, cores) for cores in (1, 2, 8)] == [0, 900, 900]
    finish(schedule, RUN._replace(condition="without"))
    assert schedule_of(config).gate_s(RUN, 8) == 0
    file_discard(schedule.folder, RUN._replace(condition="without"), "empty", "")
    assert withdraw(schedule.folder, schedule.runs, 3) == [RUN._replace(condition="without")]
    assert schedule_of(config).gate_s(RUN, 8) == 900
    assert schedule_of(config, discards={"max_rounds": 0}).gate_s(RUN, 8) == 0
    three = {**config["conditions"], "third": {"mcp": "mcp.json"}}
    assert [
        schedule_of(config, conditions=three, run_id="s").gate_s(RUN, cores) for cores in (2, 3)
    ] == [0, 900]


def test_a_job_elsewhere_sees_the_start_that_sent_it_and_nothing_that_was_edited_since(
    config: dict[str, Any],
) -> None:
    schedule = begun(config)
    Path("tasks.yaml").write_text("tasks: [half a line", encoding="utf-8")
    Path("mcp.json").unlink()
    frozen = frozen_schedule(schedule.config.model_dump_json(exclude_defaults=True))
    assert (frozen.config, set(frozen.runs)) == (schedule.config, set(schedule.runs))
    assert [frozen.priority(it.stem) for it in schedule.runs] == [
        schedule.priority(it.stem) for it in schedule.runs
    ]
    assert frozen.needs_agent(RUN._replace(task="t1"))
    assert not frozen.needs_agent(RUN)
    with pytest.raises(UserError, match="pass the environment on"):
        frozen_schedule(None)


def test_the_time_limit_of_a_run_covers_all_attempts_and_the_start_gate(
    config: dict[str, Any],
) -> None:
    agent = {"retries": 2, "timeout_s": 3600}
    assert schedule_of(config, agent=agent).runtime_min >= 2 * 60 + 15


def test_what_is_missing_is_made_by_an_agent_or_from_the_store(config: dict[str, Any]) -> None:
    schedule = begun(config)
    view = Path("bench/r/runs/t0-with.md")
    assert RUN not in schedule_of(config).missing_runs
    view.unlink()
    assert (RUN in schedule_of(config).missing_runs, schedule_of(config).needs_agent(RUN)) == (
        True,
        False,
    )
    file_discard(schedule.folder, RUN, "empty", "")
    assert schedule_of(config).needs_agent(RUN)
    assert not schedule_of(config, discards={"max_rounds": 0}).needs_agent(RUN)
    files = schedule_of(config).files_of_waves(1)
    assert files == [f"bench/r/runs/{run.stem}.md" for run in schedule.runs] + [
        "bench/r/attempts/made-1.csv"
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": {"timeout_s": 5}}, "agent.timeout_s: was 900.0, is 5.0"),
        (
            {"repository": {"git": "https://example.org/shop", "revision": "v2"}},
            "is https://example.org/shop at v2",
        ),
        (
            {
                "conditions": {
                    "without": {},
                    "with": {"mcp": "mcp.json"},
                    "more": {"mcp": "mcp.json"},
                }
            },
            "conditions.more",
        ),
        (
            {"gate": {"alpha": 0.2, "looks": 2}},
            "gate.alpha: was 0.05, is 0.2, changed after a verdict",
        ),
    ],
)
def test_changes_stop_all_until_accepted(
    config: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    RunFolder(begun(config).folder).look_ledger.touch()
    with pytest.raises(UserError, match=r"has valid runs") as refused:
        schedule_of(config, **changes)
    assert message in str(refused.value)
    assert "gate.looks" not in str(refused.value), "more looks are paid for, and only reported"
    assert "--config run_id=" in str(refused.value)
    accepted = schedule_of(config, **changes, accept_changes=True)
    assert any(message in change for change in accepted.accepted)
    write_plan(accepted.config, accepted.accepted, accepted.folder)
    Path(
        "bench/r/plan.json"
    ).unlink()  # as --delete-all-output does: the accepted plan is in the store
    assert schedule_of(config, **changes).accepted == accepted.accepted
    with pytest.raises(UserError, match=r"has valid runs"):
        schedule_of(config)
    assert schedule_of(config, **changes, run_id="new").accepted == []


def test_criteria_trials_judges_and_tasks_are_no_change_nor_is_any_before_a_run_counts(
    config: dict[str, Any],
) -> None:
    schedule = begun(config)
    write_tasks(7, criterion="another one")
    assert schedule_of(config, trials=3, seed=5, discards={"max_rounds": 9}).accepted == []
    file_discard(schedule.folder, RUN, "empty", "")
    assert schedule_of(config, agent={"kind": "offline", "model": "other"}).accepted == []
    finish(schedule, RUN)
    with pytest.raises(UserError, match="has valid runs"):
        schedule_of(config, agent={"kind": "offline", "model": "other"})


def test_the_run_of_a_file_name_is_found_from_its_parts() -> None:
    assert run_of("a", "with", "") == RunId("a", "with", 1)
    assert run_of("a-1", "with", "t12/") == RunId("a-1", "with", 12)


def test_attempts_of_another_machine_are_taken_only_with_the_same_settings(
    config: dict[str, Any],
) -> None:
    begun(config)
    other = schedule_of(config, run_id="other", agent={"timeout_s": 5})
    write_plan(other.config, [], other.folder)
    finish(other, RUN._replace(task="t1"))
    shutil.copytree("bench/other/attempts", "bench/r/attempts", dirs_exist_ok=True)
    with pytest.raises(UserError, match=r"agent\.timeout_s: was 5\.0, is 900\.0"):
        schedule_of(config)
    shutil.rmtree("bench/r")
    begun(config)
    same = schedule_of(config, run_id="same")
    write_plan(same.config, [], same.folder)
    finish(same, RUN._replace(task="t1"))
    shutil.copytree("bench/same/attempts", "bench/r/attempts", dirs_exist_ok=True)
    merged = schedule_of(config)
    follow_store(merged, is_dry=False)
    assert [run.stem for run in merged.missing_runs if not merged.needs_agent(run)] == ["t1-with"]
    assert Path("bench/r/attempts/made-1.csv").read_text(encoding="utf-8").split() == [
        "t0-with/1",
        "t1-with/1",
    ]
    assert spent(merged.folder).runs == 2


def test_an_attempt_of_another_machine_is_counted_once_by_a_start_that_is_killed(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(config)
    follow_store(schedule_of(config), is_dry=False)
    same = schedule_of(config, run_id="same")
    finish(same, RUN._replace(task="t1"))
    shutil.copytree(same.folder / "attempts", "bench/r/attempts", dirs_exist_ok=True)
    merged = schedule_of(config)
    with monkeypatch.context() as patched:
        patched.setattr(beginning, "note_checksum", interrupted)
        with pytest.raises(KeyboardInterrupt):
            follow_store(merged, is_dry=False)
    for _ in range(2):
        follow_store(merged, is_dry=False)
        assert spent(merged.folder).runs == 2


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_folder_of_the_first_layout_is_refused_in_one_line(config: dict[str, Any]) -> None:
    begun(config)
    Path("bench/r/attempts").rename("bench/r/records")
    with pytest.raises(
        UserError, match="has format 1, and this version reads 2; use another run_id"
    ):
        schedule_of(config)
