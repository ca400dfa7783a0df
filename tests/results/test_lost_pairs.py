"""What the runs of a lost pair show: from the streams of all agents, and nothing that they do not show."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import Bench, finish
from lensbench.core.records import Call, RunId
from lensbench.core.store import run_files
from lensbench.core.tasks import Category, Criterion, Folder, Proof, Task
from lensbench.plan import task_markdown
from lensbench.results.lost_pairs import (
    ShownRun,
    in_order,
    kinds_of,
    lost_run,
    named_files,
    parting,
    repeated,
    share_of,
    unopened,
)
from lensbench.results.page.page import read_inputs, render
from lensbench.results.results_file import LossKind, LostPair, LostRun
from lensbench.runs.timeline import Step, read_timeline

Event = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """A call for a stream: the tool, its arguments and its result."""

    tool: str
    given: Mapping[str, str]
    got: str
    is_cut: bool = False
    failed: bool = False


def claude(calls: Sequence[Made], context: int) -> list[Event]:
    events = []
    for number, call in enumerate(calls):
        block = {"type": "tool_use", "id": f"t{number}", "name": call.tool, "input": call.given}
        usage = {"input_tokens": 10, "cache_read_input_tokens": context - 10, "output_tokens": 1}
        got = f"{call.got}\n\n... [12 lines truncated] ..." if call.is_cut else call.got
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": got}
        result["is_error"] = call.failed
        events += [
            {"type": "assistant", "message": {"content": [block], "usage": usage}},
            {"type": "user", "message": {"role": "user", "content": [result]}},
        ]
    return [*events, {"type": "result", "num_turns": 2}]


def codex(calls: Sequence[Made], context: int) -> list[Event]:
    items = [
        {
            "id": f"i{number}",
            "type": "command_execution",
            "command": " ".join(call.given.values()),
            "aggregated_output": call.got * (3000 if call.is_cut else 1),
            "status": "failed" if call.failed else "completed",
        }
        for number, call in enumerate(calls)
    ]
    return [{"type": "item.completed", "item": item} for item in items]


def gemini(calls: Sequence[Made], context: int) -> list[Event]:
    events = []
    for number, call in enumerate(calls):
        status = "error" if call.failed else "success"
        events += [
            {
                "type": "tool_use",
                "tool_name": call.tool,
                "tool_id": str(number),
                "parameters": call.given,
            },
            {"type": "tool_result", "tool_id": str(number), "status": status, "output": ""},
        ]
    return events


def opencode(calls: Sequence[Made], context: int) -> list[Event]:
    events: list[Event] = []
    for number, call in enumerate(calls):
        state: Event = {
            "status": "error" if call.failed else "completed",
            "input": call.given,
            "output": call.got,
            "metadata": {"truncated": call.is_cut},
        }
        part = {"callID": str(number), "tool": call.tool, "state": state}
        tokens = {"input": 10, "output": 1, "cache": {"read": context - 10, "write": 0}}
        events += [
            {"type": "step_start", "part": {}},
            {"type": "tool_use", "part": part},
            {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": tokens}},
        ]
    return events


def offline(calls: Sequence[Made], context: int) -> list[Event]:
    events: list[Event] = [{"type": "start"}]
    for number, call in enumerate(calls):
        events += [
            {"type": "tool_call", "id": number, "name": call.tool, "input": call.given},
            {
                "type": "tool_result",
                "id": number,
                "is_error": call.failed,
                "size": len(call.got),
            },
        ]
    return events


AGENTS = {
    "claude-code": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "offline": offline,
}
CALLS = [
    Made("Grep", {"pattern": "def cart"}, "src/cart.py:3"),
    Made("Read", {"file_path": "/repo/src/cart.py"}, "x" * 400, is_cut=True),
    Made("Read", {"file_path": "gone.py"}, "no such file", failed=True),
]
FILES = ["gone.py", "src/cart.py", "src/other.py"]
SHOWS_CUTS = {"claude-code": True, "opencode": True}
SHOWS_SIZES = {"claude-code": True, "opencode": True, "offline": True}
SHOWS_CONTEXT = {"claude-code": True, "opencode": True}


def shown(agent: str, calls: Sequence[Made] = CALLS, context: int = 1000) -> ShownRun:
    return ShownRun(read_timeline(map(json.dumps, AGENTS[agent](calls, context))))


def described(agent: str, calls: Sequence[Made] = CALLS, context: int = 1000) -> LostRun[Fraction]:
    return lost_run(shown(agent, calls, context), FILES, None, is_compacted=False)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_is_opened_by_a_call_that_names_it_and_did_not_fail(agent: str) -> None:
    assert described(agent)["unopened"] == ["gone.py", "src/other.py"]


@pytest.mark.parametrize("agent", AGENTS)
def test_failed_calls_are_named(agent: str) -> None:
    failed = described(agent)["failed"]
    assert failed is not None
    assert len(failed) == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_stream_does_not_show_is_none_and_never_zero(agent: str) -> None:
    run = described(agent)
    assert (run["cut"] is not None) == (agent in SHOWS_CUTS)
    assert (run["results_tokens"] is not None) == (agent in SHOWS_SIZES)
    assert (run["largest_tokens"] is not None) == (agent in SHOWS_SIZES)
    assert (run["share"] is not None) == (agent in SHOWS_CONTEXT)


@pytest.mark.parametrize("agent", SHOWS_SIZES)
def test_results_and_the_largest_of_them_are_measured(agent: str) -> None:
    run = described(agent)
    total = run["results_tokens"]
    most = run["largest_tokens"]
    assert run["largest"] == "Read"
    assert total is not None
    assert most is not None
    assert 100 <= most <= total <= 120


@pytest.mark.parametrize("agent", SHOWS_CUTS)
def test_a_cut_result_is_named_and_the_share_is_of_the_largest_request(agent: str) -> None:
    run = described(agent)
    assert run["cut"] == ["Read"]
    assert run["share"] == Fraction(run["results_tokens"] or 0, 1000)


def test_short_outputs_of_codex_are_not_cut_and_long_ones_are_not_known() -> None:
    short = described("codex", [Made("shell", {"command": "cat a"}, "x" * 400)])
    assert (short["cut"], short["results_tokens"], short["share"]) == ([], 100, None)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_without_calls_opened_nothing(agent: str) -> None:
    run = described(agent, [])
    assert (run["unopened"], run["cut"], run["failed"], run["largest"]) == (FILES, [], [], "")


def test_of_a_run_whose_calls_are_not_shown_nothing_is_known() -> None:
    run = lost_run(None, FILES, None, is_compacted=False)
    assert set(run.values()) == {None}
    kinds = kinds_of(run, "")
    assert set(kinds.values()) == {None}


@pytest.mark.parametrize(
    ("given", "is_opened"),
    [
        ("cat src/cart.py", True),
        ("cd src && sed -n '1,20p' cart.py", True),
        ("cat ./src/cart.py | head", True),
        ("head /repo/src/cart.py:12", True),
        ("cat 'src/cart.py'.", True),
        ("cat lib/cart.py", False),
        ("cat src/mycart.py", False),
        ("cat src/cart.pyc", False),
        ("cat cart.py.bak", False),
        ("ls src", False),
    ],
)
@pytest.mark.parametrize("is_json", [True, False])
def test_which_words_name_a_file(given: str, is_opened: bool, is_json: bool) -> None:
    arguments = json.dumps({"command": f"true\n{given}"}) if is_json else given
    run = ShownRun([Step("call", "Bash", arguments)])
    assert (unopened(["src/cart.py"], run) == []) is is_opened


def test_files_come_from_proofs_or_else_from_the_text_and_each_once() -> None:
    proven = Criterion(
        text="States what cart.py does", proofs=(Proof(file="src/cart.py", quote="x"),)
    )
    told = Criterion(text="States that `web/app.ts` calls cart.py and nothing else")
    assert named_files([proven]) == ["src/cart.py"]
    assert named_files([told, proven]) == ["src/cart.py", "web/app.ts"]
    assert named_files([Criterion(text="States that it is 5")]) == []


NAMES = st.text("abcxyz_", min_size=1, max_size=6)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/".join(parts) + ".py")


@given(PATHS, st.text("abc /'\"\n|;", max_size=20), st.text(" '\"\n|;", max_size=20))
def test_a_file_whose_path_stands_between_other_signs_is_opened(
    path: str, before: str, after: str
) -> None:
    given = f"{before} {path}{after}"
    for arguments in (given, json.dumps({"command": given})):
        assert unopened([path], ShownRun([Step("call", "Bash", arguments)])) == []


@given(st.lists(PATHS, max_size=4, unique=True), st.lists(PATHS, max_size=4))
def test_files_that_are_read_are_never_unopened(files: list[str], read: list[str]) -> None:
    left = unopened(files, ShownRun((), read))
    assert set(left) <= set(files) - set(read)


STEPS = st.lists(
    st.builds(Step, st.just("call"), st.sampled_from(["Read", "Grep"]), st.sampled_from("abc")),
    max_size=5,
)


@given(STEPS, STEPS, STEPS)
def test_runs_part_at_the_first_other_call(
    same: list[Step], before: list[Step], after: list[Step]
) -> None:
    baseline = ShownRun([*same, *before])
    treatment = ShownRun([*same, *after])
    first, second = parting(baseline, treatment)
    if before == after:
        assert (first, second) == (None, None)
    else:
        at = sum(1 for _ in same)
        while before and after and before[0] == after[0]:
            at = at + 1
            before = before[1:]
            after = after[1:]
        assert first is (before[0] if before else None)
        assert second is (after[0] if after else None)


def test_the_order_of_arguments_and_blanks_parts_no_runs() -> None:
    one = ShownRun(
        [Step("call", "Grep", '{"pattern": "x", "path": "a"}'), Step("call", "Read", "a  b")]
    )
    other = ShownRun(
        [Step("call", "Grep", '{"path":"a","pattern":"x"}'), Step("call", "Read", "a b")]
    )
    assert parting(one, other) == (None, None)


def test_the_step_is_that_of_the_call_itself_and_not_of_an_equal_one() -> None:
    call = Step("call", "Read", "a")
    again = Step("call", "Read", "a")
    run = ShownRun([Step("says", given="I look."), call, again])
    assert lost_run(run, [], again, is_compacted=False)["step"] == 3


@given(st.floats(0, 1e7), st.integers(0, 10**7))
def test_a_share_is_a_share_or_not_known(tokens: float, context: int) -> None:
    share = share_of(tokens, context)
    assert share is None or 0 <= share <= 1


def lost(task: str, delta: str, **kinds: bool | None) -> LostPair[Fraction]:
    run = lost_run(None, [], None, is_compacted=False)
    every: dict[LossKind, bool | None] = {
        "unopened": False,
        "cut": False,
        "failed": False,
        "large": None,
        "uncalled": False,
    }
    return {
        "task": task,
        "trial": 1,
        "delta": Fraction(delta),
        "files": [],
        "baseline": run,
        "treatment": run,
        "kinds": {**every, **kinds},  # type: ignore[typeddict-item]
    }


def test_losses_of_the_most_frequent_kind_come_first_and_kinds_that_repeat_have_a_line() -> None:
    pairs = [
        lost("a", "-0.9", cut=True),
        lost("b", "-0.2", unopened=True),
        lost("c", "-0.5", unopened=True, failed=True),
        lost("d", "-1"),
        lost("e", "-0.3", unopened=None, failed=True),
        lost("f", "-0.1", unopened=True),
    ]
    assert [pair["task"] for pair in in_order(pairs)] == ["c", "b", "f", "e", "a", "d"]
    assert repeated(pairs) == [
        "3 of 5 losses that show it: a file that the criteria name was never opened",
        "2 of 6 losses: a call failed",
    ]


@given(st.lists(st.tuples(st.booleans() | st.none(), st.booleans()), max_size=8))
def test_ordering_loses_no_pair_and_lines_count_no_more_than_there_are(
    kinds: list[tuple[bool | None, bool]],
) -> None:
    pairs = [
        lost(f"t{number}", "-0.5", unopened=first, failed=second)
        for number, (first, second) in enumerate(kinds)
    ]
    assert sorted(pair["task"] for pair in in_order(pairs)) == [pair["task"] for pair in pairs]
    for line in repeated(pairs):
        count, _, known, *_ = line.split()
        assert 2 <= int(count) <= int(known) <= len(pairs)


def write_transcript(folder: Path, run: RunId, events: Sequence[Event]) -> None:
    with gzip.open(run_files(folder, run).transcript, "wt") as file:
        file.writelines(f"{json.dumps(event)}\n" for event in events)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two lost pairs of Claude Code, one of which shows no calls."""
    bench = Bench(tmp_path / "r", tasks=("a", "b"))
    made = (Call("Grep", 1), Call("Read", 2, 1))
    for task, calls in (("a", made), ("b", None)):
        bench.run(task, "without", points=("1", "1"), seen=calls)
        bench.run(task, "with", points=("1", "0"), seen=calls)
    bench.build()
    tasks = [
        Task(
            id=name,
            category=Category.DEBUG,
            repository=Folder(path="repo"),
            prompt="Where is it?",
            criteria=(
                Criterion(text="States the first fact in first.py"),
                Criterion(text="States that src/other.py has it"),
            ),
        )
        for name in ("a", "b")
    ]
    (bench.folder / "scenarios.md").write_text(task_markdown.render(tasks, "Tasks"))
    found = [*CALLS[:2], Made("Read", {"file_path": "/repo/src/other.py"}, "here")]
    write_transcript(bench.folder, RunId("a", "without"), claude(found, 1000))
    write_transcript(bench.folder, RunId("a", "with"), claude(CALLS, 1000))
    finish(bench.folder)
    return bench.folder


