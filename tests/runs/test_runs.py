import gzip
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handmade import Bench, file_discard
from lensbench.agents import adapters, load_adapter, services
from lensbench.agents.adapters import command
from lensbench.agents.sandbox import NO_SANDBOX, SYSTEM, Place, find_sandbox
from lensbench.core.errors import UserError
from lensbench.core.records import Call, Outcome, Record, RunId, from_json
from lensbench.core.store import Discard, State, entries, run_files, state_of, view_of
from lensbench.core.system.files import note_checksum
from lensbench.core.system.redaction import Redactor
from lensbench.core.tables import read_table
from lensbench.plan.freeze import write_plan
from lensbench.repositories.prepare import main as fetch
from lensbench.runs import attempt as attempts
from lensbench.runs import run as runs
from lensbench.runs.attempt import gate_name
from lensbench.runs.run import KEPT_ANSWER, make_run, read_job
from lensbench.runs.stopping import StopEverything, repeated, spent, why_stopped
from lensbench.runs.validity import judge_validity
from lensbench.workflow.begin import count_foreign
from lensbench.workflow.damage import FolderCheck
from lensbench.workflow.read_schedule import read_schedule
from programs import run_module
from small_benchmark import living

SCRIPTS = Path(__file__).parents[2] / "scripts"
RUN = RunId("anna", "without")
RUN_ANNA = [
    sys.executable,
    "-P",
    "-m",
    "lensbench.runs.run",
    "--task",
    RUN.task,
    "--condition",
    RUN.condition,
    "--folder",
]
FAKES = Path(__file__).parents[1] / "fakes"
AUTO: Any = {"mode": "auto", "visible": [], "hidden": []}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "back_off", float)
    Path("repo").mkdir()
    Path("repo/shop.py").write_text("class Cart: ...\n", encoding="utf-8")
    criteria = [{"text": "one", "all_of": "a"}, {"text": "two", "all_of": "b"}]
    task = {
        "id": "anna",
        "category": "Debug",
        "prompt": "Where is the cart — ünd why?",
        "criteria": criteria,
    }
    Path("tasks.yaml").write_text(json.dumps({"name": "set", "tasks": [task]}), encoding="utf-8")
    arguments = ["$$py$HOME", "${workspace}/x", "${UNSET_HERE:-a b}", "${server_log}"]
    server = {"command": "${python}", "args": arguments, "env": {"A": "${workspace}"}}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": server}}), encoding="utf-8")
    return tmp_path / "bench" / "r"


def plan(
    bench: Path,
    shell: str,
    sandbox: str = "none",
    conditions: dict[str, Any] | None = None,
    **agent: Any,
) -> Path:
    """Plans a benchmark whose agent is a shell script."""
    command = ["/bin/sh", "-c", shell, "sh", "{prompt_file}", "{answer_file}", "{mcp_file}"]
    settings = {"kind": "command", "command": command, "timeout_s": 20, "tee": False, **agent}
    conditions = conditions or {"without": {}, "with": {"mcp": "mcp.json"}}
    given = {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "conditions": conditions,
    }
    schedule = read_schedule(
        {**given, "agent": settings, "sandbox": sandbox, "accept_changes": True}, []
    )
    write_plan(schedule.config, [], bench)
    assert not fetch(
        [
            "--plan",
            f"{bench}/plan.json",
            "--cache",
            "cache",
            "--output",
            f"{bench}/repositories.json",
        ]
    )
    return bench


def answer_of(bench: Path, run: RunId = RUN) -> bytes:
    make_run(read_job(bench, run, 0))
    return run_files(bench, run).answer.read_bytes()


@pytest.mark.parametrize("condition", ["with", "without"])
def test_a_run_waits_for_the_others_of_its_task_and_trial(bench: Path, condition: str) -> None:
    plan(bench, "true")
    run = RUN._replace(condition=condition)
    other = run._replace(condition="without" if condition == "with" else "with")
    assert read_job(bench, run, 0).partners == [gate_name(other)]


@pytest.mark.parametrize(
    "answer", ["no newline", "one\n", "a\r\nb\r\n\n", " \t lines\x0b\x0c ünd \u2028 more \n\n"]
)
def test_the_answer_is_kept_byte_for_byte_from_the_output_or_a_file(
    bench: Path, answer: str
) -> None:
    quoted = "".join(f"\\{byte:03o}" for byte in answer.encode())
    assert answer_of(plan(bench, f"printf '{quoted}'")) == answer.encode()
    run_files(bench, RUN).answer.unlink()
    assert answer_of(plan(bench, f"""printf '{quoted}' > "$2"; echo noise""")) == answer.encode()
    transcript = gzip.decompress(run_files(bench, RUN).transcript.read_bytes())
    assert transcript == b"noise\n"
    assert not run_files(bench, RUN).patch.exists()  # only a change has one


