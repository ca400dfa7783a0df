"""One question to an agent, with the tools and without them."""

from collections.abc import Callable
from typing import Any

import pytest

from handmade import Bench
from lensbench_demo.ask import TASK, _make_runs


def test_a_question_that_was_answered_is_not_asked_again(
    bench: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = bench(tasks=(TASK,))
    for condition in ("with", "without"):
        made.run(TASK, condition)
    nothing: Any = None
    plan: Any = made.plan
    _make_runs(made.folder, nothing, plan, nothing)
    assert "this question was answered before" in capsys.readouterr().out
