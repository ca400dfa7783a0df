"""What is tried before the first run, with real servers and agents on this machine."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from fakes.stdio_mcp_server import answer
from handmade import Bench
from lensbench.agents import Assignment, Invocation, base_environment, start
from lensbench.agents import sandbox as sandboxes
from lensbench.agents.adapters.offline import read
from lensbench.agents.sandbox import Sandbox, find_sandbox
from lensbench.core.conditions import fill_mcp_file, missing_variables, run_command
from lensbench.core.errors import UserError
from lensbench.core.preflight_results import Check, PreflightFindings, table
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.plan.config import Agent
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios
from lensbench.runs import preflight as stage
from lensbench.runs.preflight import all_versions, check_sandbox, preflight
from lensbench.runs.server_checks import Advise, name_doctor
from lensbench.runs.server_packages import own_command
from lensbench.scores.scores import treatment_tools
from lensbench_demo.server_starts import advice
from programs import run_here
from services import Reply, Request, answering
from stock import commit, git, write

INDEXES = yaml.safe_load(Path(__file__).with_name("indexes.yaml").read_text(encoding="utf-8"))


BUDGETS = yaml.safe_load(Path(__file__).with_name("budgets.yaml").read_text(encoding="utf-8"))


STDIO = str(Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py")
KEY = "sk-a-very-secret-key"
SANDBOX = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
sandboxed = pytest.mark.skipif(
    not SANDBOX.program, reason="bubblewrap is not installed, or does not work here"
)

Try = Callable[..., dict[str, Check]]
FOUND = "found {params['arguments']['query']} in src/cart.py:3"
"""What the server answers."""


def altered(folder: Path, *changes: tuple[str, str]) -> dict[str, Any]:
    """The server with pieces of its text replaced, in this folder."""
    text = Path(STDIO).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "altered.py").write_text(text, encoding="utf-8")
    return server(program=str(folder / "altered.py"))


def server(*arguments: str, program: str = STDIO) -> dict[str, Any]:
    return {"command": "${python}", "args": ["-IS", program, *arguments]}


@pytest.fixture
def attempt(project: Path, given: dict[str, Any]) -> Try:
    """Runs the preflight with MCP servers and changed settings; returns the rows by their names."""

    def run(
        servers: dict[str, Any] | None = None,
        treatment: dict[str, Any] | None = None,
        advise: Advise = name_doctor,
        **settings: Any,
    ) -> Any:
        (project / "lens.json").write_text(
            json.dumps({"mcpServers": servers or {"lens": server()}})
        )
        conditions = {"without": {}, "with": {"mcp": "lens.json", **(treatment or {})}}
        config = load_config(
            {**given, "conditions": conditions, "cache": "cache", "sandbox": "none", **settings}
        )
        scenarios = read_scenarios(config.scenario_files)
        findings = preflight(config, scenarios, project / "bench" / "r", advise)
        run.findings = findings  # type: ignore[attr-defined]
        return {check.name: check for check in findings.checks}

    return run


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """An agent with a version, in place of whatever the config names."""

    def command(run: Assignment) -> Invocation:
        return Invocation((sys.executable,), base_environment(run))

    made = SimpleNamespace(command=command, read=read, version=lambda settings: "2.1.329")
    monkeypatch.setattr(stage, "load_adapter", lambda kind: made)
    return made


def outcomes(checks: dict[str, Check]) -> dict[str, str]:
    return {
        name: check.outcome for name, check in checks.items() if not name.endswith(": tool list")
    }


def test_a_server_is_started_as_in_runs_its_tools_are_listed_and_one_is_called(
    attempt: Try,
) -> None:
    checks = attempt()
    assert outcomes(checks) == {"repository": "ok", "agent": "ok", "with: lens": "warning"}
    assert (
        "find, crash; find(query='a') answered with 24 characters, but named no file"
        in checks["with: lens"].detail
    )
    assert [*attempt.findings.tools["with"]] == ["mcp__lens__find", "mcp__lens__crash"]  # type: ignore[attr-defined]
    assert attempt.findings.versions["with"] == {"lens": "1"}  # type: ignore[attr-defined]
    tokens = attempt.findings.list_tokens["with"]  # type: ignore[attr-defined]
    assert len("Prefer find.") // 4 + 20 < tokens < 200, (
        "the names, descriptions and schemas of two small tools"
    )
    assert (
        f"about {tokens:,} tokens of every request (estimated" in checks["with: tool list"].detail
    )


@pytest.mark.parametrize(
    ("tools", "rows"),
    [
        ({"only": ["find"]}, ["ok the agent's filter leaves out mcp__lens__crash"]),
        ({"without": ["mcp__lens__crash"]}, ["ok the agent's filter leaves out mcp__lens__crash"]),
        (
            {"only": ["fnd"]},
            [
                "failed conditions.with.tools.only has 'fnd', which no server lists; did you mean 'find'?",
                "failed conditions.with.tools leaves lens no tool; leave the server out: without: [lens]",
            ],
        ),
        (
            {"without": ["crush"]},
            [
                "failed conditions.with.tools.without has 'crush', which no server lists; did you mean 'crash'?",
                "ok the agent's filter leaves out none",
            ],
        ),
        (
            {"without": ["find", "crash"]},
            [
                "failed conditions.with.tools leaves lens no tool; leave the server out: without: [lens]"
            ],
        ),
    ],
)
def test_a_filter_of_tools_is_checked_against_what_the_servers_list(
    attempt: Try, tools: dict[str, Any], rows: list[str]
) -> None:
    attempt(treatment={"tools": tools}, agent={"kind": "offline"})
    findings: PreflightFindings = attempt.findings  # type: ignore[attr-defined]
    said = [f"{row.outcome} {row.detail}" for row in findings.checks if row.name == "with: tools"]
    assert said == rows
    if not findings.failed:
        assert [*findings.tools["with"]] == ["mcp__lens__find"]
        assert findings.excluded == {"with": ["mcp__lens__crash"]}


def test_other_words_are_those_of_the_list_and_unknown_tools_are_named(
    attempt: Try, project: Path
) -> None:
    (project / "words.yaml").write_text("lens: {tools: {find: Finds what nobody finds.}}\n")
    checks = attempt(treatment={"describe": "words.yaml"}, agent={"kind": "offline"})
    assert "with: words" not in checks
    findings: PreflightFindings = attempt.findings  # type: ignore[attr-defined]
    assert findings.descriptions["mcp__lens__find"] == "Finds what nobody finds."
    (project / "words.yaml").write_text("lens: {tools: {fnd: x}}\n")
    said = attempt(treatment={"describe": "words.yaml"}, agent={"kind": "offline"})["with: words"]
    assert (said.outcome, said.detail) == (
        "failed",
        "conditions.with.describe has 'fnd', which lens does not list; did you mean 'find'?",
    )


def test_a_server_that_several_conditions_have_is_started_once(attempt: Try, project: Path) -> None:
    started = project / "started"
    line = "    for line in sys.stdin:\n"
    note = f"    with open({str(started)!r}, 'a') as file:\n        file.write('x')\n"
    servers = {
        "lens": server(),
        "other": altered(project, (line, note + line)),
    }
    own = {"mcp": "lens.json"}
    conditions = {
        "all": own,
        "none": {
            **own,
            "without": ["lens", "other"],
        },
        "without_lens": {
            **own,
            "without": ["lens"],
        },
        "lean": {
            **own,
            "tools": {"without": ["mcp__other__crash"]},
        },
    }
    checks = attempt(servers, conditions=conditions, baseline="all", agent={"kind": "offline"})
    assert started.read_text() == "x"
    assert [name for name in checks if "lens" in name] == ["all: lens", "without_lens: tool list"]
    findings: PreflightFindings = attempt.findings  # type: ignore[attr-defined]
    assert [*findings.tools["without_lens"]] == ["mcp__other__find", "mcp__other__crash"]
    assert [*findings.tools["lean"]] == [
        "mcp__lens__find",
        "mcp__lens__crash",
        "mcp__other__find",
    ]
    assert findings.tools["all"].items() >= findings.tools["without_lens"].items()
    assert findings.versions["without_lens"] == {"other": "1"}
    assert findings.list_tokens["all"] > findings.list_tokens["without_lens"] > 0
    assert "none" not in findings.list_tokens
    apart = {"all": own, "again": {**own, "setup": ["true"]}}
    attempt(servers, conditions=apart, baseline="all", agent={"kind": "offline"})
    assert started.read_text() == "xxx", "another setup may change what a server does"


def test_a_server_of_a_package_is_tried_with_the_fetched_program(
    attempt: Try, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"#!/bin/sh\nexec {PYTHON} -IS {STDIO}\n"
    install = f"cat > $UV_TOOL_BIN_DIR/seek <<'END'\n{program}END\nchmod +x $UV_TOOL_BIN_DIR/seek"
    write(project, {"bin/uv": f"#!/bin/sh\nmkdir -p $UV_TOOL_BIN_DIR\n{install}\n"}).joinpath(
        "bin/uv"
    ).chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}/bin", prepend=":")
    assert (
        attempt({"lens": {"command": "no/uvx", "args": ["seek"]}})["with: lens"].outcome
        == "warning"
    )


def test_a_search_that_finds_nothing_is_asked_again_for_the_name_of_a_file(
    attempt: Try, project: Path
) -> None:
    finding = """f"{params['arguments']['query']}.py:3" if params["arguments"]["query"] == "cart" else "no match\""""
    (project / "repo" / "cart.py").write_text("a = 1\n")
    check = attempt({"lens": altered(project, (f'f"{FOUND}"', finding))})["with: lens"]
    assert (check.outcome, check.detail) == (
        "ok",
        "find, crash; find(query='cart') answered with 9 characters",
    )