ENDED = [{"type": "answer", "text": "here"}, {"type": "end"}]


def events(bench: Path, stream: list[dict[str, Any]], condition: str) -> Record:
    """The record of a run whose agent prints the events, and then stays."""
    Path("events").write_text(
        "".join(json.dumps(event) + "\n" for event in stream), encoding="utf-8"
    )
    plan(
        bench,
        f"cat {Path('events').absolute()}; sleep 60",
        kind="command-events",
        timeout_s=15,
        retries=1,
    )
    run = RUN._replace(condition=condition)
    make_run(read_job(bench, run, 0))
    return from_json(run_files(bench, run).record.read_text(encoding="utf-8"))


def test_an_answer_counts_whose_program_does_not_end(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lensbench.agents.start.EXIT_GRACE_S", 0.5)
    record = events(bench, [{"type": "start", "tools": [], "mcp_servers": []}, *ENDED], "without")
    assert (record.attempt.reason, record.attempt.timed_out, record.attempt.exit_code) == (
        "",
        False,
        None,
    )
    assert (record.attempt.duration_s or 99) < 15
    assert run_files(bench, RUN).answer.read_text(encoding="utf-8") == "here"


def test_a_first_call_that_gets_an_error_does_not_end_the_run(bench: Path) -> None:
    start = {
        "type": "start",
        "tools": ["mcp__fake__x"],
        "mcp_servers": [{"name": "fake", "status": "connected"}],
    }
    call = {"type": "tool_call", "id": 1, "name": "mcp__fake__x"}
    result = {"type": "tool_result", "id": 1, "is_error": False}
    for name, stream in {
        "first": [start, call, {**result, "text": "Repo not registered: /x"}],
        "rest": [call, {**result, "text": "a.py"}, *ENDED],
    }.items():
        Path(name).write_text(
            "".join(json.dumps(event) + "\n" for event in stream), encoding="utf-8"
        )
    here = Path().absolute()
    plan(
        bench,
        f"cat {here}/first; sleep 1; cat {here}/rest",
        kind="command-events",
        timeout_s=15,
        retries=1,
    )
    run = RUN._replace(condition="with")
    make_run(read_job(bench, run, 0))
    assert from_json(run_files(bench, run).record.read_text(encoding="utf-8")).attempt.reason == ""


def test_a_run_whose_server_failed_at_the_start_is_not_paid_to_its_end(bench: Path) -> None:
    servers = [{"name": "fake", "status": "failed", "detail": "no such file"}]
    last = events(bench, [{"type": "start", "tools": [], "mcp_servers": servers}], "with").attempt
    assert (last.reason, last.timed_out) == ("mcp_failed", False)


def test_a_program_of_another_version_than_the_planned_one_does_not_count(bench: Path) -> None:
    begin = {
        "type": "system",
        "subtype": "init",
        "claude_code_version": "2.1",
        "tools": [],
        "mcp_servers": [],
    }
    end = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "here",
        "num_turns": 1,
    }
    plan(
        bench,
        f"echo '{json.dumps(begin)}'; echo '{json.dumps(end)}'",
        kind="claude-code",
        model="m",
        version="2.0",
    )
    make_run(read_job(bench, RUN, 0))
    last = from_json(run_files(bench, RUN).record.read_text(encoding="utf-8")).attempt
    assert (last.reason, last.detail) == (
        "settings_changed",
        "version 2.1 of the agent; agent.version is 2.0",
    )


