"""One question in every condition at once: what is shown, what is kept, and what is asked again."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lensbench.core.errors import UserError, printable_lines
from lensbench.plan.reading import read_config
from lensbench_demo.ask import evaluate
from lensbench_demo.side_by_side import Side, lines
from programs import run_module
from small_benchmark import CHECKOUT, Project, wait_for

QUESTION = "Task eval: where is the cart?"
Ask = Callable[..., str]


@pytest.fixture
def ask(project: Project) -> Ask:
    """Starts the program in the project's folder, and returns what it printed."""
    project.configure(scenarios="no-such-set.yaml")

    def run(*arguments: str, fails: bool = False) -> str:
        words = arguments or (QUESTION, "--repo", "repo")
        marked = {"FAKE_CONTROL": str(project.control), "FAKE_SECRET": "s3cret"}
        done = run_module("lensbench_demo.ask", *words, cwd=project.folder, **marked)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def evals(project: Project) -> list[Path]:
    return sorted((project.folder / "bench" / "evals").glob("*/answers/eval.html"))


def test_both_conditions_answer_at_once_and_are_not_asked_again_until_the_files_change(
    project: Project, ask: Ask
) -> None:
    said = ask()
    assert project.ledger() == ["eval-with", "eval-without"]
    assert re.search(r"tool calls, observed +1 +1 *\n", said)
    assert re.search(r"tools +Grep 1 +Grep 1 *\n", said)
    assert said.count("eval: `Cart` is in shop.py") == 2
    assert "proves nothing" in said
    page = evals(project)[0]
    folder = page.parent.parent
    assert folder.name.startswith("task-eval-where-is-the-cart-")
    text = page.read_text()
    assert "An index said so." in text
    assert not re.search(r"<script|https?://", text)
    records = [json.loads(path.read_text()) for path in folder.glob("attempts/*/*/record.json")]
    assert all(record["attempt"]["number"] == 1 and record["opened_at"] for record in records)
    written = [path for path in project.folder.rglob("*") if path.is_file()]
    assert [path for path in written if b"s3cret" in path.read_bytes()] == []

    again = ask()
    assert "answered before" in again
    assert again.splitlines()[-1] == said.splitlines()[-1]
    assert len(project.ledger()) == 2
    (project.folder / "repo" / "shop.py").write_text("class Cart:\n    limit = 41\n")
    ask()
    assert (len(project.ledger()), len(evals(project))) == (4, 2)


def test_a_run_that_is_refused_or_would_not_count_says_why_and_is_made_again(
    project: Project, ask: Ask
) -> None:
    project.behave(eval_with=["apierror Not logged in", "crash", "answer"])
    said = ask(fails=True)
    assert "error: fake: the agent was refused (Not logged in)" in said
    assert "Traceback" not in said
    assert evals(project) == []
    assert "fake: a benchmark would not count this run. crashed: exit code 3" in ask()
    assert "crashed: exit code 3" in evals(project)[0].read_text()
    said = ask()
    assert "proves nothing" in said
    assert "would not count" not in said
    assert project.ledger() == ["eval-with"] * 3 + ["eval-without"]


def test_a_question_about_the_current_folder_does_not_see_the_answers(
    project: Project, ask: Ask
) -> None:
    assert ask(QUESTION).splitlines()[-1] == ask(QUESTION).splitlines()[-1]
    assert project.ledger() == ["eval-with", "eval-without"]


def test_however_it_is_ended_no_agent_is_left(project: Project, ask: Ask) -> None:
    project.behave(others="children 600")
    marked = {
        "PYTHONPATH": str(CHECKOUT / "scripts"),
        "FAKE_CONTROL": str(project.control),
        "FAKE_SECRET": "none",
    }
    command = [sys.executable, "-m", "lensbench_demo.ask", QUESTION, "--repo", "repo"]
    for number in (signal.SIGINT, signal.SIGKILL):
        project.clear_ledger()
        process = subprocess.Popen(
            command,
            cwd=project.folder,
            env={**os.environ, **marked},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert wait_for(lambda: len(project.ledger()) == 2)
        process.send_signal(number)
        assert process.wait(30) != 0
        assert wait_for(lambda: not project.processes()), project.processes()
    project.behave()
    assert "proves nothing" in ask()


@pytest.mark.parametrize(
    ("question", "repo", "config", "message"),
    [
        ("  ", ".", "config.yaml", "there is no question"),
        (QUESTION, "nowhere", "config.yaml", "there is no folder"),
        (QUESTION, "repo", "nothing.yaml", "nothing.yaml: cannot be read"),
    ],
)
def test_a_mistake_is_one_clear_line(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    repo: str,
    config: str,
    message: str,
) -> None:
    monkeypatch.chdir(project.folder)
    with pytest.raises(UserError, match=message) as mistake:
        evaluate(read_config(Path(config)), question, repo)
    assert len(str(mistake.value).splitlines()) == 1


def side(name: str, answer: str) -> Side:
    return Side(name, {"Tool calls": "3"}, ("a.py", "[red]b.py[/red]"), answer, "")


def test_the_answers_stand_below_each_other_and_the_facts_in_a_table() -> None:
    text = "\n".join(
        lines("Why?", [side("without", "left [bold]words"), side("with", "right 漢字 words")])
    )
    assert "[red]b.py[/red]" in text
    assert (
        text.index("── without ──")
        < text.index("left [bold]words")
        < text.index("── with ──")
        < text.index("right")
    )
    assert text.endswith("            without  with\nTool calls  3        3")


def test_nothing_in_an_answer_controls_the_terminal() -> None:
    hostile = "a\x1b[31mb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1bPq\x1b\\e\rf\x9b2Jg\u202eh\x00\ti\r\nj\x1b"
    plain = printable_lines(hostile)
    assert all(character.isprintable() or character == "\n" for character in plain)
    assert "abcde f" in plain
    assert plain.endswith("i\nj ")
