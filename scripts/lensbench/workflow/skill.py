"""The /benchmark skill: runs benchmarks about the repository in the current folder, in the background."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.claim import at_work
from lensbench.core.system.places import ROOT
from lensbench.core.system.program import run_program
from lensbench.plan.config import RUN_ID
from lensbench.plan.dated_runs import AUTO, new_dated, newest_dated
from lensbench.plan.freeze import make_plan
from lensbench.plan.reading import read_config, read_file
from lensbench.plan.task_files import ScenarioSet
from lensbench.runs.start_gate import who_is_there
from lensbench.workflow.background import Detached
from lensbench.workflow.targets import writer

OWN_CONFIG = Path("benchmark.yaml")
DEFAULT_CONFIG = ROOT / ".claude" / "skills" / "benchmark" / "benchmark.yaml"
CORES = "4"
TASKS = Path("bench") / "scenarios.yaml"
LOG = Path("logs") / "skill.log"
EARLY_S = 20
"""A start is watched this long: errors in config, key or servers appear within this time."""
LAST_LINES = 25


class Bench(NamedTuple):
    """A benchmark of the current folder."""

    config: Path
    scenarios: Path
    """The task set, or the first of several."""
    run_id: str
    options: Sequence[str]
    """Further options for Snakemake."""

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path("bench") / self.run_id

    @property
    def snakemake(self) -> list[str]:
        """The command that runs what is missing."""
        options, setting = list(self.options), f"run_id={self.run_id}"
        place = options.index("--config") + 1 if "--config" in options else 0
        options[place:place] = [setting] if place else ["--config", setting]
        return ["lensbench.workflow.launch", "--configfile", str(self.config), "--cores", CORES, *options]


def start(bench: Bench) -> None:
    """Starts Snakemake in the background, after writing tasks if there are none.

    Raises UserError when it is already running, or fails at once.
    """
    refuse_if_at_work(bench.folder)
    if lacks_tasks(bench):
        write_tasks(bench._replace(options=()))  # the options are for Snakemake
    made = Detached(python(*bench.snakemake), bench.folder / LOG)
    until = time.monotonic() + EARLY_S
    code = made.wait(lambda: bool(who_is_there(str(RunFolder(bench.folder).gate))) or time.monotonic() > until)
    if code is None:
        print(f"{bench.folder} is running (process {made.number}); it continues after this shell is closed")
        print(f"log: {made.log}\nprogress: --status; results: --report; to stop it: --stop")
        return
    print(*made.said().splitlines()[-LAST_LINES:], sep="\n")
    if code:
        raise UserError(f"Snakemake ended with exit code {code}; full log: {made.log}")


def refuse_if_at_work(folder: Path) -> None:
    """Raises UserError when Snakemake is running on the run folder."""
    if worker := at_work(folder):
        raise UserError(
            f"{folder} is already running (process {worker.process} on {worker.host}, since {worker.since});"
            " --status shows its progress, --stop stops it"
        )


def lacks_tasks(bench: Bench) -> bool:
    """True when the skill has to write tasks first; a file that the user named must exist."""
    return bench.scenarios == TASKS and not TASKS.exists()


def write_tasks(bench: Bench) -> None:
    """Generates tasks about the current folder into the config's file. Raises UserError when that file exists."""
    if bench.scenarios.exists():
        raise UserError(f"{bench.scenarios} already exists; delete it to generate new tasks")
    config = read_config(bench.config)
    settings = writer(config, make_plan(config, ScenarioSet(()), []))
    command = ["lensbench_tasks.generate", "--repo", ".", "--output", str(bench.scenarios), "--settings", settings]
    follow(python(*command, *bench.options), bench.scenarios.with_suffix(".log"))


def evaluate(bench: Bench, question: str) -> None:
    """Asks one question in every condition, and shows the answers."""
    os.environ["COLUMNS"] = str(shutil.get_terminal_size().columns)  # the program's output is not a terminal
    log = Path("bench") / "evals" / f"skill-{os.getpid()}.log"
    follow(python("lensbench.workflow.ask", "--configfile", str(bench.config), *bench.options, "--", question), log)
    log.unlink()


def follow(command: Sequence[str], log: Path) -> None:
    """Starts a program that outlives this one, and shows its output. Exits with its exit code unless that is 0."""
    if code := Detached(command, log).follow():
        sys.exit(code)


def show_status(bench: Bench) -> None:
    """Prints the progress of the benchmark; without a plan, or after a failure, also the end of the log."""
    log, worker = bench.folder / LOG, at_work(bench.folder)
    if not worker and not RunFolder(bench.folder).results_json.exists():
        print(f"{bench.folder}: there are no results, and nothing is running")
        if log.exists():
            print(
                f"the end of {log}:",
                *log.read_text(errors="replace", encoding="utf-8").splitlines()[-LAST_LINES:],
                sep="\n",
            )
    if RunFolder(bench.folder).plan.exists():
        become("lensbench.workflow.status", "--folder", str(bench.folder))
    elif worker:
        print(f"{bench.folder}: process {worker.process} is preparing it; no run has started")


