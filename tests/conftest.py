"""Shared fixtures: an empty project to work in, run folders that are built by hand, and a browser.

What tests import stands in `support/`: a `conftest` in another folder would hide this one.
"""

import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from chromium import chromium, page  # noqa: F401 (fixtures)
from groups import pytest_runtest_logreport  # noqa: F401 (a hook)
from handmade import Bench
from skipped import pytest_addoption, pytest_configure  # noqa: F401 (hooks)

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # a busy machine makes no test fail
# Many containers set it. Each of the many processes that tests start would then compile all its modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that runs this in the background (`&`, `nohup`) ignores Control-C for all that is started here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SCENARIOS = """\
tasks:
  - id: one
    category: Debug
    repository: {path: repo}
    prompt: Where is it?
    criteria:
      - {text: names the file, all_of: a.py}
      - {text: names the line}
"""


@pytest.fixture
def ripgrep(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for ripgrep on PATH, which opencode's adapter asks for and no unit test starts."""
    program = tmp_path_factory.mktemp("ripgrep") / "rg"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with a repository, a task set, and an MCP file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x = 1\n")
    (tmp_path / "set.yaml").write_text(SCENARIOS)
    (tmp_path / "lens.json").write_text('{"mcpServers": {"lens": {"command": "lens"}}}')
    return tmp_path


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def environments(shared: Path) -> Path:
    """A cache of environments: what several tests install is installed once."""
    (shared / "environments").mkdir(exist_ok=True)
    return shared / "environments"


@pytest.fixture
def given() -> dict[str, Any]:
    """A config as passed by Snakemake, valid in `project`."""
    return {
        "run_id": "r",
        "scenarios": "set.yaml",
        "conditions": {"without": {}, "with": {"mcp": "lens.json"}},
    }


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    """Makes run folders."""

    def make(**settings: Any) -> Bench:
        return Bench(tmp_path / "bench" / "r", **settings)

    return make


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Half as many workers again as cores, because a third of the time tests wait for processes; those of `make
    test-rest` wait two thirds of it."""
    is_rest = config.option.markexpr.startswith("not (job")
    workers_each = 2.5 if is_rest else 1.5
    return math.ceil(workers_each * (os.cpu_count() or 1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by what they start, and keeps on one worker those that share what is made once in a module, and those
    in a browser, which blocks event loops. The longest come first, so that no worker ends with one of them alone."""
    for item in items:
        has_group = item.get_closest_marker("xdist_group")
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            if not has_group:
                item.add_marker(pytest.mark.xdist_group("browser"))
        elif isinstance(item, pytest.Function) and not has_group:
            fixtures = item._fixtureinfo.name2fixturedefs.values()
            if any(each[-1].scope == "module" for each in fixtures):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))
        if item.path.parent.name == "pipeline":
            item.add_marker(pytest.mark.workflow)
        if "_live" in item.path.stem:
            item.add_marker(pytest.mark.live)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=longest_first)


def longest_first(item: pytest.Item) -> float:
    """A key to sort by: what is given more time than others needs more."""
    limit = item.get_closest_marker("timeout")
    return -float(limit.args[0]) if limit else 0.0
