"""`lensbench table`: many benchmarks on one page, and the steps of a server over its versions."""

import csv
import json
import math
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page

import benches
from archived import edit_rows, forge
from benches import Shape, make_bench
from chromium import barriers
from lensbench.core.errors import CheckFailed
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.system.files import write_json
from lensbench.core.system.places import ROOT
from lensbench.results.page.page import write_page
from lensbench.results.results import write_results
from lensbench_archive.archive import make_archive
from lensbench_archive.history import steps
from lensbench_archive.table import main
from lensbench_archive.verdict import main as verdict
from programs import refusal, run_here

LIFTS = (0.3, 0.3, 0.3, -0.3, -0.3, 0.3, 0.3)
"""Of a planted server, version by version: 2.3 breaks it, 2.5 repairs it."""


def make_version(place: Path, number: int, lift: float, tasks: int = 24) -> Path:
    """The benchmark of a version, a month after the one before."""
    folder = place / f"b{number}"
    shape = Shape(tasks, lift=lift, seed=number, judges=("mechanical",), repositories=tasks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benches, "STARTED", f"2026-0{number + 1}-02T03:04:05.000Z")
        make_bench(folder, shape)
    plan = json.loads((folder / "plan.json").read_text())
    write_json(folder / "plan.json", {**plan, "run_id": folder.name})
    PreflightFindings(versions={"with": {"lens": f"2.{number}"}}).write(folder)
    (folder / "config.yaml").write_text("scenarios: sets/core.yaml\n")
    write_results(folder)
    return folder


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("versions")
    for number, lift in enumerate(LIFTS):
        make_version(place, number, lift)
    write_page(place / "b0")
    return place


def table(place: Path, output: Path, *options: str) -> str:
    return run_here(main, *sorted(place.glob("b*")), "--output", output, *options)


def rows_of(output: Path) -> list[dict[str, str]]:
    return [*csv.DictReader((output / "table.csv").read_text().splitlines())]


def noisy(levels: Sequence[float], tasks: int, seed: int = 1) -> list[list[float | None]]:
    rng = random.Random(seed)
    own = [rng.gauss(0.1, 0.2) for _ in range(tasks)]
    return [[base + level + rng.gauss(0, 0.1) for base in own] for level in levels]


def test_a_step_and_its_repair_are_found_where_they_are() -> None:
    found = steps(noisy([0, 0, 0, -0.2, -0.2, 0, 0], 30), [None] * 30)
    assert [(step.place, step.is_worse) for step in found] == [(3, True), (5, False)]
    for step, size in zip(found, (-0.2, 0.2), strict=True):
        assert step.low < size < step.high
        assert math.copysign(1, step.low) == math.copysign(1, step.high)
        assert step.tasks == 30


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.05])
def test_a_step_is_named_once_however_clear_it_is(noise: float) -> None:
    rng = random.Random(2)
    own = [rng.choice((0.0, 0.25, 0.5)) for _ in range(24)]
    hit = [rng.random() < 0.6 for _ in own]
    series = []
    for version in range(12):
        loss = 0.5 if version in (5, 6, 7) else 0.0
        row = [task - loss * is_hit for task, is_hit in zip(own, hit, strict=True)]
        series.append([value + rng.gauss(0, noise) for value in row])
    found = steps(series, [None] * 24)
    assert [(step.place, step.is_worse) for step in found] == [(5, True), (8, False)]


def test_the_interval_of_a_step_is_that_of_all_stretches_together() -> None:
    from scipy import stats

    (step,) = steps(noisy([0, -0.3], 24), [None] * 24)
    first, second = noisy([0, -0.3], 24)
    change = [after - before for before, after in zip(first, second, strict=True)]
    single = stats.ttest_1samp(change, 0).confidence_interval(0.96)
    assert step.delta == pytest.approx(sum(change) / 24)
    assert step.low == pytest.approx(single.low, abs=0.01)
    assert step.high == pytest.approx(single.high, abs=0.01)
    assert change[step.most] == min(change)


def test_tasks_that_neighbours_do_not_share_take_no_part() -> None:
    series = noisy([0, 0, -0.3, -0.3], 24)
    for row in series[2:]:
        row[:8] = [None] * 8
    (step,) = steps(series, [None] * 24)
    assert (step.place, step.tasks) == (2, 16)


def test_few_tasks_and_one_benchmark_have_no_step() -> None:
    assert steps(noisy([0, -0.9], 9), [None] * 9) == []
    assert steps(noisy([0], 30), [None] * 30) == []
    assert steps([[0.1] * 30, [0.1] * 30], [None] * 30) == []


