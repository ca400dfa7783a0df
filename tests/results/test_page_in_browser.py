"""The page in a real browser: links, folding, keys, narrow screens, paper. The `page` fixture fails on any request
and on any error in the console."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from benches import Shape, make_bench
from chromium import barriers
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.plan.frozen import read_plan
from lensbench.results.page.page import write_page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with its answers beside it."""
    shape = Shape(12, treatments=("with", "graph"), discarded=0.05, long_names=True)
    folder = make_bench(tmp_path_factory.mktemp("report") / "bench", shape)
    write_page(folder)
    return folder / "report.html"


def test_the_style_of_the_page_is_let_through_by_its_own_policy(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    assert (
        page.locator(".chip").first.evaluate("chip => getComputedStyle(chip).borderRadius")
        == "999px"
    )
    assert (
        page.locator(".chart line.grid").first.evaluate("one => getComputedStyle(one).strokeWidth")
        == "1px"
    )


def test_points_of_the_chart_quotations_and_links_lead_to_the_answers_and_back(
    page: Page, report: Path
) -> None:
    page.goto(report.as_uri())
    page.locator("#treatment-0-tasks .chart a").first.click()
    assert "/answers/" in page.url
    assert page.locator(".columns section").count() == 3
    page.get_by_role("link", name="← the results").click()
    assert page.url == report.as_uri()
    first, second = (
        report.parent / "answers" / f"{task}.html" for task in read_plan(report.parent)["order"][:2]
    )
    page.goto(first.as_uri())
    assert page.get_by_role("link", name="previous task").count() == 0
    page.get_by_role("link", name="next task").click()
    assert page.url == second.as_uri()
    page.get_by_role("link", name="previous task").click()
    assert page.url == first.as_uri()
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
        reached.append(
            page.evaluate(
                "document.activeElement.closest('.chart') ? 'chart' : document.activeElement.tagName"
            )
        )
    assert "chart" not in reached
    assert {"A", "SUMMARY"} <= set(reached)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("opened", [False, True])
def test_the_page_itself_never_scrolls_sideways(
    page: Page, report: Path, width: int, opened: bool
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    answers = next(report.parent.glob("answers/*.html"))
    for path in (report, answers):
        page.goto(path.as_uri())
        if opened:
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_on_a_phone_no_verdict_is_out_of_sight(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    for path in (report, next(report.parent.glob("answers/*.html"))):
        page.goto(path.as_uri())
        for region in page.locator(".scroll:has(> .stack)").all():
            assert region.evaluate("one => one.scrollWidth <= one.clientWidth")
    labels = page.locator(".stack td[data-label]").evaluate_all(
        "cells => cells.map(cell => cell.dataset.label)"
    )
    assert len(set(labels)) > 1


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier_on_the_pages_of_a_benchmark(
    page: Page, report: Path, width: int, scheme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
    for path in (report, *sorted(report.parent.glob("answers/**/*.html"))[::9]):
        page.goto(path.as_uri())
        assert barriers(page) == [], path


def test_axe_finds_no_barrier_in_the_notices_above_the_verdict(page: Page, tmp_path: Path) -> None:
    folder = make_bench(tmp_path / "bench", Shape(2, hostile="of late"))
    write_page(folder)
    page.goto((folder / "report.html").as_uri())
    assert page.locator(".notice").count()
    assert barriers(page) == []


def test_on_paper_tables_are_open_and_colours_are_light(page: Page, report: Path) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(report.as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.get_by_role("region", name="All pairs of graph").bounding_box() is not None
    assert page.locator("nav").first.is_hidden()
    assert page.pdf().startswith(b"%PDF")


def open_pairs(page: Page, report: Path, behind: str = "") -> Locator:
    """The shown rows of the table of pairs of the first treatment."""
    page.goto(f"{report.as_uri()}#treatment-0-pairs{behind}")
    page.reload()  # the page may be there already, with another table
    return page.locator("#treatment-0-pairs tbody tr:visible")


def test_pairs_are_filtered_searched_and_sorted_and_the_choice_can_be_sent(
    page: Page, report: Path
) -> None:
    rows = open_pairs(page, report)
    assert rows.count() == 12
    bar = page.locator("#treatment-0-tasks .filters")
    bar.get_by_label("category").select_option("Debug")
    assert {row.get_attribute("data-category") for row in rows.all()} == {"Debug"}
    assert bar.locator("output").inner_text() == f"{rows.count()} of 12 pairs"
    bar.get_by_label("category").select_option("")
    bar.get_by_label("search").fill("repo-2 Targeted")
    assert all("repo-2-tar" in row.inner_text() for row in rows.all())
    bar.get_by_label("search").fill("")

    head = page.locator("#treatment-0-pairs").get_by_role("button", name="Difference")
    head.focus()
    head.press("Enter")
    shown = [row.get_attribute("data-outcome") for row in rows.all()]
    order = ["worse", "equal", "better", "no score"]
    assert shown == sorted(shown, key=lambda outcome: order.index(outcome or ""))
    head.press("Enter")
    bar.get_by_label("outcome").select_option("better")
    sent = page.url.partition("#treatment-0-pairs")[2]
    values = [row.locator("td").nth(4).inner_text() for row in rows.all()]
    assert values == sorted(values, key=lambda text: -float(text.removesuffix(" points")))
    assert len(values) < 12
    again = open_pairs(page, report, sent)
    assert [row.locator("td").nth(4).inner_text() for row in again.all()] == values


def test_discards_can_be_picked_by_their_reason(page: Page, tmp_path: Path) -> None:
    folder = make_bench(tmp_path / "bench", Shape(24, discarded=0.2))
    write_page(folder)
    rows = open_pairs(page, folder / "report.html", "?discarded=timed_out")
    assert 0 < rows.count() < 24
    assert all("timed_out" in row.inner_text() for row in rows.all())


def test_tables_are_whole_without_scripts(chromium: Browser, report: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    page.locator("#treatment-0-tasks summary").click()
    assert page.locator("#treatment-0-pairs tbody tr:visible").count() == 12
    assert page.locator(".filters, .sort").count() == 0
    context.close()


def test_answers_are_compared_word_by_word(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.locator("#treatment-0-tasks .chart a").first.click()
    task = page.locator("h2").first.inner_text()
    page.locator("summary", has_text="and with, word by word").press("Enter")
    shown = page.locator("details[open] pre.words")
    without = (
        "(pre, gone) => { const copy = pre.cloneNode(true);"
        " copy.querySelectorAll(gone).forEach(mark => mark.remove()); return copy.textContent; }"
    )
    shown.locator("del, ins").first.wait_for()
    for name, gone in (("without", "ins"), ("with", "del")):
        answer = run_files(report.parent, RunId(task, name)).answer.read_text()
        assert shown.evaluate(without, gone) == answer