def test_a_program_whose_output_has_no_version_is_asked_for_it_in_every_run(bench: Path) -> None:
    said: dict[str, Any] = {"type": "agent_message", "id": "0", "text": "here"}
    stream = [
        {"type": "thread.started"},
        {"type": "item.completed", "item": said},
        {"type": "turn.completed"},
    ]
    lines = "".join(json.dumps(event) + "\n" for event in stream)
    program = Path("codex").absolute()
    for condition, version in (("with", "1.0.0"), ("without", "1.0.1")):
        shell = f"[ \"$1\" = --version ] && echo codex-cli {version} || cat <<'X'\n{lines}X\n"
        program.write_text(f"#!/bin/sh\n{shell}", encoding="utf-8")
        program.chmod(0o755)
        plan(bench, "", kind="codex", command=[str(program)], model="m")
        make_run(read_job(bench, RUN._replace(condition=condition), 0))
    judge_validity(bench)
    details = {
        row["detail"]
        for row in read_table(bench / "validity.csv")
        if row["reason"] == "settings_changed"
    }
    assert details == {"with: version 1.0.0; without: version 1.0.1"}


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ("found", "connected", ""),
        ("Repo not registered", "failed", "mcp_failed"),
        (None, "failed", "mcp_failed"),
    ],
)
def test_a_server_is_asked_before_the_text_of_a_failed_call_counts_against_it(
    bench: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None, status: str, reason: str
) -> None:
    monkeypatch.setattr("lensbench.agents.start.EXIT_GRACE_S", 0.5)
    text = (FAKES / "stdio_mcp_server.py").read_text(encoding="utf-8")
    found = "found {params['arguments']['query']} in src/cart.py:3"
    assert found in text
    Path("server.py").write_text(
        text.replace(found, answer) if answer else "exit(1)", encoding="utf-8"
    )
    entry = {"command": sys.executable, "args": [str(Path("server.py").absolute())]}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": entry}}), encoding="utf-8")
    servers = [{"name": "fake", "status": "connected"}]
    call = [
        {"type": "start", "tools": ["mcp__fake__find"], "mcp_servers": servers},
        {"type": "tool_call", "id": 1, "name": "mcp__fake__find", "input": {"query": "x"}},
        {
            "type": "tool_result",
            "id": 1,
            "is_error": False,
            "size": 9,
            "text": "/wrong is not registered",
        },
    ]
    record = events(bench, [*call, *ENDED], "with")
    assert (record.outcome.servers, record.attempt.reason) == ({"fake": status}, reason)
    assert record.outcome.server_faults == {"fake": "/wrong is not registered"}
    assert record.outcome.calls == (Call("mcp__fake__find", 1, 1),)


def test_the_agent_reads_the_planned_prompt_and_the_record_has_its_hash(bench: Path) -> None:
    answer = answer_of(plan(bench, 'cat "$1"'))
    record = from_json(run_files(bench, RUN).record.read_text())
    assert answer == (bench / "prompts" / "anna.md").read_bytes()
    assert (
        record.prompt_sha256
        == json.loads((bench / "plan.json").read_text())["tasks"]["anna"]["prompt_sha256"]
    )


