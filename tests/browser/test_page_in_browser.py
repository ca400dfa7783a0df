"""The page in a real browser: links, folding, keys, narrow screens, paper. The `page` fixture fails on any request
and on any error in the console."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from benches import Shape, make_bench
from lensbench.results.page.page import write_page
from lensbench.scores.estimates import write_estimates

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with its answers beside it."""
    shape = Shape(12, treatments=("with", "graph"), discarded=0.05, long_names=True, measures=(write_estimates,))
    folder = make_bench(tmp_path_factory.mktemp("report") / "bench", shape)
    write_page(folder)
    return folder / "report.html"


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with its answers folded in."""
    folder = make_bench(tmp_path_factory.mktemp("folded") / "bench", Shape(3, trials=2, measures=(write_estimates,)))
    write_page(folder, folded=True)
    return folder / "report.html"


def test_the_style_of_the_page_is_let_through_by_its_own_policy(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    assert page.locator(".chip").first.evaluate("chip => getComputedStyle(chip).borderRadius") == "999px"
    assert page.locator("svg.narrow").first.is_hidden()


def test_a_point_of_the_chart_leads_to_the_answers_and_back(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.locator("#treatment-0-tasks svg.wide a").first.click()
    assert "/answers/" in page.url
    assert page.locator(".columns section").count() == 3
    page.get_by_role("link", name="← the results").click()
    assert page.url == report.as_uri()


def test_a_quotation_leads_to_its_mark_in_the_answer(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.locator("article.loss a").first.click()
    page.locator(".quote a").first.click()
    mark = page.locator("mark:has(:target)")
    assert mark.count() == 1
    assert "Step" in (mark.text_content() or "")


def test_tables_fold_out_by_mouse_and_by_key(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    table = page.get_by_role("region", name="All pairs of graph")
    summary = page.locator("#treatment-0-tasks summary")
    assert table.is_hidden()
    summary.click()
    assert table.is_visible()
    summary.press("Enter")
    assert table.is_hidden()


def test_tabs_reach_every_table_and_pass_over_the_charts(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.closest('svg') ? 'svg' : document.activeElement.tagName"))
    assert "svg" not in reached
    assert {"A", "SUMMARY"} <= set(reached)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("opened", [False, True])
def test_the_page_itself_never_scrolls_sideways(page: Page, report: Path, width: int, opened: bool) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    answers = next(report.parent.glob("answers/*.html"))
    for path in (report, answers):
        page.goto(path.as_uri())
        if opened:
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_ground_in_both_colour_schemes(page: Page, report: Path, scheme: str) -> None:
    page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
    page.goto(report.as_uri())
    for selector in ("p.sentence", "svg.wide text >> nth=0", ".muted >> nth=0", ".chip >> nth=0", "nav a >> nth=0"):
        assert page.locator(selector).first.evaluate(_CONTRAST) >= 4.5, selector


_CONTRAST = """element => {
    const parts = text => text.match(/[\\d.]+/g).map(Number)
    const light = text => parts(text).slice(0, 3)
        .map(one => one / 255).map(one => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0)
    const style = getComputedStyle(element)
    const front = light(element.closest('svg') ? style.fill : style.color)
    let ground = element
    while (ground && (parts(getComputedStyle(ground).backgroundColor)[3] ?? 1) === 0) ground = ground.parentElement
    const back = light(getComputedStyle(ground ?? document.body).backgroundColor)
    return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05)
}"""


def test_on_paper_tables_are_open_and_colours_are_light(page: Page, report: Path) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(report.as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.get_by_role("region", name="All pairs of graph").bounding_box() is not None
    assert page.locator("nav").first.is_hidden()
    assert page.pdf().startswith(b"%PDF")


def test_the_page_reads_without_scripts(report: Path) -> None:
    assert "<script" not in report.read_text()


def test_folded_answers_open_from_their_link_and_close_again(page: Page, folded: Path) -> None:
    page.goto(folded.as_uri())
    assert page.locator("section.folded:visible").count() == 0
    page.locator("#treatment-0-tasks svg.wide a").first.click()
    assert page.locator("section.folded:visible").count() == 1
    page.locator("section.folded:visible .quote a").first.click()
    assert page.locator("section.folded:visible").count() == 1
    page.locator("section.folded:visible").get_by_role("link", name="← the results").click()
    assert page.locator("section.folded:visible").count() == 0


def test_hostile_text_does_nothing(page: Page, tmp_path: Path) -> None:
    folder = make_bench(tmp_path / "bench", Shape(2, hostile=HOSTILE, discarded=0.2, measures=(write_estimates,)))
    write_page(folder)
    for path in (folder / "report.html", *(folder / "answers").glob("*.html")):
        page.goto(path.as_uri())
        assert page.title() != "owned"
        assert page.evaluate("document.scripts.length + document.images.length") == 0
        assert re.search(r"</script><script>document\.title", page.locator("body").text_content() or "")
