"""Five whole projects: every output shows the difference and the interval that the verdict has."""

import csv
import re
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benches import Shape, make_bench
from lensbench.core.system.files import read_typed
from lensbench.results.results import write_everything
from lensbench.results.results_file import Results
from lensbench.workflow.finish import lines
from lensbench_archive.compare import write_comparison

PROJECTS = [
    Shape(9),
    Shape(12, trials=2, repositories=3, missing=0.1, discarded=0.1),
    Shape(8, treatments=("with", "v2"), repositories=8, lift=0.3),
    Shape(10, repositories=1, lift=-0.3, unjudged=0.1),
    Shape(8, repositories=8, lift=0.6, transcripts=False),
]
POINTS, ENDS = r"([+-]?[\d.]+) points", r"(-?[+]?[\d.]+ to [+-]?[\d.]+)"


def mean_delta(folder: Path, treatment: str) -> Fraction:
    """The mean over tasks, of the means over their trials, in points."""
    of_tasks: dict[str, list[Fraction]] = {}
    for row in csv.DictReader((folder / "pairs.csv").read_text(encoding="utf-8").splitlines()):
        if row["treatment"] == treatment and row["delta"]:
            of_tasks.setdefault(row["task"], []).append(Fraction(row["delta"].lstrip("'")))
    means = [sum(own) / len(own) for own in of_tasks.values()]
    return 100 * sum(means, Fraction(0)) / len(means)


def shown(folder: Path, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """The differences and the intervals of a treatment, by output."""
    data = read_typed(folder / "results.json", Results[float])
    results, summary, page = (
        (folder / name).read_text().replace("\N{MINUS SIGN}", "-")
        for name in ("results.md", "summary.md", "report.html")
    )
    properties = {
        each.get("name"): each.get("value", "")
        for each in ElementTree.parse(folder / "junit.xml").iter("property")
    }
    place = [*data["estimates"]].index(name)
    score = rf"\| score \| [^|]* \| [^|]* \| {POINTS} \| {ENDS} points"
    said = re.search(
        rf"changes by {POINTS} \([\d.]+% interval {ENDS};", data["plain"][name]["sentence"]
    )
    table = re.findall(score, results)[place]
    brief = re.search(score.replace("score", rf"score \| {data['names'][name]}"), summary)
    tested = re.search(
        rf"change {POINTS} \({ENDS} points\)", properties[f"{data['names'][name]}: score"]
    )
    big = re.findall(rf'class="big">.*?{POINTS}.*?interval {ENDS}', page)[place]
    assert said
    assert brief
    assert tested
    pairs = {
        "sentence": said.groups(),
        "results.md": table,
        "summary.md": brief.groups(),
        "junit.xml": tested.groups(),
        "report.html": big,
    }
    deltas, intervals = ({output: pair[side] for output, pair in pairs.items()} for side in (0, 1))
    for output, text in (
        ("stdout", "\n".join(lines(folder, data))),
        ("results.md, first line", results),
    ):
        deltas[output] = re.findall(rf"\({POINTS} on average\)", text)[place]
    sentence = data["plain"][name]["sentence"]
    tables = "\n".join(line for line in results.splitlines() if sentence not in line)
    in_sentence, in_tables = (
        set(re.findall(r"\d+(?:\.\d+)?", text))
        for text in (sentence.partition(" This holds")[0], tables)
    )
    assert in_sentence <= in_tables, in_sentence - in_tables
    assert all(
        sentence in one
        for one in (results, summary, (folder / "junit.xml").read_text().replace("&apos;", "'"))
    )
    return deltas, intervals


def assert_that_parts_add_up(folder: Path, name: str) -> None:
    """The rows of categories and of repositories, with the pairs that are missing."""
    score = read_typed(folder / "results.json", Results[float])["estimates"][name]["score"]
    for parts in (score["categories"].values(), score["repositories"].values()):
        for count in ("n", "pairs", "planned", "wins", "ties", "losses"):
            assert sum(getattr(part, count) for part in parts) == getattr(
                score["overall"], count
            ), count
        total = sum(part.n * (part.delta or 0) for part in parts)
        assert total == pytest.approx(score["overall"].n * (score["overall"].delta or 0), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("project", PROJECTS, ids=lambda shape: f"{shape.tasks}-{shape.lift}")
def test_every_output_shows_the_same_difference_and_interval(
    project: Shape, tmp_path: Path
) -> None:
    folder = make_bench(tmp_path / "a", project)
    write_everything(folder)
    for name in project.treatments:
        assert_that_parts_add_up(folder, name)
        deltas, intervals = shown(folder, name)
        assert len(set(deltas.values())) == 1, deltas
        assert len(set(intervals.values())) == 1, intervals
        assert float(deltas["sentence"]) == pytest.approx(
            float(mean_delta(folder, name)), abs=0.0501
        )
    for output in ("results.md", "summary.md", "junit.xml", "report.html"):
        assert not re.search(r"\d ?pp\b", (folder / output).read_text(encoding="utf-8")), output


@pytest.mark.slow
def test_two_treatments_that_the_gate_compares_have_one_interval_in_every_table(
    tmp_path: Path,
) -> None:
    name = "v2 against with"
    folder = make_bench(
        tmp_path / "a", Shape(19, treatments=("with", "v2"), lift=0.2, comparisons=(name,), seed=21)
    )
    write_everything(folder)
    results, page = (
        (folder / file).read_text().replace("\N{MINUS SIGN}", "-")
        for file in ("results.md", "report.html")
    )
    said = re.search(
        rf"changes by {POINTS} \([\d.]+% interval {ENDS};",
        results.partition(f"{name}: INCONCLUSIVE")[2],
    )
    assert said
    row = re.search(
        rf"^\| {name} \| INCONCLUSIVE \| {POINTS} \| {ENDS} points \|", results, re.MULTILINE
    )
    cells = re.search(rf'<td class="n">{POINTS}</td>\s*<td class="n">{ENDS} points</td>', page)
    assert row
    assert cells
    assert row.groups() == cells.groups() == said.groups()


@pytest.mark.slow
def test_a_comparison_shows_the_difference_of_each_benchmark(tmp_path: Path) -> None:
    folders = [
        make_bench(tmp_path / name, Shape(9, seed=seed)) for name, seed in (("a", 1), ("b", 2))
    ]
    write_comparison(folders, tmp_path / "o")
    text = (tmp_path / "o" / "comparison.md").read_text(encoding="utf-8")
    for folder in folders:
        assert f"{round(float(mean_delta(folder, 'with')), 1):+} |" in text
