"""The product does its job on this machine: the shipped demo, killed in its middle, and its page. `make test` asks this."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page

from lensbench.core.run_folder import RunFolder
from lensbench.core.system.places import ROOT
from small_benchmark import living, wait_for

pytestmark = [pytest.mark.job, pytest.mark.xdist_group("job"), pytest.mark.timeout(900)]

START = [sys.executable, "-P", "-m", "lensbench", "run", "--cores", "2"]
"""The command of a start; the first one in an empty folder copies the demo."""
FEWEST_ANSWERS = 6
"""Answers that are there when the demo is killed: some, and far from all."""


def answers(bench: Path) -> dict[str, bytes]:
    """The finished answers by the attempt that gave them."""
    records = sorted(bench.glob("attempts/**/record.json"))
    return {
        str(record.parent.relative_to(bench)): (record.parent / "answer.md").read_bytes()
        for record in records
    }


Resumed = tuple[Path, dict[str, bytes], str]


@pytest.fixture(scope="module")
def killed_and_resumed(tmp_path_factory: pytest.TempPathFactory) -> Resumed:
    """The demo's run folder after a kill and a second start, the answers at the kill, and what the second one printed."""
    folder = tmp_path_factory.mktemp("demo")
    bench = folder / "bench" / "demo"
    mark = str(folder)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts"), "LENSBENCH_MARK": mark}
    first = subprocess.Popen(
        START,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert wait_for(lambda: len(answers(bench)) >= FEWEST_ANSWERS or first.poll() is not None, 400)
    first.kill()
    first.wait()
    assert wait_for(lambda: not list(living(mark))), list(living(mark))
    before = answers(bench)
    second = subprocess.run(
        START,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert second.returncode == 0, second.stdout[-3000:] + second.stderr[-3000:]
    return bench, before, second.stdout


def test_the_kill_came_in_the_middle(killed_and_resumed: Resumed) -> None:
    bench, before, _ = killed_and_resumed
    assert FEWEST_ANSWERS <= len(before) < len(answers(bench))


def test_no_finished_answer_is_lost_or_made_again(killed_and_resumed: Resumed) -> None:
    bench, before, _ = killed_and_resumed
    after = answers(bench)
    assert {place: after[place] for place in before} == before


def test_every_run_counts_once(killed_and_resumed: Resumed) -> None:
    bench, _, _ = killed_and_resumed
    results = json.loads(RunFolder(bench).results_json.read_text(encoding="utf-8"))
    runs = 2 * results["tasks"]
    assert results["counts"] == {"scored": runs, "unjudged": 0, "discarded": 0, "missing": 0}
    assert len(answers(bench)) == runs


def test_the_closing_line_names_the_page(killed_and_resumed: Resumed) -> None:
    _, _, printed = killed_and_resumed
    assert "open bench/demo/report.html" in printed


def test_the_page_opens_in_a_browser(killed_and_resumed: Resumed, page: Page) -> None:
    bench, _, _ = killed_and_resumed
    page.goto(RunFolder(bench).page.as_uri())
    assert "No verdict" in page.inner_text("body")
