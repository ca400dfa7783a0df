"""What an agent, a server or a task set may at most put into records, pages and memory."""

from pathlib import Path

import pytest

from lensbench.core.errors import UserError
from lensbench.core.records import MAX_NAME, MAX_NAMES, OTHERS, Call, Outcome, bounded
from lensbench.core.system.yaml_places import MAX_YAML_BYTES
from lensbench.plan.task_files import read_scenarios
from lensbench.results.page.answers import LONGEST_ANSWER, Evidence, mark_answer


def test_names_in_a_record_are_bounded_and_calls_beyond_are_counted_together() -> None:
    calls = tuple(Call(f"{number}" + "x" * 9999, 2, 1) for number in range(MAX_NAMES + 5))
    outcome = bounded(
        Outcome(answer="x" * 10_000, calls=calls, tools_offered=tuple(call.name for call in calls))
    )
    assert outcome.calls is not None
    assert outcome.calls[-1] == Call(OTHERS, 10, 5)
    assert (len(outcome.calls), max(len(call.name) for call in outcome.calls)) == (
        MAX_NAMES + 1,
        MAX_NAME,
    )
    assert outcome.tools_offered is not None
    assert (len(outcome.tools_offered), len(outcome.answer)) == (MAX_NAMES, 10_000)
    assert bounded(Outcome(calls=(Call("a", 1),))) == Outcome(calls=(Call("a", 1),))


def test_a_huge_answer_is_cut_on_pages_and_says_how_much_is_in_its_file() -> None:
    answer = "It is in core.py.\n\n" + "word " * 1_000_000
    marked = mark_answer(
        answer, [Evidence(1, "It is in core.py.", 0), Evidence(2, "word", len(answer) - 5)], "a"
    )
    assert len(marked.html) < 2 * LONGEST_ANSWER
    assert f"... and {len(answer) - LONGEST_ANSWER:,} more characters" in marked.html
    assert 1 in marked.places


def test_a_task_set_without_end_is_not_read(tmp_path: Path) -> None:
    endless = tmp_path / "set.yaml"
    with endless.open("wb") as file:
        file.truncate(60_000_000_000)
    with pytest.raises(UserError, match=f"is larger than {MAX_YAML_BYTES} bytes"):
        read_scenarios([str(endless)])
