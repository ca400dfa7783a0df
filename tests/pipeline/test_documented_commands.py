"""Every command that README.md and docs/ show: run here as it stands there, or run elsewhere and at least read here."""

import argparse
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from snakemake.cli import parse_args, parse_config

from documented import Documented, documented, read_keys
from lensbench.__main__ import module_of
from lensbench.core.errors import UserError
from lensbench.core.system import program
from lensbench.workflow.launch import matrix_of
from small_benchmark import CHECKOUT, make_project

RUN_HERE = (
    "snakemake -n",
    "snakemake --cores 8",
    "lensbench judge",
    "lensbench docs gate",
    "snakemake --report report.zip",
    "lensbench --version",
    "python -m lensbench.runs.validity --help",
    "lensbench status bench/demo",
    "lensbench fsck bench/demo",
    "lensbench clean bench/demo",
    "lensbench doctor",
)
"""In a project with a finished benchmark, in this order; what they name is there."""

ELSEWHERE = (
    (r"make test-(rest|all)$", "the tests"),
    (r"make (run|dev|test|lint|selftest|agents|docs)$", ".ci/run"),
    (
        r"make (slurm|image|soak|fuzz|lock|bench-peers|newest|agents-newest)\b",
        "takes minutes, or a cluster",
    ),
    (r"make new\b|lensbench init\b", "test_starting.py, test_five_minutes.py"),
    (r"snakemake .*\bjudge_sheet$", "above, with other cores"),
    (r"lensbench ask", "test_evaluating.py"),
    (r"lensbench (archive|verify)", "test_archiving.py, test_verifying.py"),
    (r"lensbench (selftest|docs)", "test_selftest.py, test_command.py"),
    (r"snakemake .*\bfail_on=|lensbench run .*\bfail_on=", "test_ci.py"),
    (r"snakemake .*profiles/(slurm|cluster)", "test_clusters.py, test_slurm.py"),
    (r"snakemake .*--report ", "above, with the demo's name"),
    (
        r"snakemake (--cores (\d+|N) ?)?(--verbose|--configfile mine.yaml.*|--config (run_id|scenarios|notes)=.*)?$",
        "test_repeating.py",
    ),
    (r"lensbench discard", "test_discarding.py"),
    (r"lensbench tee", "test_tee.py"),
    (r"lensbench agent-check", "test_agent_check.py"),
    (r"lensbench check", "test_check.py"),
    (r"lensbench try", "test_try_answer.py"),
    (r"lensbench (run|size|<verb>|status$)", "test_installed.py, test_planning.py"),
    (
        r"lensbench (compare|size|import|prove|draft|fsck|generate)",
        "test_comparing.py and the others of these names",
    ),
    (
        r"lensbench (claim|clean|table|verdict)",
        "test_claim.py, test_clean_folder.py, test_table.py, test_verdict_on_scores.py",
    ),
    (r"python (benchmarks/|-m pytest)", "takes minutes"),
    (
        r"(docker|podman|npm|echo|grep|pip|pipx|uv|apt-get|ssh-keygen|unzip|cd|mkdir|ln|mv|tar|export|python3|kill|tools/slurm.sh)\b",
        "not a program of ours",
    ),
)
"""Commands that are not run here, and why, or who runs them."""

COMMANDS = list(documented())
ONCE = list({shown.command: shown for shown in COMMANDS}.values())
ANSWERS_WITHOUT_CORES = {"--unlock", "--report", "--workflow-profile", "-n"}


def ours(command: str) -> str:
    """The command without the folder of its program."""
    return re.sub(r"^\.venv\S*/bin/", "", command)


def test_every_command_is_run_here_or_has_a_reason() -> None:
    assert len(COMMANDS) > 80
    known = [*(f"{re.escape(one)}$" for one in RUN_HERE), *(pattern for pattern, _ in ELSEWHERE)]
    unknown = [
        f"{at}: {one}"
        for at, one in COMMANDS
        if not any(re.match(pattern, ours(one)) for pattern in known)
    ]
    assert not unknown, "run them here, or say in ELSEWHERE why not:\n" + "\n".join(unknown)


def test_what_is_run_here_is_what_the_documents_show() -> None:
    shown = {ours(command) for _, command in COMMANDS}
    assert set(RUN_HERE) <= shown
    named = {name for _, reason in ELSEWHERE for name in re.findall(r"test_\w+\.py", reason)}
    assert named <= {file.name for file in (CHECKOUT / "tests").rglob("test_*.py")}
    stale = [
        pattern
        for pattern, _ in ELSEWHERE
        if not any(re.match(pattern, command) for command in shown)
    ]
    assert not stale


