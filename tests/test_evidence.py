"""What docs/evidence.md and other pages give as measured is what the measuring programs printed."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from charts import pictures, rows

from lensbench.core.system.places import ROOT
from lensbench.scores.rules import ANY_TASKS, BEST_TASKS, REPOSITORY_LOSS
from lensbench_archive.verdict import main
from programs import run_here

DOCS = ROOT / "docs"
FIGURES, SETTINGS = yaml.safe_load_all(
    (ROOT / "tests" / "documented_figures.yaml").read_text(encoding="utf-8")
)
HEAD = re.compile(r"`python (benchmarks/.+?)`[.,](?: at)? [Cc]ommit ([0-9a-f]+), ([\d-]+)")
CLAIM = re.compile(r"\*\*Measured by\*\* `python (.+?)`, commit ([0-9a-f]+), ([\d-]+)")


def text_of(page: str) -> str:
    """A page on one line: figures may stand at a break."""
    return " ".join((DOCS / f"{page}.md").read_text(encoding="utf-8").split())


def figure(cell: str, shown: str) -> str:
    """A cell of a measured table as prose shows it: with as many decimals, and shares in percent."""
    value = float(cell.split(" of ")[0].replace(",", ""))
    if shown.endswith("%"):
        decimals = len(shown.rstrip("%").partition(".")[2])
        return f"{100 * value:.{decimals}f}%"
    return f"{value:,.0f}"


@pytest.mark.parametrize(("page", "words", "source", "row", "column"), FIGURES)
def test_a_figure_in_prose_is_that_of_its_source(
    page: str, words: str, source: str, row: str, column: int
) -> None:
    assert words in text_of(page)
    (*_, shown) = re.findall(r"[\d,.]*\d%?", words)
    assert shown == figure(rows(source)[row][column], shown)


@pytest.mark.parametrize("page", SETTINGS)
def test_every_percentage_of_a_page_has_a_source_or_is_a_setting(page: str) -> None:
    named = {
        re.findall(r"[\d,.]*\d%", words)[-1]
        for where, words, *_ in FIGURES
        if where == page and "%" in words
    }
    text = re.sub(r"```.*?```|`[^`]*`", "", text_of(page))
    assert set(re.findall(r"[\d.]+%", text)) <= named.union(SETTINGS[page])


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("gate", f"suppose one task in {1 / ANY_TASKS.share:.0f}, whichever, lost all"),
        ("gate", f"At most {ANY_TASKS.promise:.0%} of such benchmarks may give a GO"),
        (
            "gate",
            f"at most {BEST_TASKS.promise:.0%} if only the tasks with the best baselines lost",
        ),
        ("gate", f"that loses {100 * REPOSITORY_LOSS:.0f} points counts"),
        ("evidence", f"if one task in {1 / ANY_TASKS.share:.0f}"),
    ],
)
def test_the_rule_about_rare_disasters_is_described_with_its_own_figures(
    page: str, words: str
) -> None:
    assert words in text_of(page)


def test_a_sandbox_of_its_own_network_lets_nothing_out() -> None:
    tried = [
        cells for head, cells in rows("hostile").items() if not head.startswith(("tried", "-"))
    ]
    reached = [sum(cells[n] == "reached" for cells in tried) for n in range(3)]
    assert (len(tried), reached) == (10, [7, 2, 0])
    assert "With bubblewrap and its own network **0** of 10 succeed" in text_of("evidence")
    assert "on the shared network 2, without a sandbox all 7" in text_of("evidence")


def test_all_scenarios_of_the_store_hold() -> None:
    found = [cells for head, cells in rows("repeats").items() if not head.startswith(("scen", "-"))]
    assert {cells[-1] for cells in found} == {"holds"}
    starts = sum(int(cells[0]) for cells in found)
    shown = f"In **{len(found)}** of {len(found)} scenarios with {starts} starts this holds"
    assert shown in text_of("evidence")


def test_every_claim_names_the_run_that_measured_it() -> None:
    heads = set()
    for page in (DOCS / "measured").glob("*.md"):
        heads.update(HEAD.findall(page.read_text(encoding="utf-8")))
    claims = CLAIM.findall(text_of("evidence"))
    assert len(claims) == 6
    assert set(claims) <= heads


def test_a_commit_that_a_page_names_is_in_the_history() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs the history of a clone")
    pages = [*(DOCS / "measured").glob("*.md"), DOCS / "evidence.md"]
    named = {
        commit
        for page in pages
        for commit in re.findall(r"[Cc]ommit ([0-9a-f]{7,})", page.read_text(encoding="utf-8"))
    }
    assert named
    shallow = subprocess.check_output(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, text=True
    )
    if shallow.strip() == "true":
        pytest.skip("needs the whole history")
    lost = [
        commit
        for commit in sorted(named)
        if subprocess.run(
            ["git", "merge-base", "--is-ancestor", commit, "HEAD"],
            cwd=ROOT,
            capture_output=True,
            check=False,
        ).returncode
    ]
    assert not lost


def test_the_charts_are_what_the_measured_pages_give() -> None:
    """`python tools/docs/charts.py` draws them."""
    for name, picture in pictures().items():
        assert (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == picture, name


EXAMPLE = re.compile(r"^\| (task-\d+) \| (\d+) \| (\d+) \| ([-+]?\d+) \|$", re.MULTILINE)


def verdict_on(folder: Path, tasks: list[tuple[str, str, str]]) -> str:
    """What `lensbench verdict` prints about these scores."""
    lines = ["task,condition,score"]
    for task, without, treated in tasks:
        lines += [f"{task},without,{without}", f"{task},with,{treated}"]
    file = folder / "scores.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return run_here(main, file, "--output", folder / "out")


def test_the_twelve_tasks_of_the_gate_have_the_sentences_of_the_page(tmp_path: Path) -> None:
    page = (DOCS / "gate.md").read_text(encoding="utf-8")
    found = EXAMPLE.findall(page)
    assert len(found) == 12
    for _, without, treated, difference in found:
        assert int(treated) - int(without) == int(difference)
    tasks = [(task, without, treated) for task, without, treated, _ in found]
    equal = [(task, without, without) for task, without, _ in tasks[:4]]
    blocks = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    for number, given in enumerate((tasks, [*equal, *tasks[4:]])):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert blocks[number] in verdict_on(folder, given)


def test_the_example_of_reading_is_that_of_the_gate() -> None:
    quoted = re.findall(
        r"^ +>(.*)$", (DOCS / "reading.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    told, _, _ = " ".join(" ".join(quoted).split()).partition(" SAVES: ")
    sentence, needed = re.split(r"(?= Needed:)", told)
    page = text_of("gate").replace("from without to with the agent's", "with its tools the agent's")
    assert sentence in page
    assert needed.strip() in page
