"""The /benchmark skill in a foreign repository: its commands, what survives the shell, and through the real Claude Code."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fakes.messages_api import MessagesApi, read_rules, serving
from lensbench.core.system.claim import at_work
from small_benchmark import CHECKOUT, Project, wait_for

SKILL = Path(".claude") / "skills" / "benchmark"
CLAUDE = CHECKOUT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
Skill = Callable[..., str]
LONG_S = 200

pytestmark = pytest.mark.skipif(
    not (CHECKOUT / ".venv" / "bin" / "python").exists(),
    reason="the skill needs lensbench's own .venv: make setup",
)


def environment(project: Project) -> dict[str, str]:
    return {**os.environ, "FAKE_CONTROL": str(project.control), "FAKE_SECRET": "none"}


@pytest.fixture
def foreign(project: Project) -> Project:
    """A git repository with its own benchmark, in which the skill is a link to ours."""
    (project.folder / "config.yaml").rename(project.folder / "benchmark.yaml")
    link = project.folder / SKILL
    link.parent.mkdir(parents=True)
    link.symlink_to(CHECKOUT / SKILL, target_is_directory=True)
    subprocess.run(["git", "init", "-q"], cwd=project.folder, check=True)
    return project


@pytest.fixture
def skill(foreign: Project) -> Skill:
    """Starts run.sh from a folder inside the repository, by a shell in a session of its own that then is hung up."""

    def run(*arguments: str, fails: bool = False, **variables: str) -> str:
        shell = subprocess.Popen(
            [
                "bash",
                "-c",
                '"$@"; code=$?; exit $code',
                "bash",
                str(foreign.folder / SKILL / "run.sh"),
                *arguments,
            ],
            cwd=foreign.folder / "repo",
            env={**environment(foreign), **variables},
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said, _ = shell.communicate(timeout=LONG_S)
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGHUP)
        assert (shell.returncode != 0) == fails, said
        return said

    return run


def is_over(project: Project) -> bool:
    return at_work(project.bench) is None


@pytest.mark.timeout(
    600
)  # three starts, one kill, and all stages: a quarter of a minute, more beside others
def test_a_benchmark_outlives_its_shell_starts_once_is_stopped_killed_resumed(
    foreign: Project, skill: Skill
) -> None:
    foreign.behave(others="await go")
    assert "anna, with" in skill("-n")
    assert "it continues after this shell is closed" in skill("--cores", "2")
    assert wait_for(lambda: len(foreign.ledger()) == 2)
    assert "Another start is running on bench/r" in skill("--run", "r", fails=True)
    assert "r has no results yet" in skill("--report", fails=True)
    said = skill("--status")
    assert ": running (process" in said
    assert "2 running" in said
    assert "running agents finish" in skill("--stop")
    (foreign.control / "go").touch()
    assert wait_for(lambda: is_over(foreign), LONG_S)
    assert foreign.ledger("end") == foreign.ledger() == ["anna-with", "anna-without"]

    foreign.behave(bert_with="sleep 600")
    skill("--rerun", "--cores", "2")
    assert wait_for((foreign.bench / "runs" / "bert-without.md").exists)
    assert wait_for(lambda: "bert-with" in foreign.ledger())
    worker = at_work(foreign.bench)
    assert worker
    os.kill(worker.process, signal.SIGKILL)
    assert wait_for(lambda: not foreign.processes()), foreign.processes()
    assert "nothing is running" in skill("--stop")

    foreign.behave()
    skill("--rerun")
    assert wait_for(lambda: is_over(foreign), LONG_S)
    assert foreign.ledger() == [
        "anna-with",
        "anna-without",
        "bert-with",
        "bert-with",
        "bert-without",
    ]
    said = skill("--report")
    assert "2 of 2 pairs" in said
    assert f"open {foreign.bench / 'report.html'}" in said
    (foreign.bench / "scores.csv").unlink()
    assert "2 of 2 pairs" in skill("--score", "r")
    assert (foreign.bench / "scores.csv").exists()
    assert "Nothing to be done" in skill("--rerun", "r")
    assert len(foreign.ledger()) == 5


def test_what_fails_at_once_is_said_at_once(foreign: Project, skill: Skill) -> None:
    assert "not set: FAKE_SECRET" in skill(FAKE_SECRET="", fails=True)
    assert "not set: FAKE_SECRET" in skill("--status")
    assert foreign.ledger() == []
    assert "there is no benchmark in bench/other" in skill("--rerun", "other", fails=True)
    assert "names no benchmark" in skill("--run", "../../elsewhere", fails=True)
    assert "unrecognized arguments: --cores" in skill("--status", "--cores", "2", fails=True)
    (foreign.folder / "benchmark.yaml").write_text("run_id: r\n")
    assert (
        skill("--status", fails=True)
        == "error: benchmark.yaml: needs run_id and scenarios, both texts\n"
    )


def test_tasks_are_written_where_there_are_none_and_never_over_others(
    foreign: Project, skill: Skill
) -> None:
    assert "tasks.yaml already exists" in skill("--scenarios-only", fails=True)
    config = foreign.folder / "benchmark.yaml"
    config.write_text(config.read_text().replace("tasks.yaml", "mistyped.yaml"))
    assert "there is no file mistyped.yaml" in skill(fails=True)
    config.write_text(config.read_text().replace("mistyped.yaml", "bench/scenarios.yaml"))
    assert "first generates tasks about this repository" in skill("-n")
    assert "all 12 tried questions were omitted" in skill(
        "--cores", "2", fails=True
    )  # two files are too few for a task
    assert not (foreign.bench / "plan.json").exists()


def test_a_question_that_is_cut_off_is_answered_all_the_same(
    foreign: Project, skill: Skill
) -> None:
    question = "Task eval: where is the cart?"
    foreign.behave(others="await go")
    shell = subprocess.Popen(
        [str(foreign.folder / SKILL / "run.sh"), "--eval", question],
        cwd=foreign.folder,
        env=environment(foreign),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    assert wait_for(lambda: len(foreign.ledger()) == 2)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    (foreign.control / "go").touch()
    said = skill("--eval", question)
    assert "answered before" in said
    assert "proves nothing" in said
    assert foreign.ledger("end") == foreign.ledger() == ["eval-with", "eval-without"]


def test_a_copy_of_the_skill_is_told_where_lensbench_is(foreign: Project, skill: Skill) -> None:
    (foreign.folder / SKILL).unlink()
    shutil.copytree(CHECKOUT / SKILL, foreign.folder / SKILL)
    bare = "/usr/bin:/bin"
    assert "lensbench is not found. Export LENSBENCH=" in skill(
        "--status", fails=True, PATH=bare, LENSBENCH=""
    )
    assert "nothing is running" in skill("--status", PATH=bare, LENSBENCH=str(CHECKOUT))
    command = foreign.control / "lensbench"
    command.write_text('#!/bin/sh\nshift\nexec echo "on PATH: $@"\n')
    command.chmod(0o755)
    assert (
        skill("--status", PATH=f"{foreign.control}:{bare}", LENSBENCH="") == "on PATH: --status\n"
    )


@pytest.fixture
def claude(
    foreign: Project, tmp_path: Path
) -> Iterator[Callable[[str], tuple[str, dict[str, Any]]]]:
    """Types a slash command into the real Claude Code; what it answers at last, and the first request to its model.

    The fake model calls Bash with what the skill tells it, and repeats the result.
    """
    if not CLAUDE.exists():
        pytest.skip("Claude Code is not installed; `make agents` does it")

    def run(typed: str) -> tuple[str, dict[str, Any]]:
        command = f".claude/skills/benchmark/run.sh{typed.removeprefix('/benchmark')}"
        call = {"name": "Bash", "input": {"command": command, "description": "benchmark"}}
        rules = [
            {"when": {"turn": 1}, "reply": {"tools": [call]}},
            {"reply": {"text": "It said: {tool_result}"}},
        ]
        with serving(MessagesApi(), read_rules(rules)) as fake:
            own = {
                "ANTHROPIC_BASE_URL": fake.url,
                "ANTHROPIC_AUTH_TOKEN": "x",
                "CLAUDE_CONFIG_DIR": f"{tmp_path}/c",
            }
            own |= {"HOME": str(tmp_path / "home"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
            done = subprocess.run(
                [str(CLAUDE), "-p", "--model", "sonnet", "--", typed],
                cwd=foreign.folder,
                env={**environment(foreign), **own},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LONG_S,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout, next(body for body in fake.bodies if body.get("tools"))

    return run


def test_claude_code_runs_its_commands(
    foreign: Project, claude: Callable[[str], tuple[str, dict[str, Any]]]
) -> None:
    foreign.behave(others="await go")
    said, request = claude("/benchmark --run r --cores 2")
    assert ".claude/skills/benchmark/run.sh --run r --cores 2" in json.dumps(request["messages"])
    assert "Numbers come from its output" in json.dumps(request["messages"])
    assert "it continues after this shell is closed" in said
    assert wait_for(lambda: len(foreign.ledger()) == 2)
    assert "running agents finish" in claude("/benchmark --stop")[0]
    (foreign.control / "go").touch()
    assert wait_for(lambda: is_over(foreign), LONG_S)
    assert foreign.ledger("end") == foreign.ledger()