def test_the_places_of_an_mcp_file_are_filled_in_and_the_baseline_has_no_server(
    bench: Path,
) -> None:
    plan(bench, 'cat "$3"; pwd')
    text, folder = answer_of(bench, RUN._replace(condition="with")).decode().rsplit("}", 1)
    server = json.loads(text + "}")["mcpServers"]["fake"]
    private = os.path.dirname(folder.strip())
    assert server["args"] == [
        "$$py$HOME",
        f"{private}/repo/x",
        "a b",
        f"{private}/session/server.jsonl",
    ]
    assert (server["command"], server["env"]) == (sys.executable, {"A": f"{private}/repo"})
    assert b'"mcpServers": {}' in answer_of(bench)
    assert not os.path.exists(private)


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_what_a_run_wrote_into_its_workspace_is_seen_and_no_other_run_finds_it(
    bench: Path, sandbox: str
) -> None:
    plan(bench, "ls; echo more > more.py; rm shop.py", sandbox=sandbox)
    tree = Path(read_job(bench, RUN, 0).repository["tree"])
    for condition in ("without", "with"):
        assert answer_of(bench, RUN._replace(condition=condition)) == b"shop.py\n"
        record = from_json(run_files(bench, RUN._replace(condition=condition)).record.read_text())
        assert record.attempt.reason == "workspace_changed"
        assert record.tree_after != record.tree_before
    assert sorted(os.listdir(tree)) == [".git", "shop.py"]


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_the_baseline_cannot_run_the_treatments_program_and_is_marked_where_it_names_it(
    bench: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sandbox == "auto" and not find_sandbox(AUTO).program:
        pytest.skip("no sandbox on this machine")
    program = bench.parent.parent / "tools" / "seek"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho class Cart\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("lensbench.agents.sandbox.SYSTEM", (*SYSTEM, str(program.parent)))
    Path("mcp.json").write_text(
        json.dumps({"mcpServers": {"fake": {"command": "seek"}}}), encoding="utf-8"
    )
    call = {"type": "tool_call", "id": 1, "name": "Bash", "input": {"command": f"{program} cart"}}
    lines = [{"type": "start", "tools": ["Bash"], "mcp_servers": []}, call]
    shell = "; ".join(f"echo {shlex.quote(json.dumps(line))}" for line in lines)
    shell += f"""; said=$({program} cart 2>&1); printf '{{"type": "tool_result", "id": 1, "text": "%s"}}\n' "$said"; """
    shell += "; ".join(f"echo {shlex.quote(json.dumps(line))}" for line in ENDED)
    plan(bench, shell, sandbox, kind="command-events", retries=1)
    make_run(read_job(bench, RUN, 0))
    record = from_json(run_files(bench, RUN).record.read_text())
    assert (record.attempt.reason, record.naming_calls) == ("", 1)
    said = gzip.decompress(run_files(bench, RUN).transcript.read_bytes()).decode()
    assert ("class Cart" in said) == (sandbox == "none")


def test_no_agent_is_asked_for_a_run_that_counts_and_its_view_comes_back(bench: Path) -> None:
    plan(bench, "echo answer")
    answer_of(bench)
    before = run_files(bench, RUN).record.read_bytes()
    view_of(bench, RUN).unlink()
    assert make_run(read_job(bench, RUN, 0)).startswith("kept")
    assert view_of(bench, RUN).read_text(encoding="utf-8") == "answer\n"
    assert (run_files(bench, RUN).record.read_bytes(), spent(bench).runs) == (before, 1)
    file_discard(bench, RUN, "empty", "")
    assert make_run(read_job(bench, RUN, 0)).startswith("answered")
    assert [entry.number for entry in entries(bench, RUN)] == [1, 2]


def counts(bench: Path, run: RunId = RUN) -> bool:
    return state_of(entries(bench, run), 3) == State.COUNTS


def test_a_run_that_is_still_at_work_elsewhere_is_waited_for_and_not_made_again(
    bench: Path,
) -> None:
    count = bench.parent / "count"
    plan(bench, f'echo x >> "{count}"; sleep 2; echo answer')
    both = [subprocess.Popen([*RUN_ANNA, bench]) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert count.read_text().split() == ["x"]
    assert counts(bench)


def test_the_index_of_a_server_is_no_change_and_other_changes_are_named(bench: Path) -> None:
    index = {"setup": ["/bin/sh", "-c", 'mkdir "$0/.index"', "{workspace}"], "writes": [".index"]}
    conditions = {"without": {}, "with": {"mcp": "mcp.json", **index}}
    shell = "touch .index/x && ls -d .index; test -e .index || touch new.py; echo answer"
    plan(bench, shell, conditions=conditions)
    runs_of_both = [RunId("anna", name) for name in ("with", "without")]
    said = [(answer_of(bench, run), record_of(bench, run).attempt) for run in runs_of_both]
    assert said[0][0] == b".index\nanswer\n"
    assert [attempt.detail for _, attempt in said] == ["", "changed: new.py"]


def test_five_equal_crashes_in_a_row_stop_everything(bench: Path) -> None:
    plan(bench, "echo no index in $PWD >&2; exit 3", retries=10)
    alike = r"5 attempts without a server in a row failed alike \(crashed: exit code 3: no index in"
    with pytest.raises(StopEverything, match=alike):
        answer_of(bench)
    assert [entry.counts for entry in entries(bench, RUN)] == [False] * 5


def test_a_server_that_fails_alike_stops_everything_too_and_one_good_attempt_begins_anew(
    tmp_path: Path,
) -> None:
    plan: Any = Bench(tmp_path, servers={"without": [], "with": ["shop"]}).plan
    expired = "shop: 401 Unauthorized: the token in its headers is wrong or has expired"
    said = [
        repeated(tmp_path, plan, "with", Discard(reason, expired if reason else "", "runner"))
        for reason in ("mcp_failed", "", "mcp_gone", *["mcp_failed"] * 3, "mcp_failed")
    ]
    assert said == [
        *[""] * 6,
        f"5 attempts with shop in a row failed alike (mcp_failed: {expired})",
    ]


def test_what_stops_everything_ends_the_snakemake_that_started_the_run(tmp_path: Path) -> None:
    said = f"import pathlib; from lensbench.runs.stopping import stop_everything as end; end(pathlib.{tmp_path!r}, 'no credit')"
    started = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {said!r}])\nprint('goes on')\n"
    for name, shown in (("snakemake", ""), ("other", "goes on\n")):
        (tmp_path / name).write_text(started)
        done = subprocess.run(
            [sys.executable, str(tmp_path / name)], capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.stderr) == (shown, "")
        assert why_stopped(tmp_path) == "no credit"


def test_only_what_may_heal_at_once_is_tried_again_and_never_more_often_than_allowed(
    bench: Path,
) -> None:
    count = bench.parent / "count"
    plan(bench, f'echo x >> "{count}"; echo Error: >&2; echo no index >&2; exit 3', retries=3)
    answer_of(bench)
    tried = [from_json(entry.record.read_text()).attempt for entry in entries(bench, RUN)]
    assert [(attempt.number, attempt.waited_s, attempt.reason) for attempt in tried] == [
        (1, 0.0, "crashed"),
        (2, 1.0, "crashed"),
        (3, 2.0, "crashed"),
    ]
    assert count.read_text().split() == ["x"] * 3
    assert [entry.counts for entry in entries(bench, RUN)] == [
        False,
        False,
        True,
    ]  # `validity` decides about the last
    assert tried[-1].detail == "exit code 3: no index"
    plan(bench, "echo x > new.py; echo answer", retries=3)
    file_discard(bench, RUN, "crashed", "")
    answer_of(bench)
    assert [record_of(bench).attempt.reason, len(entries(bench, RUN))] == ["workspace_changed", 4]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda bench: plan(bench, "", command=["/nowhere/agent"]),
            "the agent cannot be started: /nowhere/agent",
        ),
        (lambda bench: (bench / "plan.json").unlink(), "has no plan for anna-without"),
        (lambda bench: (bench / "prompts" / "anna.md").unlink(), "has no plan for anna-without"),
        (
            lambda bench: next(Path("cache").glob("*/tree/shop.py")).write_text("x"),
            "differs from what was fetched",
        ),
    ],
)
def test_what_no_attempt_can_fix_is_one_sentence_and_no_discard(
    bench: Path, damage: Any, message: str
) -> None:
    plan(bench, "echo answer")
    damage(bench)
    with pytest.raises(UserError, match=message):
        answer_of(bench)
    assert entries(bench, RUN) == []


