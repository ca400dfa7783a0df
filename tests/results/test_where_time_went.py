"""Where the time and the tokens of a run went: the sums of its page are those of its steps."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import Bench
from lensbench.core.records import RunId, Tap, TapCall
from lensbench.core.store import run_files
from lensbench.results.page.page import read_inputs, render
from lensbench.results.page.pairs import longest_steps, spent_by
from lensbench.runs.timeline import Step

SECONDS = st.integers(0, 1000).map(float)
CALLS = st.builds(
    Step,
    st.just("call"),
    st.sampled_from(["Read", "Grep", "Bash"]),
    got=st.text("x", max_size=40),
    model_s=SECONDS,
    tool_s=SECONDS,
)
WORDS = st.builds(Step, st.sampled_from(["says", "thinks"]), given=st.just("x"), model_s=SECONDS)


@given(st.lists(CALLS | WORDS, min_size=1, max_size=12))
def test_the_rows_sum_up_to_the_steps(steps: list[Step]) -> None:
    rows = spent_by(steps)
    calls = [step for step in steps if step.kind == "call"]
    assert sum(row.seconds or 0 for row in rows) == sum(step.seconds or 0 for step in steps)
    assert sum(row.calls for row in rows) == len(calls)
    tokens = sum(step.result_tokens or 0 for step in calls)
    assert sum(row.tokens or 0 for row in rows) == pytest.approx(tokens)
    seconds = [row.seconds or 0 for row in rows]
    assert seconds == sorted(seconds, reverse=True)


@given(st.lists(CALLS | WORDS, max_size=12))
def test_the_longest_steps_are_longer_than_the_others(steps: list[Step]) -> None:
    longest = longest_steps(steps)
    numbers = [number for number, _ in longest]
    rest = [step.seconds or 0 for number, step in enumerate(steps, 1) if number not in numbers]
    assert len(longest) == min(3, sum(bool(step.seconds) for step in steps))
    for number, step in longest:
        assert steps[number - 1] is step
        assert all((step.seconds or 0) >= other for other in rest)


def test_what_one_step_does_not_show_has_no_sum() -> None:
    steps = [
        Step("call", "Read", got="x" * 40, tool_s=1.0, model_s=1.0),
        Step("call", "Read", is_whole=False),
    ]
    model, read = sorted(spent_by(steps), key=lambda row: row.who)
    assert (model.seconds, read.seconds, read.tokens) == (None, None, None)
    assert (read.who, read.calls) == ("Read", 2)


def test_the_page_of_a_run_says_where_the_time_went(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r", tasks=("a",))
    bench.run("a", "without")
    bench.run("a", "with")
    bench.build()
    begun = "2026-11-20T21:26:0{}.000Z"
    block = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 40_000}
    contents = [[{"type": "text", "text": "I look."}], [block], [result]]
    lines = [
        {
            "type": "user" if content == [result] else "assistant",
            "timestamp": begun.format(second),
            "message": {"content": content, "usage": {"input_tokens": 2000}},
        }
        for second, content in zip((1, 3, 9), contents, strict=True)
    ]
    with gzip.open(run_files(bench.folder, RunId("a", "with")).transcript, "wt") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)
    inputs = read_inputs(bench.folder)
    run = RunId("a", "with")
    calls = (TapCall("mcp__lens__look", 1), TapCall("mcp__lens__find", 2, 1, 1500.4, 3000))
    teed = replace(inputs.tables.records[run], taps={"lens": Tap(None, calls)})
    tables = inputs.tables._replace(records={**inputs.tables.records, run: teed})
    pages = dict(render(bench.folder, inputs._replace(tables=tables)))
    words = " ".join(pages["answers/runs/a-with.html"].split())
    plain = dict(render(bench.folder, inputs))["answers/runs/a-with.html"]
    assert "as the tee saw it" not in plain
    find = words.index("<th>mcp__lens__find</th>")
    look = words.index("<th>mcp__lens__look</th>")
    figures = ["2", "1", "1,500 ms", "3,000"]
    assert re.findall('<td class="n">(.*?)</td>', words[find:look]) == figures
    assert '<th>Read</th> <td class="n">1</td> <td class="n">6.0 s</td>' in words
    assert '<td class="n">75%</td> <td class="n">10,000</td>' in words
    assert '<th>the model</th> <td class="n"></td> <td class="n">2.0 s</td>' in words
    assert '<a href="#step-2">2, Read, 8.0 s</a>' in words
    assert "request of 2,000 tokens" in words
    assert "about 10,000 tokens" in words, "also where the page cuts the result"
