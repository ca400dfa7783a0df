"""Drafting: prose becomes patterns that find the fact, are marked, and are never better than what the prose says."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drafted_answers import Closeness, Scored, bare, closeness, crude, drafting_set, made_answers, patterns, scored
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.drafting import draft, with_drafts
from lensbench_tasks.drafting.__main__ import doubts, render

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

MARKDOWN = """
#### di-exp-01
- **Category**: Exploratory
- **Prompt**:
  `How are services wired in Startup.cs?`
- **Judge Criteria**:
  1. Must mention `ServiceRegistrar.cs` and its assembly scanning (`services.Scan`)
  2. Must say that it does not use `WithTransientLifetime`
  3. Must be clear and complete
  4. Must start from `Startup.cs`
"""


def drafted(text: str, prompt: str = "") -> Criterion:
    return draft(Criterion(text=text), prompt)


def verdict(text: str, answer: str, prompt: str = "") -> str:
    return judge(drafted(text, prompt), normalise(answer)).verdict.value


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        # A name and its file, when nothing else is said.
        ("States that find_it is in src/a/core.py", "`find_it` (core.py:12)", "Met"),
        ("States that find_it is in src/a/core.py", "`find_it` does it", "Partial"),
        ("States that find_it is in src/a/core.py", "see core.py", "Partial"),
        # The most telling name, and one thing more.
        ("States that Cart.add in cart.py raises FullCart", "`Cart.add` raises `FullCart`", "Met"),
        ("States that Cart.add in cart.py raises FullCart", "`add` of the `Cart` ends with `FullCart`", "Met"),
        ("States that Cart.add in cart.py raises FullCart", "a `FullCart` comes", "Missed"),
        ("States that Cart.add in cart.py raises FullCart", "`Cart.add` raises `EmptyCart`", "Partial"),
        ("States that Cart._put_item in cart.py calls check_size", "`_put_item` asks `check_size`", "Met"),
        # Code spans, quoted text and settings.
        ("Must mention `ServiceRegistrar.cs` and (`services.Scan`)", "ServiceRegistrar.cs: services.Scan(x)", "Met"),
        ("Must mention `web apps/api/Controllers/`", "in src/web apps/api/Controllers/v1", "Met"),
        ('Says that load_all shows "not found"', "load_all shows “not found”", "Met"),
        ("Says that load_all is called with strict=True", "`load_all(path, strict = True)`", "Met"),
        ("Says that load_all is called with strict=True", "`load_all(path, strict=False)`", "Partial"),
        ("States that `/users` has 20 entries", "`/users` has 20 entries", "Met"),
        ("States that `//` follows 20 slashes", "`//` follows 20 slashes", "Met"),
        ("States that the limit is 20 for `/users/`", "The limit is 20 for `/users/`.", "Met"),
        # Alternatives and lists.
        ("Must mention `run_fast` and/or `run_slow`", "`run_slow`", "Met"),
        ("Must mention either run_fast or run_slow", "`run_fast`", "Met"),
        ("Must mention an `IMarker` or marker interface for it", "a Marker interface is needed", "Met"),
        ("Is imported by a.py, b.py and c_d.py: load_all", "load_all in a.py and b.py", "Partial"),
        ("Is imported by a.py, b.py and c_d.py: load_all", "load_all in a.py, b.py and c_d.py", "Met"),
        ("Removes Content-Length and Transfer-Encoding", "Content-Length goes", "Partial"),
        ("Removes Content-Length and Transfer-Encoding", "Content-Length, Transfer-Encoding", "Met"),
        # Brackets explain; what they explain can be said in words.
        ("Services have scoped lifetime (`WithScopedLifetime`)", "They have a Scoped Lifetime.", "Partial"),
        ("Services have scoped lifetime (`WithScopedLifetime`)", "They live long.", "Missed"),
        # Examples are not asked for.
        ("Must name a folder under `src/domain/` (like `cm/`, `er/`)", "src/domain/logistics", "Met"),
        ("Must name a class such as FirstOne in src/model.py", "in model.py", "Met"),
        # Values.
        ("States that max_size is 400 in cache.py", "`max_size = 400`", "Met"),
        ("States that max_size is 400 in cache.py", "400 of `max_size`", "Met"),
        ("States that max_size is 400 in cache.py", "`max_size = 4000`", "Partial"),
        ("States that max_size is 400 in cache.py", "`max_size` is 40; see line 400", "Partial"),
        ("States that max_size is 400 in cache.py", "`max_size` has a default", "Partial"),
        ("States that it waits 5.0 seconds", "it waits five seconds", "Met"),
        ("States that it waits 5.0 seconds", "5 turns, or 50 seconds", "Missed"),
        ("States that it waits 2.5 seconds", "it waits 2 seconds", "Partial"),
        ("It keeps 1,000 entries", "at most 1000 entries", "Met"),
        ("The width never goes below 50 columns", "at least 50 wide", "Missed"),
        ("Uses col_spacing = 2 between columns", "2 columns", "Missed"),
        (
            "States that `Limits` in httpx/_config.py keeps `keepalive_expiry`",
            "It is `keepalive_expiry` of `Limits`.",
            "Met",
        ),
        (
            "States that `Limits` in httpx/_config.py keeps `keepalive_expiry`",
            "`keepalive_expiry` is read by `Limits.copy()`.\nThat is all.",
            "Met",
        ),
        (
            "States that `Limits` in httpx/_config.py keeps `keepalive_expiry`",
            "The name `keepalive_expiry` belongs to it: `httpx.Limits(self)`",
            "Met",
        ),
        (
            "States that `Limits` in httpx/_config.py keeps `keepalive_expiry`",
            "It is `keepalive_expiry` of `Limits` in client.py.",
            "Partial",
        ),
        (
            "States that `Limits` in httpx/_config.py keeps `keepalive_expiry`",
            "It is `keepalive_expiry` of `Limits`, client.py.\nThat is all.",
            "Partial",
        ),
    ],
)
def test_the_draft_of_a_text_judges_answers(text: str, answer: str, expected: str) -> None:
    assert verdict(text, answer) == expected


@pytest.mark.parametrize(
    "text", ["Must be clear and complete", "Explains why it is slow", "States it", "- `` -", "1.", "a_b " * 501]
)
def test_a_text_with_nothing_to_hold_on_to_stays_without_patterns(text: str) -> None:
    assert drafted(text) == Criterion(text=text)


def test_patterns_of_an_author_are_left_alone() -> None:
    criterion = Criterion(text="States that find_it is in core.py", all_of=("find_it",))
    assert draft(criterion) is criterion


def test_a_draft_is_marked_and_is_not_drafted_again() -> None:
    once = drafted("States that find_it is in core.py")
    assert once.drafted
    assert draft(once) is once


def test_what_the_question_says_is_no_evidence() -> None:
    text, question = "States that find_it in core.py calls load_all", "What does `find_it` call?"
    assert verdict(text, "`find_it`", question) == "Missed"
    assert verdict(text, "`load_all` of core.py", question) == "Met"
    assert not drafted("States that it is find_it", question).mechanical
    assert not drafted("States that the limit is 30 items", "Why is the limit 30 items?").mechanical


def test_a_task_is_drafted_with_its_own_question() -> None:
    criteria = [{"text": "Names find_it"}, {"text": "Names load_all", "all_of": "x"}]
    task = Task.model_validate({"id": "t", "category": "Debug", "prompt": "Is it `find_it`?", "criteria": criteria})
    assert with_drafts(task) == task


PIECES = st.sampled_from([
    "`a_b`", "`", "core.py", "src/x y/", "A.b.c", "or", "and/or", "(e.g.", ")", "(", "= 5", "30 items", "1,000", "is",
    "`f(x, y)`", "HTTP", "Content-Length", "x=True", "\u00e9_\u00fc", "-", "either", ",", "a" * 80, "_" * 70, "9" * 59,
    "such as", "\u201cx y\u201d",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=6), min_size=1, max_size=25).map(" ".join), st.text(max_size=30))
def test_any_text_gives_a_valid_draft_or_none(text: str, prompt: str) -> None:
    if not text.split():
        return
    criterion = drafted(text, prompt)
    assert Criterion.model_validate_json(criterion.model_dump_json()) == criterion
    assert criterion.drafted == criterion.mechanical
    assert judge(criterion, normalise(prompt)).verdict.value != "Met"


@cache
def drafts_of_the_set() -> tuple[Task, ...]:
    return tuple(
        task.model_copy(update={"criteria": tuple(draft(bare(criterion), task.prompt) for criterion in task.criteria)})
        for task in drafting_set()[0]
    )


def test_a_fact_in_the_words_of_its_criterion_is_met() -> None:
    wrong = [
        criterion.text
        for task in drafts_of_the_set()
        for criterion in task.criteria
        if judge(criterion, normalise(criterion.text.removeprefix("States that "))).verdict.value != "Met"
    ]
    assert len(wrong) <= 1, wrong


def test_the_question_alone_meets_no_draft() -> None:
    verdicts = {
        judge(criterion, normalise(task.prompt)).verdict for task in drafts_of_the_set() for criterion in task.criteria
    }
    assert "Met" not in verdicts


@cache
def rows(by_drafts: bool) -> list[Scored]:
    """The scores of all answers, by drafts or by the crude rule."""
    tasks, trees = drafting_set()
    criteria = {task.id: task.criteria for task in drafts_of_the_set()}
    return scored(made_answers(tasks, trees, 1), criteria, patterns if by_drafts else crude)


def close(family: str = "", held_out: bool | None = None, by_drafts: bool = True) -> Closeness:
    chosen = [row for row in rows(by_drafts) if family in ("", row.family) and held_out in (None, row.held_out)]
    return closeness(chosen)


@pytest.mark.parametrize("held_out", [False, True, None])
def test_scores_by_drafts_are_close_to_the_authors(held_out: bool | None) -> None:
    drafts, tokens = close("", held_out), close("", held_out, by_drafts=False)
    assert drafts.rank_correlation >= 0.75
    assert drafts.error <= 20
    assert drafts.error < tokens.error
    assert abs(drafts.bias) < abs(tokens.bias)


@pytest.mark.parametrize("family", ["paraphrased", "quoted"])
def test_on_answers_that_were_not_made_of_the_authors_patterns_drafts_are_strict(family: str) -> None:
    assert -16 <= close(family, held_out=True).bias <= 5


def run_program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "lensbench_tasks.drafting", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_several_sets_become_a_file_each(tmp_path: Path) -> None:
    sets = [tmp_path / name / "set.md" for name in ("one", "two")] + [tmp_path / "three.md"]
    for number, path in enumerate(sets):
        path.parent.mkdir(exist_ok=True)
        path.write_text(MARKDOWN.replace("di-exp-01", f"di-exp-0{number}"))
    first, second, third = map(str, sets)
    output = tmp_path / "drafted"
    for wrong, told in (
        ([first, second], "set.yaml would be written twice"),
        ([first, third, "--output", f"{output}.yaml"], "several sets need a folder"),
        ([first, first], "would be written twice"),
    ):
        refused = run_program(*wrong, *([] if "--output" in wrong else ["--output", str(output)]))
        assert (refused.returncode, told in refused.stderr, output.exists()) == (1, True, False), refused.stderr
    done = run_program(first, third, "--output", str(output))
    assert (done.returncode, done.stderr, done.stdout.count("2 criteria with drafted patterns")) == (0, "", 2)
    made = [str(output / name) for name in ("set.yaml", "three.yaml")]
    assert [task.id for task in read_scenarios(made, imported=True).tasks] == ["di-exp-00", "di-exp-02"]


def test_the_program_writes_a_set_that_is_read_back_with_its_drafts(tmp_path: Path) -> None:
    (tmp_path / "set.md").write_text(MARKDOWN)
    output = tmp_path / "set.yaml"
    done = run_program(str(tmp_path / "set.md"), "--output", str(output))
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 criteria with drafted patterns" in done.stdout
    (task,) = read_scenarios([str(output)], imported=True).tasks
    assert [criterion.drafted for criterion in task.criteria] == [True, True, False, False]
    text = output.read_text()
    assert text.startswith("# Made of set.md. Criteria: 4; with drafted patterns: 2; without any: 2.\n")
    assert text.count("drafted: true\n") == 2
    assert text.count("# look: no draft") == 2
    assert "# look: the text says 'not', and the draft asks for a negation" in text


def test_the_program_never_writes_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "set.md").write_text(MARKDOWN)
    done = run_program(str(tmp_path / "set.md"), "--output", str(tmp_path / "set.md"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "give another name" in done.stderr
    assert (tmp_path / "set.md").read_text() == MARKDOWN


def test_a_set_with_mistakes_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("tasks: [{id: X}]")
    done = run_program(str(tmp_path / "set.yaml"), "--output", str(tmp_path / "o.yaml"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o.yaml").exists()


def test_a_person_is_told_what_a_pattern_cannot_see() -> None:
    assert next(doubts(Criterion(text="x"))).startswith("no draft")
    assert [*doubts(Criterion(text="not a_b or 3", all_of=("a_b",)))] == []
    told = " ".join(doubts(drafted("Never calls load_all or load_one more than 3 times")))
    assert all(word in told for word in ("'Never'", "alternatives", "number"))


PROMPTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n '\"#:-"), min_size=1
)


@given(PROMPTS, PROMPTS)
@example("a line.\u2028Another", "states\u2028`a_b`")
def test_whatever_a_set_says_is_read_back_as_it_was(prompt: str, text: str) -> None:
    if not prompt.strip() or not text.split():
        return
    base = {"id": "t", "category": "Debug", "prompt": prompt}
    task = with_drafts(Task.model_validate({**base, "criteria": [{"text": text}, {"text": f"{text} in a_b.py"}]}))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(render([task], "set.md"))
        file.flush()
        assert read_scenarios([file.name], imported=True).tasks == (task,)
