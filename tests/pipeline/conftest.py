"""Fixtures of the tests that run real Snakemake."""

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from small_benchmark import Project, living, make_project


@pytest.fixture
def project(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[Project]:
    """A project that was never started. Whatever a test leaves running is ended."""
    made = make_project(tmp_path / "a project's folder", tmp_path / "control")
    yield made
    codes = [start.poll() for start in made.starts]
    record_property(
        "scenario", [len(codes), made.asked + len(made.ledger()), *codes]
    )  # benchmarks/scenarios.py
    for pid, _ in living(str(made.control)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def impatient(project: Project) -> Project:
    """A project that pauses a second where others pause half a minute, when a service is overloaded or used up."""
    services = project.copy_program() / "scripts" / "lensbench" / "agents" / "services.py"
    services.write_text(services.read_text().replace("FIRST_S = 30.0", "FIRST_S = 1.0"))
    return project


@pytest.fixture(scope="session")
def finished_once(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Made once for all workers; each has a copy, of which its tests make copies."""
    made = Project(shared / "finished" / "a project's folder", shared / "finished" / "control")
    with (shared / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.control.exists():
            make_project(made.folder, made.control).start()
    return Project(tmp_path_factory.mktemp("finished"), made.control).take(made)


@pytest.fixture
def finished(finished_once: Project, project: Project) -> Project:
    """A benchmark whose runs are all there and count, in a folder that it was copied to with all its times."""
    return project.take(finished_once)
