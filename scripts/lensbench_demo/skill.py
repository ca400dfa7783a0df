"""The /benchmark skill: runs benchmarks about the repository in the current folder, in the background."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.claim import at_work, refuse_if_at_work
from lensbench.core.system.places import ROOT
from lensbench.core.system.program import Parser, run_program
from lensbench.plan.config import RUN_ID
from lensbench.plan.reading import read_file
from lensbench.runs.start_gate import who_is_there
from lensbench.workflow.cells import with_settings
from lensbench.workflow.finish import print_headline
from lensbench.workflow.read_schedule import AUTO_RUN_ID, new_dated, newest_dated

_PAUSE_S = 0.1
OWN_CONFIG = Path("benchmark.yaml")
DEFAULT_CONFIG = ROOT / ".claude" / "skills" / "benchmark" / "benchmark.yaml"
CORES = "4"
TASKS_FILE = Path("bench") / "scenarios.yaml"
LOG = Path("logs") / "skill.log"
EARLY_S = 20
"""A start is watched this long: errors in config or servers appear then."""
LAST_LINES = 25
ACTIONS = {
    "run": "start the benchmark with that name, or continue it",
    "rerun": "run discarded and missing runs, and nothing else",
    "score": "rebuild everything after the runs; no agent is started",
    "status": "show the progress, and what was discarded",
    "report": "show the headline, and which file to open",
    "stop": "let running agents finish, and start no more",
}
STARTING = ("run", "rerun")


class Bench(NamedTuple):
    """A benchmark of the current folder."""

    config: Path
    scenarios: Path
    """The task set, or the first of several."""
    folder: Path

    @property
    def lacks_tasks(self) -> bool:
        """True when the skill has to write tasks first; a file that the user named must exist."""
        return self.scenarios == TASKS_FILE and not TASKS_FILE.exists()

    def run(self, options: Sequence[str]) -> list[str]:
        more = with_settings(options, [f"run_id={self.folder.name}"])
        return verb("run", "--configfile", str(self.config), "--cores", CORES, *more)


def start(bench: Bench, options: Sequence[str]) -> None:
    """Starts the benchmark in the background, after writing tasks if there are none."""
    refuse_if_at_work(bench.folder)
    if bench.lacks_tasks:
        write_tasks(bench, ())  # the options are for Snakemake
    log, until = bench.folder / LOG, time.monotonic() + EARLY_S
    gate = str(RunFolder(bench.folder).gate)
    follow(bench.run(options), log, lambda: bool(who_is_there(gate)) or time.monotonic() > until)
    if worker := at_work(bench.folder):
        print(
            f"{bench.folder} is running (process {worker.process}); it continues after this shell is closed"
        )
        print(f"log: {log}\nprogress: --status; results: --report; to stop it: --stop")


def write_tasks(bench: Bench, options: Sequence[str]) -> None:
    """Generates tasks into the config's file. Raises UserError when that exists."""
    if bench.scenarios.exists():
        raise UserError(f"{bench.scenarios} already exists; delete it to generate new tasks")
    where = ("--repo", ".", "--output", str(bench.scenarios), "--configfile", str(bench.config))
    follow(verb("generate", *where, *options), bench.scenarios.with_suffix(".log"))


def evaluate(bench: Bench, question: str, options: Sequence[str]) -> None:
    log = Path("bench") / "evals" / f"skill-{os.getpid()}.log"
    follow(verb("ask", "--configfile", str(bench.config), *options, "--", question), log)
    log.unlink()


