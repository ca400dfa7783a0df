"""What the /benchmark skill does: benchmarks about the repository in the current folder, made in the background."""

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
"""A start is watched for so long: what is wrong with config, key or servers shows within this time."""
LAST_LINES = 25


class Bench(NamedTuple):
    """A benchmark of the current folder."""

    config: Path
    scenarios: Path
    """Its task set, or the first of several."""
    run_id: str
    options: Sequence[str]
    """Further ones of Snakemake's."""

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path("bench") / self.run_id

    @property
    def snakemake(self) -> list[str]:
        """The program that makes what is missing, and its arguments."""
        options, setting = list(self.options), f"run_id={self.run_id}"
        place = options.index("--config") + 1 if "--config" in options else 0
        options[place:place] = [setting] if place else ["--config", setting]
        return ["lensbench.workflow.launch", "--configfile", str(self.config), "--cores", CORES, *options]


def start(bench: Bench) -> None:
    """Starts Snakemake in the background, and first writes tasks if there are none.

    Raises UserError when it is at work already, or fails at once.
    """
    refuse_if_at_work(bench.folder)
    if lacks_tasks(bench):
        write_tasks(bench._replace(options=()))  # they are for Snakemake
    made = Detached(python(*bench.snakemake), bench.folder / LOG)
    until = time.monotonic() + EARLY_S
    code = made.wait(lambda: bool(who_is_there(str(RunFolder(bench.folder).gate))) or time.monotonic() > until)
    if code is None:
        print(f"{bench.folder} is being made (process {made.number}); it goes on when this shell is closed")
        print(f"log: {made.log}\nhow far it is: --status; the result: --report; to end it: --stop")
        return
    print(*made.said().splitlines()[-LAST_LINES:], sep="\n")
    if code:
        raise UserError(f"Snakemake ended with exit code {code}; the whole log: {made.log}")


def refuse_if_at_work(folder: Path) -> None:
    """Raises UserError when a Snakemake works on the run folder."""
    if worker := at_work(folder):
        raise UserError(
            f"{folder} is being made (process {worker.process} on {worker.host}, since {worker.since});"
            " --status shows how far it is, --stop ends it"
        )


def lacks_tasks(bench: Bench) -> bool:
    """True when there are no tasks where the skill writes them; a file that the user named must be there."""
    return bench.scenarios == TASKS and not TASKS.exists()


def write_tasks(bench: Bench) -> None:
    """Has tasks written about the current folder, into the file that the config names. Raises UserError."""
    if bench.scenarios.exists():
        raise UserError(f"{bench.scenarios} already exists; delete it to have other tasks written")
    config = read_config(bench.config)
    settings = writer(config, make_plan(config, ScenarioSet(()), []))
    command = ["lensbench.scenarios.generate", "--repo", ".", "--output", str(bench.scenarios), "--settings", settings]
    follow(python(*command, *bench.options), bench.scenarios.with_suffix(".log"))


def evaluate(bench: Bench, question: str) -> None:
    """Asks one question in every condition, and shows the answers."""
    os.environ["COLUMNS"] = str(shutil.get_terminal_size().columns)  # the program itself sees no terminal
    log = Path("bench") / "evals" / f"skill-{os.getpid()}.log"
    follow(python("lensbench.workflow.ask", "--configfile", str(bench.config), *bench.options, "--", question), log)
    log.unlink()


def follow(command: Sequence[str], log: Path) -> None:
    """Starts a program that survives this one, and shows what it says. Ends with its exit code unless that is 0."""
    if code := Detached(command, log).follow():
        sys.exit(code)


def show_status(bench: Bench) -> None:
    """Prints how far the benchmark is; before the first plan, and after a failure, what the log says."""
    log, worker = bench.folder / LOG, at_work(bench.folder)
    if not worker and not RunFolder(bench.folder).results_json.exists():
        print(f"{bench.folder}: there are no results, and nothing is running")
        if log.exists():
            print(f"the end of {log}:", *log.read_text(errors="replace").splitlines()[-LAST_LINES:], sep="\n")
    if RunFolder(bench.folder).plan.exists():
        become("lensbench.workflow.status", "--folder", str(bench.folder))
    elif worker:
        print(f"{bench.folder}: process {worker.process} is preparing it; no run has started")


