"""The adapter of Codex: what is written for it."""

import json
import tomllib
from pathlib import Path
from typing import Any

from other_clis import assignment, started

from lensbench.agents.adapters import codex
from lensbench.runs.first_requests import steady


def config(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "home" / ".codex" / "config.toml").read_text())


def test_with_has_its_servers_required_without_has_none_and_nothing_else_differs(
    tmp_path: Path,
) -> None:
    invocation = started(codex, assignment(tmp_path, treatment=True))
    treated = config(tmp_path)
    common = {"startup_timeout_sec": 20, "required": True, "default_tools_approval_mode": "approve"}
    assert treated.pop("mcp_servers") == {
        "lens": {
            "command": "lens",
            "args": ["--x"],
            "env": {"A": 'b "c"'},
            "tool_timeout_sec": 5,
            **common,
        },
        "far": {"url": "http://127.0.0.1:4111/mcp", "http_headers": {"X-A": "b"}, **common},
    }
    assert invocation.argv[-2:] == ("--", "Where is  it?\n- x")
    assert invocation.env["CODEX_HOME"] == str(tmp_path / "home" / ".codex")
    started(codex, assignment(tmp_path, treatment=False))
    baseline = config(tmp_path)
    assert [server["enabled"] for server in baseline.pop("mcp_servers").values()] == [False, False]
    assert treated == baseline


def test_what_codex_sends_of_its_git_by_chance_is_no_difference_of_two_requests() -> None:
    def request(metadata: dict[str, Any]) -> str:
        said = {"turn_id": "0", **metadata, "model": "gpt-5"}
        return json.dumps(
            {"input": "a", "client_metadata": {"turn": json.dumps(said, separators=(",", ":"))}}
        )

    seen = {"latest_git_commit_hash": "0" * 40, "has_changes": False}
    remotes = {"associated_remote_urls": {"origin": "https://example.org/shop"}, **seen}
    for state in (seen, remotes):
        late = request({"workspaces": {"/run/repo": state}})
        assert steady(late, "codex") == steady(request({}), "codex") == request({})
