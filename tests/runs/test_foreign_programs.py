"""Programs of servers that only other conditions have: what is hidden of them, and which commands name them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.runs.foreign_servers import ServerProgram, foreign_programs, naming_calls
from stock import write

ROWS = yaml.safe_load(Path(__file__).with_name("foreign_programs.yaml").read_text(encoding="utf-8"))


SERVER = ServerProgram(
    frozenset(["seek", "@acme/seek", "seek_mcp"]), frozenset(["/opt/seek/server.py"])
)


@pytest.fixture(autouse=True)
def system_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's programs are where systems have them, whatever PATH has."""
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{os.environ['PATH']}")


def program_of(server: list[str], folder: Path) -> ServerProgram:
    """The program of a server that the treatment alone has, as it is hidden from the baseline."""
    (folder / "mcp.json").write_text(
        json.dumps({"mcpServers": {"s": {"command": server[0], "args": server[1:]}}})
    )
    plan: Any = {
        "conditions": {"without": {"mcp": None}, "with": {"mcp": str(folder / "mcp.json")}}
    }
    return foreign_programs(plan, "without")


def call(name: str, **given: Any) -> list[str]:
    return [json.dumps({"type": "tool_call", "id": 1, "name": name, "input": given})]


@pytest.mark.parametrize(
    "command",
    [
        "seek index .",
        "cd /repo && X=1 timeout 60 seek index . | head",
        "/opt/seek/bin/seek --help",
        "echo $(seek find cart)",
        "bash -lc 'cd x; seek find cart > out'",
        "python3 /opt/seek/server.py .",
        "python -m seek_mcp .",
        "python3 <<E\nimport seek_mcp\nE",
        "npx -y @acme/seek@1.2 .",
        "node -e \"require('@acme/seek')\"",
        "alias s=seek; s x",
        "which seek",
        ["bash", "-lc", "seek find cart"],
    ],
)
def test_a_command_with_a_name_of_the_program_may_have_run_it(command: Any) -> None:
    assert len(naming_calls(call("Bash", command=command), SERVER)) == 1


def test_a_program_without_a_name_is_named_by_its_path() -> None:
    program = ServerProgram(frozenset(), SERVER.paths)
    assert len(naming_calls(call("Bash", command="python3 /opt/seek/server.py ."), program)) == 1


@pytest.mark.parametrize("command", ["grep -rn seeker .", "cat seek_mcp_notes.md", "ls /opt/x"])
def test_a_longer_word_is_no_name(command: str) -> None:
    assert naming_calls(call("Bash", command=command), SERVER) == []


def test_calls_of_servers_and_programs_without_a_name_are_no_such_calls() -> None:
    assert naming_calls(call("mcp__other__find", query="seek"), SERVER) == []
    assert (
        naming_calls(call("Bash", command="seek"), ServerProgram(frozenset(), SERVER.paths)) == []
    )