def show_report(bench: Bench) -> NoReturn:
    """Prints the headline, and which file to open. Raises UserError when there are no results."""
    if not RunFolder(bench.folder).results_json.exists():
        raise UserError(f"{bench.folder} has no results yet; --status shows its progress")
    become("lensbench.workflow.finish", "--folder", str(bench.folder.absolute()))


def stop(bench: Bench) -> None:
    """Lets running agents finish and starts no more. Raises UserError when it runs on another machine."""
    worker = at_work(bench.folder)
    if not worker:
        print(f"{bench.folder}: nothing is running")
        return
    if worker.host != socket.gethostname():
        raise UserError(f"{bench.folder} is running on {worker.host}; stop it there")
    os.kill(worker.process, signal.SIGTERM)
    print(f"{bench.folder}: running agents finish and are kept, no more are started; --rerun continues")


def rerun(bench: Bench) -> None:
    """Runs the discarded and missing runs of a benchmark. Raises UserError when there is no such benchmark."""
    if not RunFolder(bench.folder).plan.exists():
        raise UserError(f"there is no benchmark in {bench.folder}; start it without --rerun")
    start(bench)


def become(module: str, *arguments: str) -> NoReturn:
    """Replaces this process with another program."""
    sys.stdout.flush()
    os.execv(sys.executable, python(module, *arguments))


def python(module: str, *arguments: str) -> list[str]:
    """The command that starts a program."""
    return [sys.executable, "-P", "-m", module, *arguments]


def find_config() -> Path:
    """The config of the current folder: its own, that of lensbench's checkout, or the skill's."""
    if OWN_CONFIG.exists():
        return OWN_CONFIG
    return Path("config.yaml") if Path.cwd() == ROOT else DEFAULT_CONFIG


def read_bench(run_id: str, options: Sequence[str]) -> Bench:
    """The benchmark with that name, or the config's when it is empty. Raises UserError for an unusable name or
    config."""
    file = find_config()
    value = read_file(str(file))[1].value
    given = value if isinstance(value, dict) else {}
    first, *_ = given["scenarios"] if isinstance(given.get("scenarios"), list) else [given.get("scenarios")]
    if not (isinstance(given.get("run_id"), str) and isinstance(first, str)):
        raise UserError(f"{file}: needs run_id and scenarios, both texts")
    run_id = run_id or given["run_id"]
    if run_id == AUTO:
        run_id = newest_dated(Path("bench")) or new_dated(Path("bench"))
    if not re.fullmatch(RUN_ID, run_id):
        raise UserError(f"{run_id!r} names no benchmark; use letters, digits and '-' only")
    return Bench(file, Path(first), run_id, options)


def parse() -> tuple[argparse.Namespace, list[str]]:
    """The parsed arguments, and the remaining ones for the started program."""
    parser = argparse.ArgumentParser(
        prog="run.sh", allow_abbrev=False, description=__doc__,
        epilog="<run_id> defaults to the config's. Further options are passed to Snakemake, such as --cores 8.",
    )  # fmt: skip
    parser.add_argument("-n", dest="dry", action="store_true", help="only show what would run, and why")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--run", metavar="<run_id>", help="start the benchmark with that name, or continue it")
    one.add_argument("--eval", metavar="<prompt>", help="ask one question in every condition, side by side; no scores")
    one.add_argument("--scenarios-only", action="store_true", help="only write tasks about this repository")
    for name, does in {
        "rerun": "run discarded and missing runs, and nothing else",
        "score": "rebuild everything after the runs; no agent is started",
        "status": "show the progress, and what was discarded",
        "report": "show the headline, and which file to open",
        "stop": "let running agents finish, and start no more",
    }.items():
        one.add_argument(f"--{name}", metavar="<run_id>", nargs="?", const="", help=does)
    arguments, rest = parser.parse_known_args()
    if rest and {name for name in ("score", "status", "report", "stop") if getattr(arguments, name) is not None}:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments, rest


def main() -> None:
    """Run the benchmark of the config, or the action that an option names."""
    given, options = parse()
    named = [given.run, given.rerun, given.score, given.status, given.report, given.stop]
    bench = read_bench(next(filter(None, named), ""), options)
    if given.eval is not None:
        evaluate(bench, given.eval)
    elif given.scenarios_only:
        write_tasks(bench)
    elif given.score is not None:
        refuse_if_at_work(bench.folder)
        become("lensbench.workflow.render", "--folder", str(bench.folder))
    elif given.status is not None:
        show_status(bench)
    elif given.report is not None:
        show_report(bench)
    elif given.stop is not None:
        stop(bench)
    elif given.dry and lacks_tasks(bench):
        print(f"there is no {TASKS}: a start or --scenarios-only first generates tasks about this repository")
    elif given.dry:
        become(*bench.snakemake, "-n")
    elif given.rerun is not None:
        rerun(bench)
    else:
        start(bench)


if __name__ == "__main__":
    run_program(main)
