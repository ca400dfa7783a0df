"""The judge sheet as a person uses it, in a real browser."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chromium import barriers
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import Row
from sheets import ANSWER, CRITERIA, human_rows, lay_out
from small_benchmark import wait_for

ITEMS = 2 * 2 * len(CRITERIA)
SELECT = (Path(__file__).parent / "select.js").read_text(encoding="utf-8")


@pytest.fixture
def folder(bench: Callable[..., Any]) -> Path:
    return lay_out(bench, {"a": ANSWER, "b": ANSWER})


@pytest.fixture
def sheet(page: Page, folder: Path) -> Page:
    """The sheet, opened by a person."""
    return opened(page, RunFolder(folder).judge_sheet.as_uri())


def test_axe_finds_no_barrier_on_the_sheet(sheet: Page) -> None:
    assert barriers(sheet) == []


def opened(page: Page, address: str, name: str = "Anna K.") -> Page:
    page.goto(address)
    name_and_enter(page, name)
    expect(page.locator("#who")).not_to_be_empty()
    return page


def name_and_enter(page: Page, name: str) -> None:
    page.keyboard.type(name)
    keys(page, "Enter")


def keys(page: Page, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def save(page: Page, folder: Path, start: Callable[[], Any]) -> Path:
    """Saves into the folder for people's files; the path of the file."""
    with page.expect_download() as download:
        start()
    path = folder / "human" / download.value.suggested_filename
    download.value.save_as(path)
    return path


def rows_of(path: Path, folder: Path) -> list[Row]:
    rows = human_rows(folder, json.loads(path.read_bytes())["judge"])
    return [row for row in rows if row["points"]]


def current(page: Page) -> Any:
    return page.locator(".item.current")


