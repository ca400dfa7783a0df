"""The `lensbench` command: every program by its name."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from lensbench import __version__
from lensbench.__main__ import overview, programs, stages
from lensbench.house import ROOT
from lensbench.run import copy_demo, needs_demo


def lensbench(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "lensbench", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_the_overview_has_a_line_for_every_program_and_the_stages_in_their_order() -> None:
    lines = overview().splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(listed) == sorted(programs())
    assert all(len(line.split()) > 3 for line in lines if line.startswith("  "))
    order = stages()
    assert order.index("plan") < order.index("runs") < order.index("validity") < order.index("results")
    assert {"run", "planning", "comparing"}.isdisjoint(order)


def test_every_program_that_is_listed_can_be_started() -> None:
    assert set(stages()) <= set(programs())
    assert {"drafting", "lens"} <= set(programs())
    assert {"errors", "house", "files"}.isdisjoint(programs())


def test_a_program_gets_its_arguments_and_gives_its_exit_code(tmp_path: Path) -> None:
    shown = lensbench("validity", "--help")
    assert shown.returncode == 0
    assert "--folder" in shown.stdout
    failed = lensbench("results", "--folder", "nowhere", folder=tmp_path)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: ")
    assert "nowhere" in failed.stderr


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    wrong = lensbench("validty")
    assert wrong.returncode == 1
    assert wrong.stderr == "error: there is no program 'validty'; did you mean validity?\n"
    assert lensbench("xyzzy").stderr == "error: there is no program 'xyzzy'; lensbench --help lists them\n"


def test_nothing_but_help_is_help() -> None:
    assert lensbench().stdout == lensbench("--help").stdout == f"{overview()}\n"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--cores", "2"], True),
        ([], True),
        (["--configfile", "mine.yaml"], False),
        (["--configfile=mine.yaml"], False),
        (["--directory", "elsewhere"], False),
        (["--help"], False),
    ],
)
def test_the_demo_is_copied_only_where_no_config_is_there_or_named(
    tmp_path: Path, options: list[str], wanted: bool
) -> None:
    assert needs_demo(tmp_path, options) == wanted
    (tmp_path / "config.yaml").touch()
    assert not needs_demo(tmp_path, options)


def test_copying_the_demo_leaves_what_is_there(tmp_path: Path) -> None:
    mine = tmp_path / "scenarios" / "demo.yaml"
    mine.parent.mkdir()
    mine.write_text("mine")
    copy_demo(tmp_path)
    assert mine.read_text() == "mine"
    for name in ("config.yaml", "scenarios/standard.yaml", ".claude/skills/benchmark/lens-mcp.json"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == project["version"] == __version__
    assert citation["license"] == project["license"] == "MIT"


def test_what_the_user_has_no_right_to_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()  # that it may not be started is so for root, too
    code = (
        "import subprocess; from lensbench.program import run_program; run_program(lambda: subprocess.run(['./plain']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ./plain: Permission denied; mend that, then start again")