@pytest.mark.parametrize("shown", ONCE, ids=[place for place, _ in ONCE])
def test_a_command_has_options_keys_and_targets_that_exist(
    shown: Documented, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    command = (
        re.sub(r"\[(.+)\]$", r"\1", ours(shown.command))
        .replace("--cores N", "--cores 2")
        .replace(" ...", "")
    )
    match shlex.split(command):
        case ["snakemake", *arguments] | ["lensbench", "run", *arguments]:
            _, options = matrix_of(arguments)
            _read_by_snakemake(command.split()[0], options)
        case ["python", "-m", name, *arguments] if name.startswith("lensbench"):
            _read_by_program(name, arguments, monkeypatch)
        case ["lensbench", name] if not name.startswith(("<", "-")):  # named in a sentence
            assert module_of(name)
        case ["lensbench", name, *arguments] if not name.startswith(("<", "-")):
            _read_by_program(module_of(name), arguments, monkeypatch)
        case ["python", script, *arguments] if script.startswith("benchmarks/"):
            monkeypatch.syspath_prepend(CHECKOUT / "benchmarks")
            _read_by_program(Path(script).stem, arguments, monkeypatch)
        case ["make", target, *_]:
            assert re.search(rf"^{target}:", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)


def _read_by_snakemake(command: str, arguments: list[str]) -> None:
    if "profiles/slurm" in arguments:  # its executor is installed in another environment
        return
    _, options = parse_args(arguments)
    read_keys(parse_config(options.config) if options.config else {})
    rules = re.findall(
        r"^rule (\w+):",
        "".join(one.read_text() for one in CHECKOUT.glob("rules/*.smk")),
        re.MULTILINE,
    )
    assert set(options.targets) <= {*rules, "all"}
    assert (
        command == "lensbench"
        or "--cores" in arguments
        or not arguments
        or ANSWERS_WITHOUT_CORES & set(arguments)
    ), "Snakemake asks for --cores"


class Read(Exception):
    """The program's parser has accepted its arguments."""


def _read_by_program(name: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the program's own parser read the arguments, and stops the program there."""
    if "--help" in arguments:
        return

    def stopping(parse: Callable[..., object]) -> Callable[..., object]:
        def read(*given: object, **options: object) -> object:
            parse(*given, **options)
            raise Read

        return read

    for parse in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(
            argparse.ArgumentParser, parse, stopping(getattr(argparse.ArgumentParser, parse))
        )
    monkeypatch.setattr(program, "run_program", lambda main: main())
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    with pytest.raises(Read):
        runpy.run_module(name, run_name="__main__")


@pytest.mark.parametrize(
    "planted",
    [
        "lensbench size --sd 20 --efect 10",
        "lensbench compair a b",
        "lensbench run --nosuch",
        "make runn",
        "lensbench run --config fail_onn=HARM",
        "lensbench run --config 'gate={lookss: 3}'",
        "python benchmarks/null_runs.py --kep x",
        "snakemake --cores 2 judge_shet",
    ],
)
def test_a_planted_mistake_in_a_command_is_found(
    planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises((AssertionError, SystemExit, UserError)):
        test_a_command_has_options_keys_and_targets_that_exist(Documented("", planted), monkeypatch)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A project with a finished benchmark, and an environment in which its commands start our programs."""
    base = tmp_path_factory.mktemp("documented")
    made = make_project(base / "project", base / "control")
    made.configure(run_id="demo", discards={"max_rounds": 0})
    made.start()
    start = f'#!/bin/sh\nexec "{sys.executable}" '
    (base / "bin").mkdir()
    for name, words in (
        ("python", ""),
        ("lensbench", "-P -m lensbench "),
        ("snakemake", "-P -m lensbench run "),
    ):
        (base / "bin" / name).write_text(f'{start}{words}"$@"\n')
        (base / "bin" / name).chmod(0o755)
    path = f"{base / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {
        "PYTHONPATH": str(CHECKOUT / "scripts"),
        "FAKE_SECRET": "none",
        "FAKE_CONTROL": str(made.control),
    }
    return made.folder, {**os.environ, "PATH": path, **own}


@pytest.mark.parametrize("command", RUN_HERE)
def test_a_command_does_what_it_says(command: str, demo: tuple[Path, dict[str, str]]) -> None:
    folder, environment = demo
    ended = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
