"""`lensbench agent-check`, by our own kinds and by the adapter that docs/adapters.md shows, from a package outside."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from live_agents import CLIS, KEY, Cli, one_search
from test_acp import ANSWER, FAKE, PROGRAMS, SESSION, Program
from test_tee import client

from fakes.messages_api import read_rules, serving
from lensbench_demo.agent_check import main
from lensbench_demo.agent_facts import SHOWN_BY_KIND
from programs import refusal

DOCS = Path(__file__).parents[2] / "docs"
ABOUT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "1"},
}
FIND = {"name": "lens_grep", "arguments": {"query": "Cart"}}
GREET, LIST, GREP = (
    {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    for number, (method, params) in enumerate(
        [("initialize", ABOUT), ("tools/list", {}), ("tools/call", FIND)]
    )
)
TINY = """#!{python} -I
import json, subprocess, sys
assert "lens_grep" in open(sys.argv[2]).read()
servers = json.load(open(sys.argv[4]))["mcpServers"]
print("a banner")
print(json.dumps({{"version": "0.3"}}))
for name, entry in servers.items():
    argv, pipe = [entry["command"], *entry["args"]], subprocess.PIPE
    server = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)
    for message in {messages}:
        print(json.dumps(message), file=server.stdin, flush=True)
        reply = json.loads(server.stdout.readline())
    print(json.dumps({{"server": name, "tool": "lens_grep", "ok": "result" in reply}}))
print(json.dumps({{"answer": "src/shop.py", "used": [10, 3]}}))
"""


def check(folder: Path, kind: str, site: Path | None = None, **agent: Any) -> tuple[int, str, str]:
    """Exit code, output and errors of the verb, without the progress that a busy machine makes it show."""
    config = {
        "run_id": "x",
        "scenarios": "none.yaml",
        "agent": {"kind": kind, "timeout_s": 30, **agent},
    }
    config |= {"sandbox": "none", "conditions": {"without": {}, "with": {"mcp": "mcp.json"}}}
    (folder / "mcp.json").write_text('{"mcpServers": {"x": {"command": "true"}}}')
    (folder / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    argv = [sys.executable, "-P", "-m", "lensbench", "agent-check", kind, "--configfile", "c.yaml"]
    env = {**os.environ, **({"PYTHONPATH": str(site)} if site else {})}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, re.sub(r"(?m)^starting .* \d+ s\n", "", done.stderr)


def rows(output: str) -> dict[str, str]:
    """Each row's name -> its mark, and how it is known."""
    found = re.findall(
        r"(?m)^  (\w+) +([a-z ,]+?)  +(shown|seen by the tee|not shown|[\w`]+)", output
    )
    return {name: f"{mark} {how}" for mark, name, how in found}


def install(site: Path, module: str, text: str, kind: str) -> None:
    """A package with an adapter, as an installer leaves it."""
    info = site / f"{module}-1.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[lensbench.agents]\n{kind} = {module}\n")


def tiny(folder: Path, adapter: str) -> list[str]:
    """The command of the program of docs/adapters.md, for which an adapter is installed."""
    program = folder / "tiny-agent"
    install(folder / "site", "tiny_adapter", adapter, "tiny")
    program.write_text(TINY.format(python=sys.executable, messages=[GREET, LIST, GREP]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return [str(program)]


def example() -> str:
    found = re.search(r"```python\n(.*?)```", (DOCS / "adapters.md").read_text(), re.DOTALL)
    assert found
    return found[1]


BROKEN = ["lines of any text", "a hidden secret"]
ALL = ("offered", "called, worked", "tokens", "cost", "model", "version", "end")


def test_the_example_of_the_page_is_an_adapter_of_about_40_lines(tmp_path: Path) -> None:
    assert len(example().splitlines()) <= 45
    command = tiny(tmp_path, example())
    code, output, errors = check(tmp_path, "tiny", tmp_path / "site", command=command)
    assert code == 0, errors
    assert rows(output) == {
        "a run with a server": "ok counts",
        "a run without it": "ok counts",
        "a server that does not start": "ok discarded",
        "offered": "ok seen by the tee",
        "called, worked": "ok shown",
        "tokens": "ok shown",
        "cost": "skipped not shown",
        "model": "skipped not shown",
        "version": "ok shown",
        "end": "ok shown",
        "lines of any text": "ok changes",
        "a hidden secret": "ok changes",
        "no output": "ok is",
        "a cut output": "ok is",
    }


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        ("except (ValueError, RecursionError)", "except ZeroDivisionError", BROKEN),
        ('case {"answer"', 'case {"nothing"', []),
        ("match event:", "match event.copy():", ["lines of any text"]),
        ("finished=is_over", "finished=True", ["no output", "a cut output"]),
    ],
)
def test_an_adapter_that_breaks_a_promise_fails(
    tmp_path: Path, before: str, after: str, broken: list[str]
) -> None:
    command = tiny(tmp_path, example().replace(before, after))
    code, output, _ = check(tmp_path, "tiny", tmp_path / "site", command=command)
    assert code == 1
    failed = [name for name, how in rows(output).items() if how.startswith("FAILED")]
    assert [name for name in failed if not name.startswith("a run")] == broken


