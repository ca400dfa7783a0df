"""Programs of servers that only other conditions have: what is hidden of them, and which commands run them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.runs.server_programs import ServerProgram, foreign_programs, program_calls
from stock import write

DATA = yaml.safe_load((Path(__file__).parent / "foreign_programs.yaml").read_text(encoding="utf-8"))

SERVER = ServerProgram(
    frozenset(["seek", "@acme/seek"]),
    frozenset(["/opt/seek/server.py", "/opt/seek/bin/seek"]),
    frozenset(["seek_mcp"]),
)


def program_of(server: list[str], folder: Path) -> ServerProgram:
    """The program of a server that the treatment alone has, as it is hidden from the baseline."""
    (folder / "mcp.json").write_text(
        json.dumps({"mcpServers": {"s": {"command": server[0], "args": server[1:]}}})
    )
    plan: Any = {
        "conditions": {"without": {"mcp": None}, "with": {"mcp": str(folder / "mcp.json")}}
    }
    return foreign_programs(plan, "without")


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


@pytest.mark.parametrize(
    "part", ["<<A\n", "'", "x", "A=1 ", "sh -c '", "echo a\n", "-exec ", "$(", "`", "eval "]
)
def test_a_command_of_any_size_is_read(part: str) -> None:
    assert program_calls(shell(part * (5_000_000 // len(part))), SERVER) == []


def test_a_program_that_is_not_there_was_not_run_and_other_tools_run_none() -> None:
    for why in (
        "command not found",
        "No such file",
        "No module named",
        "Cannot find module",
        "Permission denied",
    ):
        assert program_calls(shell("seek index .", f"seek: {why}"), SERVER) == []
    read = {
        "type": "tool_call",
        "id": 1,
        "name": "Read",
        "input": {"file_path": "seek", "pattern": "seek"},
    }
    assert program_calls([json.dumps(read)], SERVER) == []


@pytest.mark.parametrize(
    ("server", "calls", "others"),
    [
        (
            ["sh", "-c", "cd /tmp && X=1 exec seek serve | tee log"],
            ["seek q", "sh -c 'seek q'"],
            ["cd /tmp && ls", "ls | tee log"],
        ),
        (["/usr/bin/env", "X=1", "seek", "serve"], ["seek q", "env Y=2 seek q"], ["env"]),
        (["timeout", "600", "seek"], ["seek q"], ["timeout 5 ls"]),
        (
            ["env", "-u", "X", "python3", "-m", "seek_mcp.cli"],
            ["python -m seek_mcp", "python -c 'import seek_mcp'"],
            ["python -m pytest"],
        ),
        (
            ["python3", "-u", "-X", "dev", __file__, "-mode", "x"],
            [f"python {__file__}"],
            ["python -m ode"],
        ),
        (["python3", "-mseek_mcp"], ["python -m seek_mcp"], ["python -m pytest"]),
        (["stdbuf", "-oL", "seek"], ["seek q"], ["stdbuf -oL ls"]),
        (
            ["uv", "run", "python", "-m", "seek_mcp"],
            ["uv run python -m seek_mcp", "python -m seek_mcp"],
            ["python x.py", "uv run python x.py"],
        ),
        (
            ["uv", "run", "--directory", "/opt/seek", "seek"],
            ["uv run seek", "seek q", "uv run --directory /opt/seek x"],
            ["uv run pytest", "uv run --directory . x"],
        ),
        (["bun", "x", "seek"], ["bunx seek", "npx seek"], ["bun test"]),
    ],
)
def test_a_server_is_the_program_that_its_command_line_starts_in_the_end(
    server: list[str], calls: list[str], others: list[str], tmp_path: Path
) -> None:
    program = program_of(server, tmp_path)
    assert [command for command in calls if not program_calls(shell(command), program)] == []
    assert [command for command in others if program_calls(shell(command), program)] == []
    assert "/usr/bin/timeout" not in program.paths


FILES = {
    "seek/start.sh": '#!/bin/sh\ncd "$(dirname "$0")"\npip install -q rich; [ -d .v ] || python3 -m venv .v\nexec python3 server.py "$@"\n',
    "seek/run.py": "import subprocess, sys, pathlib\nhere = pathlib.Path(__file__).parent\nsubprocess.run([sys.executable, here / 'server.py'])\n",
    "seek/server.py": "from core import main\nmain()\n",
    "seek/core.py": "def main(): ...\n",
    "seek/index.js": "const lib = require('./lib/find')\n",
    "seek/lib/find.js": "",
    "seek/server.ts": "",
    "seek/go/main.go": "",
    "seek/path.sh": '#!/usr/bin/env bash\nHERE=$(dirname "${BASH_SOURCE[0]}")\nmkdir -p /tmp/x\n"$HERE/serve" --root "$1" | tee /tmp/log\n',
    "seek/serve": "#!/bin/sh\nexec seekd\n",
    "seek/npx.sh": "#!/bin/sh\nnpm ci\nnpx -y @acme/seek@1 .\n",
    "seek/sub/x": "",
    "repo/server.py": "",
    "repo/start.sh": "",
    "repo/src/core.py": "",
    "repo/find.js": "",
}
"""A server's files, and a repository with the same names."""


