"""The review page in a real browser."""

from fractions import Fraction
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chromium import barriers
from lensbench.core.tasks import Category, Folder, Task
from lensbench_tasks.check import render_page
from lensbench_tasks.files import Made
from lensbench_tasks.review_page import render_review
from lensbench_tasks.rounds import CandidateResult, Examined, Proposal
from lensbench_tasks.survey import Survey
from lensbench_tasks.trial import TrialScores

HOSTILE = (
    "</script><img src=x onerror=\"document.title = 'owned'\">\u2028 {{ 7 * 7 }} <!-- <script>"
)
SOURCE = f"LIMIT = 4\n# {HOSTILE}\ndef fill(size=30):\n    return size\n"


def criterion(name: str, value: str, quote: str) -> dict[str, object]:
    return {
        "text": f"States that `{name}` in a.py is {value}",
        "all_of": [name],
        "any_of": [{"regex": rf"\b{value}\b"}, "a: b", "/static/", '"quoted"'],
        "partial": {"names (it)": [name]},
        "proofs": [{"file": "a.py", "quote": quote}],
    }


def made(folder: Path) -> Made:
    (folder / "repo").mkdir()
    (folder / "repo" / "a.py").write_text(SOURCE)
    facts = [
        criterion("LIMIT", "4", "LIMIT = 4"),
        criterion("size", "30", "size=30"),
        criterion("fill", "30", HOSTILE),
    ]
    prompts = ["Which one?\n\nSay why: 1 # 2", HOSTILE, "And which 'other' \"one\"? \\ 😀"]
    tried = TrialScores(Fraction(0), Fraction(1, 2), Fraction(1))
    source = Folder(path="repo")
    fates = []
    for number, prompt in enumerate(prompts, 1):
        value = {
            "id": f"r-{number}",
            "category": "Targeted",
            "repository": source,
            "prompt": prompt,
            "criteria": facts,
        }
        proposal = Proposal(f"r-{number}", Category.TARGETED, Task.model_validate(value))
        fates.append(CandidateResult(proposal, [Examined((), tried)]))
    return Made("r", source, "a test", 3, fates, Survey.read(folder / "repo"))


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


def test_axe_finds_no_barrier_on_the_review_and_it_fits_a_phone(review: Page) -> None:
    assert barriers(review) == []
    review.set_viewport_size({"width": 400, "height": 800})
    assert review.evaluate("document.documentElement.scrollWidth") == 400


def test_axe_finds_no_barrier_on_the_page_of_a_check(page: Page, tmp_path: Path) -> None:
    task = Task(
        id="r-1",
        category=Category.TARGETED,
        repository=Folder(path="r"),
        prompt="where " * 400,
        criteria=(),
    )
    path = tmp_path / "r.check.html"
    path.write_text(render_page("r", [task], [], {}))
    page.goto(path.as_uri())
    assert barriers(page) == []


def test_the_source_of_each_proof_is_shown_and_hostile_text_does_nothing(review: Page) -> None:
    first = review.locator(".task").nth(0)
    expect(first.locator(".proof").nth(1)).to_contain_text("a.py, line 3")
    expect(first.locator(".proof").nth(1)).to_contain_text("def fill(size=30):")
    expect(first.locator(".flags").first).to_contain_text("an agent without a model finds 50%")
    assert review.title() == "Review of r"
    assert review.locator("main :is(img, script, a, iframe)").count() == 0
    expect(review.locator(".task").nth(1).locator(".prompt")).to_contain_text("<img src=x")
