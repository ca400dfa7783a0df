"""Scores that others gave: read, named when they cannot be, and shown beside those of our judges."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench_archive.import_runs import import_run
from lensbench_archive.published_scores import impossible, read_scores

TABLE = """\
# Results

| Metric | WITH | WITHOUT |
|---|--:|--:|
| Score | 1 | 2 |

| Task ID | Condition | Tool Calls | Score % | Pass? |
|---------|-----------|------------|---------|-------|
| a | WITH | 21 | **80%** | Yes |
| a | WITHOUT | 25 | 100% | Yes |

| Task ID | Condition | Score |
|---|---|---|
| b | WITH | 3% |
"""


@pytest.mark.parametrize(
    ("name", "text", "scores"),
    [
        ("results.md", TABLE, {("a", "with"): Fraction(4, 5), ("a", "without"): Fraction(1)}),
        (
            "s.csv",
            "task,condition,score\na,with,0.5\na,without,45\n",
            {("a", "with"): Fraction(1, 2), ("a", "without"): Fraction(9, 20)},
        ),
        (
            "v.csv",
            "task,condition,criterion,verdict\na,with,1,Met\na,with,2,partial\n",
            {("a", "with"): Fraction(3, 4)},
        ),
    ],
)
def test_scores_are_read(
    tmp_path: Path, name: str, text: str, scores: dict[tuple[str, str], Fraction]
) -> None:
    (tmp_path / name).write_text(text)
    assert read_scores(tmp_path / name) == scores


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task,condition,score\na,with,good\n", r"s.csv:2: 'good' is neither a score"),
        ("task,condition,score\na,with,120%\n", r"s.csv:2: '120%' is neither"),
        ("task,condition,criterion,verdict\na,with,1,Superb\n", r"s.csv:2: 'Superb' is neither"),
        ("task,condition,score\na,with,1\na,WITH,0\n", "several scores of a-with"),
        ("task,score\na,1\n", "has no scores"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(UserError, match=words):
        read_scores(tmp_path / "s.csv")


def test_scores_that_the_number_of_criteria_cannot_give_are_named() -> None:
    scores = {
        ("a", "with"): Fraction(7, 10),
        ("b", "with"): Fraction(65, 100),
        ("c", "with"): Fraction(17, 100),
    }
    assert [*impossible(scores, {"a": 5, "b": 2, "c": 3})] == ["b-with 65% of 2 criteria"]


def test_published_scores_stand_beside_ours_with_misdirection(bench: Callable[..., Any]) -> None:
    made = bench()
    for task in "ab":
        made.run(task, "with", files=("x.py",))
        made.run(task, "without", points=("1", "0"))
    write_atomic(
        RunFolder(made.folder).published,
        "task,condition,score\na,with,0.5\na,without,1\nb,with,1\n",
    )
    data = made.build()
    a, b = data["published"]
    assert (a["scores"], a["ours"], a["delta"]) == (
        (Fraction(1, 2), 1),
        (1, Fraction(1, 2)),
        Fraction(-1, 2),
    )
    assert (a["misdirected"], b["misdirected"], b["delta"]) == ("yes", "", None)
    assert "| a | lens | 50% | 100% | -50.0 points | Yes | 100% | 50% |" in made.page
    assert "## Published scores" in made.page


def test_an_import_keeps_the_scores_and_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    facts = "".join(f"  {number}. Must mention `fact_{number}`\n" for number in (1, 2))
    task = f"#### a\n- **Category**: Debug\n- **Prompt**:\n  `How?`\n- **Judge Criteria**:\n{facts}"
    for name, text in {
        "scenarios.md": task,
        "runs/a-with.md": "It is.",
        "runs/a-without.md": "It is not.",
        "results.md": TABLE.replace("80%", "65%").replace(
            "# Results", "**Repo**: /srv/My Code (at 1a2b)"
        ),
    }.items():
        write_atomic(tmp_path / "run" / name, text)
    folder, warnings = import_run(tmp_path / "run", "r", scores=tmp_path / "run" / "results.md")
    assert RunFolder(folder).published.read_text().split() == [
        "task,condition,score",
        "a,with,0.65",
        "a,without,1",
    ]
    assert (
        "Published scores that are impossible with the number of criteria: a-with 65% of 2 criteria."
        in warnings
    )
    assert '"workspace": "/srv/My Code"' in (folder / "attempts/a-with/1/record.json").read_text()
