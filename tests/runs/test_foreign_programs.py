"""Programs of servers that only other conditions have: what is hidden of them, and which commands run them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.runs.contamination import ServerProgram, foreign_programs, program_calls

DATA = yaml.safe_load((Path(__file__).parent / "foreign_programs.yaml").read_text(encoding="utf-8"))

SERVER = ServerProgram(
    frozenset(["seek", "@acme/seek"]), frozenset(["/opt/seek/server.py", "/opt/seek/bin/seek"]), frozenset(["seek_mcp"])
)


def shell(command: Any, output: str = "") -> list[str]:
    events = [
        {"type": "tool_call", "id": 1, "name": "Bash", "input": {"command": command}},
        {"type": "tool_result", "id": 1, "text": output},
    ]
    return [json.dumps(event) for event in events]


@pytest.mark.parametrize("command", DATA["calls"])
def test_a_command_that_runs_the_program_is_a_call(command: Any) -> None:
    assert len(program_calls(shell(command), SERVER)) == 1


@pytest.mark.parametrize("command", DATA["none"])
def test_a_search_for_its_name_and_a_file_with_that_name_are_none(command: str) -> None:
    assert program_calls(shell(command), SERVER) == []


@pytest.mark.parametrize("part", ["<<A\n", "'", "x", "A=1 ", "sh -c '", "echo a\n", "-exec ", "$(", "`", "eval "])
def test_a_command_of_any_size_is_read(part: str) -> None:
    assert program_calls(shell(part * (5_000_000 // len(part))), SERVER) == []


def test_a_program_that_is_not_there_was_not_run_and_other_tools_run_none() -> None:
    assert program_calls(shell("seek index .", "bash: seek: command not found"), SERVER) == []
    read = {"type": "tool_call", "id": 1, "name": "Read", "input": {"file_path": "seek", "pattern": "seek"}}
    assert program_calls([json.dumps(read)], SERVER) == []


@pytest.mark.parametrize(("server", "calls", "others"), [
    (["sh", "-c", "cd /tmp && X=1 exec seek serve | tee log"], ["seek q", "sh -c 'seek q'"], ["cd /tmp && ls", "ls | tee log"]),
    (["/usr/bin/env", "X=1", "seek", "serve"], ["seek q", "env Y=2 seek q"], ["env"]), (["timeout", "600", "seek"], ["seek q"], ["timeout 5 ls"]),
    (["env", "-u", "X", "python3", "-m", "seek_mcp.cli"], ["python -m seek_mcp", "python -c 'import seek_mcp'"], ["python -m pytest"]),
    (["python3", "-u", "-X", "dev", __file__, "-mode", "x"], [f"python {__file__}"], ["python -m ode"]),
    (["python3", "-mseek_mcp"], ["python -m seek_mcp"], ["python -m pytest"]), (["stdbuf", "-oL", "seek"], ["seek q"], ["stdbuf -oL ls"]),
    (["uv", "run", "python", "-m", "seek_mcp"], ["uv run python -m seek_mcp", "python -m seek_mcp"], ["python x.py", "uv run python x.py"]),
    (["uv", "run", "--directory", "/opt/seek", "seek"], ["uv run seek", "seek q", "uv run --directory /opt/seek x"], ["uv run pytest", "uv run --directory . x"]),
    (["bun", "x", "seek"], ["bunx seek", "npx seek"], ["bun test"]),
])  # fmt: skip
def test_a_server_is_the_program_that_its_command_line_starts_in_the_end(
    server: list[str], calls: list[str], others: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"s": {"command": server[0], "args": server[1:]}}}))
    plan: Any = {"conditions": {"without": {"mcp": None}, "with": {"mcp": str(tmp_path / "mcp.json")}}}
    program = foreign_programs(plan, "without")
    assert [command for command in calls if not program_calls(shell(command), program)] == []
    assert [command for command in others if program_calls(shell(command), program)] == []
    assert "/usr/bin/timeout" not in program.paths


@pytest.mark.parametrize(("command", "calls"), [
    ("copy .", 1), ("{0}/bin/copy .", 1), ("link .", 1), ("python {0}/bin/copy", 1), ("other .", 0), ("./bin/copy .", 0), ("{0}/repo/copy", 0),
])  # fmt: skip
def test_a_link_and_a_copy_outside_the_workspace_are_the_program(
    command: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name in ("seek", "bin/copy", "repo/copy", "bin/other"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"#!/bin/sh\n{'other' if name == 'bin/other' else 'index'}", encoding="utf-8")
        Path(name).chmod(0o755)
    Path("bin/link").symlink_to(tmp_path / "seek")
    program = ServerProgram(frozenset(), frozenset([str(tmp_path / "seek")]), frozenset())
    assert len(program_calls(shell(command.format(tmp_path)), program)) == calls


def test_the_paths_are_those_of_programs_scripts_modules_and_packages_that_others_alone_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "lib/python3.99/site-packages"
    console = f"#!{sys.executable}\nimport sys\nfrom tool_pkg.cli import main\nsys.exit(main())\n"
    files = {
        tmp_path / "bin/python": "", tmp_path / "bin/npx": "", tmp_path / "bin/tool": console,
        site / "seek_mcp/__main__.py": "", site / "tool_pkg/cli.py": "", site / "one.py": "", tmp_path / "own/by_path.py": "",
        tmp_path / "lib/node_modules/@acme/seek/cli.js": "", tmp_path / "server.py": "", tmp_path / "both.py": "",
        tmp_path / "x/node_modules/pack/dist/index.js": "",
    }  # fmt: skip
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    commands = [
        ["python", "-m", "seek_mcp"], ["python", "-m", "one"], ["tool", "serve"], ["npx", "-y", "@acme/seek@2"],
        ["python", "${here}/server.py", "."], ["python", "${here}/both.py"], ["node", "${here}/x/node_modules/pack/dist/index.js"],
    ]  # fmt: skip
    for name, its in (("with", commands), ("own", commands[5:6])):
        entries = {str(number): {"command": argv[0], "args": argv[1:]} for number, argv in enumerate(its)}
        if name == "with":
            entries["p"] = {"command": "python", "args": ["-m", "by_path"], "env": {"PYTHONPATH": "x:${here}/own"}}
        (tmp_path / f"{name}.json").write_text(json.dumps({"mcpServers": entries}))
    mcp = {"without": None, "own": str(tmp_path / "own.json"), "with": str(tmp_path / "with.json")}
    plan: Any = {"conditions": {name: {"mcp": file} for name, file in mcp.items()}}
    hidden = {
        "bin/tool", "server.py", "x/node_modules/pack", "x/node_modules/pack/dist/index.js", "lib/node_modules/@acme/seek",
        "lib/python3.99/site-packages/seek_mcp", "lib/python3.99/site-packages/tool_pkg",
        "lib/python3.99/site-packages/one.py", "own/by_path.py",
    }  # fmt: skip
    assert foreign_programs(plan, "own").paths == {str(tmp_path / path) for path in hidden}
    assert foreign_programs(plan, "without").paths == {str(tmp_path / path) for path in (*hidden, "both.py")}
    assert not any(foreign_programs(plan, "with"))
