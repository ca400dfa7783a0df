"""The comparison of runs in a real browser; the `page` fixture fails on any request and on any error in the console."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from benches import Shape, make_bench
from chromium import barriers
from lensbench.results.compare.compare import write_comparison


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, two treatments, names that are too long."""
    base = tmp_path_factory.mktemp("compared")
    shape = Shape(8, treatments=("with", "graph"), long_names=True, discarded=0.05)
    shapes = {
        "first": shape,
        "second-of-a-long-name": Shape(**{**vars(shape), "seed": 2}),
        "third": Shape(8, long_names=True, seed=3),
    }
    write_comparison([make_bench(base / name, each) for name, each in shapes.items()], base / "out")
    return base / "out" / "comparison.html"


def test_axe_finds_no_barrier(page: Page, comparison: Path) -> None:
    page.goto(comparison.as_uri())
    assert barriers(page) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen_but_what_scrolls(page: Page, comparison: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(comparison.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("svg.narrow").first.is_visible() == (width == 400)