def test_what_runs_have_only_with_a_tee_is_said_with_its_key(tmp_path: Path) -> None:
    site = tmp_path / "site"
    program = tmp_path / "tiny-agent"
    install(site, "tiny_adapter", example().replace("TEE = True", "TEE = False"), "tiny")
    program.write_text(TINY.format(python=sys.executable, messages=[GREET, LIST, GREP]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    _, output, _ = check(tmp_path, "tiny", site, command=[str(program)])
    assert "seen by the tee (runs have it with `agent.tee: true`): ('mcp__lens" in output


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        ("version = 1 / 0", "`read` raises ZeroDivisionError"),
        ("continue", "its last line: {"),
    ],
)
def test_a_run_that_would_not_count_is_shown_with_its_cause(
    broken: str, cause: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    program = tmp_path / "tiny-agent"
    text = example().replace("event = json.loads(line)", broken)
    install(site, "tiny_adapter", text, "tiny")
    program.write_text(TINY.format(python=sys.executable, messages=[GREET, LIST, GREP]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    code, output, _ = check(tmp_path, "tiny", site, command=[str(program)])
    assert code == 1
    assert f"; {cause}" in output


def test_an_adapter_that_cannot_be_loaded_is_one_line_and_harms_no_other_kind(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    install(site, "broken_adapter", "import no_such_module\n", "broken")
    code, output, errors = check(tmp_path, "broken", site)
    assert (code, output) == (2, "")
    assert errors == (
        "error: agent.kind 'broken': broken_adapter cannot be loaded (No module named 'no_such_module'); "
        "repair or remove the package\n"
    )
    assert check(tmp_path, "offline", site)[0] == 0


@pytest.mark.parametrize("kind", ["offline", "command", "acp"])
def test_which_facts_a_kind_shows_and_which_the_tee_sees(tmp_path: Path, kind: str) -> None:
    script = [{"server": [GREET, LIST, GREP]}, *ANSWER]
    commands = {
        "command": [sys.executable, "-c", client(GREET, LIST, GREP), "{mcp_file}"],
        "acp": [*FAKE, json.dumps(script), json.dumps(SESSION)],
        "offline": [],
    }
    code, output, errors = check(tmp_path, kind, command=commands[kind])
    assert code == 0, errors
    assert facts(output) == expected(SHOWN_BY_KIND[kind])


def facts(output: str) -> dict[str, str]:
    return {name: rows(output)[name] for name in ALL}


def expected(shown: Collection[str]) -> dict[str, str]:
    """How each fact is known, where the agent itself shows these."""
    found = dict.fromkeys(ALL, "skipped not shown")
    found |= dict.fromkeys(ALL[:2], "ok seen by the tee")
    return found | dict.fromkeys(shown, "ok shown")


MORE = {"claude-agent-acp": ("tokens", "cost")}
"""What programs of kind `acp` show besides."""


def test_the_table_of_the_docs_is_what_agent_check_finds() -> None:
    text = (DOCS / "agents.md").read_text()
    table = re.findall(r"(?m)^\| `([\w-]+)`(?:, ([\w -]+))? \|((?:[^|\n]+\|){7})$", text)
    assert {kind for kind, _, _ in table} == {*SHOWN_BY_KIND}
    assert len([kind for kind, _, _ in table if kind == "acp"]) == len(PROGRAMS)
    for kind, program, cells in table:
        found = zip(ALL, cells.split("|"), strict=False)
        shown = {*SHOWN_BY_KIND[kind], *MORE.get(program, ())}
        assert {fact for fact, cell in found if cell.strip() == "yes"} == shown, (kind, program)


LIVE = {"tools": ["Bash", "Read"], "mcp_start_s": 60, "timeout_s": 100}


@pytest.mark.live
@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_which_facts_our_own_adapters_show(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    rules = one_search("src/shop.py")
    with serving(cli.api(), read_rules(cli.rules(rules))) as fake:
        service = {
            "provider": "custom",
            "base_url": fake.url + cli.path,
            "token_env": "LIVE_TEST_KEY",
            "model": "model-a",
        }
        code, output, errors = check(tmp_path, cli.kind, command=cli.argv, **service, **LIVE)
    assert code == 0, output + errors
    assert facts(output) == expected(SHOWN_BY_KIND[cli.kind])


@pytest.mark.live
@pytest.mark.parametrize("program", [one.param for one in PROGRAMS if one.name != "codex-acp"])
def test_which_facts_a_program_shows_by_the_protocol(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not Codex's adapter, which does not wait for the embedded server."""
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    with program.served(tmp_path, one_search("src/shop.py")) as launcher:
        settings = {"command": [launcher], "pass_env": ["LIVE_TEST_KEY"], **LIVE}
        code, output, errors = check(tmp_path, "acp", **settings)
    assert code == 0, output + errors
    assert facts(output) == expected((*SHOWN_BY_KIND["acp"], *MORE.get(program.name, ())))


def test_an_agent_that_drops_its_server_fails(tmp_path: Path) -> None:
    code, output, errors = check(
        tmp_path, "acp", command=[*FAKE, json.dumps(ANSWER), json.dumps(SESSION)]
    )
    assert code == 1
    assert rows(output)["a run with a server"] == "FAILED mcp_not_offered"
    assert errors == "error: runs of acp would be discarded; fix what is FAILED above\n"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("acp", "agent.command is missing; kind 'acp' needs the program and its arguments"),
        ("codexx", "agent.kind is 'codexx'; known are "),
    ],
)
def test_a_kind_without_its_settings_or_that_is_none_is_one_line(kind: str, said: str) -> None:
    assert refusal(main, kind).startswith(said)
