"""A daemon with the endpoints of LENS, the scripts that tell it of workspaces, and what becomes of them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_sandbox import AUTO, bubblewrap, make_place, start

from lensbench.agents.sandbox import find_sandbox
from lensbench.core.system.private_folders import remove_abandoned
from services import Reply, Request, answering

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "lens" / "workspace.py"


class Lens:
    """Registrations by id, and whether each is indexed."""

    def __init__(self) -> None:
        self.repos: dict[str, str] = {}
        self.indexed: set[str] = set()
        self.made = 0

    def answer(self, asked: Request) -> Reply:
        status, value = self._of(
            asked.method, asked.path.split("/")[3:], json.loads(asked.body or "{}")
        )
        return Reply(status, json.dumps(value).encode())

    def _of(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        match method, path:
            case "GET", ["repos"]:
                return 200, [{"id": each, "root_path": path} for each, path in self.repos.items()]
            case "GET", [_, repo, *_]:
                return 200, {"files": 1 if repo in self.indexed else 0}
            case "DELETE", [*_, repo]:
                self.repos.pop(repo)
                return 200, {}
            case "POST", [_, repo, *_]:
                self.indexed.add(repo)
                return 200, {"indexed": True}
        if body["path"] in self.repos.values() or not Path(body["path"]).is_dir():
            return 400, {"error": "cannot register"}
        self.made += 1
        self.repos[str(self.made)] = body["path"]
        return 200, {"id": self.made}


@pytest.fixture
def lens(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lens]:
    daemon = Lens()
    with answering(daemon.answer) as url:
        monkeypatch.setenv("LENS_URL", url)
        yield daemon


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60
    )


def test_a_workspace_is_registered_anew_indexed_and_removed(lens: Lens, tmp_path: Path) -> None:
    for number in ("1", "2"):  # a registration that was left is replaced
        done = script("register", str(tmp_path))
        assert (done.returncode, lens.repos, number in lens.indexed) == (
            0,
            {number: str(tmp_path)},
            True,
        ), done.stderr
    assert script("remove", str(tmp_path)).returncode == 0
    assert script("remove", str(tmp_path)).returncode == 0
    assert lens.repos == {}
    assert list(tmp_path.iterdir()) == []


def test_refusals_and_a_gone_daemon_are_one_line(
    lens: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = script("register", str(tmp_path / "missing"))
    assert (refused.returncode, "HTTP 400" in refused.stderr, refused.stderr.count("\n")) == (
        1,
        True,
        1,
    )
    monkeypatch.setenv("LENS_URL", "http://127.0.0.1:9")
    gone = script("register", str(tmp_path))
    assert (gone.returncode, "does not answer" in gone.stderr, gone.stderr.count("\n")) == (
        1,
        True,
        1,
    )


KILLED = """
import json, subprocess, sys, time
from pathlib import Path
from lensbench.core.system.private_folders import TEARDOWN, private_folder
with private_folder() as folder:
    repo = Path(folder, "repo")
    repo.mkdir()
    command = [sys.executable, sys.argv[1]]
    Path(folder, TEARDOWN).write_text(json.dumps([30, [*command, "remove", str(repo)]]))
    subprocess.run([*command, "register", str(repo)], check=True, stdout=subprocess.DEVNULL)
    print("registered", flush=True)
    time.sleep(300)
"""


def test_the_next_run_forgets_a_killed_one_s(
    lens: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(SCRIPT)], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "registered\n"
    remove_abandoned(str(tmp_path))
    assert len(lens.repos) == 1  # it is still at work
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    remove_abandoned(str(tmp_path))
    assert lens.repos == {}
    assert not list(tmp_path.glob("lb-*"))


@bubblewrap
def test_an_agent_finds_the_workspace_where_the_daemon_does(tmp_path: Path) -> None:
    place = make_place(tmp_path / "lb-1", find_sandbox({**AUTO, "same_path": True}))
    repo = f"{place.private}/repo"
    assert (place.inside(repo), place.inside(f"{place.private}/session/x")) == (repo, "/session/x")
    said = start(
        place, "sh", "-c", 'pwd; cat a.py; touch made; ls "$0"', str(Path(place.private).parent)
    )
    assert said.stdout.splitlines() == [repo, "x = 1", "lb-1"], said.stderr
    assert (Path(repo) / "made").exists()
