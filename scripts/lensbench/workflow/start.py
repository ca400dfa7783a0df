"""The steps before Snakemake's first rule and after its last one, called from the Snakefile.

A user's mistake ends the start with a one-line message, without Snakemake's traceback.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from types import FrameType
from typing import Any

import psutil
from snakemake.exceptions import WorkflowError

from lensbench.core.errors import CheckFailed, UserError, printable
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import withdraw
from lensbench.core.system.files import keep_from_others
from lensbench.core.system.processes import WORKFLOW
from lensbench.core.system.program import end, use_utf8
from lensbench.plan.reading import read_file
from lensbench.plan.task_files import read_scenarios
from lensbench.runs import stopping
from lensbench.workflow import begin, snakemake_inside
from lensbench.workflow.read_schedule import frozen_schedule, read_schedule
from lensbench.workflow.schedule import Schedule
from snakemake_logger_plugin_lensbench import catch_up, says_when_nothing_is_to_be_done

PYTHON = f"{shlex.quote(sys.executable)} -P -m"
"""How rules start our programs. Use it with `exec`, so that a program ends with the Snakemake that started it."""
ANY_TASK = r"[a-z0-9][a-z0-9-]*"


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        end(str(error), error.exit_code)


def reads_config(workflow: Any, module: str | None, name: str) -> bool:
    """True where the Snakefile has to name its config: nobody gave another one. It is there, or the start ends."""
    if not workflow.is_main_process or workflow.configfiles or module:
        return False
    with _one_line():
        read_file(name)  # Snakemake's own message names neither line nor remedy
    return True


def read_start(workflow: Any, module: str | None, config: Mapping[str, Any]) -> Schedule:
    """The schedule of this start, or in a job on another machine that of the start that sent it. The run folder is
    claimed and fixed, and what Snakemake does otherwise is set."""
    keep_from_others()
    use_utf8()
    is_dry = workflow.output_settings.dryrun
    settings = f"LENSBENCH_SETTINGS_{module or ''}"  # for the jobs on other machines
    with _one_line():
        if workflow.is_main_process:
            schedule = read_schedule(
                config, workflow.configfiles, partial(begin.begin, is_dry=is_dry)
            )
            begin.follow_store(schedule, is_dry)
        else:
            schedule = frozen_schedule(os.environ.get(settings))
    says_when_nothing_is_to_be_done(schedule.folder)
    os.environ[settings] = schedule.config.model_dump_json(exclude_defaults=True)
    os.environ[WORKFLOW] = str(os.getpid())
    snakemake_inside.add_resources(workflow, schedule.resources)
    return schedule


def runs_at_once(workflow: Any) -> int:
    """How many runs may run together: all, in a job on another machine, and on a cluster without a limit of cores."""
    with suppress(WorkflowError):
        return int(workflow.cores) if workflow.is_main_process else sys.maxsize
    return sys.maxsize


def before_jobs(workflow: Any, schedule: Schedule) -> None:
    """Runs the preflight before the first run costs money."""
    ends_without_waiting(signal.SIGTERM)
    snakemake_inside.lift_rate_limit(workflow)
    stopping.clear(schedule.folder)
    RunFolder(schedule.folder).refused.unlink(missing_ok=True)
    catch_up()
    if schedule.starts_agents:
        from lensbench.judging.readers import check_readers  # most starts run no agent

        config = schedule.config
        with _one_line():
            tasks = read_scenarios(config.scenario_files, config.repository, config.imported).tasks
            if readers := check_readers(config, tasks):
                print(printable(f"judges: {readers}"), flush=True)
        preflight = (
            "lensbench.runs.preflight",
            "--settings",
            schedule.settings,
            "--folder",
            str(schedule.folder),
        )
        try:
            code = _start(*preflight)
        except KeyboardInterrupt:
            code = 128 + signal.SIGINT
        if code:
            sys.exit(code if code > 0 else 128 - code)  # the error is already on the terminal
        _note_interruption()


def ends_without_waiting(number: signal.Signals) -> None:
    """Calls a signal's handler in a thread: Snakemake's waits for a lock, for ever if it interrupts the holder. It lets
    the runs in flight finish, which are paid for; the other stages end."""
    handler = signal.getsignal(number)
    if not callable(handler):
        return

    def stop(*given: object) -> None:
        _ENDED.set()
        Thread(target=handler, args=given).start()
        Thread(target=_end_stages).start()

    signal.signal(number, stop)


_ENDED = Event()
"""Set when somebody asks this start to end."""
_STAGE = re.compile(r" -m lensbench\.(?!runs\.run )")
RENDER_S = 10.0
"""For the results of what is finished, in a start that was asked to end."""


def _end_stages() -> None:
    for process in psutil.Process().children():
        with suppress(psutil.Error):
            if _STAGE.search(" ".join(process.cmdline())):
                process.terminate()


def after_jobs(schedule: Schedule, has_failed: bool = False) -> None:
    """Takes back the answers of discarded runs, which Snakemake would miss before now, and prints the results; after a
    failure those of the finished runs, and why `fail_on` ended the start."""
    catch_up()
    withdraw(schedule.folder, schedule.runs, schedule.max_rounds)
    folder = RunFolder(schedule.folder)
    is_refused = folder.refused.exists()
    is_partial = has_failed and not is_refused
    if (folder.plan if is_partial else folder.results_json).exists():
        _start(
            f"lensbench.workflow.{'render' if is_partial else 'finish'}",
            "--folder",
            str(schedule.folder),
        )
    if is_refused:
        print("error:", folder.refused.read_text(encoding="utf-8").strip(), file=sys.stderr)
    if _INTERRUPTIONS:
        sys.exit(128 + _INTERRUPTIONS[0])
    if has_failed:  # Snakemake's own code is 1 for everything
        sys.exit(CheckFailed.exit_code if is_refused else UserError.exit_code)


_INTERRUPTIONS: list[int] = []
"""The signals with which somebody interrupted this start."""


def _note_interruption() -> None:
    """Keeps Control-C for the exit code; Snakemake goes on to handle it."""
    handler = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        _INTERRUPTIONS.append(number)
        if callable(handler):
            handler(number, frame)

    if callable(handler):
        signal.signal(signal.SIGINT, note)


def _start(*program: str) -> int:
    """Runs one of our programs; a signal that ends this start ends the program as well, and after it the program gets
    RENDER_S."""
    process = subprocess.Popen([sys.executable, "-P", "-m", *program])
    former = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        process.terminate()
        if callable(former):
            former(number, frame)

    signal.signal(signal.SIGTERM, end)
    try:
        return process.wait(RENDER_S if _ENDED.is_set() else None)
    except subprocess.TimeoutExpired:
        process.terminate()
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, former)
