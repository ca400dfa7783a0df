"""Drafting: prose becomes patterns that find the fact, are marked, and are never better than what the prose says."""

import tempfile
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from drafted_answers import (
    Scored,
    bare,
    closeness,
    crude,
    drafting_set,
    made_answers,
    patterns,
    scored,
)
from lensbench.core.errors import UserError
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.drafting import doubts, draft, main, render, with_drafts
from programs import refusal, run_here, run_module

DATA = yaml.safe_load((Path(__file__).parent / "drafts.yaml").read_text(encoding="utf-8"))

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group(
    "drafting"
)  # the set is drafted and its answers are scored once

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


def drafted(text: str) -> Criterion:
    return draft(Criterion(text=text))


@pytest.mark.parametrize(("text", "answer", "expected"), DATA["answers"])
def test_the_drafts_of_a_text_judge_answers(text: str, answer: str, expected: str) -> None:
    assert judge(drafted(text), normalise(answer)).verdict.value == expected


@pytest.mark.parametrize("code", ["/users", "/a/b", "/ x", "/[a-z]+/", "/a_b.py", "/users/{id}"])
def test_a_code_span_that_starts_with_a_slash_can_be_drafted(code: str) -> None:
    criterion = drafted(f"States that `{code}` is a route")
    assert criterion.drafted
    assert judge(criterion, normalise(f"Here `{code}` is a route.")).verdict.value == "Met"


def test_patterns_of_an_author_are_left_alone_and_a_draft_is_marked_and_not_drafted_again() -> None:
    criterion = Criterion(text="States that find_it is in core.py", all_of=("find_it",))
    assert draft(criterion) is criterion
    once = drafted("States that find_it is in core.py")
    assert once.drafted == "strict"
    assert draft(once) is once
    assert judge(once, normalise("find_it")).reason.startswith("strict draft: ")


PIECES = st.sampled_from(
    [
        "`a_b`",
        "`",
        "core.py",
        "src/x y/",
        "A.b.c",
        "or",
        "and/or",
        "(e.g.",
        ")",
        "(",
        "= 5",
        "30 items",
        "1,000",
        "is",
        "`f(x, y)`",
        "HTTP",
        "Content-Length",
        "x=True",
        "\u00e9_\u00fc",
        "-",
        "either",
        ",",
        "a" * 80,
        "_" * 70,
        "9" * 59,
        "such as",
        "\u201cx y\u201d",
    ]
)


@given(
    st.lists(PIECES | st.text(max_size=6), min_size=1, max_size=25).map(" ".join),
)
def test_any_text_with_a_name_gives_a_valid_draft(text: str) -> None:
    criterion = drafted(f"a_word {text}")
    assert Criterion.model_validate_json(criterion.model_dump_json()) == criterion
    assert criterion.mechanical
    assert criterion.drafted


@cache
def drafts_of_the_set() -> tuple[Task, ...]:
    return tuple(
        task.model_copy(
            update={"criteria": tuple(draft(bare(criterion)) for criterion in task.criteria)}
        )
        for task in drafting_set()[0]
    )


def test_a_fact_in_the_words_of_its_criterion_is_met() -> None:
    wrong = [
        criterion.text
        for task in drafts_of_the_set()
        for criterion in task.criteria
        if judge(criterion, normalise(criterion.text.removeprefix("States that "))).verdict.value
        != "Met"
    ]
    assert wrong == []


@cache
def rows(by_drafts: bool) -> list[Scored]:
    """The scores of all answers, by drafts or by the crude rule."""
    tasks, trees = drafting_set()
    criteria = {task.id: task.criteria for task in drafts_of_the_set()}
    return scored(made_answers(tasks, trees, 1), criteria, patterns if by_drafts else crude)


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [False, True])
def test_scores_by_drafts_are_close_to_the_authors(held_out: bool) -> None:
    drafts, tokens = (
        closeness([row for row in rows(each) if row.held_out == held_out]) for each in (True, False)
    )
    assert drafts.rank_correlation >= 0.75
    assert drafts.error <= 18 < tokens.error
    assert abs(drafts.bias) < abs(tokens.bias)


