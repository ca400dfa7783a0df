"""`lensbench clean`: what could go, and what a number rests on."""

import gzip
from pathlib import Path

import pytest

from archived import make_benchmark
from lensbench.core.records import RunId
from lensbench.core.store import Discard, run_files
from lensbench.core.system.files import write_json
from lensbench.core.system.private_folders import LOCK, PREFIX, private_folder
from lensbench.workflow.damage import FolderCheck
from lensbench_archive.clean import main
from lensbench_archive.rebuilding import rebuild
from programs import refusal, run_here
from stock import write

CONFIG = {
    "run_id": "r",
    "scenarios": "set.yaml",
    "agent": {"kind": "command", "command": ["cat"]},
    "conditions": {"without": {}, "with": {"mcp": "with.json"}},
}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark with discards and transcripts, two copies of repositories, and what a killed run left."""
    project = tmp_path / "project"
    place = tmp_path / "tmp"
    project.mkdir()
    place.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    write(project, {"repo/a.py": "x = 1\n"})
    (project / "with.json").write_text('{"mcpServers": {"lens": {"command": "true"}}}')
    folder = make_benchmark(project, CONFIG).relative_to(project)
    for attempt in sorted(folder.glob("attempts/*-*/*")):
        (attempt / "transcript.jsonl.gz").write_bytes(gzip.compress(b"x" * 5000))
    trees = {"own": {"git": "g", "revision": "r"}, "local": {"path": "repo"}, "other": {"git": "h"}}
    facts = {name: {"tree": f".cache/{name}", "source": source} for name, source in trees.items()}
    write_json(folder / "repositories.json", facts)
    write_json(folder.with_name("beside") / "repositories.json", {"other": facts["other"]})
    for name in trees:
        (project / ".cache" / name).mkdir(parents=True)
        (project / ".cache" / name / "a.py").write_text("a" * 2000)
    (place / f"{PREFIX}killed").mkdir()
    (place / f"{PREFIX}killed" / LOCK).touch()
    return folder


def test_it_lists_with_sizes_and_removes_nothing(bench: Path) -> None:
    before = sorted(Path().rglob("*"))
    said = run_here(main, "r").splitlines()
    assert sorted(Path().rglob("*")) == before
    could = {line.rpartition(": ")[0].split("MB  ")[1]: line for line in said if "could go" in line}
    assert could["transcripts of discarded attempts"].endswith(": 2")
    assert could["copies of repositories, fetched again when needed"].endswith(": 1")
    assert could["folders that killed runs left"].endswith(": 1")
    assert any(line.startswith("kept:") and line.endswith("attempts/") for line in said)
    assert said[-1] == "remove it: lensbench clean bench/r --yes"


def test_what_goes_changes_no_number_and_damages_nothing(bench: Path) -> None:
    results = (bench / "results.json").read_bytes()
    kept = list(bench.glob("attempts/*-*/*/transcript.jsonl.gz"))
    discarded = [path for path in kept if (path.parent / "discard.json").exists()]
    with private_folder() as living:
        said = run_here(main, "r", "--yes")
        assert Path(living).is_dir()
    assert "removed:" in said
    assert {path for path in kept if path.exists()} == {*kept} - {*discarded}
    assert len(discarded) == 2
    assert [path.name for path in sorted(Path(".cache").iterdir())] == ["local", "other"]
    assert not Path("../tmp", f"{PREFIX}killed").exists()
    assert FolderCheck(bench).damages == []
    rebuild(bench)
    assert (bench / "results.json").read_bytes() == results
    again = run_here(main, "r").splitlines()
    assert all(line.endswith(": 0") for line in again if "could go" in line)


def test_a_run_that_a_person_discarded_keeps_its_transcript_for_the_undo(bench: Path) -> None:
    entry = run_files(bench, RunId("one", "without"))
    entry.discard(Discard("by_hand", "the laptop slept", "person", "1"))
    run_here(main, "r", "--yes")
    assert entry.transcript.exists()


def test_a_folder_that_is_no_benchmark_is_refused(tmp_path: Path) -> None:
    assert "there is no such benchmark" in refusal(main, tmp_path / "nowhere")