@pytest.mark.parametrize(("name", "server_name", "command", "is_named"), INDEXES)
def test_an_index_that_the_repository_has_for_a_server_is_named_since_the_baseline_reads_it(
    attempt: Try, project: Path, name: str, server_name: str, command: str | None, is_named: bool
) -> None:
    (project / "repo" / name).parent.mkdir(exist_ok=True)
    (project / "repo" / name).write_text("where the cart is\n", encoding="utf-8")
    entry = (
        {"command": "npx", "args": [command]}
        if command and "/" in command
        else {"command": command}
    )
    checks = attempt({server_name: entry if command else server()}, preflight={"servers": False})
    assert ("index" in checks) == is_named, checks
    if is_named:
        assert checks["index"].outcome == "warning"
        assert checks["index"].detail.startswith(
            f"{name.split('/')[0]} in the repository has the name of a server"
        )


PAGE = 'return {"tools": TOOLS}'
LOOP = "    for line in sys.stdin:"
TEXT = '[{"type": "text", "text": text}]'
HERE = FOUND.replace("src/", "")


@pytest.mark.parametrize(
    ("old", "new", "outcome", "said"),
    [
        (
            PAGE,
            'return {"tools": TOOLS, "nextCursor": "8"}',
            "warning",
            "find, crash; find(query='a') answered with 20 characters; its tools/list never ends",
        ),
        (
            PAGE,
            'return {"tools": TOOLS, "nextCursor": params.get("cursor", "") + "8"}',
            "warning",
            "find, crash; find(query='a') answered with 20 characters; its tools/list never ends",
        ),
        (
            PAGE,
            'more = params.get("cursor", "") + "8"; return {"tools": [{**TOOLS[0], "name": f"find{more}"}], "nextCursor": more}',
            "warning",
            "its tools/list never ends",
        ),
        (
            PAGE,
            'at = int(params.get("cursor", 0)); return {"tools": TOOLS[at : at + 1], "nextCursor": ["1", ""][at]}',
            "ok",
            "find, crash; find(query='a') answered with 20",
        ),
        (
            PAGE,
            """return {"tools": [{"name": "outline", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "2 folders"}]}""",
            "warning",
            "outline() answered with 9 characters, but named no file of the workspace: 2 folders",
        ),
        (
            TEXT,
            '[], "structuredContent": {"hits": [{"path": "cart.py"}]}',
            "ok",
            "answered with 31 characters in structuredContent only",
        ),
        (
            TEXT,
            '[{"type": "resource", "resource": {"uri": "file:///a", "text": "cart.py:3"}}]',
            "ok",
            "answered",
        ),
        (
            '== "fail"',
            '!= "cart"',
            "ok",
            "answered with 23 characters; nothing found is an error there: find(query='a') failed: found a",
        ),
        (
            TEXT,
            '[{"type": "text", "text": "cart.py:3\\n" * 40_000}]',
            "warning",
            "answered with 400,000 characters",
        ),
        ('"query"', '"amount"', "warning", "none was called"),
        (
            'params["arguments"]["query"] == "fail"',
            'bool(print("ValueError: no index", file=sys.stderr, flush=True)) or True',
            "failed",
            "find(query='a') failed: found a in cart.py:3; its standard error ends with ValueError: no index; check",
        ),
        (
            'params["name"] == "crash"',
            'sys.exit("index is locked")',
            "failed",
            "find(query='a') failed: the server ended in this call; its standard error ends with index is locked; check",
        ),
        (
            HERE,
            "Repo not registered",
            "failed",
            "does not know the workspace: Repo not registered",
        ),  # and reports no error
        (
            HERE,
            "this workspace has not been indexed",
            "failed",
            "add a setup command to the condition",
        ),
        (
            HERE,
            "The project at /repo isn't indexed with graph (no .graph/ directory)",
            "failed",
            "add a setup command to the condition",
        ),
        (
            HERE,
            "Error: No active project. Ask the user",
            "failed",
            "and writes for an index (docs/servers.md)",
        ),
    ],
    ids=[
        "cursor",
        "cursor that grows",
        "tools that grow",
        "pages",
        "overview",
        "structured",
        "resource",
        "error for no hits",
        "long",
        "not to be called blindly",
        "call that fails",
        "end in a call",
        "not registered",
        "not indexed",
        "no index",
        "no project",
    ],
)
def test_what_servers_answer_in_their_own_ways_is_understood(
    attempt: Try, project: Path, old: str, new: str, outcome: str, said: str
) -> None:
    (project / "repo" / "cart.py").write_text("a = 1\n", encoding="utf-8")
    check = attempt({"lens": altered(project, ("in src/cart.py:3", "in cart.py:3"), (old, new))})[
        "with: lens"
    ]
    assert (check.outcome, said in check.detail) == (outcome, True), check.detail


