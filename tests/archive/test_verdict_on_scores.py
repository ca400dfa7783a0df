"""`lensbench verdict`: scores from elsewhere get the verdict that a benchmark with these scores gets."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from benches import Shape, make_bench
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.core.system.places import ROOT
from lensbench.core.tables import read_table
from lensbench_archive.archive import make_archive
from lensbench_archive.given_scores import read_given
from lensbench_archive.verdict import main
from lensbench_archive.verify import verify
from programs import refusal, run_here
from stock import write


def read_rows(name: str) -> Any:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


FILES = read_rows("broken_scores.yaml")
OTHERS = read_rows("other_tools.yaml")
PATTERNS = ("mechanical",)
"""A judge whose verdicts are trusted, so that only the numbers decide."""
SAME = ("overall", "score", "complete", "measures", "reliability", "variance", "level")
MEASURED = ("cost_usd", "duration_s")
SHAPES = (
    Shape(tasks=40, lift=0.25, judges=PATTERNS),
    Shape(tasks=40, lift=-0.3, judges=PATTERNS),
    Shape(tasks=24, lift=0.0, judges=PATTERNS, trials=2),
    Shape(tasks=12, lift=0.1, judges=PATTERNS, repositories=12),
    Shape(tasks=30, lift=0.1, judges=PATTERNS, treatments=("with", "more"), repositories=10),
    Shape(tasks=6, lift=0.3, judges=PATTERNS, repositories=1),
    Shape(tasks=80, lift=0.01, judges=PATTERNS, repositories=40),
)


def as_csv(folder: Path, percent: bool = False) -> str:
    """The scores of a benchmark as a file, in the order of its tasks."""
    plan = json.loads((folder / "plan.json").read_text())
    order = {name: place for place, name in enumerate(plan["order"])}
    conditions = {name: place for place, name in enumerate(plan["conditions"])}
    rows = read_table(folder / "scores.csv")
    rows.sort(key=lambda row: (order[row["task"]], row["trial"], conditions[row["condition"]]))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["task", "condition", "trial", "score", "repository", *MEASURED])
    for row in rows:
        run = RunId(row["task"], row["condition"], int(row["trial"]))
        record = run_files(folder, run).read_record(run)
        assert record is not None
        score = f"{float(row['score']) * 100:g}" if percent else row["score"]
        repository = plan["tasks"][run.task]["repository"]
        cost = record.outcome.cost_usd
        seconds = record.attempt.duration_s
        writer.writerow([run.task, run.condition, run.trial, score, repository, cost, seconds])
    return text.getvalue()


def verdict_on(text: str | bytes, project: Path, *options: str) -> tuple[str, Path]:
    """What the verb prints, and the run folder that it writes."""
    path = project / "given.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    folder = project / "bench" / "given"
    return run_here(main, path, "--output", folder, *options), folder


def estimates(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "estimates.json").read_text())
    return data["comparisons"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.tasks}-{shape.lift}")
def test_the_verdict_is_that_of_a_benchmark_of_the_same_scores_to_the_digit(
    tmp_path: Path, shape: Shape
) -> None:
    bench = make_bench(tmp_path / "bench" / "real", shape)
    _, folder = verdict_on(as_csv(bench), tmp_path)
    real = estimates(bench)
    given = estimates(folder)
    assert given.keys() == real.keys()
    for name, comparison in real.items():
        for key in SAME:
            assert without_names(given[name].get(key)) == without_names(comparison.get(key)), key
        if "gate" in comparison:
            mine = given[name]["gate"]
            theirs = comparison["gate"]
            for key in ("verdict", "needs", "low", "high", "worst", "reasons"):
                assert mine[key] == theirs[key], key


def without_names(value: Any) -> Any:
    """The estimates without groups by category, which a file does not name, and without what only transcripts show."""
    if not isinstance(value, dict):
        return value
    if "cost_usd" in value:
        return {name: value[name] for name in MEASURED}
    return {key: part for key, part in value.items() if key != "categories"}


def test_percent_and_shares_give_the_same_verdict(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench" / "real", SHAPES[0])
    shares, folder = verdict_on(as_csv(bench), tmp_path)
    before = estimates(folder)
    assert verdict_on(as_csv(bench, percent=True), tmp_path)[0] == shares
    assert estimates(folder) == before


def test_every_output_says_that_validity_was_not_checked(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench" / "real", SHAPES[0])
    printed, folder = verdict_on(as_csv(bench), tmp_path)
    mark = "Numbers from elsewhere: validity was not checked."
    assert printed.startswith("GO: from without to with the agent's score changes by +")
    assert mark in printed
    for name in ("results.md", "report.html"):
        assert mark in (folder / name).read_text()
    gate = json.loads((folder / "results.json").read_text())["estimates"]["with"]["gate"]
    assert mark in gate["notes"]


def test_scores_are_not_rounded_to_five_percent(tmp_path: Path) -> None:
    rows = [f"t{n},{name},0.{n}2345" for n in range(1, 9) for name in ("without", "with")]
    _, folder = verdict_on("\n".join(["task,condition,score", *rows]), tmp_path)
    table = read_table(folder / "scores.csv")
    assert {row["score"] for row in table if row["task"] == "t3"} == {"0.32345"}


def test_more_rows_are_a_further_look_and_the_same_rows_are_none(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench" / "real", SHAPES[3])
    text = as_csv(bench)
    first, folder = verdict_on(text, tmp_path)
    assert verdict_on(text, tmp_path)[0] == first
    more = f"{text}new,without,1,0.5,repo-1,,\nnew,with,1,0.6,repo-1,,\n"
    assert "look 2 at this benchmark" in verdict_on(more, tmp_path)[0]
    assert estimates(folder)["with"]["look_number"] == 2


def test_an_archive_of_it_verifies_and_its_numbers_rebuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench(tmp_path / "real", SHAPES[5])
    monkeypatch.chdir(tmp_path)
    Path("given.csv").write_text(as_csv(bench), encoding="utf-8")
    run_here(main, "given.csv")
    make_archive(Path("bench/given"), Path("given.zip"))
    assert [*verify(Path("given.zip"))] == []


def test_another_folder_is_never_overwritten(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench" / "given", SHAPES[5])
    (tmp_path / "given.csv").write_text(as_csv(bench))
    said = refusal(main, tmp_path / "given.csv", "--output", bench)
    assert "is there and no earlier verdict on a file; name another --output" in said


@pytest.mark.parametrize("row", FILES["read"], ids=lambda row: row["name"])
def test_what_programs_write_differently_is_read_the_same(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(row["text"].encode(row.get("encoding", "utf-8")))
    given = read_given(path)
    assert [(run.run, run.score) for run in given.runs] == [
        (RunId("a", "without"), 0),
        (RunId("a", "with"), 1),
    ]


def test_names_of_other_tools_become_names_of_files(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        "task,condition,score\ndjango__django-1,GPT-5 (tools),1\ndjango__django-1,2 old,0\n"
    )
    given = read_given(path, "2 old")
    assert given.conditions == ["c_2_old", "gpt_5_tools"]
    assert [*given.tasks] == ["django-django-1"]


@pytest.mark.parametrize("row", FILES["refused"], ids=lambda row: row["name"])
def test_a_broken_file_is_one_line_with_row_and_column_and_what_to_do(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(row["text"].encode(row.get("encoding", "utf-8")))
    said = refusal(main, path, *row.get("options", ()), "--output", tmp_path / "bench" / "s")
    assert said == f"{path}{row['said']}"
    assert not (tmp_path / "bench").exists()


PAGE = (ROOT / "docs" / "verdict.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row["tool"])
def test_the_documented_lines_make_such_a_file_of_another_tools_results(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    write(tmp_path, {name: json.dumps(content) for name, content in row["files"].items()})
    _, _, section = PAGE.partition(f"\n## {row['tool']}\n")
    code = section.partition("```python\n")[2].partition("```")[0]
    assert len(code.splitlines()) <= 20
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    given = read_given(tmp_path / "scores.csv")
    treatment = given.conditions[1]
    own = [run for run in given.runs if run.run.condition == treatment]
    scores = {run.run.task: run.score for run in own}
    assert treatment == row["treatment"]
    assert len(own) == row["runs"]
    assert [*scores.values()] == row["scores"]
    assert {(run.tokens, run.duration_s) for run in own} == {(row["tokens"], row["seconds"])}
    printed = run_here(main, tmp_path / "scores.csv", "--output", tmp_path / "bench" / "x")
    assert "INCONCLUSIVE" in printed
