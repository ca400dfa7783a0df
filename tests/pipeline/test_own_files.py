"""Files of the user's that lie in the run folder: no start writes, repairs or deletes one."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.core.errors import UserError
from lensbench.plan import task_markdown
from lensbench.plan.own_files import WRITTEN
from lensbench.plan.task_files import read_scenarios
from lensbench.workflow.begin import begin
from lensbench.workflow.read_schedule import read_schedule
from small_benchmark import RUNS, Project

NOTHING = "Nothing to be done"


def put_tasks(project: Project, place: str) -> Path:
    """The project's task set as Markdown, in the run folder."""
    tasks = read_scenarios([str(project.folder / "tasks.yaml")], imported=True).tasks
    path = project.folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(task_markdown.render(tasks, "My tasks"))
    return path


def config_of(project: Project) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load((project.folder / "config.yaml").read_text())
    return value


def test_a_task_set_in_the_run_folder_is_read_and_frozen_beside_itself(project: Project) -> None:
    path = put_tasks(project, "bench/r/scenarios.md")
    project.configure(scenarios="bench/r/scenarios.md")
    mine = path.read_bytes()
    project.start(*RUNS)
    assert len(project.table("validity")) == 4
    assert path.read_bytes() == mine == (project.bench / "scenarios.frozen.md").read_bytes()
    assert NOTHING in project.start("-n", target="validity")

    path.write_bytes(mine.replace(b"My tasks", b"My own tasks"))
    project.clear_ledger()
    project.start(*RUNS)
    assert project.ledger() == []
    assert b"My own tasks" in path.read_bytes()
    assert path.read_bytes() == (project.bench / "scenarios.frozen.md").read_bytes()

    project.configure()  # another file is named now, and this one is still the user's
    project.start("--forceall", *RUNS)
    assert b"My own tasks" in path.read_bytes()


def test_a_task_set_that_was_frozen_by_us_becomes_the_users_when_the_config_names_it(
    finished: Project,
) -> None:
    path = put_tasks(finished, "bench/r/scenarios.md")
    finished.configure(scenarios="bench/r/scenarios.md")
    mine = path.read_bytes()
    finished.clear_ledger()
    assert "is damaged" not in finished.start(*RUNS)
    assert finished.ledger() == []
    assert path.read_bytes() == mine


def test_a_config_in_the_run_folder_may_be_edited_and_a_scenarios_file_that_no_stage_wrote_is_never_replaced(
    project: Project,
) -> None:
    unnamed = put_tasks(project, "bench/r/scenarios.md")
    unnamed_bytes = unnamed.read_bytes()
    path = project.bench / "config.yaml"
    path.write_text("# mine\n" + (project.folder / "config.yaml").read_text())
    mine = path.read_bytes()
    project.start("--configfile", str(path), *RUNS)
    assert path.read_bytes() == mine
    path.write_bytes(mine + b"trials: 2\n")
    project.start("--configfile", str(path), *RUNS)
    assert path.read_bytes() == mine + b"trials: 2\n"
    assert len(project.table("validity")) == 8
    assert unnamed.read_bytes() == unnamed_bytes
    assert (project.bench / "scenarios.frozen.md").exists()


PLACES = {
    "scenarios": lambda path: {"scenarios": path},
    "mcp": lambda path: {"conditions": {"without": {}, "with": {"mcp": path}}},
    "setup": lambda path: {
        "conditions": {"without": {}, "with": {"mcp": "mcp.json", "setup": [path]}}
    },
    "teardown": lambda path: {
        "conditions": {"without": {}, "with": {"mcp": "mcp.json", "teardown": ["sh", path]}}
    },
    "judge's prompt": lambda path: {
        "judges": [{"agent": {"kind": "command", "command": ["true"]}, "prompt": path, "name": "j"}]
    },
    "judge's command": lambda path: {
        "judges": [{"agent": {"kind": "command", "command": ["sh", path]}, "name": "j"}]
    },
    "agent's command": lambda path: {"agent": {"kind": "command", "command": ["sh", path]}},
    "repository": lambda path: {"repository": {"path": path}},
    "sandbox_visible": lambda path: {"sandbox_visible": [path]},
    "cache": lambda path: {"cache": path},
}


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("name", ["bench/r/results.md", "linked.md"])
def test_what_the_config_names_where_a_stage_writes_is_refused_before_anything_is_touched(
    project: Project, monkeypatch: pytest.MonkeyPatch, key: str, name: str
) -> None:
    project.bench.mkdir(parents=True)
    path = project.bench / "results.md"
    if key in ("repository", "cache"):
        shutil.copytree(project.folder / "repo", path)
    elif key == "mcp":
        shutil.copy(project.folder / "mcp.json", path)
    else:
        put_tasks(project, "bench/r/results.md")
    (project.folder / "linked.md").symlink_to(path)
    monkeypatch.chdir(project.folder)
    project.configure(**PLACES[key](name))
    with pytest.raises(
        UserError, match=f"{name} would be overwritten, .* to bench/r/; move it elsewhere"
    ):
        read_schedule(config_of(project), ["config.yaml"], begin)
    assert path.exists()


def test_a_tasks_repository_where_a_stage_writes_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = yaml.safe_load((project.folder / "tasks.yaml").read_text())
    shutil.copytree(project.folder / "repo", project.bench / "answers")
    tasks["tasks"][0]["repository"] = {"path": "bench/r/answers"}
    (project.folder / "tasks.yaml").write_text(yaml.safe_dump(tasks))
    monkeypatch.chdir(project.folder)
    with pytest.raises(UserError, match="task 'anna': its repository bench/r/answers"):
        read_schedule(config_of(project), ["config.yaml"], begin)


def test_every_name_that_a_benchmark_writes_is_known(finished_once: Project) -> None:
    assert {
        path.name for path in finished_once.bench.iterdir() if not path.name.startswith(".")
    } <= WRITTEN
