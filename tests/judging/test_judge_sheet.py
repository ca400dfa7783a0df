"""What stands on the judge sheet, and what must not."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import write_table
from lensbench.judging.judge_sheet import questions, render_sheet, sheet_id, write_sheet
from lensbench.judging.shown_answers import sampled_pairs
from lensbench.plan.frozen import read_plan
from sheets import ANSWER, BASELINE, CRITERIA, TREATMENT, lay_out, shown_answers_of

Make = Callable[..., Any]
PLAN = {"seed": 1, "judges": [{"name": "mechanical"}], "judging": {"human_sample": 0.1}}
GROUPS = [(f"task-{number}", 1) for number in range(30)]


class Parts(HTMLParser):
    """The texts of the script and style elements of a page, by their type."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: dict[str, str] = {}
        self.policy = ""
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "style"):
            self.inside = given.get("type") or tag
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.parts[self.inside] = self.parts.get(self.inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def page_of(folder: Path) -> str:
    return RunFolder(folder).judge_sheet.read_text()


def with_plan(**changes: Any) -> dict[str, Any]:
    return {**PLAN, **changes}


def test_the_sample_is_the_configured_share_drawn_by_the_seed_and_all_pairs_of_sole_judges() -> (
    None
):
    assert (len(sampled_pairs(PLAN, GROUPS)), len(sampled_pairs(PLAN, GROUPS[:21]))) == (3, 3)
    assert len(sampled_pairs(PLAN, GROUPS[:1])) == 1
    assert len(sampled_pairs(with_plan(judging={"human_sample": 0.0}), GROUPS)) == 0
    assert sampled_pairs(with_plan(judges=[{"name": "human"}]), GROUPS) == set(GROUPS)
    assert sampled_pairs(PLAN, GROUPS) == sampled_pairs(PLAN, reversed(GROUPS))
    assert len({sampled_pairs(with_plan(seed=seed), GROUPS) for seed in range(5)}) > 1


@given(st.integers(0, 29), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_pair_that_leaves_does_not_draw_the_others_anew(gone: int, share: float) -> None:
    plan = with_plan(judging={"human_sample": share})
    before = sampled_pairs(plan, GROUPS) - {GROUPS[gone]}
    assert len(before ^ sampled_pairs(plan, GROUPS[:gone] + GROUPS[gone + 1 :])) <= 1


def test_a_sampled_pair_is_asked_about_with_all_its_criteria(bench: Make) -> None:
    folder = lay_out(bench, {"a": ANSWER, "b": ANSWER})
    seen, tasks = shown_answers_of(folder)
    asked = questions(read_plan(folder), tasks, seen, set())
    assert {each.prompt for each in asked} == {"How does a read?", "How does b read?"}
    for each in asked:
        assert each.criteria == tuple(enumerate(CRITERIA, 1))
        assert {answer.run.condition for answer in each.answers} == {BASELINE, TREATMENT}


@pytest.mark.parametrize("criterion", [("yes", "Met"), ("no", "Unjudged")])
def test_a_disputed_or_open_criterion_is_asked_of_both_and_looks_like_others(
    bench: Make, criterion: tuple[str, str]
) -> None:
    folder = lay_out(bench, {"a": ANSWER, "b": ANSWER}, sample=0, sheet=False)
    columns = ("task", "condition", "trial", "criterion", "disagreement", "judges_verdict")
    values = [
        ("a", TREATMENT, 1, 2, *criterion),
        ("a", TREATMENT, 1, 3, "no", "Met"),
        ("b", BASELINE, 1, 1, "no", "Met"),
    ]
    write_table(
        folder / "decisions.csv", columns, [dict(zip(columns, row, strict=True)) for row in values]
    )
    write_sheet(folder)
    page = page_of(folder)
    assert re.findall(r"<legend>(.*)</legend>", page) == [CRITERIA[1], CRITERIA[1]]
    assert not re.search("disput|disagree", page)


def test_an_answer_whose_partner_does_not_count_is_not_on_the_sheet(bench: Make) -> None:
    folder = lay_out(bench, {"a": ANSWER, "b": ANSWER})
    seen, tasks = shown_answers_of(folder)
    lone = [each if each.run.task == "b" else replace(each, pair_complete=False) for each in seen]
    assert [each.prompt for each in questions(read_plan(folder), tasks, lone, set())] == [
        "How does b read?"
    ]


def test_the_order_of_questions_and_the_side_of_a_condition_depend_on_the_seed(bench: Make) -> None:
    orders = set()
    sides = set()
    for seed in range(8):
        folder = lay_out(bench, dict.fromkeys("abc", ANSWER), seed=seed, sheet=False)
        seen, tasks = shown_answers_of(folder)
        asked = questions(read_plan(folder), tasks, seen, set())
        orders.add(tuple(each.prompt for each in asked))
        sides |= {each.answers[0].run.condition for each in asked}
    assert len(orders) > 1
    assert sides == {BASELINE, TREATMENT}


def test_the_page_names_no_condition_no_tool_no_server_and_no_run(bench: Make) -> None:
    telling = (
        f"{ANSWER}\nI used mcp__sonar__lens_grep and `lens_grep`.\n\n## Report\n- Tool calls: 7\n"
        "- Tools used: mcp__sonar__lens_grep\n- Files read: 2\n- Files used: `src/parser.py`\n"
    )
    page = page_of(lay_out(bench, {"quokka-01": (ANSWER, telling)})).lower()
    for word in (
        BASELINE,
        TREATMENT,
        "sonar",
        "lens_grep",
        "mcp__",
        "quokka-01-",
        "tool calls",
        "condition",
    ):
        assert word not in page, word


def test_the_same_folder_gives_the_same_bytes(bench: Make) -> None:
    folder = lay_out(bench, {"a": ANSWER, "b": ANSWER})
    before = page_of(folder)
    write_sheet(folder)
    assert page_of(folder) == before


def test_another_text_makes_another_sheet(bench: Make) -> None:
    ids = set()
    for answer in (ANSWER, ANSWER + "."):
        folder = lay_out(bench, {"a": answer})
        seen, tasks = shown_answers_of(folder)
        asked = questions(read_plan(folder), tasks, seen, set())
        ids |= {sheet_id(asked), sheet_id(list(asked)), sheet_id([replace(asked[0], prompt="?")])}
    assert len(ids) == 4


@pytest.mark.parametrize(
    "text",
    [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "\u2028 &lt; ]]> {{ 7 }}",
        "\u00e9 \U0001f600",
    ],
)
def test_no_text_of_an_answer_ends_the_data(bench: Make, text: str) -> None:
    page = page_of(lay_out(bench, {"a": f"read_all {text} end"}))
    parts = Parts(page).parts
    assert set(parts) == {"style", "script", "application/json"}
    assert {each["text"] for each in json.loads(parts["application/json"])["answers"]} == {
        f"read_all {text} end"
    }


def test_the_page_allows_its_own_script_and_style_and_nothing_else(bench: Make) -> None:
    page = Parts(page_of(lay_out(bench, {"a": ANSWER})))
    rules = dict(rule.split(" ", 1) for rule in page.policy.split("; "))
    assert rules.pop("default-src") == "'none'"
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.parts[kind].encode()).digest()).decode()
        assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
    assert rules == {"img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}


def test_prompts_and_criteria_are_escaped(bench: Make) -> None:
    folder = lay_out(bench, {"a": ANSWER})
    seen, tasks = shown_answers_of(folder)
    (asked,) = questions(read_plan(folder), tasks, seen, set())
    hostile = replace(asked, prompt="<b>who</b>", criteria=((1, '"><script>alert(1)</script>'),))
    page = render_sheet([hostile])
    assert "<b>who" not in page
    assert "<script>alert" not in page


def test_an_empty_sheet_says_so_and_does_not_fail_the_start(bench: Make) -> None:
    folder = lay_out(bench, {"a": ANSWER}, sample=0)
    assert "judging.human_sample draws no pair" in page_of(folder)


def test_of_a_very_long_answer_no_more_than_its_beginning_is_searched(
    bench: Callable[..., Any],
) -> None:
    folder = lay_out(bench, {"a": "It is in `state.py`.\n" + "\n" * 5_000_000}, sheet=False)
    seen, _ = shown_answers_of(folder)
    assert {(len(shown.blinded.original), len(shown.text)) for shown in seen} == {(240_000, 60_000)}
