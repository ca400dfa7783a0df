"""What the terminal prints at the end."""

from collections.abc import Callable
from typing import Any

from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed
from lensbench.results.results import judges
from lensbench.results.results_file import Results
from lensbench.workflow.finish import lines


def test_answers_without_verdict_are_counted_with_a_remedy_and_a_person_is_once(
    bench: Callable[..., Any],
) -> None:
    made = bench()
    for condition in ("with", "without"):
        for task in "ab":
            made.run(task, condition, points=("1", None))
    data = made.build()
    told = "\n".join(
        lines(made.folder, read_typed(RunFolder(made.folder).results_json, Results[float]))
    )
    assert "4 of 8 criteria of runs that count have no verdict. Add a model to judges" in told
    assert "\\" not in told
    assert data["judges"] == ["mechanical 1"]


def test_a_person_with_two_sheets_is_one_judge_and_without_gaps_no_remedy_is_given() -> None:
    rows = [{"judge": "human-anna", "version": "a"}, {"judge": "human-anna", "version": "b"}]
    assert judges([*rows, {"judge": "claude", "version": "7"}]) == ["claude 7", "human-anna"]


def test_an_unvalidated_judge_is_named_before_what_comes_next(bench: Callable[..., Any]) -> None:
    made = bench(changes={"judges": [{"name": "claude"}]})
    for condition in ("with", "without"):
        for task in "ab":
            made.run(task, condition)
    for row in made.verdicts:
        row["judge"] = "claude"
    made.build()
    told = "\n".join(
        lines(made.folder, read_typed(RunFolder(made.folder).results_json, Results[float]))
    )
    assert (
        "Why no verdict: 8 of 8 verdicts rest on an unvalidated judge (claude: 0 of 200 labels"
        in told
    )
    assert told.index("unvalidated") < told.index("Next:")