def test_a_lost_pair_stands_in_the_results_with_what_its_runs_show(folder: Path) -> None:
    losses = json.loads((folder / "results.json").read_text())["losses"]["with"]
    one, other = sorted(losses["pairs"], key=lambda pair: pair["task"])
    assert one["files"] == ["src/other.py"], "only of the criterion that it lost"
    assert (one["baseline"]["unopened"], one["treatment"]["unopened"]) == ([], ["src/other.py"])
    assert one["baseline"]["call"] == "Read /repo/src/other.py"
    assert one["treatment"]["call"] == "Read gone.py"
    assert (one["baseline"]["step"], one["treatment"]["step"]) == (3, 3)
    assert one["kinds"] == {
        "unopened": True,
        "cut": True,
        "failed": True,
        "large": False,
        "uncalled": True,
    }
    assert set(other["treatment"].values()) == {None}
    assert losses["says"] == []


def test_the_page_of_a_lost_pair_says_what_is_shown_and_links_the_steps(folder: Path) -> None:
    pages = dict(render(folder, read_inputs(folder)))
    page = pages["answers/a.html"]
    assert "It does not prove why the pair was lost." in page
    assert 'runs/a-with.html#step-3">Read gone.py</a>' in page
    assert "src/other.py" in page
    assert "about 114 tokens, 11% of the context" in page
    assert "not shown" not in page
    assert pages["answers/b.html"].count("not shown") >= 10
    assert "lens: a file that the criteria name was never opened" in pages["report.html"]
    text = (folder / "results.md").read_text()
    assert "### Losses" in text
    assert "| src/other.py |" in text