@pytest.mark.parametrize(
    "shell", ['mkfifo "$2"', 'ln -s /etc/hostname "$2"', 'ln -s "$1" "$2"', 'mkdir "$2"']
)
def test_an_answer_file_that_is_no_file_is_not_read(bench: Path, shell: str) -> None:
    assert answer_of(plan(bench, f"{shell}; echo answer")) == b"answer\n"


@pytest.mark.usefixtures("ripgrep")
@pytest.mark.parametrize(
    "kind", [path.stem for path in Path(adapters.__file__).parent.glob("[a-z]*.py")]
)
def test_a_file_is_the_answer_only_for_a_program_that_was_told_of_it(
    bench: Path, kind: str, tmp_path: Path
) -> None:
    adapter = load_adapter(kind)
    job = read_job(plan(bench, "true"), RUN, 0)
    place = Place(NO_SANDBOX, str(tmp_path / "private"))
    os.mkdir(place.private)
    assignment = attempts.prepare(job, place, Redactor((), {}))
    settings: Any = {
        **assignment.settings,
        "model": "m",
        "token_env": "",
        "base_url": "http://127.0.0.1:1",
    }
    for argv in (["x", "{answer_file}"], ["x", "/session/answer.md"]):
        invocation = adapter.command(replace(assignment, settings={**settings, "command": argv}))
        is_told = "{answer_file}" in argv and kind.startswith("command")
        assert invocation.answer_file == (assignment.answer_file if is_told else "")


@pytest.mark.parametrize(
    ("kind", "text", "is_refused"),
    [
        ("claude-code", "See @FILE: where?", True),
        ("gemini", "See (@FILE) or not.", True),
        ("gemini", "In @., all", True),
        ("claude-code", 'See @"FILE".', True),
        ("claude-code", "Is `@FILE` or @app.route it?", False),
        ("codex", "See @FILE", False),
        ("opencode", "See @FILE", False),
    ],
)
def test_a_prompt_into_which_the_program_would_put_a_file_is_refused(
    bench: Path, tmp_path: Path, kind: str, text: str, is_refused: bool
) -> None:
    job = read_job(plan(bench, "true"), RUN, 0)
    file = next(path.name for path in Path(job.repository["tree"]).iterdir() if path.is_file())
    job = job._replace(
        plan={**job.plan, "agent": {**job.agent, "kind": kind}},
        whole_prompt=text.replace("FILE", file),
    )
    (tmp_path / "private").mkdir()
    said = pytest.raises(UserError, match=f"task '{RUN.task}': its prompt has @.*{kind} replaces")
    with said if is_refused else nullcontext():
        attempts.prepare(job, Place(NO_SANDBOX, str(tmp_path / "private")), Redactor((), {}))


def test_a_file_that_the_program_was_not_told_of_is_not_the_answer(bench: Path) -> None:
    untold = ["/bin/sh", "-c", 'echo forged > "$(dirname "$HOME")/answer.md"; echo answer']
    assert answer_of(plan(bench, "", command=untold)) == b"answer\n"


def test_an_mcp_file_that_changes_under_way_stops_the_run(bench: Path) -> None:
    plan(bench, "echo answer")
    Path("mcp.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match=r"mcp\.json was changed during the benchmark"):
        answer_of(bench, RUN._replace(condition="with"))


def test_a_run_can_be_made_by_hand_and_a_mistake_is_a_message(bench: Path) -> None:
    plan(bench, "echo answer; echo noise >&2")
    command = ("lensbench.runs.run", "--folder", "bench/r", "--condition", "without", "--task")
    done = run_module(*command, "anna")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "noise")
    assert run_files(bench, RUN).answer.read_text() == "answer\n"
    done = run_module(*command, "nobody")
    assert done.returncode == 2
    assert done.stderr.startswith("error: bench/r has no plan for nobody-without")
    assert "Traceback" not in done.stderr


