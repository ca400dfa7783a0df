"""The wheel, installed in an environment of its own, in an empty folder, with an empty home."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
import yaml
from packaging.metadata import Metadata

from lensbench.core.system.trees import hash_tree
from lensbench_archive.code import code_hash
from small_benchmark import CHECKOUT

pytestmark = pytest.mark.xdist_group("installed")  # the environment is made once


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment's folder: the packages of this one, hard-linked, and lensbench from a wheel."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    venv.create(folder / "venv", with_pip=False)
    packages = folder / "venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    packages.rmdir()
    own = shutil.ignore_patterns("lensbench*", "_lensbench*")
    shutil.copytree(
        sysconfig.get_path("purelib"), packages, copy_function=_link, ignore=own, symlinks=True
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "venv" / "bin" / "python"),
        "install",
    ]
    subprocess.run(
        [*pip, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True
    )
    return folder / "venv"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def lensbench(
    installed: Path, folder: Path, *arguments: str, limit_s: int = 200
) -> subprocess.CompletedProcess[str]:
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(installed / "bin" / "lensbench"), *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit_s
    )


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def parts(installed: Path) -> list[str]:
    """The hashes of what the wheel brought."""
    (packages,) = installed.glob("lib/*/site-packages")
    return [hash_tree(str(packages / name)) for name in ("lensbench", "lensbench_workflow")]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_empty_folder_gets_the_demo_which_gives_what_the_checkout_gives_and_writes_here_only(
    installed: Path, empty: Path
) -> None:
    before = parts(installed)
    planned = lensbench(installed, empty, "run", "--cores", "2", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    runs = 2 * len(yaml.safe_load((CHECKOUT / "scenarios" / "demo.yaml").read_text())["tasks"])
    assert re.search(rf"^run +{runs}$", planned.stdout, re.MULTILINE)
    assert (empty / "config.yaml").read_bytes() == (CHECKOUT / "config.yaml").read_bytes()
    assert parts(installed) == before
    (empty / ".cache").symlink_to(CHECKOUT / ".cache")
    demo = ["run", "--cores", "2", "--only", "httpcore-chg-01"]
    ended = lensbench(installed, empty, *demo, limit_s=400)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert parts(installed) == before
    assert "Nothing to be done" in lensbench(installed, empty, *demo).stderr
    data = json.loads((empty / "bench" / "demo" / "results.json").read_text())
    assert {status for status, count in data["counts"].items() if count} == {
        "scored",
        "missing",
    }  # the other tasks
    with (empty / "bench" / "demo" / "pairs.csv").open() as file:
        gained = [
            (row["called"], float(row["delta"]) > 0)
            for row in csv.DictReader(file)
            if row["task"] == demo[-1]
        ]
    assert gained == [("yes", True)]  # as in test_ci.py


def test_what_the_wheel_brings_is_that_of_the_checkout_and_has_its_code_s_hash(
    installed: Path,
) -> None:
    wheel = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]
    command = ["git", "ls-files", "-z", "--", *wheel["force-include"]]
    listed = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    names = listed.rstrip("\0").split("\0")
    (beside,) = installed.glob("lib/*/site-packages/lensbench_workflow")
    assert len(names) > 100
    assert [
        name for name in names if (beside / name).read_bytes() != (CHECKOUT / name).read_bytes()
    ] == []
    command = [
        f"{installed}/bin/python",
        "-P",
        "-c",
        "from lensbench_archive.code import *; print(code_hash())",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.stdout.strip() == code_hash(CHECKOUT), said.stderr


def test_a_wheel_knows_its_commit_and_brings_the_pages_and_the_examples(
    installed: Path, empty: Path
) -> None:
    (about,) = installed.glob("lib/*/site-packages/lensbench-*.dist-info/METADATA")
    assert Metadata.from_email(about.read_bytes()).description
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    assert head.strip() in lensbench(installed, empty, "--version").stdout
    assert (
        lensbench(installed, empty, "docs", "gate").stdout
        == (CHECKOUT / "docs" / "gate.md").read_text() + "\n"
    )
    listed = lensbench(installed, empty, "docs").stdout
    shutil.copytree(re.search(r"cp -r (\S+/examples) \.", listed)[1], empty / "examples")  # type: ignore[index]
    ended = lensbench(
        installed,
        empty,
        "run",
        "--cores",
        "2",
        "--configfile",
        "examples/own-server/config.yaml",
        "-n",
    )
    assert ended.returncode == 0, ended.stderr


def test_an_sdist_is_small_and_has_what_is_needed(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert sdist.stat().st_size < 5_000_000
    with tarfile.open(sdist) as packed:
        names = {name.split("/", 1)[-1] for name in packed.getnames()}
        about = packed.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert about
        assert Metadata.from_email(about.read()).description  # as `twine check` reads it
    assert {
        "commit",
        "Snakefile",
        "docs/gate.md",
        "examples/README.md",
        "tests/conftest.py",
        "LICENSE",
    } <= names
