"""A real browser for the pages, opened from disk without a server and without a network."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from lensbench.core.system.places import ROOT

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
OWN_SCHEMES = ("file:", "data:", "blob:", "about:")


AXE = ROOT / "tools" / "agents" / "node_modules" / "axe-core" / "axe.min.js"


def barriers(page: Page) -> list[str]:
    """What axe-core finds on a page, with everything folded out: the rule, and the first element that breaks it.

    The order of headings in texts of agents is theirs."""
    if not AXE.exists():
        pytest.skip("needs axe-core: make agents")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    found = [
        rule
        for rule in found
        if rule["id"] != "heading-order" or "data-p=" not in rule["nodes"][0]["html"]
    ]
    return [
        f"{rule['id']} ({len(rule['nodes'])}): {rule['nodes'][0]['html'][:300]}" for rule in found
    ]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser, started once per test file: while it runs, no other test can run an event loop."""
    program = CHROMIUM if os.access(CHROMIUM, os.X_OK) else shutil.which("chromium")
    if program is None:
        pytest.skip(f"needs Chromium: neither {CHROMIUM} nor a `chromium` on PATH is there")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """An empty tab of 1280 x 800 for files. The test fails when the page logs an error or asks for anything else."""
    faults: list[str] = []

    def requested(request: Request) -> None:
        if not request.url.startswith(OWN_SCHEMES):
            faults.append(f"request: {request.url[:200]}")

    context = chromium.new_context(viewport={"width": 1280, "height": 800}, service_workers="block")
    context.set_default_timeout(10_000)
    context.on("request", requested)
    context.on("weberror", lambda error: faults.append(f"exception: {error.error}"))
    context.on(
        "console",
        lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None,
    )
    context.route(
        "**/*",
        lambda one: one.continue_() if one.request.url.startswith(OWN_SCHEMES) else one.abort(),
    )
    yield context.new_page()
    context.close()
    assert not faults, "\n".join(faults)
