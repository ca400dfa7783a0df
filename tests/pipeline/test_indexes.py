"""The embedded server's index of a repository: made once, shown to runs, and to nobody who may change it."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from small_benchmark import Project

AGENT = """
import json, os, sys
text = open(sys.argv[1]).read()
folder = text.split('"--cache", "')[1].split('"')[0] if "--cache" in text else ""
print("## Findings", folder, *(os.listdir(folder) if folder else []))
try:
    open(folder + "/mine.index", "w")
    print("written")
except OSError as error:
    print("refused", error.strerror)
"""
SERVER = {
    "command": sys.executable,
    "args": ["-P", "-m", "lensbench.lens", "--root", "${workspace}", "--cache", "${lens_cache}"],
}


def utc(file: Path) -> str:
    """When the file was written, as in a record."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="milliseconds")


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_runs_read_the_index_of_their_own_repository_and_cannot_change_it(project: Project) -> None:
    (project.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": SERVER}}))
    agent = {"kind": "command", "command": [sys.executable, "-I", "-c", AGENT, "{mcp_file}"]}
    project.configure(agent=agent, sandbox="bubblewrap", preflight={"servers": True})
    project.start(target="bench/r/validity.csv")
    (folder,) = set(json.loads((project.bench / "indexes.json").read_text()).values())
    (index,) = (path.name for path in project.folder.rglob("*.index"))
    assert f"/{index.split('.')[0]}" not in folder
    for task in ("anna", "bert"):
        said = (project.bench / "runs" / f"{task}-with.md").read_text()
        assert f"/index {index}" in said
        assert "refused Read-only file system" in said
        assert index not in (project.bench / "runs" / f"{task}-without.md").read_text()
        for condition in ("with", "without"):  # a baseline waits at the start gate for the other run of its pair
            assert project.record(f"{task}-{condition}")["arrived_at"] >= utc(project.bench / "indexes.json")
    assert "lensbench.lens.make_indexes" not in project.start(target="bench/r/validity.csv")


def test_without_such_a_server_nothing_is_indexed(project: Project) -> None:
    project.start(target="bench/r/validity.csv")
    assert not (project.bench / "indexes.json").exists()