def test_everything_can_be_judged_with_the_keyboard_only(sheet: Page, folder: Path) -> None:
    for number in range(ITEMS):
        keys(sheet, "123"[number % 3], "j")
    expect(sheet.locator("#count[role=status][aria-live=polite]")).to_have_text(
        f"{ITEMS} of {ITEMS}"
    )  # read out
    path = save(sheet, folder, lambda: keys(sheet, "s"))
    assert path.name == "verdicts-anna-k.json"
    rows = rows_of(path, folder)
    assert len(rows) == ITEMS
    assert [row["verdict"] for row in rows] == ["Met", "Partial", "Missed"] * (ITEMS // 3)
    assert {row["judge"] for row in rows} == {"human-anna-k"}


def test_everything_can_be_judged_with_the_mouse(sheet: Page, folder: Path) -> None:
    for question in range(2):
        for box in sheet.locator(".question:not([hidden]) .item").all():
            box.get_by_text("Partial").click()
        if not question:
            sheet.locator(".question:not([hidden])").get_by_role("button", name="Next").click()
    expect(sheet.locator("#count")).to_have_text(f"{ITEMS} of {ITEMS}")
    path = save(sheet, folder, lambda: sheet.get_by_role("button", name="Save").click())
    assert {row["verdict"] for row in rows_of(path, folder)} == {"Partial"}


@pytest.mark.parametrize("how", ["key", "button"])
def test_evidence_selected_in_formatted_text_is_marked_and_saved_as_written(
    sheet: Page, folder: Path, how: str
) -> None:
    sheet.evaluate(SELECT, ["function", "the parser"])
    if how == "key":
        keys(sheet, "e")
    else:
        current(sheet).get_by_role("button", name="Evidence", exact=False).first.click()
    expect(current(sheet).locator("q")).to_have_text("function **`read_all`** in [the parser")
    marked = "[...(CSS.highlights.get('evidence') ?? [])].map(String).join('')"
    assert sheet.evaluate(marked) == "function read_all in the parser"
    keys(sheet, "1", "j")
    assert sheet.evaluate(marked) == ""
    (row,) = rows_of(save(sheet, folder, lambda: keys(sheet, "s")), folder)
    assert row["evidence"] == "function **`read_all`** in [the parser"
    assert ANSWER[int(row["position"]) :].startswith(row["evidence"])


def test_evidence_is_taken_from_plain_text_too_and_after_characters_of_two_units(
    sheet: Page, folder: Path
) -> None:
    keys(sheet, "v")
    sheet.evaluate(SELECT, ["seconds \U0001f600", "`LIMIT`"])
    keys(sheet, "e", "1", "v", "j")
    sheet.evaluate(SELECT, ["see", "LIMIT"])
    keys(sheet, "e", "2")
    first, second = rows_of(save(sheet, folder, lambda: keys(sheet, "s")), folder)
    assert (first["evidence"], second["evidence"]) == (
        "seconds \U0001f600, see `LIMIT`",
        "see `LIMIT",
    )


def test_evidence_can_be_typed_and_must_stand_in_the_answer(sheet: Page) -> None:
    keys(sheet, "e")
    sheet.keyboard.type("nobody said this")
    keys(sheet, "Escape")
    expect(sheet.locator("#message")).to_contain_text("does not have this text")
    expect(current(sheet).locator(".evidence")).to_be_hidden()
    current(sheet).locator(".typed textarea").fill("after 30 seconds")
    keys(sheet, "Escape")
    expect(current(sheet).locator("q")).to_have_text("after 30 seconds")
    current(sheet).get_by_role("button", name="Remove the evidence").click()
    expect(current(sheet).locator(".evidence")).to_be_hidden()


def test_text_of_the_other_answer_is_no_evidence(sheet: Page) -> None:
    sheet.evaluate(SELECT, ["function", "in"])
    sheet.locator(".question:not([hidden]) .answer").nth(1).locator(".item .cite").first.click()
    expect(sheet.locator("#message")).to_contain_text("Select text in the answer")


def test_a_reload_loses_nothing(sheet: Page) -> None:
    keys(sheet, "1", "j", "n")
    sheet.keyboard.type("as 1 of 3, says j")
    keys(sheet, "Escape", "3")
    sheet.reload()
    expect(sheet.locator("#count")).to_have_text(f"2 of {ITEMS}")
    expect(current(sheet).locator(".note textarea")).to_have_value("as 1 of 3, says j")
    expect(current(sheet).locator("[value=Missed]")).to_be_checked()


def test_two_people_in_one_browser_have_their_own_verdicts(sheet: Page, folder: Path) -> None:
    keys(sheet, "1", "j", "1", "p")
    name_and_enter(sheet, "Bob")
    expect(sheet.locator("#count")).to_have_text(f"0 of {ITEMS}")
    expect(sheet.locator("#who")).to_have_text("bob")
    keys(sheet, "3")
    theirs = rows_of(save(sheet, folder, lambda: keys(sheet, "s")), folder)
    assert [(row["judge"], row["verdict"]) for row in theirs] == [("human-bob", "Missed")]
    sheet.reload()  # the tab knows the person, another one asks
    expect(sheet.locator("#who")).to_have_text("bob")
    other = opened(sheet.context.new_page(), sheet.url)
    expect(other.locator("#count")).to_have_text(f"2 of {ITEMS}")
    rows = rows_of(save(other, folder, lambda: keys(other, "s")), folder)
    assert [(row["judge"], row["verdict"]) for row in rows] == [("human-anna-k", "Met")] * 2


def test_nobody_judges_without_a_name(page: Page, folder: Path) -> None:
    page.goto(RunFolder(folder).judge_sheet.as_uri())
    name_and_enter(page, "...")
    expect(page.locator("#message")).to_have_text("The name needs a letter or a digit.")
    keys(page, "Escape", "1")
    expect(page.get_by_role("dialog", name="Who judges?")).to_be_visible()
    expect(page.locator("#count")).to_have_text(f"0 of {ITEMS}")


def test_two_tabs_with_the_same_sheet_do_not_overwrite_each_other(sheet: Page) -> None:
    other = opened(sheet.context.new_page(), sheet.url)
    keys(other, "j", "2")
    expect(other.locator("#count")).to_have_text(f"1 of {ITEMS}")
    sheet.bring_to_front()
    turn_to(sheet, "Partial")
    expect(sheet.locator("#count")).to_have_text(f"1 of {ITEMS}")
    keys(sheet, "1")
    turn_to(other, "Met")
    expect(other.locator("#count")).to_have_text(f"2 of {ITEMS}")


def turn_to(tab: Page, verdict: str) -> None:
    """What a person's click on the tab does, once what the other tab stored has reached its process. The page's policy
    forbids what wait_for_function evaluates in it."""
    assert wait_for(lambda: f'\\"{verdict}\\"' in tab.evaluate("JSON.stringify(localStorage)"))
    tab.evaluate("dispatchEvent(new Event('focus'))")


def test_a_tab_that_was_not_told_of_the_other_overwrites_nothing(page: Page, folder: Path) -> None:
    deaf = "for (const name of ['storage', 'focus']) addEventListener(name, (e) => e.stopImmediatePropagation())"
    page.add_init_script(
        deaf
    )  # before the page's own listeners: on the window they are called in their order
    opened(page, RunFolder(folder).judge_sheet.as_uri())
    other = opened(page.context.new_page(), page.url)
    keys(other, "j", "2")
    expect(other.locator("#count")).to_have_text(f"1 of {ITEMS}")
    # it reaches other processes later; the page's policy forbids what wait_for_function evaluates in it
    assert wait_for(lambda: "Partial" in page.evaluate("JSON.stringify(localStorage)"))
    page.bring_to_front()  # a person types into the tab in front alone; a browser may freeze one behind it
    expect(page.locator("#count")).to_have_text(f"0 of {ITEMS}")
    keys(page, "1")
    expect(page.locator("#count")).to_have_text(f"2 of {ITEMS}")
    page.reload()
    expect(page.locator("#count")).to_have_text(f"2 of {ITEMS}")


def test_without_storage_the_page_works_and_asks_to_save_often(page: Page, folder: Path) -> None:
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('refused'); }})"
    )
    opened(page, RunFolder(folder).judge_sheet.as_uri())
    expect(page.get_by_role("alert")).to_contain_text("Save your verdicts often")
    keys(page, "1")
    assert len(rows_of(save(page, folder, lambda: keys(page, "s")), folder)) == 1


