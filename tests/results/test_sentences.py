"""Sentences that misled readers: none stands on the page, in results.md or on the terminal, nor in templates and docs."""

import re
from pathlib import Path
from typing import Any

import pytest

from benches import Shape, make_bench
from handmade import Bench
from lensbench.core.records import Call
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Discard
from lensbench.core.system.files import read_typed
from lensbench.core.system.places import ROOT, TEMPLATES
from lensbench.plan.config import Gate
from lensbench.results.page.page import read_inputs, render, write_page
from lensbench.results.results_file import Results
from lensbench.runs.stopping import EQUAL_FAILURES, repeated
from lensbench.workflow.finish import lines
from lensbench.workflow.status import Status, block
from lensbench.workflow.status import lines as status_lines
from lensbench_archive.compare import compare, read_runs
from lensbench_archive.compare import render as render_comparison

GONE = {
    "a condition is no subject": r"\b[Ww]ith(out)? (helps|does not help|makes|saves|costs|\d+(\.\d+)?%(?! probability| of ))",
    "three statuses": r"INCONCLUSIVE: no verdict|it is no verdict|NO VERDICT",
    "an interval is no proof of chance": r"not chance",
    "power": r"would be found with|a true [\d.]+ ?%|such benchmarks find a true|If tasks spread as these do",
    "as long as what": r"took as long[.;]",
    "no verb": r"up to \d+ ?% of tasks may\b(?! \w)",
    "unlabelled counts": r"\((?!pairs:|tasks:)\d+ better, \d+ equal",
    "points": r"\bpp\b|\d ?pp\b",
    "not shown 19": r"no call went to another condition.s server[^|]*not shown \d",
    "rounded away": r"the delta is (\S+) points?, not \1 ",
    "no model differs from none": r"differs from the requested one \(none",
    "an exact loss": r"\d+ of \d+ tasks lost \d+ points",
    "what makes what": r"makes what is missing: ",
}
"""Why -> what must not stand anywhere."""
SHAPES = {
    "offline": Shape(12, agent="offline", judges=("mechanical",)),
    "helps": Shape(60, repositories=20, lift=0.5, judges=("mechanical",)),
    "unclear": Shape(6, lift=0.0, discarded=0.1, missing=0.1, treatments=("graph", "other")),
}


def text_of(page: str) -> str:
    """The text that people read of a page."""
    return " ".join(re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>", " ", page).split())


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    texts = {}
    for name, shape in SHAPES.items():
        folder = make_bench(tmp_path_factory.mktemp(name) / "bench", shape)
        page = dict(render(folder, read_inputs(folder)))["report.html"]
        terminal = "\n".join(
            lines(folder, read_typed(RunFolder(folder).results_json, Results[float]))
        )
        texts[name] = "\n".join((text_of(page), (folder / "results.md").read_text(), terminal))
    return texts


@pytest.mark.parametrize("why", GONE)
def test_no_sentence_that_misleads_is_left(said: dict[str, str], why: str) -> None:
    for name, text in said.items():
        assert not (found := re.search(GONE[why], text)), f"{name}: {found and found[0]}"
    for file in (*TEMPLATES.glob("*.j2"), *ROOT.glob("docs/*.md"), ROOT / "README.md"):
        assert not (found := re.search(GONE[why], file.read_text(encoding="utf-8"))), (
            f"{file}: {found and found[0]}"
        )


def three_arms(folder: Path, duration_s: float) -> tuple[Bench, Any]:
    """A finished benchmark whose treatments have other names than their servers, and its results."""
    made = Bench(
        folder,
        tasks=tuple("abcdef"),
        trials=2,
        servers={
            "without": [],
            "arm_one": ["lens"],
            "arm_two": ["graph"],
        },
        changes={"gate": Gate(comparisons=["arm_two against arm_one"]).model_dump(mode="json")},
    )
    for task in made.tasks:
        for condition in made.servers:
            lost = "timed_out" if (task, condition) == ("a", "arm_two") else ""
            points = ("1", "1")
            if condition == "without":
                points = ("1", "0")
            made.run(
                task,
                condition,
                points=points,
                reason=lost,
                seen=(Call("Read", 1),),
                duration_s=duration_s,
            )
    return made, made.build()


def test_a_condition_is_called_by_its_display_name_wherever_a_person_reads(tmp_path: Path) -> None:
    made, data = three_arms(tmp_path / "one", 10.0)
    names = {
        "without": "without a server",
        "arm_one": "lens",
        "arm_two": "graph",
    }
    assert data["names"] == names | {"arm_two against arm_one": "graph against lens"}
    write_page(made.folder)
    pages = dict[str, str]()
    for path in made.folder.rglob("*.html"):
        name = str(path.relative_to(made.folder))
        pages[name] = text_of(path.read_text())
    assert len(pages) > 6
    pages["report.html"] = re.sub(r"Conditions, as files.*? Runs ", "", pages["report.html"])
    pages["results.md"] = re.sub(r"\| Conditions, as files.*", "", made.page)
    pages["summary.md"] = (made.folder / "summary.md").read_text()
    written = read_typed(RunFolder(made.folder).results_json, Results[float])
    terminal = lines(made.folder, written)
    pages["terminal"] = "\n".join(terminal)
    status = Status(made.folder)
    pages["lensbench status"] = "\n".join([*status_lines(status), *block(status, {}, 2, 200)])
    other, _ = three_arms(tmp_path / "other", 12.0)
    compared = compare(read_runs([made.folder, other.folder]))
    pages["comparison.md"] = render_comparison(compared)
    crash = Discard("crashed", "exit code 3", "runner")
    stops = []
    for condition in made.servers:
        said = [repeated(made.folder, made.plan, condition, crash) for _ in range(EQUAL_FAILURES)]
        stops.append(said[-1])
    pages["what stops everything"] = "\n".join(stops)
    for name, page in pages.items():
        without_runs = re.sub(
            r"(attempts|runs)/\S+|\]\(\S+\)|(last discard|discarded): \S+", "", page
        )
        found = re.search(r".{0,60}\barm_(one|two).{0,30}", without_runs)
        assert not found, (name, found[0])
        assert "lens" in page
        assert "graph" in page
