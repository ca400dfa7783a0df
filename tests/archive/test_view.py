"""`lensbench view`: which benchmarks a folder has, and what each says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lensbench.core.errors import UserError
from lensbench_archive.view import benchmarks, view


def make(folder: Path, **results: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    (folder / "report.html").touch()
    if results:
        (folder / "results.json").write_text(json.dumps(results))
    return folder


def test_a_run_folder_and_a_folder_of_several_are_listed_with_their_verdicts(
    tmp_path: Path,
) -> None:
    plain = {
        "with": {"lead": "We cannot tell yet.", "facts": "2 tasks better."},
        "search": {"lead": "search: lens helps.", "facts": "Two tasks better."},
    }
    one = make(tmp_path / "bench" / "a", plain=plain)
    old = make(tmp_path / "bench" / "b", headlines=["with 29%"])
    make(tmp_path / "bench" / "c")
    broken = make(tmp_path / "bench" / "d")
    (broken / "results.json").write_text("{")
    assert [folder.name for folder, _ in benchmarks(tmp_path)] == ["a", "b", "c", "d"]
    assert [*benchmarks(tmp_path / "bench")] == [*benchmarks(tmp_path)]
    told = ["We cannot tell yet. 2 tasks better.", "search: lens helps. Two tasks better."]
    assert [said for _, said in benchmarks(one)] == [told]
    said = [lines for _, lines in benchmarks(tmp_path)]
    assert said[1] == ["with 29%"]
    assert said[2][0].startswith("no results yet")
    assert said[3][0].startswith("results.json cannot be read")
    assert old.exists()


def test_a_folder_without_benchmarks_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no benchmark here"):
        view(tmp_path, opens=False)


@pytest.mark.parametrize("several", [False, True])
def test_the_browser_is_opened_for_one_benchmark_only(tmp_path: Path, several: bool) -> None:
    page = make(tmp_path / "bench" / "a", headlines=["x"]) / "report.html"
    if several:
        make(tmp_path / "bench" / "b")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    told = {
        **os.environ,
        "BROWSER": f"{browser} %s",
        "DISPLAY": ":0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "lensbench_archive.view", str(tmp_path)]
    ended = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith(f"{page}\n  x\n")
    opened = tmp_path / "opened"
    assert opened.exists() is not several
    if not several:
        assert opened.read_text().strip() == page.as_uri()
