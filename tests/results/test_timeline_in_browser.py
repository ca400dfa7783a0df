"""The page of a run in Chromium: hostile transcripts do nothing, steps open by keyboard, links lead to steps."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benches import Shape, make_bench
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.results.page.data import run_address
from lensbench.results.page.page import write_page
from lensbench.results.page.pairs import TEXT_LIMIT

NASTY = '</pre></details><script>document.title="owned"</script><img src=x onerror=\'document.title="owned"\'>\x1b[31m\u202e'


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, RunId]:
    """A benchmark in which a run has a hostile transcript with one very long result."""
    folder = make_bench(tmp_path / "bench" / "r", Shape(tasks=4))
    task = json.loads((folder / "plan.json").read_text())["order"][0]
    one = RunId(task, "with")
    events = [
        {"type": "tool_call", "id": 1, "name": NASTY, "input": {"pattern": NASTY}},
        {"type": "tool_result", "id": 1, "is_error": True, "output": NASTY + "word " * TEXT_LIMIT},
        *(
            {"type": "tool_call", "id": number, "name": "Read", "input": {"path": "a.py"}}
            for number in range(2, 40)
        ),
        {"type": "answer", "text": NASTY},
        {"type": "end", "turns": 2},
    ]
    path = run_files(folder, one).transcript
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(f"{json.dumps(event)}\n" for event in events)
    write_page(folder)
    return folder, one


@pytest.mark.parametrize("width", [400, 1280])
def test_a_hostile_transcript_is_text_and_nothing_is_cut(
    run: tuple[Path, RunId], page: Any, width: int
) -> None:
    folder, one = run
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_viewport_size({"width": width, "height": 800})
    address = (folder / run_address(one)).as_uri()
    page.goto(address)
    assert "owned" not in page.title()
    assert asked == [address]
    assert (page.locator("script, img").count(), page.locator(".timeline > li").count()) == (0, 41)
    page.locator("#step-1 summary").click()
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert "more characters in the transcript" in page.locator("#step-1").inner_text()
    assert "failed" in page.locator("#step-1 summary").inner_text()


def test_steps_open_by_keyboard_and_have_a_link(run: tuple[Path, RunId], page: Any) -> None:
    folder, one = run
    page.goto((folder / run_address(one)).as_uri())
    page.locator("#step-2 summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#step-2 details").get_attribute("open") is not None
    for key in ("Tab", "Tab", "Enter"):  # the first to the text, which arrows scroll
        page.keyboard.press(key)
    assert page.url.endswith("#step-2")


def test_the_pair_leads_to_the_timeline_and_back(run: tuple[Path, RunId], page: Any) -> None:
    folder, one = run
    page.goto((folder / "answers" / f"{one.task}.html").as_uri())
    page.get_by_text("What the agent did, step by step").click()
    assert page.locator("h2").inner_text() == f"{one.task}, lens"
    page.get_by_text("both answers").click()
    assert page.url.endswith(f"/answers/{one.task}.html")