def test_half_characters_in_an_answer_do_not_lose_the_run(bench: Path) -> None:
    said = r"""printf '{"type": "answer", "text": "half \\ud83d here"}\n{"type": "end", "is_error": false}\n'"""
    plan(bench, said, kind="command-events")
    assert answer_of(bench) == b"half ? here"
    assert counts(bench)


def record_of(bench: Path, run: RunId = RUN) -> Record:
    return from_json(run_files(bench, run).record.read_text())


LOG_BOMB = (
    'echo "the answer"; head -c 3000000 /dev/zero | tr "\\0" "[" > "$(dirname "$3")/server.jsonl"'
)


def test_a_server_log_that_no_parser_can_take_costs_no_answer(bench: Path) -> None:
    assert (answer_of(plan(bench, LOG_BOMB)), record_of(bench).attempt.reason) == (
        b"the answer\n",
        "",
    )


def test_a_late_failure_is_a_discard_with_answer_and_cost(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> None:
        raise RecursionError

    monkeypatch.setattr(attempts, "find_reason", fails)
    assert answer_of(plan(bench, "echo the answer")) == b"the answer\n"
    last = record_of(bench).attempt
    assert (last.reason, last.detail) == (
        "harness_failed",
        "RecursionError in lensbench/attempt.py, _checked",
    )
    assert spent(bench).runs == 1
    assert spent(bench).hours > 0
    judge_validity(bench)
    assert run_files(bench, RUN).read_discard().reason == "harness_failed"


@pytest.mark.parametrize(
    ("shell", "reason"),
    [
        ("truncate -s 60G sparse", "over_limit"),
        ("for n in 1 2 3 4 5 6; do truncate -s 3G part$n; done", "over_limit"),
        ("mkfifo pipe; ln -s /dev/zero endless", "workspace_changed"),
    ],
    ids=["one file of 60 GB", "many files", "a FIFO and a link to a device"],
)
def test_a_workspace_of_any_size_costs_no_answer_and_reading_it_ends(
    bench: Path, shell: str, reason: str
) -> None:
    assert answer_of(plan(bench, f"{shell}; echo the answer")) == b"the answer\n"
    last = record_of(bench).attempt
    too_large = "its workspace has more than 16 GB after the run and was not checked"
    assert (last.reason, reason != "over_limit" or last.detail == too_large) == (reason, True)


def test_an_unreadable_output_is_a_discard_with_its_transcript(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(lines: Iterable[str], **_: object) -> Outcome:
        next(iter(lines))
        raise RecursionError

    monkeypatch.setattr(command, "read", fails)
    make_run(read_job(plan(bench, "echo one; echo two"), RUN, 0))
    assert record_of(bench).attempt.reason == "harness_failed"
    assert gzip.decompress(run_files(bench, RUN).transcript.read_bytes()) == b"one\ntwo\n"


def test_a_job_that_is_killed_after_its_agent_ended_is_not_paid_for_twice(bench: Path) -> None:
    run = RunId("anna", "with")
    kill = [
        "/bin/sh",
        "-c",
        '[ -e "$1" ] || { touch "$1" && kill -9 $PPID; }',
        "sh",
        f"{bench}/torn",
    ]
    plan(
        bench, "echo $$", conditions={"without": {}, "with": {"mcp": "mcp.json", "teardown": kill}}
    )
    done = run_module(
        "lensbench.runs.run", "--folder", bench, "--task", "anna", "--condition", "with"
    )
    assert done.returncode == -9
    assert not view_of(bench, run).exists()
    assert (make_run(read_job(bench, run, 0)), record_of(bench, run).attempt.reason) == (
        KEPT_ANSWER,
        "",
    )
    assert (spent(bench).runs, view_of(bench, run).exists()) == (1, True)


KILLED_AT = """
import os, sys
from lensbench.core.system import files
from lensbench.runs.run import main
steps = int(sys.argv.pop())
def killed(step):
    def counted(*given):
        global steps
        steps -= "record.json" in str(given)
        steps or os.kill(os.getpid(), 9)
        step(*given)
    return counted
files.note_checksum = killed(files.note_checksum)
files._replace = killed(files._replace)
main()
"""
"""Ends a run at the step of this number of those that write its record: first it is noted and then written, and both
again for what the teardown adds."""


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_a_run_that_is_killed_at_any_step_of_writing_its_record_is_booked_once(
    bench: Path, step: int
) -> None:
    fails = ["/bin/sh", "-c", "exit 3"]
    plan(bench, "echo $$", conditions={"without": {"teardown": fails}, "with": {"mcp": "mcp.json"}})
    note_checksum(bench, "attempts/bert-with/1/record.json", b"of a run before")
    job = [sys.executable, "-P", "-c", KILLED_AT, *RUN_ANNA[4:], bench, str(step)]
    assert subprocess.run(job, check=False).returncode == -9
    (entry,) = entries(bench, RUN)
    has_record = entry.record.exists()
    assert FolderCheck(bench).damages == []
    count_foreign(bench, [(RUN.stem, entry)] if has_record else [])
    assert spent(bench).runs == 1
    assert (make_run(read_job(bench, RUN, 0)) == KEPT_ANSWER) == has_record
    assert spent(bench).runs == (1 if has_record else 2)


SIGNALLED_AT = """
import os, sys
from lensbench.core.system.program import run_program
from lensbench.runs import attempt
from lensbench.runs.run import main
name = sys.argv.pop()
step = getattr(attempt, name)
def signalled(*given):
    os.kill(os.getpid(), 15)
    return step(*given)
setattr(attempt, name, signalled)
run_program(main)
"""
"""Ends a run by SIGTERM in this step."""


@pytest.mark.parametrize("step", ["cut_answer", "_checked", "keep_record"])
def test_a_run_that_is_ended_after_its_agent_has_answered_keeps_the_answer(
    bench: Path, step: str
) -> None:
    plan(bench, "echo $$")
    job = [sys.executable, "-P", "-c", SIGNALLED_AT, *RUN_ANNA[4:], bench, step]
    assert subprocess.run(job, check=False).returncode == 128 + 15
    assert make_run(read_job(bench, RUN, 0)) == KEPT_ANSWER
    assert (spent(bench).runs, spent(bench).at_work) == (1, 0)


def killed_while_checking(bench: Path) -> None:
    """A job of its own process, which is killed after its agent has ended and before the run is checked."""
    program = (
        "import os, lensbench.runs.reasons as reasons\n"
        "reasons.find_reason = lambda *rest: os.kill(os.getpid(), 9)\n"
        "from lensbench.runs.run import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", program, *RUN_ANNA[4:], bench], check=False)
    assert ended.returncode == -9


def test_a_job_that_is_ended_while_it_starts_something_leaves_nothing(bench: Path) -> None:
    program = (
        "import subprocess, sys, lensbench.runs.run as run\n"
        "run.make_run = lambda job: sys.exit(subprocess.Popen(['sh', '-c', 'sleep 60; :', sys.argv[-1]]) and 3)\n"
        "run.main()"
    )
    plan(bench, "echo $$")
    ended = subprocess.run([sys.executable, "-c", program, *RUN_ANNA[4:], bench], check=False)
    assert (ended.returncode, [*living(str(bench))]) == (3, [])


def test_a_run_that_kills_its_job_while_it_is_checked_is_repeated_until_it_is_given_up(
    bench: Path,
) -> None:
    plan(bench, "echo $$")
    killed_while_checking(bench)
    assert state_of(entries(bench, RUN), 3) == State.CUT_SHORT
    killed_while_checking(bench)
    assert spent(bench).runs == 2
    job = read_job(bench, RUN, 0)
    assert make_run(job._replace(plan=job.plan | {"max_rounds": 1})) == KEPT_ANSWER
    assert [entry.read_discard().reason for entry in entries(bench, RUN)] == ["harness_failed"] * 2
    judge_validity(bench)
    row = next(
        row for row in read_table(bench / "validity.csv") if row["condition"] == RUN.condition
    )
    assert (row["status"], row["reason"], row["given_up"]) == ("discarded", "harness_failed", "no")
    assert "answered" in make_run(job)
    assert (spent(bench).runs, counts(bench)) == (3, True)


def test_what_a_run_needs_is_loaded_before_it_is_forked_off(bench: Path) -> None:
    program = (
        "import sys, snakemake_executor_plugin_lensbench.forks; from lensbench.runs.run import preload; preload(sys.argv[1:])\n"
        "import psutil, psutil._psposix, glob, pwd; loaded = {*sys.modules}  # for what an agent leaves behind on a busy machine\n"
        "from lensbench.runs.run import main; main(); print('later:', *{*sys.modules} - loaded)"
    )
    plan(bench, "echo answer", sandbox="auto")
    made = subprocess.run(
        [sys.executable, "-P", "-c", program, *RUN_ANNA[4:], bench],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (made.stdout, counts(bench)) == ("later:\n", True), "import it in runs.run.preload"


def test_a_run_imports_little() -> None:
    """Each module counts: a run that is made by hand, or on a cluster, starts in a program of its own."""
    program = "import sys, lensbench.runs.run; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert {"pydantic", "psutil", "yaml", "jinja2", "re2", "numpy", "snakemake", "mcp"}.isdisjoint(
        loaded
    )
    assert len(loaded) <= 192, (
        "import it where it is used; runs of a start get it by runs.run.preload"
    )


SPOILED = {
    "its MCP file is gone": 'rm -f "$3"',
    "its folders are read-only": "chmod -R a-w . ../session",
    "its session is gone": "rm -rf ../session/* || true",
    "its temporary folder has a socket": "mkfifo ../session/home/tmp/x",
}


@pytest.mark.parametrize("sandbox", ["none", "auto"])
@pytest.mark.parametrize("how", SPOILED)
def test_a_paid_answer_counts_in_whatever_state_the_agent_leaves_its_folders(
    bench: Path, how: str, sandbox: str
) -> None:
    plan(bench, f"{SPOILED[how]}; echo the answer", sandbox)
    assert answer_of(bench) == b"the answer\n"
    assert state_of(entries(bench, RUN), 3) == State.COUNTS


def test_a_paid_answer_counts_when_nothing_can_be_printed_or_counted(bench: Path) -> None:
    plan(bench, "echo noise >&2; echo the answer")
    spoil = "import lensbench.runs.attempt as a; a.spend = lambda *x, **y: open('/dev/full', 'w').write('x' * 9**5)"
    code = f"{spoil}; from lensbench.runs.run import main; main()"
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, *RUN_ANNA[4:], str(bench)], stderr=full, check=False
        )
    assert done.returncode in (0, 1)
    assert state_of(entries(bench, RUN), 3) == State.COUNTS


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_starts_in_which_the_service_is_overloaded_share_a_pause_and_spend_no_round(
    bench: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(services, "FIRST_S", 0.01)
    monkeypatch.setattr("lensbench.agents.start.EXIT_GRACE_S", 0.5)
    busy = {"type": "end", "is_error": True, "status": status, "error": "API Error: Overloaded"}
    for _ in range(5):
        record = events(bench, [{"type": "start"}, busy], "without")
        assert record.attempt.reason in ("api_error", "rate_limited")
        assert json.loads((services.PLACE / "command-events.json").read_text())["pause_s"] > 0
        judge_validity(bench)
        assert state_of(entries(bench, RUN), 3) == State.DISCARDED
    row = next(row for row in read_table(bench / "validity.csv") if row["condition"] == "without")
    assert (row["given_up"], row["discards"].count(";")) == ("no", 4)


def test_an_answer_has_a_bound_that_its_record_states(bench: Path) -> None:
    plan(bench, """printf 'ünd %0.s' 1 2 > "$2"; truncate -s 64M "$2" """)
    assert len(answer_of(bench)) == 1_000_000
    record = from_json(run_files(bench, RUN).record.read_text(encoding="utf-8"))
    assert (record.answer_bytes, record.answer_cut) == (
        1_000_000,
        63_000_002,
    )  # 64 million characters are read
    assert state_of(entries(bench, RUN), 3) == State.COUNTS


ASKS = """
import json, subprocess, sys
entry = json.load(open(sys.argv[1]))["mcpServers"]["fake"]
argv, pipe = [entry["command"], *entry["args"]], subprocess.PIPE
server = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)
for number, (method, params) in enumerate(MESSAGES):
    print(json.dumps({"id": number, "method": method, "params": params}), file=server.stdin, flush=True)
    server.stdout.readline()
print("fine")
"""
MESSAGES = [
    ("initialize", {"protocolVersion": "2025-06-18"}),
    ("tools/list", {}),
    ("tools/call", {"name": "find", "arguments": {"query": "x"}}),
]


@pytest.mark.parametrize(("said", "reason"), [(3, ""), (1, "mcp_not_offered")])
def test_what_the_tee_saw_is_in_the_record_and_the_notes_in_the_folder(
    bench: Path, said: int, reason: str
) -> None:
    server = [sys.executable, "-I", str(FAKES / "stdio_mcp_server.py")]
    entry = {"command": server[0], "args": server[1:]}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": entry}}), encoding="utf-8")
    code = ASKS.replace("MESSAGES", repr(MESSAGES[:said]))
    command = [sys.executable, "-c", code, "{mcp_file}"]
    plan(bench, "", tee=None, command=command, retries=1)
    run = RunId("anna", "with")
    make_run(read_job(bench, run, 0))
    record = record_of(bench, run)
    assert (record.attempt.reason, record.outcome.calls) == (reason, None)
    assert record.taps is not None
    calls = [(call.name, call.count, call.errors) for call in record.taps["fake"].calls]
    assert calls == ([("mcp__fake__find", 1, 0)] if said == 3 else [])
    assert [call.name for call in record.seen.calls or ()] == [name for name, *_ in calls]
    notes = (bench / "taps" / "anna-with.jsonl").read_text().splitlines()
    asked = [json.loads(line) for line in notes if '"to_server"' in line]
    assert [row["method"] for row in asked] == [method for method, _ in MESSAGES[:said]]
    make_run(read_job(bench, RUN, 0))
    assert record_of(bench, RUN).taps is None