def test_the_command_that_a_server_names_for_its_index_is_proposed_as_setup(
    attempt: Try, project: Path
) -> None:
    (project / "repo" / "cart.py").write_text("a = 1\n", encoding="utf-8")
    name = Path(sys.executable).name
    reply = f"The project isn't indexed. It's the user's decision; they can run '{name} -V' there"
    entry = altered(project, (FOUND, reply))
    check = attempt({"lens": entry})["with: lens"]
    said = f"try conditions.with.setup: [{sys.executable}, -V, {{workspace}}] in the config"
    assert (check.outcome, said in check.detail) == ("failed", True), check.detail
    proposed = {"conditions.with.setup": [sys.executable, "-V", "{workspace}"]}
    assert [cure.settings for cure in attempt.findings.cures] == [proposed]  # type: ignore[attr-defined]
    attempt(
        {"lens": entry}, {"setup": [sys.executable, "-V"]}
    )  # it has one already, which does not help
    assert not attempt.findings.cures  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("run 'graph init'", "npx -y @my/graph init {workspace}"),
        ("not indexed: run `graph index --all` first", "npx -y @my/graph index --all {workspace}"),
        ('don\'t; run "graph init" in it', "npx -y @my/graph init {workspace}"),
        ("run graph init", ""),
        ("run 'other init'", ""),
        ("the graph isn't there, it's 'graph\"", ""),
        ("", ""),
    ],
)
def test_a_quoted_command_of_a_fetched_program_is_that_of_its_launcher(
    text: str, command: str
) -> None:
    packages = {"uvx shop": "cache/shop", "npx -y @my/graph": "cache/bin/graph"}
    assert own_command(text, str(Path("cache/bin/graph").absolute()), packages) == command.split()


ROWS = yaml.safe_load(Path(__file__).with_name("called_tools.yaml").read_text(encoding="utf-8"))


def test_each_tool_that_only_reads_is_called_with_arguments_of_its_schema(
    attempt: Try, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "repo" / "cart.py").write_text("class Cart:\n    pass\n", encoding="utf-8")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    tools = [
        {
            "name": name,
            "description": "",
            "inputSchema": {"type": "object", "properties": given, "required": [*given]},
            "annotations": {} if reads is None else {"readOnlyHint": reads},
        }
        for name, (given, reads, _, _) in ROWS.items()
    ]
    odd = altered(
        project,
        ("params['arguments']['query']", "params['arguments']"),
        ('params["arguments"]["query"] == "fail"', '"fail" in params["name"]'),
        (LOOP, f"    TOOLS[:] = json.loads({json.dumps(tools)!r})\n{LOOP}"),
    )
    checks = attempt({"lens": odd}, preflight={"tools": True})
    assert (checks["with: lens"].outcome, checks["with: lens"].detail) == ("ok", ", ".join(ROWS))
    found = {name: checks[f"with: lens: {name}"] for name in ROWS}
    assert {name: check.outcome for name, check in found.items()} == {
        name: row[2] for name, row in ROWS.items()
    }
    for name, (_, _, _, said) in ROWS.items():
        assert found[name].detail.startswith(said)
    assert not [name for name in attempt({"lens": odd}) if name.count(":") > 1]


@pytest.mark.parametrize("breaks", [False, True])
def test_what_a_server_prints_beside_its_messages_is_shown(
    attempt: Try, project: Path, breaks: bool
) -> None:
    loud = [
        (LOOP, f'    print("Loading 3 models", flush=True)\n{LOOP}'),
        ("json.loads(line)", "json.loads(1)"),
    ]
    check = attempt({"lens": altered(project, *loud[: 1 + breaks])}, agent={"mcp_start_s": 5})[
        "with: lens"
    ]
    assert check.outcome == ("failed" if breaks else "warning")
    assert (
        "other text than protocol messages to standard output ('Loading 3 models')" in check.detail
    )


def test_an_address_that_does_not_answer_is_named(attempt: Try) -> None:
    check = attempt({"lens": {"type": "http", "url": "http://127.0.0.1:9/mcp"}})["with: lens"]
    assert check.outcome == "failed"
    assert re.match(
        "did not start: http://127.0.0.1:9/mcp: .* start the server first, or correct this",
        check.detail,
    )