def test_several_sets_become_a_file_each_and_none_is_written_over(tmp_path: Path) -> None:
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
        ([first, "--output", first], "give another name"),
    ):
        place = [] if "--output" in wrong else ["--output", output]
        assert told in refusal(main, *wrong, *place)
        assert not output.exists()
    assert run_here(main, first, third, "--output", output).count("3 criteria with drafts") == 2
    made = [str(output / name) for name in ("set.yaml", "three.yaml")]
    assert [task.id for task in read_scenarios(made, imported=True).tasks] == [
        "di-exp-00",
        "di-exp-02",
    ]


def test_the_program_writes_a_set_that_is_read_back_with_its_drafts(tmp_path: Path) -> None:
    (tmp_path / "set.md").write_text(MARKDOWN)
    output = tmp_path / "set.yaml"
    done = run_module("lensbench_tasks.drafting", tmp_path / "set.md", "--output", output)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 criteria with drafts" in done.stdout
    (task,) = read_scenarios([str(output)], imported=True).tasks
    assert [criterion.drafted for criterion in task.criteria] == [
        "strict",
        "strict",
        None,
        "strict",
    ]
    text = output.read_text()
    assert text.startswith("# Made of set.md. Criteria: 4; with drafts: 3.\n")
    assert text.count("drafted: strict\n") == 3
    assert "# look: the text is a negation" in text
    assert "# look: no draft, since the text has no name, path or number" in text


def test_the_program_names_all_mistakes_in_one_message(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("tasks: [{id: X}]")
    with pytest.raises(UserError, match=r"(?s)id is 'X'.*category is missing.*prompt is missing"):
        run_here(main, tmp_path / "set.yaml", "--output", tmp_path / "o.yaml")
    assert not (tmp_path / "o.yaml").exists()


def test_a_person_is_told_what_a_pattern_cannot_see() -> None:
    assert [*doubts(Criterion(text="not a_b or 3", all_of=("a_b",)))] == []
    told = " ".join(doubts(drafted("Never calls load_all or load_one more than 3 times")))
    assert all(word in told for word in ("negation", "alternatives", "number"))


CLAUSES = {
    "since the cache is not shared by all readers": "Missed",
    "since the cache is no longer shared": "Missed",
    "as the cache is never shared by readers": "Missed",
    "since the cache isn't shared by all readers, so nothing else is needed": "Missed",
    "since the cache is shared by all readers": "Met",
    "since the cache is shared by all readers, and a writer does not wait for it": "Met",
    "so that a change elsewhere is never seen by them": "Met",
    "since not only the cache is shared by all readers": "Met",
}


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_of_the_fact_without_any_piece_is_denied_and_no_other_one(clause: str) -> None:
    kept = "load_all in src/store.py keeps a copy of the rows"
    criterion = drafted(f"States that {kept}, since the cache is shared by all readers")
    accepted = criterion.model_copy(update={"drafted": None})
    for answer in (f"{kept}, {clause}.", f"It turns out: `{kept}`, {clause}.\n\nThat is all."):
        for each in (criterion, accepted):
            assert judge(each, normalise(answer)).verdict.value == CLAUSES[clause]


PROMPTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n '\"#:-"),
    min_size=1,
)


@given(PROMPTS, PROMPTS)
@example("a line.\u2028Another", "states\u2028`a_b`")
def test_whatever_a_set_says_is_read_back_as_it_was(prompt: str, text: str) -> None:
    if not prompt.strip() or not text.split():
        return
    base = {"id": "t", "category": "Debug", "prompt": prompt}
    task = with_drafts(
        Task.model_validate({**base, "criteria": [{"text": text}, {"text": f"{text} in a_b.py"}]})
    )
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(render([task], "set.md"))
        file.flush()
        assert read_scenarios([file.name], imported=True).tasks == (task,)
