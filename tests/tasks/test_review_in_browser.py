"""The review page in a real browser: what a person accepts and edits is saved as a set that lensbench reads."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chromium import barriers
from lensbench.core.tasks import Category, Folder, Task
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.files import Made
from lensbench_tasks.review_page import render_review
from lensbench_tasks.rounds import Examined, Fate, Proposal
from lensbench_tasks.survey import survey
from lensbench_tasks.trial import Tried

HOSTILE = "</script><img src=x onerror=\"document.title = 'owned'\">\u2028 {{ 7 * 7 }} <!-- <script>"
SOURCE = f"LIMIT = 4\n# {HOSTILE}\ndef fill(size=30):\n    return size\n"


def criterion(name: str, value: str, quote: str) -> dict[str, object]:
    return {
        "text": f"States that `{name}` in a.py is {value}", "all_of": [name], "any_of": [{"regex": rf"\b{value}\b"}, "a: b", "/static/", '"quoted"'],
        "partial": {"names (it)": [name]}, "proofs": [{"file": "a.py", "quote": quote}],
    }  # fmt: skip


def made(folder: Path) -> Made:
    (folder / "repo").mkdir()
    (folder / "repo" / "a.py").write_text(SOURCE)
    facts = [criterion("LIMIT", "4", "LIMIT = 4"), criterion("size", "30", "size=30"), criterion("fill", "30", HOSTILE)]
    prompts = ["Which one?\n\nSay why: 1 # 2", HOSTILE, "And which 'other' \"one\"? \\ 😀"]
    tried = Tried(Fraction(0), Fraction(1, 2), Fraction(1))
    source = Folder(path="repo")
    fates = []
    for number, prompt in enumerate(prompts, 1):
        value = {"id": f"r-{number}", "category": "Targeted", "repository": source, "prompt": prompt, "criteria": facts}
        proposal = Proposal(f"r-{number}", Category.TARGETED, Task.model_validate(value))
        fates.append(Fate(proposal, [Examined((), tried)]))
    return Made("r", source, "a test", 3, fates, survey(folder / "repo"))


@pytest.fixture
def set_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.chdir(tmp_path)
    return made(tmp_path)


@pytest.fixture
def review(page: Page, set_of: Made, tmp_path: Path) -> Page:
    path = tmp_path / "r.review.html"
    path.write_text(render_review(set_of))
    page.goto(path.as_uri())
    return page


def test_axe_finds_no_barrier_on_the_review(review: Page) -> None:
    assert barriers(review) == []


def keys(page: Page, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def save(page: Page, folder: Path) -> list[Task]:
    with page.expect_download() as download:
        keys(page, "s")
    assert download.value.suggested_filename == "r.reviewed.yaml"
    download.value.save_as(folder / "reviewed.yaml")
    return list(read_scenarios([str(folder / "reviewed.yaml")]).tasks)


def test_what_is_accepted_without_edits_is_saved_as_it_was(review: Page, set_of: Made, tmp_path: Path) -> None:
    keys(review, "j", "k", "a", "j", "a", "j", "a")
    expect(review.locator("#count")).to_have_text("3 accepted, 0 dropped, 0 open")
    assert save(review, tmp_path) == set_of.tasks


def test_dropped_and_open_tasks_are_not_saved_and_edits_are(review: Page, tmp_path: Path) -> None:
    keys(review, "d", "j", "a", "j", "e")
    keys(review, "Control+a")
    review.keyboard.type("Which one: a or d?")
    keys(review, "Escape")
    part = review.locator(".task").nth(2).locator(".criterion").nth(0)
    part.locator(".fact").fill("States that `LIMIT` in a.py is four")
    part.locator(".patterns").fill("all_of: LIMIT\nall_of: /(?i)\\bfour\\b/\npartial (names it): LIMIT")
    keys(review, "Escape", "a", "k", "d")
    (task,) = save(review, tmp_path)
    assert task.id == "r-3"
    assert task.prompt == "Which one: a or d?"
    edited = task.criteria[0].model_dump(mode="json", exclude_defaults=True)
    assert edited == {
        "text": "States that `LIMIT` in a.py is four", "all_of": ["LIMIT", {"regex": r"(?i)\bfour\b"}],
        "partial": {"names it": ["LIMIT"]}, "proofs": [{"file": "a.py", "quote": "LIMIT = 4"}],
    }  # fmt: skip


def test_patterns_that_are_none_are_marked_and_keep_a_task_from_being_accepted(review: Page) -> None:
    first = review.locator(".task").nth(0)
    for text, fault in {
        "nothing": '"nothing" is no pattern',
        "must_not: x": "needs all_of, any_of or at_least",
        'all_of: "a"b"': "has quotes in it",
    }.items():
        first.locator(".patterns").nth(0).fill(text)
        first.get_by_role("button", name="Accept").click()
        expect(first.locator(".fault").nth(0)).to_contain_text(fault)
    expect(review.locator("#count")).to_have_text("0 accepted, 0 dropped, 3 open")


def test_the_source_of_each_proof_and_what_was_found_out_are_shown(review: Page) -> None:
    first = review.locator(".task").nth(0)
    expect(first.locator(".proof").nth(1)).to_contain_text("a.py, line 3")
    expect(first.locator(".proof").nth(1)).to_contain_text("def fill(size=30):")
    expect(first.locator(".flags")).to_contain_text("an agent without a model finds 50%")


def test_hostile_text_does_nothing(review: Page) -> None:
    keys(review, "j", "a", "d")
    assert review.title() == "Review of r"
    assert review.locator("main :is(img, script, a, iframe)").count() == 0
    expect(review.locator(".task").nth(1).locator(".prompt-text")).to_have_value(HOSTILE)


def test_nothing_accepted_is_said_and_leaving_unsaved_is_warned_of(review: Page) -> None:
    keys(review, "s")
    expect(review.locator("#message")).to_have_text("No task is accepted yet.")
    asked: list[str] = []
    review.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    keys(review, "a")
    review.reload()
    assert asked == ["beforeunload"]