def test_a_server_that_wants_a_login_or_whose_token_expires_says_so(attempt: Try) -> None:
    def serve(asked: Request) -> Reply:
        request = json.loads(asked.body or "{}")
        if asked.method != "POST":
            return Reply(501)
        is_refused = not asked.headers["Authorization"] or request["method"] == "tools/call"
        result = {
            "id": request.get("id"),
            "result": answer(request["method"], request.get("params", {})),
        }
        status = 401 if is_refused else 200 if "id" in request else 202
        return Reply(status, json.dumps({"jsonrpc": "2.0", **result}).encode())

    with answering(serve) as url:
        entry = {"type": "http", "url": f"{url}/mcp"}
        login = attempt({"lens": entry})["with: lens"].detail
        expired = attempt({"lens": {**entry, "headers": {"Authorization": "Bearer old"}}})[
            "with: lens"
        ].detail
    assert (
        '401 Unauthorized: it wants a login, and none in a browser (OAuth) is possible: add "headers"'
        in login
    )
    assert expired.startswith(
        "find(query='a') failed: 401 Unauthorized: the token in its headers is wrong or has exp"
    )


def test_a_repository_without_history_says_so_and_one_that_lost_it_warns(
    attempt: Try, project: Path
) -> None:
    assert "it has no git history, so tools that use it" in attempt()["repository"].detail
    git(project, "init", "-q")
    commit(project, "x", {})
    check = attempt()["repository"]
    assert (check.outcome, "the folder is part of a git repository" in check.detail) == (
        "warning",
        True,
    )


def test_empty_submodules_are_named_and_a_rewritten_history_is_not_a_lost_one(
    attempt: Try, project: Path
) -> None:
    repo = project / "repo"
    git(repo, "init", "-q")
    commit(repo, "x", {"bench/r1/runs/a-with.md": "x"})
    git(repo, "submodule", "--quiet", "add", "./", "vendor/lib")
    commit(repo, "y", {"bench/r1/runs/a-with.md": None})
    check = attempt()["repository"]
    assert (check.outcome, "history kept, without answers" in check.detail) == ("ok", True)
    git(repo, "submodule", "--quiet", "deinit", "-f", "--all")
    check = attempt()["repository"]
    assert (check.outcome, "empty folders for the agent: vendor/lib; " in check.detail) == (
        "warning",
        True,
    )


@pytest.mark.slow
def test_the_embedded_server_answers_about_the_workspace(attempt: Try) -> None:
    arguments = [
        "-P",
        "-m",
        "lensbench_demo.lens",
        "--root",
        "${workspace}",
        "--log",
        "${server_log}",
    ]
    check = attempt({"lens": {"command": "${python}", "args": arguments}})["with: lens"]
    assert check.outcome == "ok", check
    assert re.search(
        r"lens_reindex; lens_grep\(query=.*\) answered with \d+ characters$", check.detail
    )


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "no-such-command"}, "No such file or directory"),
        ({"command": "/bin/sh", "args": ["-c", "echo no licence >&2; exit 3"]}, "no licence"),
        (
            {"command": "/bin/sh", "args": ["-c", "echo no flag -x, see --help >&2; exit 2"]},
            "no flag -x, see --help",
        ),
        (
            {
                "command": "/bin/sh",
                "args": ["-c", "echo no daemon >&2; echo see --help >&2; exit 2"],
            },
            "no daemon",
        ),
        (
            {"command": "/bin/sh", "args": ["-c", "exec sleep 1"]},
            "not ready in 0.3 s (agent.mcp_start_s)",
        ),
        pytest.param(
            {"command": "/bin/sh", "args": ["-c", "exec yes"]},
            "not ready in 0.3 s (agent.mcp_start_s)",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"command": "/bin/sh", "args": ["-c", "yes | tr -d '\\n'"]},
            "not ready in 0.3 s (agent.mcp_start_s)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_server_that_does_not_start_stops_everything(
    attempt: Try, entry: dict[str, Any], said: str
) -> None:
    checks = attempt({"lens": entry}, agent={"mcp_start_s": 0.3 if "ready" in said else 5})
    check = checks["with: lens"]
    assert (check.outcome, "with: tool list" in checks, said in check.detail) == (
        "failed",
        False,
        True,
    ), check.detail
    assert "; check conditions.with.mcp, lens.json" in check.detail


def test_tools_other_than_the_configured_ones_are_a_failure_that_shows_both(attempt: Try) -> None:
    assert "with: tools" not in attempt(treatment={"tools": ["mcp__lens__crash", "find"]})
    check = attempt(treatment={"tools": ["find", "grep"]})["with: tools"]
    assert check.outcome == "failed"
    assert "conditions.with.tools has find, grep; listed are crash, find" in check.detail


@pytest.mark.parametrize("agent", [{"kind": "command", "command": ["true"]}, {"kind": "offline"}])
def test_a_server_has_the_environment_of_the_agent_and_not_ours(
    attempt: Try, project: Path, monkeypatch: pytest.MonkeyPatch, agent: dict[str, Any]
) -> None:
    monkeypatch.setenv("OURS", "1")
    monkeypatch.setenv("PASSED", "a-passed-value")
    script = "import os, sys, time; 'OURS' in os.environ and time.sleep(60); sys.exit(' '.join(os.environ) + os.environ['GIVEN'])"
    entry = {"command": sys.executable, "args": ["-ISc", script], "env": {"GIVEN": "<${PASSED}>"}}
    said = attempt({"lens": entry}, agent={**agent, "mcp_start_s": 1, "pass_env": ["PASSED"]})[
        "with: lens"
    ].detail
    assert "OURS" not in said
    assert "PASSED" in said
    assert "<[redacted: PASSED]>" in said


