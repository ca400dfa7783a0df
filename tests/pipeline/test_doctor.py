"""`lensbench doctor`: what stands in the way, at any time, and nothing written."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from programs import run_module
from small_benchmark import FAKES, Project

SERVER = '{"mcpServers": {"lens": {"command": "${python}", "args": ["-IS", "%s"]}}}'


def configure(project: Project, **agent: Any) -> None:
    project.configure(
        {"kind": "command", "command": ["sh", "-c", "true"], "pass_env": [], **agent}, preflight={}
    )


@pytest.fixture(autouse=True)
def server(project: Project) -> None:
    """A project whose server can be started."""
    (project.folder / "mcp.json").write_text(SERVER % (FAKES / "stdio_mcp_server.py"))
    configure(project)


def doctor(project: Project, **variables: str) -> tuple[int, str]:
    done = run_module("lensbench", "doctor", cwd=project.folder, **variables)
    return done.returncode, done.stdout + done.stderr


def test_machine_and_benchmark_are_checked_and_no_run_folder_is_made(
    project: Project, tmp_path: Path
) -> None:
    other = tmp_path / "bin" / "codex"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho something else\n")
    other.chmod(0o755)
    code, said = doctor(project, PATH=f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    assert "warning  codex" in said
    assert re.search(
        r"^config.yaml:\n  ok       config.yaml +tasks: 2, conditions: 2$", said, re.MULTILINE
    )
    assert "with: lens" in said
    assert "sandbox_network is shared" not in said
    assert said.endswith("No check failed.\n")
    assert code == 0
    assert not project.bench.exists()


def test_what_is_missing_is_named_and_a_broken_config_does_not_hide_the_machine(
    project: Project,
) -> None:
    configure(project, command=["no-such-agent"], token_env="NO_SUCH_KEY")
    code, said = doctor(project)
    assert "FAILED   variables" in said
    assert "`export NO_SUCH_KEY=...`" in said
    assert said.splitlines()[-1] == "error: variables: runs would fail; fix what is FAILED above"
    assert code == 1
    (project.folder / "config.yaml").write_text("run_id: r\nscenario: set.yaml\n")
    code, said = doctor(project)
    assert "ok       python" in said
    assert "FAILED   config" in said
    assert "scenario is not a key that lensbench knows; did you mean 'scenarios'?" in said
    assert code == 1


def test_missing_programs_are_said_to_be_needed_or_not(project: Project, tmp_path: Path) -> None:
    (project.folder / "config.yaml").unlink()
    code, said = doctor(project, PATH=str(tmp_path))
    assert "FAILED   git" in said
    assert "skipped  node" in said
    assert "There is no config here" in said
    assert code == 1


NO_LOCKS = """
import errno, fcntl
def refuse(file, kind):
    raise OSError(errno.ENOLCK, "No locks available")
fcntl.flock = refuse
"""


def test_a_folder_without_locks_is_named_with_the_remedy(project: Project, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_LOCKS)
    code, said = doctor(project, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    assert f"FAILED   disk here        {project.folder}: its file system has no file locks" in said
    assert "Traceback" not in said
    assert code == 1


@pytest.mark.parametrize("content", ["run_id: r\n".encode("utf-16"), b"", b"- a\n", b"a: \xe4\n"])
def test_a_config_that_a_start_refuses_has_the_same_line_here(
    project: Project, content: bytes
) -> None:
    (project.folder / "config.yaml").write_bytes(content)
    start = run_module("lensbench", "run", cwd=project.folder)
    why = start.stderr.strip().removeprefix("error: ")
    assert re.fullmatch(r"config\.yaml:1: .*", why)
    code, said = doctor(project)
    assert (code, f"FAILED   config  {why}\n" in said) == (1, True)