@pytest.mark.parametrize("part", ["<<A\n", "'", "x", "A=1 ", "sh -c '", "$(", "`", "eval "])
def test_a_command_of_any_size_is_read(part: str) -> None:
    assert naming_calls(call("Bash", command=part * (5_000_000 // len(part))), SERVER) == []


@pytest.mark.parametrize(("server", "names"), ROWS["commands"])
def test_a_server_is_the_program_that_its_command_line_starts_in_the_end(
    server: list[str], names: list[str], tmp_path: Path
) -> None:
    program = program_of([word.replace("{test}", __file__) for word in server], tmp_path)
    assert sorted(program.names) == names
    assert [path for path in program.paths if path.startswith("/usr/bin/")] == []


FILES = {
    "start.sh": '#!/bin/sh\ncd "$(dirname "$0")"\npip install -q rich; [ -d .v ] || python3 -m venv .v\nexec python3 server.py "$@"\n',
    "run.py": "import subprocess, sys, pathlib\nhere = pathlib.Path(__file__).parent\nsubprocess.run([sys.executable, here / 'server.py'])\n",
    "server.py": "from core import main\nmain()\n",
    "core.py": "def main(): ...\n",
    "index.js": "const lib = require('./lib/find')\n",
    "lib/find.js": "",
    "server.ts": "",
    "go/main.go": "",
    "path.sh": '#!/usr/bin/env bash\nHERE=$(dirname "${BASH_SOURCE[0]}")\nmkdir -p /tmp/x\n"$HERE/serve" --root "$1" | tee /tmp/log\n',
    "serve": "#!/bin/sh\nexec seekd\n",
    "npx.sh": "#!/bin/sh\nnpm ci\nnpx -y @acme/seek@1 .\n",
    "ruby/serve": "",
    "lib/Main.class": "",
    "README.md": "",
}
"""A server's files."""


@pytest.mark.parametrize(("server", "paths", "names"), ROWS["files"])
def test_hidden_is_what_its_command_line_and_its_files_name(
    server: list[str], paths: list[str], names: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "seek"
    folder.mkdir()
    write(folder, FILES)
    for name in FILES:
        (folder / name).chmod(0o755)
    program = program_of([word.replace("{d}", str(folder)) for word in server], tmp_path)
    assert {path for path in program.paths if path.startswith(str(folder))} == {
        str(folder / path) for path in paths
    }
    assert sorted(program.names) == names


def test_the_paths_are_those_of_programs_scripts_modules_and_packages_that_others_alone_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "lib/python3.99/site-packages"
    console = f"#!{sys.executable}\nimport sys\nfrom tool_pkg.cli import main\nsys.exit(main())\n"
    files = {
        tmp_path / "bin/python": "",
        tmp_path / "bin/npx": "",
        tmp_path / "bin/tool": console,
        site / "seek_mcp/__main__.py": "",
        site / "tool_pkg/cli.py": "",
        site / "one.py": "",
        tmp_path / "own/by_path.py": "",
        tmp_path / "lib/node_modules/@acme/seek/cli.js": "",
        tmp_path / "server.py": "",
        tmp_path / "both.py": "",
        tmp_path / "x/node_modules/pack/dist/index.js": "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    commands = [
        ["python", "-m", "seek_mcp"],
        ["python", "-m", "one"],
        ["tool", "serve"],
        ["npx", "-y", "@acme/seek@2"],
        ["python", "${here}/server.py", "."],
        ["python", "${here}/both.py"],
        ["node", "${here}/x/node_modules/pack/dist/index.js"],
    ]
    for name, its in (("with", commands), ("own", commands[5:6])):
        entries = {
            str(number): {"command": argv[0], "args": argv[1:]} for number, argv in enumerate(its)
        }
        if name == "with":
            entries["p"] = {
                "command": "python",
                "args": ["-m", "by_path"],
                "env": {"PYTHONPATH": "x:${here}/own"},
            }
        (tmp_path / f"{name}.json").write_text(json.dumps({"mcpServers": entries}))
    mcp = {"without": None, "own": str(tmp_path / "own.json"), "with": str(tmp_path / "with.json")}
    plan: Any = {"conditions": {name: {"mcp": file} for name, file in mcp.items()}}
    hidden = {
        "bin/tool",
        "server.py",
        "x/node_modules/pack",
        "x/node_modules/pack/dist/index.js",
        "lib/node_modules/@acme/seek",
        "lib/python3.99/site-packages/seek_mcp",
        "lib/python3.99/site-packages/tool_pkg",
        "lib/python3.99/site-packages/one.py",
        "own/by_path.py",
    }
    assert foreign_programs(plan, "own").paths == {str(tmp_path / path) for path in hidden}
    assert foreign_programs(plan, "without").paths == {
        str(tmp_path / path) for path in (*hidden, "both.py")
    }
    assert not any(foreign_programs(plan, "with"))
