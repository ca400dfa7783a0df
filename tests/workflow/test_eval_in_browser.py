"""The page of one question in a real browser; the `page` fixture fails on any request and on any error in the console."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chromium import barriers
from lensbench.core.tasks import Category, Folder, Task
from lensbench_demo.ask import render_page
from lensbench_demo.side_by_side import Side

HOSTILE = "<script>alert(1)</script><img src=http://x/y onerror=alert(2)> ![i](http://x/z) [go](javascript:alert(3))"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    task = Task(
        id="eval",
        category=Category.DEBUG,
        repository=Folder(path="repo"),
        prompt=f"Why? {HOSTILE}",
        criteria=(),
    )
    facts = {"Tool calls": "12, it says", "Tools": f"Read 3, {'mcp__lens__' * 9} {HOSTILE}"}
    sides = [
        Side("without", facts, ("a.py", HOSTILE), f"# Here\n\n{HOSTILE}\n\n`{'wide' * 60}`", ""),
        Side("with", facts, (), "", f"crashed: {HOSTILE}"),
    ]
    path = tmp_path / "eval.html"
    plan = {"agent": {"kind": "offline"}, "settings_sha256": "ab" * 32}
    path.write_text(render_page(plan, task, {"tree_sha256": "cd" * 32}, sides))
    return path


@pytest.mark.parametrize("width", [1280, 400])
def test_what_agents_wrote_is_shown_and_does_nothing(page: Page, written: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(written.as_uri())
    expect(page.get_by_role("heading", name="without", exact=True)).to_be_visible()
    expect(page.get_by_text("12, it says").first).to_be_visible()
    assert barriers(page) == []
    expect(page.get_by_text("a benchmark would not count this run")).to_be_visible()
    expect(page.locator(".answer h4")).to_have_text("Here")
    assert page.locator("script, img, main a[href]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