def test_leaving_with_unsaved_verdicts_is_warned_of(sheet: Page, folder: Path) -> None:
    asked: list[str] = []
    sheet.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    sheet.reload()
    assert asked == []
    keys(sheet, "1")
    sheet.reload()
    assert asked == ["beforeunload"]
    save(sheet, folder, lambda: keys(sheet, "s"))
    sheet.reload()
    assert asked == ["beforeunload"]


def test_a_saved_file_is_loaded_to_go_on_and_what_does_not_belong_is_left_out(
    sheet: Page, folder: Path
) -> None:
    keys(sheet, "1", "j", "2")
    path = save(sheet, folder, lambda: keys(sheet, "s"))
    content = json.loads(path.read_text())
    content["verdicts"].append({"answer": "0000000000", "criterion": 1, "verdict": "Met"})
    path.write_text(json.dumps(content))
    sheet.evaluate("localStorage.clear()")
    sheet.reload()
    expect(sheet.locator("#count")).to_have_text(f"0 of {ITEMS}")
    sheet.get_by_label("Load").set_input_files(path)
    expect(sheet.locator("#count")).to_have_text(f"2 of {ITEMS}")
    expect(sheet.locator("#message")).to_have_text(
        "Loaded 2 verdicts. 1 do not belong to this sheet and were skipped."
    )
    keys(sheet, "o", "3")
    assert len(rows_of(save(sheet, folder, lambda: keys(sheet, "s")), folder)) == 3


def test_a_file_that_is_no_verdict_file_changes_nothing(sheet: Page, tmp_path: Path) -> None:
    keys(sheet, "1")
    for number, content in enumerate(
        ["{", "7", "null", '{"schema": 2, "verdicts": []}', '{"schema": 1}']
    ):
        path = tmp_path / f"other-{number}.json"
        path.write_text(content)
        sheet.get_by_label("Load").set_input_files(path)
        expect(sheet.locator("#message")).to_have_text(
            f"{path.name} is no verdict file. Nothing was changed."
        )
    expect(sheet.locator("#count")).to_have_text(f"1 of {ITEMS}")


def test_undo_takes_back_step_by_step(sheet: Page) -> None:
    keys(sheet, "1", "2", "j", "3", "u", "u")
    expect(sheet.locator("#count")).to_have_text(f"1 of {ITEMS}")
    expect(current(sheet).locator("[value=Met]")).to_be_checked()
    keys(sheet, "u")
    expect(sheet.locator("#count")).to_have_text(f"0 of {ITEMS}")
    keys(sheet, "u")
    expect(sheet.locator("#message")).to_have_text("There is nothing to undo.")


