"""Everything that depends on Snakemake's internals, as of 9.27.1: names outside its public interface.

tests/pipeline/test_snakemake_inside.py shows why each one is needed and fails when it is gone.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from heapq import nlargest
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake import __version__
from snakemake.exceptions import WorkflowError

LOCKS = Path(".snakemake") / "locks"
"""Snakemake keeps a lock file per start here, with the files that it writes (persistence.py)."""
MARKS = Path(".snakemake") / "incomplete"
"""Snakemake keeps a mark here for each output of an unfinished job (persistence/file.py)."""


def trust_the_clock() -> None:
    """Disables a check that fails a job, and deletes its outputs, when its inputs are newer than these.

    After a clock jump, the deleted outputs would be paid answers.
    """
    from snakemake.dag import DAG  # not at the top: Snakemake's modules import each other in one order only

    async def accept(*_: object) -> None:
        pass

    _known(DAG, "check_output_mtime")
    DAG.check_output_mtime = accept


def find_pipes_once() -> None:
    """Makes a job search its inputs for pipes once, instead of going through all jobs that it depends on for each
    input. With the answers and records of 10,000 runs as inputs of one job, that took a minute."""
    from snakemake.jobs import Job

    @lru_cache(maxsize=1)
    def pipes(job: Any) -> set[str]:
        return {file for maker, files in job.dag.dependencies[job].items() for file in files & _piped(maker)}

    _known(Job, "is_pipe_or_service_input")
    Job.is_pipe_or_service_input = lambda job, path: path in pipes(job)


def _piped(job: Any) -> set[str]:
    return set(_known(job, "pipe_or_service_output"))


def share_names(workflow: Any, **names: object) -> None:
    """Makes these names available in messages and commands, even when this workflow is a module of another one.

    Snakemake formats them with the names of the outermost workflow.
    """
    _known(workflow, "modifier_stack")[0].globals.update(names)


def lift_rate_limit(workflow: Any) -> None:
    """Removes the limit of 100 job starts per second.

    The limiter re-examines all waiting jobs once a second for every finished job, so CPU time grows with the square of
    the number of runs (snakemake/snakemake#3744).
    """
    _known(workflow.scheduler, "job_rate_limiter")
    workflow.scheduler.job_rate_limiter = None


def look_ahead(workflow: Any, count: int) -> None:
    """Limits the scheduler to the `count` ready jobs with the highest priority.

    It examines every ready job each time a job ends; with 10,000 jobs that is most of the cost of a start. Snakemake's
    own `--scheduler-subsample` picks jobs at random, which would separate the runs of a task.
    """
    scheduler = type(_known(workflow, "scheduler"))
    ready = _known(scheduler, "open_jobs").fget

    def next_jobs(self: Any) -> list[Any]:
        return nlargest(count, ready(self), key=attrgetter("priority"))

    scheduler.open_jobs = property(next_jobs)


def add_resources(workflow: Any, resources: dict[str, int]) -> None:
    """Sets the total of each resource, as `--resources` does."""
    for name, there_is in resources.items():
        _known(workflow, "register_resource")(name, there_is)


def forbid_deleting(workflow: Any, why: Callable[[], str]) -> None:
    """Refuses `--delete-all-output`, even as a dry run, with the text that `why` returns, unless it is empty. `why` is
    called only then; `--delete-temp-output` still works."""
    delete = _known(workflow, "delete_output")

    def refuse(only_temp: bool = False, dryrun: bool = False) -> None:
        if not only_temp and (told := why()):
            raise WorkflowError(told)
        delete(only_temp=only_temp, dryrun=dryrun)

    workflow.delete_output = refuse


def start_commands(by: Callable[[str, Mapping[str, str]], Any]) -> None:
    """Starts the commands of rules through `by`, which is given the command and its environment. It returns a process
    with the `wait`, `terminate` and `kill` of `subprocess.Popen`, or None to let Snakemake start the command itself."""
    shells = import_module("snakemake.shell")  # an import statement would return the class with that name
    programs = _known(shells, "sp")

    def start(command: str, **options: Any) -> Any:
        return by(command, options["env"]) or programs.Popen(command, **options)

    vars(shells)["sp"] = SimpleNamespace(**{**vars(programs), "Popen": start})


def rules_to_run(workflow: Any) -> set[str]:
    """The names of the rules with jobs in this start."""
    return {job.rule.name for job in _known(workflow.dag, "needrun_jobs")()}


def remove_locks(folder: Path, locks: Path = LOCKS) -> bool:
    """Removes Snakemake's locks on files of `folder` and no other; True when there were any."""
    inside = f"{folder.as_posix()}/"
    stale = [
        lock
        for lock in locks.glob("*.lock")
        if any(name.startswith(inside) for name in lock.read_text(errors="replace", encoding="utf-8").splitlines())
    ]
    for lock in stale:
        lock.unlink(missing_ok=True)
    return bool(stale)


def forget_marks(folder: Path, marks: Path = MARKS) -> None:
    """Removes the unfinished marks of existing files in `folder`, left by a killed start. Only for files that are
    renamed into place when complete."""
    for mark in marks.glob("*"):
        with suppress(ValueError):
            name = Path(urlsafe_b64decode(mark.name).decode())
            if folder in name.parents and name.exists():
                mark.unlink(missing_ok=True)


def _known(owner: Any, name: str) -> Any:
    if not hasattr(owner, name):
        kind = owner.__name__ if isinstance(owner, type) else type(owner).__name__
        raise WorkflowError(f"Snakemake {__version__} has no {kind}.{name}, which lensbench uses; install 9.27.1")
    return getattr(owner, name)
