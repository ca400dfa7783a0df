"""What stages load: most of what a stage after the runs costs is its imports."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benches import Shape, make_bench

HEAVY = {
    "scipy",
    "numpy",
    "pandas",
    "snakemake",
    "mcp",
    "pydantic",
    "yaml",
    "jinja2",
    "markdown_it",
    "nh3",
    "cryptography",
}
CODE = """
import runpy, sys
module, sys.argv[1:] = sys.argv[1], sys.argv[2:]
runpy.run_module(f"lensbench.{module}", run_name="__main__")
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = Shape(4, judges=("mechanical",))
    folder = make_bench(tmp_path_factory.mktemp("bench") / "bench", shape)
    (folder / "repositories.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("stage", "needs"),
    [
        ("runs.validity", set()),
        ("results.citations", set()),
        ("judging.verdicts", {"pydantic", "yaml"}),  # the tasks
        ("judging.decisions", set()),
        ("judging.reliability", {"numpy", "pydantic", "yaml"}),
        ("scores.estimates", {"numpy", "pydantic"}),
        ("results.results", {"jinja2", "markdown_it", "nh3", "pydantic", "yaml"}),
    ],
)
def test_a_stage_loads_only_what_it_needs(
    bench: Path, tmp_path: Path, stage: str, needs: set[str]
) -> None:
    own = shutil.copytree(bench, tmp_path / "bench")
    done = subprocess.run(
        [sys.executable, "-c", CODE, stage, "--folder", own], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert loaded & HEAVY == needs
    assert {"lensbench.plan.config", "lensbench.agents.sandbox"}.isdisjoint(loaded)
