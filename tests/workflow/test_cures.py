"""What a server lacks is written where it belongs, and nothing else changes."""

import json
from pathlib import Path

import pytest

from lensbench.core.preflight_results import Cure
from lensbench_demo.known_servers import with_value, write_cures


@pytest.mark.parametrize(("before", "path", "value", "after"), [
    ("# mine\nrun_id: a  # x\n", ["sandbox_visible"], ["/a b"], '# mine\nsandbox_visible: ["/a b"]\nrun_id: a  # x\n'),
    ("hosts: []\nb: 1\n", ["hosts"], ["a:1"], 'hosts: ["a:1"]\nb: 1\n'),
    ("hosts: [a, b]  # x\n", ["hosts"], ["b", "c"], 'hosts: ["a", "b", "c"]  # x\n'),
    ("hosts:\n  - a\n# x\nb: 1\n", ["hosts"], ["c"], 'hosts:\n  ["a", "c"]\n# x\nb: 1\n'),
    ("agent:\n  # x\n  kind: a\nb: 1\n", ["agent", "s"], 20.0, "agent:\n  # x\n  s: 20.0\n  kind: a\nb: 1\n"),
    ("agent: {kind: a}\n", ["agent", "s"], 20.0, "agent: {s: 20.0, kind: a}\n"),
    ("a: {m: n}\n", ["c", "s", "w"], [".x/"], 'c: {"s": {"w": [".x/"]}}\na: {m: n}\n'),
    ("agent:\n  s: 15  # x\n", ["agent", "s"], 20.0, "agent:\n  s: 20.0  # x\n"),
])  # fmt: skip
def test_a_value_is_added_and_everything_else_stays(before: str, path: list[str], value: object, after: str) -> None:
    assert with_value(before, path, value) == after  # type: ignore[arg-type]


def test_a_server_gets_its_words_and_variables_and_the_second_time_nothing_changes(tmp_path: Path) -> None:
    config, mcp = tmp_path / "config.yaml", tmp_path / "mcp.json"
    config.write_text("run_id: a\n")
    entry = {"command": "python", "args": ["own.py", "-v"], "env": {"A": "1"}}
    mcp.write_text(json.dumps({"mcpServers": {"mine": entry, "other": entry}}))
    cure = Cure({"sandbox_hosts": ["a:1"]}, str(mcp), "mine", {"own.py": "/x/own.py"}, {"PYTHONPATH": "/x"})
    assert write_cures(config, [cure, cure])
    assert config.read_text() == 'sandbox_hosts: ["a:1"]\nrun_id: a\n'
    changed = {"command": "python", "args": ["/x/own.py", "-v"], "env": {"A": "1", "PYTHONPATH": "/x"}}
    assert json.loads(mcp.read_text())["mcpServers"] == {"mine": changed, "other": entry}
    assert not write_cures(config, [cure])