def test_a_variable_of_an_mcp_file_reaches_the_server_unseen(
    attempt: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_X", "sk-live-0123456789")
    script = "import os, sys; sys.exit(os.environ['GIVEN'][::-1] + os.environ['GIVEN'])"
    entry = {"command": sys.executable, "args": ["-c", script], "env": {"GIVEN": "${SEARCH_X}"}}
    said = attempt({"lens": entry})["with: lens"].detail
    assert "9876543210-evil-ks[redacted: " in said
    monkeypatch.delenv("SEARCH_X")
    checks = attempt({"lens": entry}, preflight={"servers": False})
    assert outcomes(checks) == {"variables": "failed"}
    assert (
        "lens.json: ${SEARCH_X} is not set; write `export SEARCH_X=...`"
        in checks["variables"].detail
    )


@pytest.mark.slow
@sandboxed
def test_in_a_sandbox_servers_are_tried_inside_and_setup_outside(
    attempt: Try, project: Path
) -> None:
    shell = "[ -e told ] && sleep 9; echo here: $(pwd) ${workspace} $(ls) >&2; exit 3"
    entry = {"command": "/bin/sh", "args": ["-c", shell]}
    setup = ["/bin/sh", "-c", 'echo "$0" > told', "{workspace}"]
    checks = attempt(
        {"lens": entry}, {"setup": setup}, sandbox="bubblewrap", agent={"mcp_start_s": 2}
    )
    assert checks["sandbox"].outcome == "ok"
    told = (
        (project / "told").read_text().strip()
    )  # outside and inside alike, so that a daemon's paths are right
    assert told.startswith(tempfile.gettempdir())
    assert f"here: {told} {told} a.py;" in checks["with: lens"].detail


PYTHON = sys.executable


@pytest.fixture
def servers_of_people(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Servers as people have them: in this folder, and beside it."""
    beside = tmp_path_factory.mktemp("beside")
    helper = Path(STDIO).read_text(encoding="utf-8")
    serve = "from helper import main\nmain()\n"
    keyed = "import os, sys\nif not os.environ.get('SHOP_KEY'): sys.exit('SHOP_KEY environment variable is required')\n"
    away = f"import os\nif os.getcwd() != '{project}': raise OSError('Temporary failure in name resolution')\n"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(beside / "venv")], check=True
    )
    (site,) = beside.glob("venv/lib/python*/site-packages")
    write(project / "own", {"helper.py": helper, "server.py": serve})
    write(
        beside,
        {
            "helper.py": helper,
            "server.py": serve,
            "keyed.py": keyed + serve,
            "keyed_api.py": keyed + away + serve,
            "api.py": away + serve,
            "priced.py": "import sys\nfrom helper import main\nsys.exit('PRICE_KEY is required')\n",
            "reads.py": f"open('{beside}/terms.txt')\n{serve}",
            "terms.txt": "x",
            "docker": "#!/bin/sh\nexit 3\n",
            "shims/python3": f'#!/bin/sh\nexec {PYTHON} "$@"\n',
            f"{site}/__editable__.shop-1.pth": f"{beside}/src\n",  # as `pip install -e` writes it
            "src/shop/__main__.py": helper,
            "repositories/server.py": serve,
            "repositories/helper.py": helper,  # `/repo` is in its path
            "bin/start.sh": f". {beside}/venv/bin/activate\ncd {beside}/src\nexec python -m shop\n",
            "quiet/server.sh": f'[ -e "${{0%/*}}/helper.py" ] && exec {PYTHON} "${{0%/*}}/helper.py"\n',
            "quiet/helper.py": helper,
            "venv/bin/activate": f"PATH={beside}/venv/bin:$PATH\n",
        },
    )
    subprocess.run(["chmod", "+x", "docker", "shims/python3"], cwd=beside, check=True)
    return beside


ADVICE = {
    "sibling": (
        [PYTHON, "{beside}/server.py"],
        "it starts with sandbox_visible: [{beside}] in the config",
    ),
    "repositories": (
        [PYTHON, "{beside}/repositories/server.py"],
        "it starts with sandbox_visible: [{beside}/repositories] in the config",
    ),
    "version manager": (
        ["{beside}/shims/python3", "own/helper.py"],
        "it starts with {python} for {beside}/shims/python3, {here}/own/helper.py for own/helper.py in lens.json",
    ),
    "shell": (
        ["/bin/sh", "{beside}/bin/start.sh"],
        "it starts with sandbox_visible: [{beside}/bin, {beside}/venv, {beside}/src] in the config",
    ),
    "silent": (
        ["/bin/sh", "{beside}/quiet/server.sh"],
        "it starts with sandbox_visible: [{beside}/quiet] in the config",
    ),
    "file": (
        [PYTHON, "{beside}/reads.py"],
        "it starts with sandbox_visible: [{beside}] in the config",
    ),
    "relative": (
        [PYTHON, "own/helper.py"],
        "it starts with {here}/own/helper.py for own/helper.py in lens.json",
    ),
    "broken": ([PYTHON, "-m", "own.server"], "it does not start by hand either"),
    "silent by hand": (
        ["/bin/sh", "-c", "[ -e a.py ] && echo no index here >&2; exit 3"],
        "it ended. no index here; it does not start by hand either",
    ),
    "module here": (
        [PYTHON, "-m", "own.helper"],
        'sandbox_visible: [{here}/own] in the config and "env": {{"PYTHONPATH": "{here}"}} in lens.json',
    ),
    "variable that is not set": (
        [PYTHON, "{beside}/priced.py"],
        "it ended. PRICE_KEY is required; it does not start by hand either, in this folder and with your environment; write `export PRICE_KEY=...`",
    ),
    "variable": (
        [PYTHON, "{beside}/keyed.py"],
        "it starts with sandbox_visible: [{beside}], agent.pass_env: [SHOP_KEY] in the config",
    ),
    "editable": (
        ["{beside}/venv/bin/python", "-m", "shop"],
        "it starts with sandbox_visible: [{beside}/src] in the config",
    ),
    "slow": (
        [PYTHON, "{beside}/helper.py", "--start-s", "3"],
        "it starts with agent.mcp_start_s: 10 in the config",
    ),
    "never": (
        ["/bin/sh", "-c", "echo code: MODULE_NOT_FOUND >&2; exit 3"],
        "it does not start by hand either, in this folder and with your environment; check",
    ),
    "container": (
        ["{beside}/docker", "run"],
        "with your environment; a container: start it before, with HTTP on 127.0.0.1",
    ),
    "host": (
        [PYTHON, "{beside}/api.py"],
        "name the hosts that it calls in sandbox_hosts (docs/servers.md)",
    ),
    "key and host": (
        [PYTHON, "{beside}/keyed_api.py"],
        "but not in the sandbox, even with sandbox_visible: [{beside}], agent.pass_env: [SHOP_KEY] in the config: ",
    ),
}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param(
            *row,
            id=name,
            marks=pytest.mark.slow
            if name in ("slow", "host", "key and host", "shell", "editable")
            else [],
        )
        for name, row in ADVICE.items()
    ],
)
@sandboxed
def test_a_server_that_starts_by_hand_only_is_told_what_to_add(
    attempt: Try,
    servers_of_people: Path,
    command: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = {"beside": servers_of_people, "here": Path.cwd(), "python": PYTHON}
    monkeypatch.setenv("SHOP_KEY", "sk-of-the-shop")
    program, *arguments = (part.format(**places) for part in command)
    entry = {"command": program, "args": arguments}
    agent = {"mcp_start_s": 2 if "--start-s" in command else 15}
    checks = attempt({"lens": entry}, advise=advice, sandbox="bubblewrap", agent=agent)
    check = checks["with: lens"]
    assert (check.outcome, said.format(**places) in check.detail) == ("failed", True), check.detail
    end = (
        said.format(**places)
        if "; it starts with" in check.detail
        else "; check conditions.with.mcp, lens.json"
    )
    assert check.detail.endswith(end)
    assert "sk-of-the-shop" not in check.detail


def test_before_runs_a_server_that_does_not_start_names_the_command_that_tries_more(
    attempt: Try,
) -> None:
    entry = {"command": "/bin/sh", "args": ["-c", "echo no index here >&2; exit 3"]}
    detail = attempt({"lens": entry})["with: lens"].detail
    assert "no index here; `lensbench doctor` tries what it lacks in a run; check" in detail


@sandboxed
def test_a_daemon_that_knows_the_workspace_by_another_name_needs_no_sandbox(
    attempt: Try, project: Path
) -> None:
    check = attempt({"lens": altered(project, (FOUND, "not registered"))}, sandbox="bubblewrap")[
        "with: lens"
    ]
    assert "add a setup command to the condition" in check.detail


def test_setup_and_teardown_get_the_workspace_and_surround_the_servers(
    attempt: Try, project: Path
) -> None:
    note = ["/bin/sh", "-c", 'test -f "$1/a.py" && echo "$0 $1" >> ledger']
    commands = {word: [*note, word, "{workspace}"] for word in ("setup", "teardown")}
    checks = attempt(treatment=commands)
    assert [checks[f"with: {word}"].outcome for word in ("setup", "teardown")] == ["ok", "ok"]
    lines = [line.split() for line in (project / "ledger").read_text().splitlines()]
    assert [word for word, _ in lines] == ["setup", "teardown"]
    assert lines[0][1] == lines[1][1]


def test_after_a_failed_setup_no_server_is_started_but_the_teardown_runs(
    attempt: Try, project: Path
) -> None:
    failing = ["/bin/sh", "-c", "echo first; echo no such index >&2; exit 5"]
    checks = attempt(treatment={"setup": failing, "teardown": ["touch", "torn-down"]})
    assert "with: lens" not in checks
    assert (
        checks["with: setup"].detail
        == "setup failed, exit code 5: no such index; check conditions.with.setup"
    )
    assert (project / "torn-down").exists()


def test_a_setup_may_write_nothing_but_an_index_into_the_workspace(
    attempt: Try, project: Path
) -> None:
    checks = attempt(
        treatment={"setup": ["/bin/sh", "-c", 'echo "use me" > "$0/CLAUDE.md"', "{workspace}"]}
    )
    said = "setup or the servers changed CLAUDE.md; every run would be invalid; if that is an index, add it to"
    assert checks["with: workspace"].detail.startswith(said)
    keeps = {
        "setup": ["/bin/sh", "-c", 'mkdir "$0/.index"; touch "$0/.index/x"', "{workspace}"],
        "writes": [".index/"],
    }
    assert "with: workspace" not in attempt(treatment=keeps)
    (project / "repo" / ".index").mkdir()
    (project / "repo" / ".index" / "old").touch()
    assert (
        "writes: .index is in the repository" in attempt(treatment=keeps)["with: workspace"].detail
    )


def test_a_command_that_hangs_is_ended_and_one_that_is_missing_is_named(tmp_path: Path) -> None:
    told = {
        "setup": ["sleep", "300"],
        "teardown": ["no-such-program", "{workspace}"],
        "setup_s": 0.2,
    }
    assert run_command(told, "setup", str(tmp_path)) == "setup failed, not done in 0.2 s"
    assert "no-such-program: No such file or directory" in run_command(
        told, "teardown", str(tmp_path)
    )
    assert run_command({}, "setup", str(tmp_path)) == ""


def test_unset_variables_are_named_and_nothing_else_is_tried(
    attempt: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET", KEY)
    monkeypatch.setenv("EMPTY", "")
    checks = attempt(
        agent={"kind": "offline", "pass_env": ["SET", "EMPTY"], "token_env": "MISSING"}
    )
    assert list(checks) == ["variables"]
    assert checks["variables"].detail.startswith(
        "not set: EMPTY, MISSING; write `export EMPTY=...` in the shell"
    )


def test_servers_and_requests_can_be_left_out(attempt: Try, adapter: SimpleNamespace) -> None:
    checks = attempt(
        {"lens": {"command": "no-such-command"}}, preflight={"servers": False, "request": False}
    )
    assert outcomes(checks) == {
        "repository": "ok",
        "agent": "warning",
        "servers": "skipped",
        "model": "skipped",
    }


@pytest.mark.parametrize(
    ("pinned", "said", "outcome", "words"),
    [
        ("2.1.329", "2.1.329", "ok", "as pinned"),
        ("2.1.197", "2.1.329", "failed", "is version 2.1.329, agent.version is 2.1.197"),
        ("", "2.1.329", "warning", "2.1.329 is not pinned"),
        ("2.1.329", None, "failed", "does not start, or is another program"),
    ],
)
def test_the_version_is_compared_with_the_one_that_the_program_reports(
    attempt: Try, adapter: SimpleNamespace, pinned: str, said: str | None, outcome: str, words: str
) -> None:
    adapter.version = lambda settings: said
    check = attempt(agent={"kind": "offline", "version": pinned}, preflight={"servers": False})[
        "agent"
    ]
    assert (check.outcome, words in check.detail) == (outcome, True), check.detail


def test_a_program_that_is_not_there_or_cannot_be_asked_is_said_so(attempt: Try) -> None:
    quick = {"preflight": {"servers": False}}
    for kind in ("command", "codex"):
        missing = attempt(
            agent={"kind": kind, "model": "m", "command": ["no-such-agent"]}, **quick
        )["agent"]
        assert (
            missing.detail == "there is no program no-such-agent; install it, or set agent.command"
        )
        assert missing.outcome == "failed"
    unasked = attempt(agent={"kind": "command", "command": ["true"], "version": "7"}, **quick)[
        "agent"
    ]
    assert unasked.outcome == "warning"
    beside = attempt(agent={"kind": "command", "command": ["./lens.json"]}, **quick)["agent"]
    assert beside.outcome == "failed"  # a path is looked for in the workspace


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("exec ~/.no-such-manager/agent", "failed"),
        ("exit 126", "failed"),
        ("echo 'unknown option --version'; exit 2", "ok"),
        ("cat", "ok"),
    ],
)
def test_a_command_is_started_once_where_runs_start_it(
    attempt: Try, tmp_path: Path, text: str, outcome: str
) -> None:
    shim = tmp_path / "shim"
    shim.write_text(f"#!/bin/sh\n{text}\n")
    shim.chmod(0o755)
    agent = {"kind": "command", "command": [str(shim)]}
    check = attempt(agent=agent, preflight={"servers": False})["agent"]
    assert check.outcome == outcome, check
    assert outcome == "ok" or "does not start" in check.detail


def test_what_an_adapter_refuses_is_a_failure(attempt: Try, adapter: SimpleNamespace) -> None:
    def refuse(run: Assignment) -> Invocation:
        raise UserError("agent.model is empty")

    adapter.command = refuse
    assert attempt()["agent"] == Check("agent", "failed", "agent.model is empty")


def test_a_repository_that_cannot_be_had_is_a_failure(attempt: Try, project: Path) -> None:
    (project / "cache").write_text("in the way")
    assert attempt()["repository"].outcome == "failed"


BEGIN = {"type": "start", "model": "glm-5", "mcp_servers": []}
ANSWER = [BEGIN, {"type": "answer", "text": "OK"}, {"type": "end", "cost_usd": 0.5}]


def refusal(status: int, why: str) -> list[dict[str, Any]]:
    return [{"type": "start"}, {"type": "end", "is_error": True, "status": status, "error": why}]


@pytest.mark.parametrize(
    ("events", "more", "outcome", "words"),
    [
        (ANSWER, {}, "ok", "answered a short question without a sandbox: glm-5, 0.5000 USD"),
        (ANSWER, {"model": "glm-5"}, "ok", "glm-5"),
        (
            ANSWER,
            {"model": "sonnet"},
            "warning",
            "glm-5 answered, but sonnet was requested; if that is correct, set agent.served",
        ),
        (ANSWER, {"model": "sonnet", "served": "glm-*"}, "ok", "glm-5"),
        (ANSWER, {"served": "glm-6"}, "failed", "glm-5 answered; agent.served is glm-6"),
        ([], {}, "failed", "crashed; the output is incomplete"),
        (refusal(401, "bad key"), {}, "failed", "bad key); check the key in agent.token_env"),
        (refusal(404, ""), {}, "failed", "check agent.base_url, and the model's name"),
        (refusal(429, "slow down"), {}, "warning", "slow down); runs will try again"),
        (refusal(529, KEY), {}, "warning", "[redacted: KEY]"),
    ],
)
def test_the_agent_is_asked_a_short_question_as_in_a_run(
    attempt: Try,
    adapter: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    project: Path,
    events: list[dict[str, Any]],
    more: dict[str, Any],
    outcome: str,
    words: str,
) -> None:
    monkeypatch.setenv("KEY", KEY)
    printed = project / "events"
    printed.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    agent = {
        "kind": "command-events",
        "command": ["cat", str(printed)],
        "pass_env": ["KEY"],
        **more,
    }
    check = attempt(agent=agent, preflight={"servers": False})["model"]
    assert (check.outcome, words in check.detail) == (outcome, True), check
    assert KEY not in str(attempt.findings)  # type: ignore[attr-defined]
    spent = project / "bench" / "r" / "spent.json"
    assert '"usd_requests": 0.5' in spent.read_text() or events != ANSWER


@pytest.mark.slow
@sandboxed
def test_a_launcher_that_starts_outside_of_the_sandbox_only_is_found_before_any_run(
    attempt: Try, adapter: SimpleNamespace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "load_adapter", lambda kind: adapter)
    launcher, program = project / "bin" / "agent", project / "versions" / "agent"
    events = "\n".join(f"echo '{json.dumps(event)}'" for event in ANSWER)
    for path, text in ((program, events), (launcher, f'exec {program} "$@"')):
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    settings = {"preflight": {"servers": False}, "sandbox": "auto"}
    adapter.command = lambda run: Invocation((str(launcher),), base_environment(run))
    check = attempt(**settings)["model"]
    assert (check.outcome, "for a version manager's launcher, name" in check.detail) == (
        "failed",
        True,
    ), check
    assert str(program) in check.detail
    adapter.command = lambda run: Invocation((str(program),), base_environment(run))
    whole = attempt(**settings)["model"]
    assert (whole.outcome, "answered a short question in the sandbox" in whole.detail) == (
        "ok",
        True,
    ), whole


@pytest.mark.parametrize("kind", ["offline", "command"])
def test_agents_that_report_no_version_are_asked_nothing(attempt: Try, kind: str) -> None:
    checks = attempt(agent={"kind": kind, "command": ["true"] if kind == "command" else []})
    assert not {"model", "gateway"} & checks.keys()


def test_the_table_has_a_line_per_row_and_marks_failures() -> None:
    lines = list(table([Check("a", "ok", "fine"), Check("longer", "failed", "bad")]))
    assert lines == ["  ok       a       fine", "  FAILED   longer  bad"]
    assert not PreflightFindings([Check("a", "warning", "")]).failed


def test_an_mcp_file_is_filled_and_must_be_the_planned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mcp.json"
    rows = {
        "${workspace}": "/w",
        "<${KEY}>": "<a${workspace}$$>",
        "${KEY:-x}": "a${workspace}$$",
        "${UNSET_X:-x y}": "x y",
        "${UNSET_X:-}": "",
        "pa$$word": "pa$$word",
        r"\.py$$": r"\.py$$",
        "$KEY": "$KEY",
        "$${KEY": "$${KEY",
        "${input:key}": "${input:key}",
        "${}": "${}",
        "${KEY:-${UNSET_Y}}": "a${workspace}$$",
        "${UNSET_X:-<${KEY}>}": "<a${workspace}$$>",
        "${UNSET_X:-${UNSET_Y:-z}}}": "z}",
        "${UNSET_X:-${UNSET_Z:-<${KEY}>}}": "<a${workspace}$$>",
        "${UNSET_X:-a${UNSET_Y:-b${UNSET_Z:-${KEY:-c}}}d}": "aba${workspace}$$d",
    }
    monkeypatch.setenv("KEY", "a${workspace}$$")  # what a value contains is no variable
    monkeypatch.delenv("UNSET_X", raising=False)
    file.write_text(
        json.dumps({"mcpServers": {"x": {"command": "${python}", "args": [*rows], "timeout": 5}}})
    )
    condition = {"mcp": str(file), "mcp_sha256": sha256(file.read_bytes())}
    made = json.loads(fill_mcp_file(condition, {"python": "py", "workspace": "/w"}))
    assert made["mcpServers"]["x"] == {"command": "py", "args": [*rows.values()], "timeout": 5}
    monkeypatch.delenv("KEY")
    with pytest.raises(UserError, match=r"mcp.json: \$\{KEY\} is not set; write `export KEY="):
        fill_mcp_file(condition, {"python": "py", "workspace": "/w"})
    assert len(missing_variables([condition])) == 2  # UNSET_Y, now that KEY is not set
    assert json.loads(fill_mcp_file({"mcp": None}, {})) == {"mcpServers": {}}
    file.write_text("{}")
    with pytest.raises(UserError, match="was changed during the benchmark"):
        fill_mcp_file(condition, {})


def test_tools_that_change_between_two_starts_are_not_mixed(
    project: Path, given: dict[str, Any]
) -> None:
    folder = project / "bench" / "r"

    def start(servers: bool = True, accept: bool = False) -> None:
        conditions = {"without": {}, "with": {"mcp": "lens.json"}}
        checked = {
            "preflight": {"servers": servers},
            "accept_changes": accept,
            "cache": "cache",
            "sandbox": "none",
        }
        settings = json.dumps({**given, "conditions": conditions, **checked})
        run_here(stage.main, "--folder", folder, "--settings", settings)

    text = Path(STDIO).read_text(encoding="utf-8")
    program = project / "server.py"
    (project / "lens.json").write_text(
        json.dumps({"mcpServers": {"lens": server(program=str(program))}})
    )
    for name in ("find", "seek"):  # without a run, the tools may change
        program.write_text(text.replace('"find"', f'"{name}"'), encoding="utf-8")
        start()
    write_atomic(folder / "runs" / "a-with.md", "an answer")
    for broken in (True, False, False):
        program.write_text("raise SystemExit(1)" if broken else text, encoding="utf-8")
        with pytest.raises(UserError, match="preflight failed"):
            start()
        assert (
            "changed since runs were made"
            in (folder / "preflight.json").read_text(encoding="utf-8")
        ) != broken
    assert sorted(PreflightFindings.read(folder).tools["with"]) == [
        "mcp__lens__crash",
        "mcp__lens__seek",
    ]
    start(servers=False)
    assert sorted(PreflightFindings.read(folder).tools["with"]) == [
        "mcp__lens__crash",
        "mcp__lens__seek",
    ]
    start(accept=True)
    assert sorted(PreflightFindings.read(folder).tools["with"]) == [
        "mcp__lens__crash",
        "mcp__lens__find",
    ]


def test_listed_tools_stand_in_for_what_an_agent_does_not_show(tmp_path: Path) -> None:
    def tools(listed: Sequence[str]) -> list[str]:
        plan = {"conditions": {"without": {"servers": []}, "with": {"servers": ["lens"]}}}
        return treatment_tools(plan, [], [], listed)

    assert PreflightFindings.read(tmp_path).listing == []
    RunFolder(tmp_path).preflight.write_text(
        '{"tools": {"with": {"mcp__lens__find": "", "mcp__other__x": ""}}}'
    )
    assert tools(PreflightFindings.read(tmp_path).listing) == ["mcp__lens__find"]
    RunFolder(tmp_path).preflight.write_text('{"tools": ["x"]}')
    assert PreflightFindings.read(tmp_path).listing == []


@pytest.mark.parametrize(("kind", "more", "outcome", "detail"), BUDGETS)
def test_a_budget_that_cannot_hold_is_told_first(
    kind: str, more: dict[str, Any], outcome: str, detail: str
) -> None:
    price = {"input": 1, "output": 1, "cache_read": 1, "cache_write": 1, "date": "", "source": ""}
    plan: Any = {"budget": {"max_usd": 5}, "prices": {"min*": price, "gateway/mine": price}}
    agents = [Agent(kind=kind, **more).settings, Agent(kind="offline").settings]
    (check,) = stage.budget(plan, agents)
    assert (check.name, check.outcome) == ("budget", outcome)
    assert detail in check.detail
    assert not [*stage.budget({**plan, "budget": {"max_usd": None}}, agents)]


def test_versions_with_which_runs_were_made_are_not_forgotten(tmp_path: Path) -> None:
    former = {"with": {"lens": "1", "old": "5"}}
    now = {"with": {"lens": "2"}}
    assert all_versions(tmp_path, former, now) == {"with": {"lens": "2"}}
    Bench(tmp_path).run("a", "with")
    both = {"with": {"lens": "1, 2", "old": "5"}}
    assert all_versions(tmp_path, former, {"with": {"lens": "2"}}) == both
    assert all_versions(tmp_path, both, {"with": {"lens": "2"}}) == both


@pytest.mark.parametrize(
    ("sandbox", "is_container", "outcome", "words"),
    [
        (Sandbox("bubblewrap 0.8.0", program="/usr/bin/bwrap"), True, "ok", "bubblewrap 0.8.0"),
        (Sandbox(reason="denied"), True, "warning", "this container alone: agents see what is"),
        (Sandbox(reason="denied"), True, "warning", "--security-opt unmask=ALL"),
        (Sandbox(reason="denied"), False, "warning", "none, so agents can read and change your"),
    ],
)
def test_it_is_said_which_of_three_isolates_agents(
    sandbox: Sandbox,
    is_container: bool,
    outcome: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark = tmp_path / ".containerenv"
    if is_container:
        mark.touch()
    monkeypatch.setattr(sandboxes, "CONTAINER_MARKS", (str(mark),))
    (check,) = check_sandbox(sandbox)
    assert (check.outcome, words in check.detail) == (outcome, True)
