"""While draft patterns decide, no output has a figure by condition: whoever accepts them must not know what that does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed
from lensbench.results.page.page import write_page
from lensbench.results.results_file import Results
from lensbench.workflow.finish import lines

Make = Callable[..., Any]
TASKS = [f"t{number:02}" for number in range(12)]
DRAFT = "5+strict-draft"
SHARES = {"with": ("1", "1"), "without": ("0.5", "0")}
"""The points of the criteria: averages of 100% and 25%."""
TOTALS = {"results.json", "report.html"}
"""They have how often a judge gave which verdict, over all conditions together."""


def drafted(bench: Make, drafts: int) -> Any:
    """A benchmark in which the patterns of the first tasks are drafts."""
    made = bench(tasks=tuple(TASKS), changes={"agent": {"kind": "claude-code"}})
    for task in TASKS:
        for condition, points in SHARES.items():
            made.run(task, condition, points=points)
    for row in made.verdicts:
        row["version"] = DRAFT if row["task"] in TASKS[:drafts] else "5"
        row["reason"] = f"found {row['verdict']} pieces"
    made.build()
    write_page(made.folder)
    return made


def accept(made: Any) -> None:
    for row in made.verdicts:
        row["version"] = "5"


def outputs(folder: Path) -> dict[str, str]:
    """What people read, by name; the tables of single verdicts and of stages are not."""
    names = ["results.md", "results.json", "summary.md", "junit.xml", "report.html"]
    names += ["scores.csv", "pairs.csv", "estimates.json"]
    files = [folder / name for name in names] + sorted((folder / "answers").rglob("*.html"))
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    return {name: text.rpartition("<body>")[2] for name, text in texts.items()}


@pytest.mark.parametrize("drafts", [1, 12])
def test_no_output_has_a_figure_by_condition(bench: Make, drafts: int) -> None:
    made = drafted(bench, drafts)
    data = made.json
    comparison = data["comparisons"]["with"]
    assert {run["score"] for run in data["runs"]} == {None}
    assert comparison["measures"]["score"]["treatment"] is None
    assert (comparison["wins"], comparison["ties"], comparison["losses"]) == (0, 0, 0)
    assert data["estimates"]["with"]["score"]["overall"]["delta"] is None
    for name, text in outputs(made.folder).items():
        for figure in ("75.0", "0.75", "25%", "0.25", "+75"):
            assert figure not in text, (name, figure)
        for word in ("Partial", "Missed", "pieces"):
            assert word not in text or name in TOTALS, (name, word)


def test_it_is_said_why_and_what_to_do(bench: Make) -> None:
    made = drafted(bench, 12)
    terminal = " ".join(
        lines(made.folder, read_typed(made.folder / "results.json", Results[float]))
    )
    assert "48 verdicts are by draft patterns that nobody has accepted" in terminal
    page = (made.folder / "report.html").read_text(encoding="utf-8")
    for text in (terminal, made.page, page):
        assert "nobody has accepted" in text
        assert "Add a model to judges" not in text
    assert "mark `drafted`" in terminal


def test_accepting_or_repairing_drafts_spends_no_look_and_no_verdict_is_bound_by_them(
    bench: Make,
) -> None:
    made = drafted(bench, 12)
    ledger = RunFolder(made.folder).look_ledger
    assert not ledger.exists()
    accept(made)
    for row in made.verdicts[:4]:
        row |= {"points": "1", "verdict": "Met"}
    found = made.build()["estimates"]["with"]
    assert found["look_number"] == 1
    assert not {reason["kind"] for reason in found["gate"]["reasons"]} & {"shown before"}
    assert len(ledger.read_text(encoding="utf-8").splitlines()) == 1
