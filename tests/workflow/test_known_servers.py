"""Servers that other programs have already: found, made ours, without their secrets, and with what they lack."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.core.errors import UserError
from lensbench.core.preflight_results import Cure
from lensbench.plan.own_files import mcp_problem
from lensbench.plan.reading import load_config
from lensbench_demo.known_servers import server_of, with_value, write_cures
from lensbench_demo.setup import Wishes, ask, config_text, mcp_file

ROWS = yaml.safe_load(Path(__file__).with_name("values.yaml").read_text(encoding="utf-8"))


TOKEN = "sk-live-0123456789abcdef"


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_the_server_of_this_project_comes_before_that_of_all(tmp_path: Path) -> None:
    own = {"mcpServers": {"lens": {"command": "own", "args": ["${workspaceFolder}"]}}}
    value = {
        "mcpServers": {"lens": {"command": "other"}},
        "projects": {str(tmp_path): own, "/else": {}},
    }
    server = server_of(put(tmp_path / ".claude.json", value), None, tmp_path)
    assert server.entry == {"command": "own", "args": ["${workspace}"]}


def test_secrets_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {
        "command": "lens",
        "args": [
            "--api-key",
            f"{TOKEN}1",
            f"--auth-token={TOKEN}2",
            "--token",
            "${TOKEN}",
            "--keys",
            "all",
        ],
        "env": {"LENS_TOKEN": TOKEN, "MODE": "fast"},
        "headers": {"Authorization": f"Bearer {TOKEN}x"},
        "disabled": False,
    }
    server = server_of(put(tmp_path / "mcp.json", {"mcpServers": {"lens": entry}}), None, tmp_path)
    assert server.variables == ("API_KEY", "AUTHORIZATION", "AUTH_TOKEN", "LENS_TOKEN")
    told = [
        "--api-key",
        "${API_KEY}",
        "--auth-token=${AUTH_TOKEN}",
        "--token",
        "${TOKEN}",
        "--keys",
        "all",
    ]
    assert server.entry["args"] == told
    assert server.entry["env"] == {"LENS_TOKEN": "${LENS_TOKEN}", "MODE": "fast"}
    assert server.entry["headers"] == {"Authorization": "Bearer ${AUTHORIZATION}"}

    monkeypatch.chdir(tmp_path)
    for agent in ("claude-code", "offline"):
        wishes = Wishes("mine", "lens", agent, "sonnet", "", known=(server,))
        put(tmp_path / "mcp.mine.json", mcp_file(wishes))
        text = config_text(wishes, "1.2.3", [], 3)
        put(tmp_path / "config.mine.yaml", text)
        config = load_config({**yaml.safe_load(text), "scenarios": []}, ["config.mine.yaml"])
        assert set(config.agent.pass_env) >= {"AUTHORIZATION", "LENS_TOKEN"}
        assert TOKEN not in text + (tmp_path / "mcp.mine.json").read_text()


def test_of_several_servers_one_is_named(tmp_path: Path) -> None:
    file = put(
        tmp_path / "mcp.json",
        {"mcpServers": {"My Server": {"command": "a"}, "lens": {"command": "b"}}},
    )
    assert server_of(file, "lens", tmp_path).entry == {"command": "b"}
    assert server_of(file, "My-Server", tmp_path).name == "My-Server"
    unsaid = dict.fromkeys(("ablate", "mcp", "url", "name", "model", "repo", "words"))
    wishes = ask(Namespace(**unsaid, source=file, server="lens", agent="offline", yes=True))
    assert (wishes.server, wishes.known) == ("lens", (server_of(file, "lens", tmp_path),))
    for name, told in (
        (None, "has several servers, My-Server, lens; add --server"),
        ("len", "has no server 'len'; it has My-Server, lens; did you mean 'lens'"),
    ):
        with pytest.raises(UserError, match=told):
            server_of(file, name, tmp_path)
    for value, told in (
        ({"x": 1}, "names no MCP server"),
        (
            {"servers": {"s": {"type": "sse", "url": "http://h/sse"}}},
            r"mcp\.json: s: type is 'sse', which is not supported",
        ),
        ({"servers": {"s": {"url": "h/mcp"}}}, "s: url is .*must begin with http:// or https://"),
        (
            {"servers": {"s": {"command": "s", "env": {"PORT": 80}}}},
            "s: env.PORT is 80; write a text",
        ),
        ('{"servers": {"s": {}}', "cannot be read: Expecting ',' delimiter: line 1 column"),
    ):
        with pytest.raises(UserError, match=told):
            server_of(put(file, value), None, tmp_path)
    with pytest.raises(UserError, match=r"cannot be read: No such file or directory$"):
        server_of(tmp_path / "none.json", None, tmp_path)


def test_files_are_read_as_editors_write_them(tmp_path: Path) -> None:
    text = """\ufeff{ // mine
      "servers": {"s": { /* "old": {"command": "x"}, */
        "command": "s", "args": ["http://x//y",], "env": {"KEY": "${input:my-key}", "HOST": "${env:HOST}"},
      },},
    }"""
    server = server_of(put(tmp_path / "mcp.json", text), None, tmp_path)
    assert server.entry == {
        "command": "s",
        "args": ["http://x//y"],
        "env": {"KEY": "${MY_KEY}", "HOST": "${HOST}"},
    }
    assert server.variables == ("HOST", "MY_KEY")
    put(
        tmp_path / "own.json",
        text.replace("servers", "mcpServers").replace("input:my-", "").replace("env:", ""),
    )
    assert mcp_problem(tmp_path / "own.json") == ""


FILES = yaml.safe_load(Path(__file__).with_name("server_files.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", FILES, ids=lambda row: row["name"])
def test_a_server_is_read_from_the_file_of_any_program(row: dict[str, Any], tmp_path: Path) -> None:
    file = put(tmp_path / "project" / row["name"], row["text"])
    server = server_of(file, None, tmp_path)
    text = json.dumps(row["entry"]).replace("FOLDER", str(file.parent))
    entry = json.loads(text.replace("PROJECT", str(tmp_path / "project")))
    assert (server.name, server.entry) == ("search", entry)
    assert server.dropped == tuple(row.get("dropped", ()))


def test_words_that_are_files_in_the_folder_of_the_start_are_written_out(tmp_path: Path) -> None:
    put(tmp_path / "tools" / "server.py", "")
    entry = {"command": "python3", "args": ["server.py", "plain"], "cwd": "tools"}
    server = server_of(put(tmp_path / "m.json", {"mcpServers": {"s": entry}}), None, tmp_path)
    assert server.entry["args"] == [str(tmp_path / "tools" / "server.py"), "plain"]
    assert server.dropped == ("cwd",)


def test_the_file_of_all_projects_means_the_project_in_which_init_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    entry = {"command": "python3", "args": ["${workspaceFolder}/server.py"]}
    file = put(tmp_path / ".config" / "Code" / "User" / "mcp.json", {"servers": {"s": entry}})
    server = server_of(file, None, tmp_path / "here")
    assert server.entry["args"] == [str(tmp_path / "here" / "server.py")]


@pytest.mark.parametrize(("name", "text"), [("a.toml", "x = "), ("a.yaml", "a: [")])
def test_a_file_that_is_broken_is_refused_in_one_line(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{name}: cannot be read: ") as refused:
        server_of(put(tmp_path / name, text), None, tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("before", "path", "value", "after"), ROWS)
def test_a_value_is_added_and_everything_else_stays(
    before: str, path: list[str], value: object, after: str
) -> None:
    assert with_value(before, path, value) == after  # type: ignore[arg-type]


def test_a_server_gets_its_words_and_variables_and_the_second_time_nothing_changes(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config.yaml"
    mcp = tmp_path / "mcp.json"
    config.write_text("run_id: a\n")
    entry = {"command": "python", "args": ["own.py", "-v"], "env": {"A": "1"}}
    mcp.write_text(json.dumps({"mcpServers": {"mine": entry, "other": entry}}))
    cure = Cure(
        {"sandbox_hosts": ["a:1"]}, str(mcp), "mine", {"own.py": "/x/own.py"}, {"PYTHONPATH": "/x"}
    )
    assert write_cures(config, [cure, cure])
    assert config.read_text() == 'sandbox_hosts: ["a:1"]\nrun_id: a\n'
    changed = {
        "command": "python",
        "args": ["/x/own.py", "-v"],
        "env": {"A": "1", "PYTHONPATH": "/x"},
    }
    assert json.loads(mcp.read_text())["mcpServers"] == {"mine": changed, "other": entry}
    assert not write_cures(config, [cure])