@pytest.mark.parametrize(
    ("server", "calls", "others"),
    [
        (
            ["{d}/start.sh"],
            [
                "{d}/start.sh",
                "bash {d}/start.sh",
                "python3 {d}/server.py .",
                "cd {d} && python3 server.py",
                "cd {d}; python3 -c 'import server'",
                "cd {d}; python3 -m server",
                "PYTHONPATH={d} python3 -c 'import server'",
                'PYTHONPATH={d} python3 -c "from server import main; main()"',
                "export PYTHONPATH={d}; python -c 'import core'",
                "python3 -c \"import sys; sys.path.insert(0, '{d}'); import server\"",
                "python3 -c 'import runpy; runpy.run_path(\"{d}/server.py\")'",
                "(cd {d}; ./start.sh)",
                "cd {d}/sub; PYTHONPATH=.. python3 -c 'import core'",
                "python - <<E\nimport sys\nsys.path.append('{d}')\nimport core\nE",
                "PYTHONPATH=.. python3 -c 'import server'",
                "python ../server.py",
                "PYTHONPATH=..:x python -m server",
                "python3 < {d}/server.py",
                "cd {d}/sub && bash ../start.sh",
            ],
            [
                "cat {d}/start.sh",
                "ls {d}",
                "grep -rn server.py {d}",
                "python3 server.py",
                "./start.sh; bash start.sh",
                "python3 -c 'import server'",
                "python -m pytest tests/test_server.py",
                "cd src && python -c 'import core'",
                "pip show seek",
                "git log -- server.py",
                "head -3 {d}/server.py",
                "PYTHONPATH=src python -c 'import core'",
                "PYTHONPATH=. python -m server",
                "pip install rich; python3 -m venv .v",
                "python3 -c 'print(open(\"{d}/server.py\").read())'",
                "wc -l {d}/*.py",
                "cp start.sh x.sh",
                "python -c 'import sys, pathlib'",
            ],
        ),
        (
            ["sh", "-c", "cd {d}; echo x; python3 server.py"],
            ["python3 {d}/server.py"],
            ["python3 server.py"],
        ),
        (
            ["bash", "{d}/start.sh"],
            ["bash {d}/start.sh", "python3 {d}/server.py"],
            ["bash start.sh", "bash -n start.sh", "bash"],
        ),
        (
            ["python3", "{d}/run.py"],
            ["python3 {d}/server.py", "cd {d}; python -c 'import core'"],
            ["python3 server.py", "python3 run.py"],
        ),
        (
            ["{d}/path.sh"],
            ["{d}/serve x", "seekd", "timeout 5 seekd q"],
            ["mkdir x", "tee log", "dirname x", "ls | tee log"],
        ),
        (["{d}/npx.sh"], ["npx @acme/seek", "npx -y @acme/seek@2 ."], ["npm ci", "npx eslint"]),
        (
            ["node", "{d}/index.js"],
            [
                "node -e \"require('{d}/lib/find.js')\"",
                "node -e \"require('{d}/lib/find')\"",
                "cd {d} && node -e \"require('./lib/find')\"",
                "cd {d} && node -e 'import(\"./index.js\")'",
                "node -e \"require('../index')\"",
                "node {d}/index.js",
                "bun {d}/index.js",
            ],
            [
                "node -e \"require('./find')\"",
                "node index.js",
                "node find.js",
                "node -e \"require('fs').readFileSync('{d}/index.js')\"",
            ],
        ),
        (
            ["deno", "run", "-A", "{d}/server.ts"],
            [
                "deno run -A {d}/server.ts",
                "cd {d} && deno run server.ts",
                "deno {d}/server.ts",
                "deno eval \"import '{d}/server.ts'\"",
                "bun run {d}/server.ts",
            ],
            [
                "deno run -A server.ts",
                "deno test",
                "deno task start",
                "deno eval '1+1'",
                "cat {d}/server.ts",
            ],
        ),
        (
            ["deno", "run", "-A", "npm:@acme/seek@1", "x"],
            [
                "deno run -A npm:@acme/seek",
                "npx @acme/seek",
                "deno -A npm:@acme/seek@2",
                "bunx @acme/seek",
            ],
            ["deno run npm:eslint", "deno run x"],
        ),
        (
            ["deno", "run", "https://deno.land/x/seek@1/mod.ts"],
            ["deno run -A https://deno.land/x/seek@2/mod.ts"],
            ["deno run mod.ts", "curl -L https://deno.land/x/seek@2/mod.ts"],
        ),
        (
            ["go", "run", "github.com/acme/seek@latest", "x"],
            [
                "go run github.com/acme/seek@v1 .",
                "go install github.com/acme/seek@latest && ~/go/bin/seek",
                "seek q",
                "$(go env GOPATH)/bin/seek",
            ],
            [
                "go run .",
                "go test ./...",
                "go install ./...",
                "go run ./cmd/seek",
                "go doc github.com/acme/seek",
                "go run x",
                "go run -race .",
            ],
        ),
        (
            ["go", "run", "-C", "{d}/go", "."],
            [
                "cd {d}/go && go run .",
                "go run {d}/go",
                "go -C {d}/go run .",
                "cd {d}; go run go/main.go",
            ],
            ["go run .", "go run main.go", "cd go && go run ."],
        ),
        (
            ["bun", "{d}/server.ts"],
            [
                "bun run {d}/server.ts",
                "cd {d}; bun run server.ts",
                "bun -e \"import '{d}/server.ts'\"",
            ],
            ["bun run dev", "bun test", "bun server.ts", "bun install"],
        ),
        (
            ["npx", "tsx", "{d}/server.ts"],
            ["npx tsx {d}/server.ts", "cd {d}; npx tsx server.ts", "tsx {d}/server.ts"],
            ["npx tsx src/x.ts", "tsx x.ts"],
        ),
        (
            ["uvx", "fastmcp", "run", "{d}/server.py"],
            ["python {d}/server.py", "uvx fastmcp run {d}/server.py"],
            ["uvx fastmcp version", "fastmcp run server.py"],
        ),
        (
            ["uv", "run", "--with", "mcp", "{d}/server.py"],
            ["python {d}/server.py", "cd {d}; uv run server.py"],
            ["uv run --with mcp x.py", "uv run server.py"],
        ),
        (
            ["poetry", "-C", "{d}", "run", "seekd"],
            ["seekd q", "poetry run seekd"],
            ["poetry run pytest", "poetry install"],
        ),
        (
            ["npm", "--prefix", "{d}", "run", "serve"],
            ["npm --prefix {d} run serve", "cd {d} && npm run serve"],
            ["npm run serve", "npm run build", "npm start"],
        ),
        (["ruby", "{d}/serve"], ["{d}/serve", "ruby {d}/serve"], ["ruby serve"]),
        (
            ["java", "-cp", "{d}/lib", "Main"],
            ["java -cp {d}/lib Main"],
            ["java Main", "java -cp lib Main"],
        ),
        (
            ["./start.sh"],
            ["./start.sh", "bash start.sh", "sh ./start.sh x"],
            ["cat start.sh", "cd src; ./start.sh", "chmod +x start.sh", "git log start.sh"],
        ),
    ],
)
def test_the_program_is_also_what_its_files_start(
    server: list[str], calls: list[str], others: list[str], tmp_path: Path
) -> None:
    write(tmp_path, FILES)
    for name in FILES:
        (tmp_path / name).chmod(0o755)
    program = program_of([word.replace("{d}", f"{tmp_path}/seek") for word in server], tmp_path)
    if server == ["{d}/start.sh"]:
        assert program.paths == {
            f"{tmp_path}/seek/{name}" for name in ("start.sh", "server.py", "core.py")
        }

    def is_seen(command: str) -> bool:
        return bool(
            program_calls(
                shell(command.replace("{d}", f"{tmp_path}/seek")), program, tmp_path / "repo"
            )
        )

    assert [command for command in calls if not is_seen(command)] == []
    assert [command for command in others if is_seen(command)] == []


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("copy .", 1),
        ("{0}/bin/copy .", 1),
        ("link .", 1),
        ("python {0}/bin/copy", 1),
        ("other .", 0),
        ("./bin/copy .", 0),
        ("{0}/repo/copy", 0),
    ],
)
def test_a_link_and_a_copy_outside_the_workspace_are_the_program(
    command: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name in ("seek", "bin/copy", "repo/copy", "bin/other"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(
            f"#!/bin/sh\n{'other' if name == 'bin/other' else 'index'}", encoding="utf-8"
        )
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
