"""One number has one value, wherever it stands: every output of a real benchmark, figure by figure."""

import json
import math
import re
from collections import defaultdict
from html import unescape
from xml.etree import ElementTree

from small_benchmark import Project


def _rows(markdown: str) -> dict[str, list[str]]:
    """The cells of all tables' rows by their first cell."""
    lines = (line for line in markdown.splitlines() if line.startswith("| "))
    cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
    return {row[0].strip(): [each.strip(" |") for each in row[1:]] for row in cells}


def test_all_five_outputs_show_the_same_figures_with_labels(finished: Project) -> None:
    printed = finished.start()
    said = " ".join(printed.split())
    results = json.loads((finished.bench / "results.json").read_text())
    page = unescape((finished.bench / "report.html").read_text()).replace("\u2212", "-")
    markdown, summary = (
        _rows((finished.bench / name).read_text()) for name in ("results.md", "summary.md")
    )
    junit = {
        x.get("name"): x.get("value")
        for x in ElementTree.parse(finished.bench / "junit.xml").iter("property")
    }
    figures = results["figures"]["with"]
    assert {"score", "complete", "duration_s", "tool_calls_observed"} <= figures.keys()
    for figure in figures.values():
        label = figure["label"]
        tasks = str(figure["tasks"])
        words = [figure[name] for name in ("treatment", "baseline", "change", "interval", "total")]
        assert markdown[label] == [words[1], words[0], *words[2:], tasks]
        assert summary[label] == ["fake", *words]
        row = re.search(rf"(?s)<td>{re.escape(label)}</td>(.*?)</tr>", page)
        assert row, label
        cells = re.findall(r'<td class="n"[^>]*>(.*?)</td>', row[1])
        assert cells == [words[1], words[0], *words[2:], tasks]
        after, before, change, interval, total = words
        of_all = f"; total {total}" if total else ""
        assert (
            junit[f"fake: {label}"]
            == f"{after} against {before}; change {change} ({interval}){of_all}"
        )
        if total:
            assert (
                f"{label}: {after} against {before}; per task {change} ({interval}); total {total}"
                in said
            )
    texts = {
        name: (finished.bench / name).read_text()
        for name in ("results.md", "summary.md", "junit.xml")
    }
    page = re.sub(
        r"(?s)<style>.*?</style>|<script>.*?</script>",
        "",
        (finished.bench / "report.html").read_text(),
    )
    for name, text in {**texts, "page": page, "terminal": printed}.items():
        assert not re.search(r"\dpp\b|\bpp\b", text), name
        assert not re.search(
            r"(?<!pairs: )(?<!tasks: )(?<!<dt>Tasks</dt><dd>)\b\d+ better, \d+ (worse|equal)", text
        ), f"{name}: of what?"
        assert not re.search(r"[-+\u2212]\d+ points", text), f"{name}: points without a decimal"


def test_the_figures_are_those_of_the_runs(finished: Project) -> None:
    results = json.loads((finished.bench / "results.json").read_text())
    figures = results["figures"]["with"]
    seconds = defaultdict(dict)
    for run in results["runs"]:
        seconds[run["task"]][run["condition"]] = run["duration_s"]
    sums = {name: sum(both[name] for both in seconds.values()) for name in ("with", "without")}
    largest = max(both["with"] for both in seconds.values()) / sums["with"]
    ratio, share = re.fullmatch(
        r"([0-9.]+) times; largest task ([0-9.]+)%", figures["duration_s"]["total"]
    ).groups()  # type: ignore[union-attr]
    assert math.isclose(float(ratio), sums["with"] / sums["without"], abs_tol=0.051)
    assert math.isclose(float(share) / 100, largest, abs_tol=0.00051)
    logs = [math.log(both["with"] / both["without"]) for both in seconds.values()]
    change = math.expm1(sum(logs) / len(logs))
    shown = figures["duration_s"]["change"]
    if shown.endswith("times"):
        assert math.isclose(float(shown.split()[0]), 1 + change, abs_tol=0.051)
    else:
        assert math.isclose(float(shown.strip("%")) / 100, change, abs_tol=0.0051)
    for run, name in (("with", "treatment"), ("without", "baseline")):
        scores = [each["score"] for each in results["runs"] if each["condition"] == run]
        assert math.isclose(
            float(figures["score"][name].strip("%")) / 100,
            sum(scores) / len(scores),
            abs_tol=0.00051,
        )
    assert f"({figures['score']['change']} on average)" in results["plain"]["with"]["facts"]
