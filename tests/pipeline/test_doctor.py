"""`lensbench doctor`: what stands in the way, at any time, and nothing written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lensbench.core.system.places import ROOT

CONFIG = {
    "run_id": "r", "scenarios": "set.yaml", "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
    "agent": {"kind": "command", "command": ["sh", "-c", "true"]}, "sandbox": "none", "cache": "cache",
}  # fmt: skip
SET = """\
tasks:
- id: one
  category: Targeted
  repository: {path: repo}
  prompt: What is x?
  criteria: [{text: It is 1, all_of: "1"}, {text: It is in a.py, all_of: a.py}]
"""
SERVER = '{"mcpServers": {"lens": {"command": "${python}", "args": ["-IS", "%s"]}}}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x = 1\n")
    (tmp_path / "set.yaml").write_text(SET)
    (tmp_path / "mcp.json").write_text(SERVER % (ROOT / "tests" / "fakes" / "stdio_mcp_server.py"))
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    return tmp_path


def doctor(folder: Path, *options: str, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lensbench", "doctor", *options],
        cwd=folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_machine_and_benchmark_are_checked_and_no_run_folder_is_made(project: Path) -> None:
    code, said = doctor(project)
    assert re.search(r"^config.yaml:\n  ok       config.yaml +tasks: 1, conditions: 2$", said, re.MULTILINE)
    assert "with: lens" in said
    assert said.endswith("No check failed.\n")
    assert code == 0
    assert not (project / "bench").exists()


def test_what_is_missing_is_named_and_a_broken_config_does_not_hide_the_machine(project: Path) -> None:
    agent = {"kind": "command", "command": ["no-such-agent"], "token_env": "NO_SUCH_KEY"}
    (project / "config.yaml").write_text(yaml.safe_dump({**CONFIG, "agent": agent}))
    code, said = doctor(project)
    assert "FAILED   variables" in said
    assert "`export NO_SUCH_KEY=...`" in said
    assert said.splitlines()[-1] == "error: variables: runs would fail; fix what is FAILED above"
    assert code == 1
    (project / "config.yaml").write_text("run_id: r\nscenario: set.yaml\n")
    code, said = doctor(project)
    assert "ok       python" in said
    assert "FAILED   config" in said
    assert "scenario is not a key that lensbench knows; did you mean 'scenarios'?" in said
    assert code == 1


def test_other_and_missing_programs_are_said_to_be_needed_or_not(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "bin" / "codex"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho something else\n")
    other.chmod(0o755)
    _, said = doctor(project, PATH=f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    assert "warning  codex" in said
    (project / "config.yaml").unlink()
    code, said = doctor(project, PATH=str(tmp_path))
    assert "FAILED   git" in said
    assert "skipped  node" in said
    assert "There is no config here" in said
    assert code == 1