def test_tasks_of_a_repository_count_as_one() -> None:
    rng = random.Random(3)
    shifts = [rng.gauss(0, 0.5) for _ in range(8)]
    series = [[0.0] * 80, [shifts[task // 10] + rng.gauss(0, 0.01) for task in range(80)]]
    assert steps(series, [None] * 80)
    assert steps(series, [f"r{task // 10}" for task in range(80)]) == []


def test_a_row_has_everything_that_a_benchmark_says(versions: Path, tmp_path: Path) -> None:
    table(versions, tmp_path)
    rows = rows_of(tmp_path)
    results = json.loads((versions / "b0" / "results.json").read_text())
    estimates = results["estimates"]["with"]
    first = rows[0]
    assert [row["version"] for row in rows] == [f"2.{number}" for number in range(len(LIFTS))]
    assert first["date"] == "2026-01-02"
    assert (first["server"], first["agent"], first["agent_version"]) == (
        "lens",
        "claude-code",
        "2.1.329",
    )
    assert (first["model"], first["profile"], first["task_set"]) == ("glm-5", "strict", "core")
    assert len({row["task_set_sha256"] for row in rows}) == 1
    assert first["verdict"] == results["verdicts_on"]["with"]
    assert float(first["score_low"]) == pytest.approx(100 * estimates["gate"]["low"], abs=1e-3)
    cost = estimates["measures"]["cost_usd"]["overall"]
    assert float(first["cost"]) == pytest.approx(100 * cost["delta"], abs=1e-3)
    adoption = estimates["adoption"]["treatment"]
    assert float(first["adoption_low"]) == pytest.approx(100 * adoption["low"], abs=1e-3)


def test_history_names_the_bad_version_its_repair_and_fails_only_where_it_is_still_bad(
    versions: Path, tmp_path: Path
) -> None:
    said = table(versions, tmp_path, "--fail-on", "worse")
    bad, repair = (line.strip() for line in said.splitlines() if "->" in line)
    assert bad.startswith("2.2 -> 2.3: -")
    assert "24 shared tasks; first bad task: repo-" in bad
    assert repair.startswith("2.4 -> 2.5: +")
    assert bad.replace("->", "-&gt;") in (tmp_path / "table.md").read_text()
    broken = tmp_path / "broken"
    for number in range(5):
        shutil.copytree(versions / f"b{number}", broken / f"b{number}")
    with pytest.raises(CheckFailed, match=r"worse: lens .* 2\.2 -> 2\.3: -"):
        table(broken, tmp_path, "--fail-on", "worse")
    assert "2.2 -> 2.3" in table(broken, tmp_path)


def test_another_model_or_set_is_another_series_and_is_named(
    versions: Path, tmp_path: Path
) -> None:
    for number, name in enumerate(("b1", "b2", "b4")):
        shutil.copytree(versions / name, tmp_path / name)
        path = tmp_path / name / "results.json"
        results = json.loads(path.read_text())
        path.write_text(json.dumps({**results, "models": ["new"] if number == 2 else ["old"]}))
    said = table(tmp_path, tmp_path / "site")
    assert "lens · claude-code · old · strict · core: 2 benchmarks" in said
    assert "->" not in said
    page = (tmp_path / "site" / "index.html").read_text()
    assert "lens: benchmarks with different settings are not compared: claude-code · old" in page
    plan = json.loads((tmp_path / "b2" / "plan.json").read_text())
    for task in plan["tasks"].values():
        task["prompt_sha256"] = "other"
    write_json(tmp_path / "b2" / "plan.json", plan)
    assert "2 benchmarks" not in table(tmp_path, tmp_path / "site")
    page = (tmp_path / "site" / "table.md").read_text()
    assert "2.1 and 2.2 are not compared: they share 0 tasks with the same prompt" in page


def make_cells(place: Path, lifts: dict[str, float], tasks: int = 24) -> Path:
    """A benchmark for each model, of the same version on the same tasks."""
    for number, (model, lift) in enumerate(lifts.items()):
        folder = make_version(place, number, lift, tasks)
        PreflightFindings(versions={"with": {"lens": "2.0"}}).write(folder)
        write_results(folder)
        results = json.loads((folder / "results.json").read_text())
        write_json(folder / "results.json", {**results, "models": [model]})
    return place


def test_a_matrix_names_the_models_that_differ_by_name_and_no_others(tmp_path: Path) -> None:
    make_cells(tmp_path / "cells", {"zeta": 0.4, "opus": -0.4, "alpha": 0.4})
    said = table(tmp_path / "cells", tmp_path).splitlines()
    assert said[0] == "lens 2.0 · strict · core: 3 agents and models"
    assert said[1].startswith("  claude-code · alpha less claude-code · opus: +")
    assert said[2].startswith("  claude-code · opus less claude-code · zeta: -")
    assert "24 shared tasks" in said[1]
    assert said[3] == "  other pairs, which differ by no more than chance may explain: 1"
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Agents and models" in page
    assert "not compared" not in page, "a matrix is a comparison"
    assert said[1].strip() in (tmp_path / "table.md").read_text().replace("\\", "")


def test_models_that_are_alike_or_share_few_tasks_are_not_told_apart(tmp_path: Path) -> None:
    make_cells(tmp_path / "alike", {"one": 0.2, "two": 0.2})
    assert "no two of them differ by more than" in table(tmp_path / "alike", tmp_path)
    make_cells(tmp_path / "few", {"one": 0.5, "two": -0.5}, tasks=8)
    assert "pairs that share fewer tasks than a comparison needs (10): 1" in table(
        tmp_path / "few", tmp_path
    )


def test_an_archive_comes_in_if_it_verifies_and_is_named_if_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = [
        f"t{task},{name},{rng.random():.2f}" for task in range(9) for name in ("without", "with")
    ]
    Path("a.csv").write_text("\n".join(["task,condition,score", *rows]), encoding="utf-8")
    run_here(verdict, "a.csv")
    make_archive(Path("bench/a"), Path("a.zip"))
    forged = forge(Path("a.zip"), edit_rows("scores.csv", lambda row: row.update(score="1")), True)
    capsys.readouterr()
    run_here(main, "a.zip", forged.name, "bench/a", "nowhere.zip")
    said = capsys.readouterr().err
    assert "omitted: forged.zip: does not verify: run/scores.csv: does not follow" in said
    assert "omitted: nowhere.zip: cannot be read" in said
    archive, folder = rows_of(Path("site"))
    assert len(archive["source"]) == 64
    assert folder["source"] == "folder"
    assert archive["score"] == folder["score"]
    assert "(numbers from elsewhere)" in Path("site/table.md").read_text(encoding="utf-8")
    assert "forged.zip" in Path("site/index.html").read_text(encoding="utf-8")


def test_nothing_to_show_could_not_run(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(main, tmp_path / "nowhere.zip")
    assert "results.json" in refusal(main, tmp_path)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_sorts_filters_and_fits_narrow_screens(
    page: Page, versions: Path, tmp_path: Path, scheme: str
) -> None:
    table(versions, tmp_path)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto((tmp_path / "index.html").as_uri())
    assert barriers(page) == []
    first = page.locator("#benchmarks tbody tr").first
    assert "b0" in first.inner_text()
    page.get_by_role("button", name="benchmark").click()
    page.get_by_role("button", name="benchmark").click()
    assert "b6" in page.locator("#benchmarks tbody tr").first.inner_text()
    page.get_by_label("verdict").select_option("HARM")
    shown = page.locator("#benchmarks tbody tr:visible")
    assert {text.split("\t")[9] for text in shown.all_inner_texts()} == {"HARM"}
    assert page.locator(".chart").first.is_visible()
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.get_by_label("verdict").select_option("")
    page.get_by_role("link", name="b0").click()
    assert page.url.endswith("/b0/report.html")


def test_runs_are_one_tidy_row_each_and_the_documented_lines_read_them(
    versions: Path, tmp_path: Path
) -> None:
    bench = make_bench(
        tmp_path / "b", Shape(8, trials=2, discarded=0.2, missing=0.1, judges=("mechanical",))
    )
    folders = [*sorted(versions.glob("b*")), bench]
    run_here(main, *folders, "--output", tmp_path / "site", "--runs", tmp_path / "runs.csv")
    runs = [*csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())]
    own = [row for row in runs if row["benchmark"] == "synthetic"]
    results = json.loads((bench / "results.json").read_text())
    assert len(runs) == 24 * 2 * len(LIFTS) + 8 * 2 * 2
    assert {row["status"] for row in own} == {"scored", "discarded", "missing"}
    for row, run in zip(own, results["runs"], strict=True):
        assert (row["task"], row["condition"], int(row["trial"])) == (
            run["task"],
            run["condition"],
            run["trial"],
        )
        assert row["score"] == ("" if run["score"] is None else str(float(run["score"])))
        assert row["called"] == run["tools_used"]
        if row["status"] != "scored":
            assert row["cost_usd"] == row["tokens_input"] == row["duration_s"] == ""
    first = next(row for row in runs if row["condition"] == "with" and row["called"] == "yes")
    assert (first["server_version"], first["agent_version"]) == ("2.0", "2.1.329")
    assert int(first["tokens_input"]) > 0
    page = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    b0 = json.loads((versions / "b0" / "results.json").read_text())
    shown = next(line.split() for line in done.stdout.splitlines() if line.startswith("b0 "))
    delta = b0["comparisons"]["with"]["measures"]["score"]["delta"]
    assert float(shown[1]) == pytest.approx(delta, abs=1e-5)
    assert int(shown[2]) == 24


def test_a_text_that_a_spreadsheet_would_run_is_a_text(versions: Path, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    shutil.copytree(versions / "b1", folder)
    results = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps({**results, "models": ["=1+1"]}))
    run_here(main, folder, "--output", tmp_path / "site", "--runs", tmp_path / "runs.csv")
    (row,) = rows_of(tmp_path / "site")
    assert row["model"] == "'=1+1"
    assert float(row["tokens_low"]) < 0, "numbers stay numbers"
