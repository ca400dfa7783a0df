"""The adapter of the agent without a language model."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import lensbench
from lensbench.agents import Assignment, load_adapter
from lensbench.agents.adapters.offline import command, read
from lensbench.core.error_texts import KNOWN_ERRORS
from lensbench.core.records import Call, Outcome

EVENTS = yaml.safe_load(Path(__file__).with_name("offline_events.yaml").read_text(encoding="utf-8"))
LINES = [json.dumps(event) for event in EVENTS]


def assignment(folder: Path, workspace: Path, mcp: str = '{"mcpServers": {}}') -> Assignment:
    (folder / "prompt.md").write_text("Where is `Cart` defined?\n", encoding="utf-8")
    (folder / "mcp.json").write_text(mcp, encoding="utf-8")
    (folder / "home").mkdir()
    return Assignment(
        prompt="",
        prompt_file=str(folder / "prompt.md"),
        workspace=str(workspace),
        home=str(folder / "home"),
        mcp_file=str(folder / "mcp.json"),
        mcp_servers={},
        answer_file="",
        servers=(),
        denied_servers=(),
        settings={"mcp_start_s": 3, "pass_env": []},
        seed=7,
    )


def test_the_stream_gives_the_whole_outcome_with_what_it_used_and_what_that_cost() -> None:
    assert read(LINES) == Outcome(
        answer="It is so.\n",
        finished=True,
        ending="finished",
        agent_version="1",
        models=("none",),
        servers={"lens": "connected", "odd": "failed"},
        server_faults={"odd": "gone"},
        tools_offered=("Grep", "mcp__lens__lens_grep"),
        calls=(Call("Grep", 1, 1), Call("Read", 2, 0)),
        files_read=("a.py", "b.py"),
        turns=4,
        stop_reason="finished",
    )
    used = {"input": 10, "cache_read": 7, "cache_write": 3, "output": 2}
    outcome = read([json.dumps({"type": "end", "cost_usd": 0.5, "tokens": {**used, "other": 1}})])
    assert (outcome.tokens, outcome.cost_usd, outcome.cost_is_guess) == (used, 0.5, False)
    outcome = read(['{"type": "end", "tokens": {"input": 10, "output": 2}}'])
    assert outcome.tokens == {**used, "cache_read": 0, "cache_write": 0}


@pytest.mark.parametrize(
    "tokens",
    [
        '{"input": -1, "output": 2}',
        '{"input": 10, "output": "2"}',
        '{"input": NaN, "output": 2}',
        '{"input": 10}',
        "{}",
        "[10, 2]",
        '{"input": true, "output": 2}',
        '{"input": 10, "output": 2, "cache_read": 1.5}',
        '{"input": 1e30, "output": 2}',
    ],
)
@pytest.mark.parametrize("cost", ['"0.5"', "-0.5", "NaN", "true", "1e999", "{}"])
def test_odd_numbers_of_a_program_are_unknown_and_never_0(tokens: str, cost: str) -> None:
    outcome = read([f'{{"type": "end", "cost_usd": {cost}, "tokens": {tokens}}}'])
    assert (outcome.tokens, outcome.cost_usd) == (None, None)


def test_a_stream_without_its_start_its_end_or_any_event_shows_no_more_than_it_has() -> None:
    outcome = read([*LINES[:-2], LINES[-2][:20]])
    assert not outcome.finished
    assert outcome.answer == ""
    assert outcome.calls == (Call("Grep", 1, 1), Call("Read", 2, 0))
    outcome = read(["Loading... " + LINES[0], *LINES[1:]])
    assert outcome.calls == (Call("Grep", 1, 1), Call("Read", 2, 0))
    assert read(LINES[-1:]).calls is None
    outcome = read(["", "Killed", '{"type": 3}', "[]"])
    assert outcome == Outcome(finished=False)
    assert outcome.calls is None
    assert read(['{"type": "end", "is_error": true, "error": "no memory"}']).error == "no memory"
    assert read(['{"type": "end", "is_error": true}']).error


@settings(max_examples=40)
@given(
    st.lists(
        st.one_of(
            st.text(),
            st.sampled_from(LINES),
            st.builds(
                lambda kind, rest: json.dumps({**rest, "type": kind}),
                st.sampled_from(["start", "tool_call", "tool_result", "answer", "end", "other"]),
                st.dictionaries(
                    st.sampled_from(
                        [
                            "id",
                            "name",
                            "text",
                            "tools",
                            "mcp_servers",
                            "is_error",
                            "turns",
                            "path",
                            "error",
                            "model",
                        ]
                    ),
                    st.recursive(
                        st.none() | st.booleans() | st.integers() | st.text(),
                        st.lists,
                        max_leaves=4,
                    ),
                ),
            ),
        )
    )
)
def test_any_lines_can_be_read(lines: list[str]) -> None:
    outcome = read(lines)
    assert isinstance(outcome.answer, str)
    assert not outcome.finished or any('"end"' in line for line in lines)


def test_without_the_start_that_names_the_servers_no_run_counts() -> None:
    """Another program need not name them."""
    events = load_adapter("command-events")
    for lines in (LINES, [f"\x1b]0;a title\x07{LINES[0]}", *LINES[1:]]):
        assert (read(lines).finished, events.read(lines, errors=KNOWN_ERRORS).finished) == (
            True,
            True,
        )
    for lines in (
        LINES[1:],
        ['{"type": "start"}', *LINES[1:]],
        [f"Loading {LINES[0]}", *LINES[1:]],
    ):
        assert (read(lines).finished, events.read(lines, errors=KNOWN_ERRORS).finished) == (
            False,
            True,
        )


def test_the_command_works_with_nothing_but_its_own_environment(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "cart.py").write_text("class Cart:\n    pass\n", encoding="utf-8")
    (workspace / "json.py").write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
    run = assignment(tmp_path, workspace)
    invocation = command(run)
    done = subprocess.run(
        invocation.argv, env=dict(invocation.env), cwd=workspace, capture_output=True, text=True
    )
    outcome = read(done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert outcome.finished
    assert "`cart.py:1`" in outcome.answer
    assert outcome.files_read == ("cart.py",)
    assert outcome.servers == {}
    assert set(invocation.env) == {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONPATH"}
    assert "3" in invocation.argv


def test_a_failed_server_is_reported_with_its_reason(tmp_path: Path) -> None:
    run = assignment(tmp_path, tmp_path, '{"mcpServers": {"lens": {"command": ""}}}')
    invocation = command(run)
    done = subprocess.run(
        invocation.argv, env=dict(invocation.env), capture_output=True, text=True, timeout=60
    )
    outcome = read(done.stdout.splitlines())
    assert outcome.servers == {"lens": "failed"}
    assert outcome.server_faults == {
        "lens": "command must be the program alone, as a text; write its arguments in args"
    }


def test_a_tool_that_is_left_out_is_neither_offered_nor_called(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("class Cart:\n    pass\n", encoding="utf-8")
    lens = {"command": sys.executable, "args": ["-P", "-m", "lensbench_demo.lens"]}
    lens |= {"env": {"PYTHONPATH": str(Path(lensbench.__file__).parents[1])}}
    run = assignment(tmp_path, tmp_path, json.dumps({"mcpServers": {"lens": lens}}))
    found = []
    for excluded in ((), ("mcp__lens__lens_grep",)):
        invocation = command(replace(run, excluded=excluded))
        env = dict(invocation.env)
        done = subprocess.run(invocation.argv, env=env, capture_output=True, text=True, timeout=120)
        outcome = read(done.stdout.splitlines())
        assert outcome.tools_offered is not None
        assert outcome.calls is not None
        called = [call.name for call in outcome.calls]
        found.append(
            ("mcp__lens__lens_grep" in outcome.tools_offered, "mcp__lens__lens_grep" in called)
        )
    assert found == [(True, True), (False, False)]