def show_report(bench: Bench) -> NoReturn:
    """Prints the headline, and what to open. Raises UserError when there are no results."""
    if not RunFolder(bench.folder).results_json.exists():
        raise UserError(f"{bench.folder} has no results yet; --status shows how far it is")
    become("lensbench.workflow.finish", "--folder", str(bench.folder.absolute()))


def stop(bench: Bench) -> None:
    """Lets the agents that run finish, and starts no other. Raises UserError when another machine is at work."""
    worker = at_work(bench.folder)
    if not worker:
        print(f"{bench.folder}: nothing is running")
        return
    if worker.host != socket.gethostname():
        raise UserError(f"{bench.folder} is being made on {worker.host}; stop it there")
    os.kill(worker.process, signal.SIGTERM)
    print(f"{bench.folder}: agents that run finish and are kept, no other is started; --rerun goes on")


def rerun(bench: Bench) -> None:
    """Makes discarded and missing runs of a benchmark again. Raises UserError when there is no such benchmark."""
    if not RunFolder(bench.folder).plan.exists():
        raise UserError(f"there is no benchmark in {bench.folder}; start it without --rerun")
    start(bench)


def become(module: str, *arguments: str) -> NoReturn:
    """This process goes on as another program."""
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
    """The benchmark of that name; that of the config when it is empty. Raises UserError."""
    file = find_config()
    value = read_file(str(file))[1].value
    given = value if isinstance(value, dict) else {}
    first, *_ = given["scenarios"] if isinstance(given.get("scenarios"), list) else [given.get("scenarios")]
    if not (isinstance(given.get("run_id"), str) and isinstance(first, str)):
        raise UserError(f"{file}: needs run_id and scenarios, which are texts")
    run_id = run_id or given["run_id"]
    if run_id == AUTO:
        run_id = newest_dated(Path("bench")) or new_dated(Path("bench"))
    if not re.fullmatch(RUN_ID, run_id):
        raise UserError(f"{run_id!r} names no benchmark; use letters, digits and '-' only")
    return Bench(file, Path(first), run_id, options)


def parse() -> tuple[argparse.Namespace, list[str]]:
    """The arguments, and those that are for the program that is started."""
    parser = argparse.ArgumentParser(
        prog="run.sh", allow_abbrev=False, description=__doc__,
        epilog="<run_id> is that of the config when it is left out. Further options are Snakemake's: --cores 8.",
    )  # fmt: skip
    parser.add_argument("-n", dest="dry", action="store_true", help="only say what would run, and why")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--run", metavar="<run_id>", help="start the benchmark of that name, or go on with it")
    one.add_argument("--eval", metavar="<prompt>", help="one question in every condition, side by side; no scores")
    one.add_argument("--scenarios-only", action="store_true", help="only write tasks about this repository")
    for name, does in {
        "rerun": "make discarded and missing runs again, and nothing else",
        "score": "rebuild everything after the runs; no agent is started",
        "status": "how far it is, and what was discarded",
        "report": "the headline, and what to open",
        "stop": "let the agents that run finish, and start no other",
    }.items():
        one.add_argument(f"--{name}", metavar="<run_id>", nargs="?", const="", help=does)
    arguments, rest = parser.parse_known_args()
    if rest and {name for name in ("score", "status", "report", "stop") if getattr(arguments, name) is not None}:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments, rest


def main() -> None:
    """Does what the arguments say; without any, starts the benchmark of the config."""
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
        print(f"there is no {TASKS}: a start, or --scenarios-only, first writes tasks about this repository")
    elif given.dry:
        become(*bench.snakemake, "-n")
    elif given.rerun is not None:
        rerun(bench)
    else:
        start(bench)


if __name__ == "__main__":
    run_program(main)
