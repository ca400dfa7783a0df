"""Servers that `npx` and `uvx` start: their packages are fetched once, by the real npm and uv, from files."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lensbench.core.frozen_plan import PlannedCondition
from lensbench.runs.server_packages import fetch_packages, read_launch
from services import Reply, answering

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-server" / "server.mjs"


@pytest.mark.parametrize(
    ("line", "packages", "program", "arguments"),
    [
        ("npx -y @acme/seek@1.2 --root .", ("@acme/seek@1.2",), "", ("--root", ".")),
        ("/opt/bin/npx --package=@acme/seek seek -y", ("@acme/seek",), "seek", ("-y",)),
        ("uvx seek@2 -v", ("seek@2",), "seek", ("-v",)),
        (
            "uvx --with extra --from git+https://x/seek seek-cli",
            ("--with", "extra", "git+https://x/seek"),
            "seek-cli",
            (),
        ),
        *(
            (line, None, "", ())
            for line in ("node npx seek", "npx", "npx -c seek", "uvx --from", "uvx --isolated seek")
        ),
    ],
)
def test_what_a_launcher_fetches(
    line: str, packages: object, program: str, arguments: tuple[str, ...]
) -> None:
    launch = read_launch(line.split())
    assert (launch and (launch.packages, launch.program)) == (packages and (packages, program))
    assert not launch or launch.words + arguments == tuple(line.split())


def npm_package(folder: Path) -> list[str]:
    (folder / "seek").mkdir()
    shutil.copy(EXAMPLE, folder / "seek" / "server.mjs")
    (folder / "seek" / "server.mjs").write_text(
        "#!/usr/bin/env node\n" + EXAMPLE.read_text(encoding="utf-8")
    )
    named = {
        "name": "@acme/seek",
        "version": "1.2.3",
        "bin": {"other": "x.mjs", "seek": "server.mjs"},
    }
    (folder / "seek" / "package.json").write_text(json.dumps(named))
    subprocess.run(
        ["npm", "pack", "./seek", "--silent"], cwd=folder, check=True, capture_output=True
    )
    return ["npx", "-y", f"{folder}/acme-seek-1.2.3.tgz"]


def python_package(folder: Path) -> list[str]:
    wheel = folder / "seek-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("seek.py", "def main():\n    print('seek')\n")
        file.writestr(
            "seek-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: seek\nVersion: 1.2.3\n"
        )
        file.writestr(
            "seek-1.2.3.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(
            "seek-1.2.3.dist-info/entry_points.txt", "[console_scripts]\nseek = seek:main\n"
        )
        file.writestr("seek-1.2.3.dist-info/RECORD", "")
    return ["uvx", "--from", str(wheel), "--python", sys.executable, "seek"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "package"), [("npm", npm_package), ("uv", python_package)], ids=["npx", "uvx"]
)
def test_a_package_is_fetched_once_and_its_program_takes_the_place_of_the_launcher(
    tool: str, package: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tool == "uv" and not shutil.which("uv"):
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--target",
            str(tmp_path / "uv"),
            "uv",
        ]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            pytest.skip("uv is not installed, and cannot be had")
        monkeypatch.setenv("PATH", f"{tmp_path}/uv/bin:{os.environ['PATH']}")
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    assert callable(package)
    command, *arguments = package(tmp_path)
    servers = {
        "seek": {"command": command, "args": [*arguments, "${workspace}"]},
        "api": {"url": "http://a"},
    }
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    conditions = {
        "with": PlannedCondition(
            mcp=str(tmp_path / "mcp.json"), mcp_sha256="", servers=("seek", "api")
        )
    }
    ((check, programs),) = fetch_packages(conditions, tmp_path / "cache")
    assert (check.name, check.outcome) == ("with: package", "ok"), check.detail
    assert "1.2.3" in check.detail
    (program,) = programs.values()
    assert Path(program).is_relative_to(tmp_path / "cache")
    started = subprocess.run(
        [program], input="", capture_output=True, text=True, check=True, timeout=60
    )
    assert started.stdout == ("seek\n" if tool == "uv" else "")
    monkeypatch.setenv("PATH", "/nowhere")
    assert list(fetch_packages(conditions, tmp_path / "cache")) == [(check, programs)], (
        "nothing is fetched again"
    )
    (other,) = fetch_packages(conditions, tmp_path / "other")
    assert f"there is no program {tool} here; install it" in other[0].detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "index", "said"),
    [
        (
            "npx -y @acme/sek ${workspace}",
            "npm_config_registry",
            "there is no package @acme/sek: correct",
        ),
        ("uvx sek ${workspace}", "UV_DEFAULT_INDEX", "there is no package sek: correct"),
    ],
    ids=["npx", "uvx"],
)
def test_a_misspelled_package_is_named_with_what_to_do(
    line: str, index: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = {"npx": "npm", "uvx": "uv"}[line.split()[0]]
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    command, *arguments = line.split()
    servers = {"seek": {"command": command, "args": arguments}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    conditions = {
        "with": PlannedCondition(mcp=str(tmp_path / "mcp.json"), mcp_sha256="", servers=("seek",))
    }
    with answering(lambda request: Reply(404)) as url:
        monkeypatch.setenv(index, url)
        ((check, programs),) = fetch_packages(conditions, tmp_path / "cache")
    assert (check.outcome, programs) == ("failed", {})
    assert said in check.detail
