"""The control agent and its server, started as programs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lensbench.agents.adapters.command_events import read
from lensbench.agents.mcp.client import Servers, read_entry
from lensbench.core.records import Outcome, sha256
from lensbench.runs.reports import parse_report
from lensbench_demo import control_agent as agent
from lensbench_demo.controls import BROKEN, SERVER

PROMPT = "What does it do?\n\nEnd with a report."
WORDS = {
    sha256(PROMPT.encode()): {"": ["it waits"], "control": ["it waits", "it counts"], "a,b": []}
}


def ask(folder: Path, servers: dict[str, Any], prompt: str = PROMPT) -> Outcome:
    (folder / "words.json").write_text(json.dumps(WORDS))
    (folder / "prompt.md").write_text(prompt)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    argv = [sys.executable, "-I", agent.__file__, "words.json", "prompt.md", "mcp.json"]
    return read(
        subprocess.run(argv, cwd=folder, capture_output=True, text=True).stdout.splitlines()
    )


def test_it_states_the_scripted_facts_for_the_prompt_byte_for_byte_and_the_servers(
    tmp_path: Path,
) -> None:
    without = ask(tmp_path, {})
    with_ = ask(tmp_path, {"control": SERVER})
    assert without.answer.startswith("- it waits\n\n## Report")
    assert with_.answer.startswith("- it waits\n- it counts\n\n## Report")
    assert (without.servers, with_.servers) == ({}, {"control": "connected"})
    assert with_.tools_offered == ("Read", "mcp__control__rest")
    assert with_.finished
    silent = ask(tmp_path, {"b": SERVER, "a": SERVER})
    report = parse_report(silent.answer)
    assert (report.present, report.tool_calls, report.files_used) == (True, 0, ())
    assert not ask(tmp_path, {}, PROMPT + " ").finished


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        (BROKEN, "broken on purpose"),
        ({"command": "/no/such/program"}, "No such file"),
        ({"command": sys.executable, "args": ["-c", "print('not JSON')"]}, ""),
        ({"command": sys.executable, "args": ["-c", ""]}, ""),
    ],
)
def test_a_server_that_does_not_start_is_found_out(
    tmp_path: Path, entry: dict[str, Any], detail: str
) -> None:
    outcome = ask(tmp_path, {"control": entry})
    assert outcome.servers == {"control": "failed"}
    assert detail in outcome.server_faults["control"]
    assert outcome.tools_offered == ("Read",)
    assert "it counts" in outcome.answer


def test_the_server_speaks_with_a_client_that_is_not_ours(tmp_path: Path) -> None:
    with Servers({"control": read_entry(SERVER)}, str(tmp_path), 20) as servers:
        assert [status.connected for status in servers.statuses] == [True]
        (tool,) = servers.tools
        assert servers.call(tool, {}).text == "rested"