def follow(
    command: Sequence[str], log: Path, is_enough: Callable[[], bool] = lambda: False
) -> None:
    """Starts a program that outlives this one and its terminal, and prints what it writes to `log` until it ends, or
    that is enough. Exits with its exit code, if that is not 0."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file, log.open(encoding="utf-8", errors="replace") as output:
        output.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        code = None
        while code is None and not is_enough():
            time.sleep(_PAUSE_S)
            code = process.poll()
            print(output.read(), end="", flush=True)
    if code:
        sys.exit(code)


def show_plan(bench: Bench, options: Sequence[str]) -> None:
    """Prints what would run, and why."""
    if bench.lacks_tasks:
        print(
            f"there is no {TASKS_FILE}: a start or --scenarios-only first generates tasks about this repository"
        )
    else:
        become([*bench.run(options), "-n"])


def score(folder: Path) -> None:
    """Rebuilds everything after the runs."""
    refuse_if_at_work(folder)
    become([sys.executable, "-P", "-m", "lensbench.workflow.render", "--folder", str(folder)])


def report(folder: Path) -> None:
    """Prints the headline. Raises UserError when there are no results."""
    if not RunFolder(folder).results_json.exists():
        raise UserError(f"{folder} has no results yet; --status shows its progress")
    print_headline(folder.absolute())


def show_status(folder: Path) -> None:
    """Prints the progress of the benchmark; after a failure, also the end of the log."""
    log = folder / LOG
    worker = at_work(folder)
    if not worker and not RunFolder(folder).results_json.exists() and log.exists():
        last = log.read_text(errors="replace", encoding="utf-8").splitlines()[-LAST_LINES:]
        print(f"the end of {log}:", *last, sep="\n")
    if RunFolder(folder).plan.exists():
        become(verb("status", str(folder)))
    work = f"process {worker.process} is preparing it" if worker else "nothing is running"
    print(f"{folder}: {work}; no run has started")


def stop(folder: Path) -> None:
    """Lets running agents finish and starts no more. Raises UserError when it runs elsewhere."""
    worker = at_work(folder)
    if not worker:
        print(f"{folder}: nothing is running")
        return
    if worker.host != socket.gethostname():
        raise UserError(f"{folder} is running on {worker.host}; stop it there")
    os.kill(worker.process, signal.SIGTERM)
    print(f"{folder}: running agents finish and are kept, no more are started; --rerun continues")


def verb(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "lensbench", name, *arguments]


def become(command: list[str]) -> NoReturn:
    sys.stdout.flush()
    os.execv(command[0], command)


def read_bench(run_id: str) -> Bench:
    """The benchmark with that name, or the config's when it is empty; the config is the current folder's own, that of
    lensbench's checkout, or the skill's. Raises UserError for an unusable name or config."""
    checkout = Path("config.yaml") if Path.cwd() == ROOT else DEFAULT_CONFIG
    file = OWN_CONFIG if OWN_CONFIG.exists() else checkout
    config = read_file(str(file))[1].value
    first = config.get("scenarios")
    if isinstance(first, list) and first:
        first = first[0]
    if not (isinstance(config.get("run_id"), str) and isinstance(first, str)):
        raise UserError(f"{file}: needs run_id and scenarios, both texts")
    run_id = run_id or config["run_id"]
    if run_id == AUTO_RUN_ID:
        run_id = newest_dated(Path("bench")) or new_dated(Path("bench"))
    if not re.fullmatch(RUN_ID, run_id):
        raise UserError(f"{run_id!r} names no benchmark; use letters, digits and '-' only")
    return Bench(file, Path(first), Path("bench") / run_id)


def main() -> None:
    """Run the benchmark of the config, or the action that an option names."""
    parser = Parser(
        prog="run.sh",
        allow_abbrev=False,
        description=__doc__,
        epilog="<run_id> defaults to the config's. Further options are passed to Snakemake, such as --cores 8.",
    )
    parser.add_argument("-n", dest="dry", action="store_true", help="only show what would run")
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "--eval", metavar="<prompt>", help="ask one question in every condition; no scores"
    )
    one.add_argument(
        "--scenarios-only", action="store_true", help="only write tasks about this repository"
    )
    for name, does in ACTIONS.items():
        one.add_argument(f"--{name}", metavar="<run_id>", nargs="?", const="", help=does)
    arguments, options = parser.parse_known_args()
    action = "run"
    run_id = ""
    for name in ACTIONS:
        if getattr(arguments, name) is not None:
            action = name
            run_id = getattr(arguments, name)
    if options and action not in STARTING:
        parser.error(f"unrecognized arguments: {' '.join(options)}")
    bench = read_bench(run_id)
    if arguments.eval is not None:
        evaluate(bench, arguments.eval, options)
    elif arguments.scenarios_only:
        write_tasks(bench, options)
    elif arguments.dry:
        show_plan(bench, options)
    elif action in STARTING:
        if action == "rerun" and not RunFolder(bench.folder).plan.exists():
            raise UserError(f"there is no benchmark in {bench.folder}; start it without --rerun")
        start(bench, options)
    else:
        {"score": score, "status": show_status, "report": report, "stop": stop}[action](
            bench.folder
        )


if __name__ == "__main__":
    run_program(main)
