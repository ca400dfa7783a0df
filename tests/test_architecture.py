"""The script of docs/architecture.md, which makes one pair without the workflow, does what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lensbench.core.system.places import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.mark.slow
def test_the_forty_lines_make_a_pair(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    here = tmp_path / "here"
    shop.mkdir()
    here.mkdir()
    (shop / "cart.py").write_text("class Cart:\n    def total(self):\n        return 0\n")
    for name, language in (("pair.py", "python"), ("tasks.yaml", "yaml"), ("mcp.json", "json")):
        (here / name).write_text(block(language), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-P", "pair.py"],
        cwd=here,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == block("text"), done.stderr
    assert len(block("python").splitlines()) <= 40


def test_the_packages_that_the_picture_names_are_there() -> None:
    from charts import STAGES

    rooms = {room for stage in STAGES for room in stage.room.split()}
    assert all((ROOT / "scripts" / "lensbench" / room).is_dir() for room in rooms)
    rules = "".join(file.read_text() for file in (ROOT / "rules").glob("*.smk"))
    named = {name for stage in STAGES for name in re.findall(r"\w+", stage.rule.split(" (")[0])}
    assert named <= set(re.findall(r"^rule (\w+):", rules, re.MULTILINE))
