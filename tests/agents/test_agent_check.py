"""`lensbench agent-check`, by our own kinds and by the adapter that docs/adapters.md shows, from a package outside."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from live_agents import CLIS, KEY, Cli, one_search
from test_acp import ANSWER, FAKE, SESSION
from test_tee import client

from fakes.messages_api import read_rules, serving
from lensbench_demo.agent_check import main
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
    found = re.findall(r"(?m)^  (\w+) +([a-z ,]+?)  +(shown|seen by the tee|not shown|\w+)", output)
    return {name: f"{mark} {how}" for mark, name, how in found}


def install(site: Path, module: str, text: str, kind: str) -> None:
    """A package with an adapter, as an installer leaves it."""
    info = site / f"{module}-1.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[lensbench.agents]\n{kind} = {module}\n")


def example() -> str:
    found = re.search(r"```python\n(.*?)```", (DOCS / "adapters.md").read_text(), re.DOTALL)
    assert found
    return found[1]


ALL = ("offered", "called, worked", "tokens", "cost", "model", "version", "end")


def test_the_example_of_the_page_is_an_adapter_of_about_40_lines(tmp_path: Path) -> None:
    assert len(example().splitlines()) <= 45
    site, program = tmp_path / "site", tmp_path / "tiny-agent"
    install(site, "tiny_adapter", example(), "tiny")
    program.write_text(TINY.format(python=sys.executable, messages=[GREET, LIST, GREP]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    code, output, errors = check(tmp_path, "tiny", site, command=[str(program)])
    assert (code, errors) == (0, "")
    assert rows(output) == {
        "a run with a server": "ok counts",
        "a run without it": "ok counts",
        "offered": "ok seen by the tee",
        "called, worked": "ok shown",
        "tokens": "ok shown",
        "cost": "skipped not shown",
        "model": "skipped not shown",
        "version": "ok shown",
        "end": "ok shown",
    }


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


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("offline", {"offered", "called, worked", "model", "version", "end"}),
        ("command", set()),
        ("acp", {"version", "end"}),
    ],
)
def test_which_facts_a_kind_shows_and_which_the_tee_sees(
    tmp_path: Path, kind: str, shown: set[str]
) -> None:
    script = [{"server": [GREET, LIST, GREP]}, *ANSWER]
    commands = {
        "command": [sys.executable, "-c", client(GREET, LIST, GREP), "{mcp_file}"],
        "acp": [*FAKE, json.dumps(script), json.dumps(SESSION)],
        "offline": [],
    }
    code, output, errors = check(tmp_path, kind, command=commands[kind])
    assert (code, errors) == (0, "")
    seen = (
        {}
        if kind == "offline"
        else dict.fromkeys(("offered", "called, worked"), "ok seen by the tee")
    )
    expected = {name: "ok shown" if name in shown else "skipped not shown" for name in ALL}
    assert {name: rows(output)[name] for name in ALL} == expected | seen


OF_CLIS = {
    "claude-code": {*ALL},
    "codex": {*ALL} - {"offered", "model", "cost"},
    "gemini": {*ALL} - {"offered", "cost"},
    "opencode": {*ALL} - {"offered", "model", "cost"},
}
"""What our own adapters show; what was offered, the tee sees of each."""


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
        }
        settings = {
            "model": "model-a",
            "tools": ["Bash", "Read"],
            "mcp_start_s": 60,
            "timeout_s": 100,
        }
        code, output, errors = check(tmp_path, cli.kind, command=cli.argv, **service, **settings)
    print(output)
    assert code == 0, errors
    shown = OF_CLIS[cli.kind]
    expected = {name: "ok shown" if name in shown else "skipped not shown" for name in ALL}
    found = {name: rows(output)[name] for name in ALL}
    assert found == expected | ({} if "offered" in shown else {"offered": "ok seen by the tee"})


def test_an_agent_that_drops_its_server_fails(tmp_path: Path) -> None:
    code, output, errors = check(
        tmp_path, "acp", command=[*FAKE, json.dumps(ANSWER), json.dumps(SESSION)]
    )
    assert code == 1
    assert "FAILED   a run with a server  mcp_not_offered: no tool of lens" in output
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