def test_next_open_passes_what_is_judged_and_says_when_nothing_is_open(sheet: Page) -> None:
    keys(sheet, "j", "1", "k", "1", "o")
    expect(current(sheet).locator("legend")).to_have_text(CRITERIA[2])
    for _ in range(ITEMS):
        keys(sheet, "1", "o")
    expect(sheet.locator("#message")).to_have_text("Nothing is open. Save your verdicts.")


def test_one_answer_at_a_time_shows_the_one_that_is_judged(sheet: Page) -> None:
    visible = sheet.locator(".answer:visible")
    expect(visible).to_have_count(2)
    keys(sheet, "b")
    expect(visible).to_have_count(1)
    expect(visible).to_have_attribute("aria-label", "Answer A")
    keys(sheet, *"jjj")
    expect(visible).to_have_attribute("aria-label", "Answer B")


def test_a_key_that_is_typed_into_a_note_or_below_the_help_judges_nothing(sheet: Page) -> None:
    keys(sheet, "n")
    sheet.keyboard.type("1 2 3 j s u ?")
    expect(sheet.locator("#count")).to_have_text(f"0 of {ITEMS}")
    expect(sheet.locator("dialog[open]")).to_have_count(0)
    keys(sheet, "Escape", "?")
    expect(sheet.get_by_role("dialog", name="How to judge")).to_be_visible()
    keys(sheet, "1", "Escape")
    expect(sheet.locator("dialog[open]")).to_have_count(0)
    expect(sheet.locator("#count")).to_have_text(f"0 of {ITEMS}")


HOSTILE = [
    "</script><img src=x onerror=\"document.title = 'owned'\">",
    "![pixel](https://example.org/pixel.png) <img src=https://example.org/pixel.png>",
    "[a](data:text/html,<script>document.title='owned'</script>) [b](javascript:document.title='owned')",
    "<style>@import url(https://example.org/x.css)</style><iframe src=https://example.org></iframe>",
    "<meta http-equiv=refresh content='0;url=https://example.org'><base href=https://example.org>",
    "<a href=https://example.org ping=https://example.org>x</a> {{ 7 * 7 }} <!-- <script>",
]


def test_hostile_answers_do_nothing_and_ask_for_nothing(
    page: Page, bench: Callable[..., Any]
) -> None:
    folder = lay_out(bench, {f"t{number}": text for number, text in enumerate(HOSTILE)})
    opened(page, RunFolder(folder).judge_sheet.as_uri())
    title = page.title()
    for _ in HOSTILE:
        keys(page, "v", "v", "1", "l")
    assert page.title() == title
    assert page.locator(".text :is(img, a, script, style, iframe, meta, base)").count() == 0
    assert page.url == RunFolder(folder).judge_sheet.as_uri()
    expect(page.locator("#count")).to_have_text(
        f"{len(HOSTILE)} of {len(HOSTILE) * 2 * len(CRITERIA)}"
    )


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_screen(
    page: Page, bench: Callable[..., Any], width: int
) -> None:
    wide = f"`{'x' * 300}`\n\n```\n{'long line ' * 60}\n```\n\n| {'| '.join(['cell'] * 30)} |\n|{'-|' * 30}\n\n{'https://example.org/' * 9}"
    folder = lay_out(bench, {"a": wide})
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, RunFolder(folder).judge_sheet.as_uri())
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(
            "document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth"
        )
        keys(page, "v")


def test_the_page_is_dark_where_the_system_is(sheet: Page) -> None:
    def brightness(selector: str, name: str) -> int:
        colour = sheet.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{name}")
        return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))

    sheet.emulate_media(color_scheme="light")
    assert brightness("body", "backgroundColor") > 600 > 150 > brightness("body", "color")
    sheet.emulate_media(color_scheme="dark")
    assert brightness("body", "backgroundColor") < 150 < 600 < brightness("body", "color")
    assert brightness("textarea", "backgroundColor") < 150 < 600 < brightness("textarea", "color")
