"""Every command that README.md and docs/ show: run here as it stands there, or run elsewhere and at least read here."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.cli import parse_args, parse_config

from documented import Documented, documented
from lensbench.__main__ import module_of
from lensbench.plan.config import Config
from small_benchmark import CHECKOUT, make_project

RUN_HERE = (
    "snakemake -n",
    "snakemake --cores 8",
    "snakemake --cores 1 judge_sheet",
    "snakemake --report report.zip",
    "lensbench --help",
    "python -m lensbench.runs.validity --help",
    "lensbench status bench/demo",
    "lensbench fsck bench/demo",
    "lensbench doctor",
)
"""In a project with a finished benchmark, in this order; what they name is there."""

ELSEWHERE = (
    (r"make test-quick$", "a part of make test"),
    (r"make (run|dev|test|lint|selftest|agents|docs)$", ".ci/run"),
    (r"make (slurm|soak|fuzz|lock|bench-peers|newest)\b", "takes minutes, or a cluster"),
    (r"make new\b|lensbench init\b", "test_starting.py, test_five_minutes.py"),
    (r"snakemake .*\bjudge_sheet$", "above, with other cores"),
    (r"snakemake .*\bscenarios\b.*\brepo=", "test_scenarios.py"),
    (r"snakemake .*\beval\b|lensbench ask", "test_evaluating.py"),
    (r"snakemake .*\barchive\b|lensbench verify", "test_archiving.py, test_verifying.py"),
    (r"snakemake .*--snakefile <lensbench>", "test_archiving.py"),
    (r"snakemake .*\bfail_on=|lensbench run .*\bfail_on=", "test_ci.py"),
    (r"snakemake .*profiles/(slurm|cluster)", "test_clusters.py, test_slurm.py"),
    (r"snakemake .*--report ", "above, with the demo's name"),
    (r"snakemake (--cores (\d+|N) ?)?(--verbose|--configfile mine.yaml.*|--config (run_id|scenarios|notes)=.*)?$", "test_repeating.py"),
    (r"snakemake scenarios|snakemake --cores 2 scenarios$", "a name"),
    (r"lensbench discard", "test_discarding_by_hand.py"),
    (r"lensbench view", "test_view.py"),
    (r"lensbench check", "test_check.py"),
    (r"lensbench try", "test_try_answer.py"),
    (r"lensbench (run|schemas|size|<verb>|status$)", "test_installed.py, test_schemas.py, test_planning.py"),
    (r"lensbench (compare|size|import|prove|draft|fsck|generate)|python -m lensbench.scores.estimates", "test_comparing.py and the others of these names"),
    (r"python (benchmarks/|-m pytest)", "takes minutes"),
    (r"(docker|pip|apt-get|npm|ssh-keygen|unzip|cd|mkdir|ln|kill|tools/slurm.sh)\b", "not a program of ours"),
)  # fmt: skip
"""Commands that are not run here, and why, or who runs them."""

COMMANDS = list(documented())
ANSWERS_WITHOUT_CORES = {"--unlock", "--report", "--workflow-profile", "-n"}


def ours(command: str) -> str:
    """The command without the folder of its program."""
    return re.sub(r"^\.venv\S*/bin/", "", command)


def test_every_command_is_run_here_or_has_a_reason() -> None:
    assert len(COMMANDS) > 80
    unknown = [
        f"{place}: {command}"
        for place, command in COMMANDS
        if ours(command) not in RUN_HERE and not any(re.match(pattern, ours(command)) for pattern, _ in ELSEWHERE)
    ]
    assert not unknown, "run them here, or say in ELSEWHERE why not:\n" + "\n".join(unknown)


def test_what_is_run_here_is_what_the_documents_show() -> None:
    shown = {ours(command) for _, command in COMMANDS}
    assert set(RUN_HERE) <= shown
    named = {name for _, reason in ELSEWHERE for name in re.findall(r"test_\w+\.py", reason)}
    assert named <= {file.name for file in (CHECKOUT / "tests").rglob("test_*.py")}
    stale = [pattern for pattern, _ in ELSEWHERE if not any(re.match(pattern, command) for command in shown)]
    assert not stale


@pytest.mark.parametrize("shown", COMMANDS, ids=[place for place, _ in COMMANDS])
def test_a_command_has_options_keys_and_targets_that_are_there(
    shown: Documented, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    command = re.sub(r"\[(.+)\]$", r"\1", ours(shown.command)).replace("--cores N", "--cores 2").replace(" ...", "")
    match shlex.split(command):
        case ["snakemake", *arguments] | ["lensbench", "run", *arguments]:
            _read_by_snakemake(command.split()[0], arguments)
        case ["python", "-m", name, *arguments] if name.startswith("lensbench"):
            _read_by_program(name, arguments)
        case ["lensbench", name, *arguments] if not name.startswith(("<", "-")):
            _read_by_program(module_of(name), arguments)
        case ["python", script, *_] if script.startswith("benchmarks/"):
            assert (CHECKOUT / script).is_file()
        case ["make", target, *_]:
            assert re.search(rf"^{target}:", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)


def _read_by_snakemake(command: str, arguments: list[str]) -> None:
    if "profiles/slurm" in arguments:  # its executor is installed in another environment
        return
    _, options = parse_args(arguments)
    given = parse_config(options.config) if options.config else {}
    assert set(given) <= set(Config.model_fields)
    rules = re.findall(
        r"^rule (\w+):", "".join(file.read_text() for file in CHECKOUT.glob("rules/*.smk")), re.MULTILINE
    )
    assert set(options.targets) <= {*rules, "all"}
    assert (
        command == "lensbench" or "--cores" in arguments or not arguments or ANSWERS_WITHOUT_CORES & set(arguments)
    ), "Snakemake asks for --cores"


def _read_by_program(name: str, arguments: list[str]) -> None:
    source = inspect.getsource(importlib.import_module(name))
    if '__name__ == "__main__"' not in source:
        source = inspect.getsource(importlib.import_module(f"{name}.__main__"))
    for flag in (word for word in arguments if word.startswith("--") and word != "--help"):
        assert f'"{flag}"' in source or (flag == "--folder" and re.search("run_stage|run_verb", source)), (
            f"{name} has no {flag}"
        )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A project with a finished benchmark, and an environment in which its commands start our programs."""
    base = tmp_path_factory.mktemp("documented")
    made = make_project(base / "project", base / "control")
    made.configure(run_id="demo", discards={"max_rounds": 0})
    made.start()
    start = f'#!/bin/sh\nexec "{sys.executable}" '
    shims = {
        "python": start + '"$@"\n',
        "lensbench": start + '-P -m lensbench "$@"\n',
        "snakemake": start + '-P -m lensbench run "$@"\n',
    }
    (base / "bin").mkdir()
    for name, text in shims.items():
        (base / "bin" / name).write_text(text)
        (base / "bin" / name).chmod(0o755)
    path = f"{base / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return made.folder, {**os.environ, "PATH": path, "PYTHONPATH": str(CHECKOUT / "scripts"), "FAKE_SECRET": "none"} | {
        "FAKE_CONTROL": str(made.control)
    }


@pytest.mark.parametrize("command", RUN_HERE)
def test_a_command_does_what_it_says(command: str, demo: tuple[Path, dict[str, str]]) -> None:
    folder, environment = demo
    ended = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
