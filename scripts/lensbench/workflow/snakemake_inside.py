"""All that rests on Snakemake's inside, as it is in 9.27.1: names that it does not promise to keep.

tests/pipeline/test_snakemake_inside.py shows for each what it is good for and notices when it is gone.
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
"""A file per start, which lists the files that it writes (persistence.py)."""
MARKS = Path(".snakemake") / "incomplete"
"""A file per output of a job that was not noted as ended, named by it (persistence/file.py)."""


def trust_the_clock() -> None:
    """Replaces a check that fails a job whose inputs are dated after its outputs, which deletes the outputs.

    After a jump of the clock those outputs are paid answers.
    """
    from snakemake.dag import DAG  # not at the top: Snakemake's modules import each other in one order only

    async def accept(*_: object) -> None:
        pass

    _known(DAG, "check_output_mtime")
    DAG.check_output_mtime = accept


def find_pipes_once() -> None:
    """Has a job look for pipes among its inputs once, instead of going through all jobs that it depends on once for
    each input: the answers and records of 10,000 runs are the inputs of one job, and cost it a minute.
    """
    from snakemake.jobs import Job

    @lru_cache(maxsize=1)
    def pipes(job: Any) -> set[str]:
        return {file for maker, files in job.dag.dependencies[job].items() for file in files & _piped(maker)}

    _known(Job, "is_pipe_or_service_input")
    Job.is_pipe_or_service_input = lambda job, path: path in pipes(job)


def _piped(job: Any) -> set[str]:
    return set(_known(job, "pipe_or_service_output"))


def share_names(workflow: Any, **names: object) -> None:
    """Lets messages and commands use these names, also when this workflow is a module of another.

    Snakemake formats them with the names of the outermost workflow.
    """
    _known(workflow, "modifier_stack")[0].globals.update(names)


def lift_rate_limit(workflow: Any) -> None:
    """Takes away the limit of 100 job starts a second.

    It re-examines all waiting jobs once a second for every job that has ended: CPU that grows with the square of the
    runs (snakemake/snakemake#3744).
    """
    _known(workflow.scheduler, "job_rate_limiter")
    workflow.scheduler.job_rate_limiter = None


def look_ahead(workflow: Any, count: int) -> None:
    """Lets the scheduler choose among the `count` ready jobs of the highest priority.

    It examines every ready job each time that one has ended: with 10,000 that is most of what a start costs. Its own
    `--scheduler-subsample` takes them by chance, which would part the runs of a task.
    """
    scheduler = type(_known(workflow, "scheduler"))
    ready = _known(scheduler, "open_jobs").fget

    def next_jobs(self: Any) -> list[Any]:
        return nlargest(count, ready(self), key=attrgetter("priority"))

    scheduler.open_jobs = property(next_jobs)


def add_resources(workflow: Any, resources: dict[str, int]) -> None:
    """Declares how much there is of each resource, as `--resources` does."""
    for name, there_is in resources.items():
        _known(workflow, "register_resource")(name, there_is)


def forbid_deleting(workflow: Any, why: Callable[[], str]) -> None:
    """Refuses `--delete-all-output`, also as a dry run, with what `why` says, unless that is empty. It is asked only
    then; `--delete-temp-output` stays."""
    delete = _known(workflow, "delete_output")

    def refuse(only_temp: bool = False, dryrun: bool = False) -> None:
        if not only_temp and (told := why()):
            raise WorkflowError(told)
        delete(only_temp=only_temp, dryrun=dryrun)

    workflow.delete_output = refuse


def start_commands(by: Callable[[str, Mapping[str, str]], Any]) -> None:
    """Has `by` start the commands of rules that it knows, given the command and its environment. It returns a process
    with the `wait`, `terminate` and `kill` of `subprocess.Popen`, or None for what Snakemake is to start itself."""
    shells = import_module("snakemake.shell")  # an import statement would find the class of that name
    programs = _known(shells, "sp")

    def start(command: str, **options: Any) -> Any:
        return by(command, options["env"]) or programs.Popen(command, **options)

    vars(shells)["sp"] = SimpleNamespace(**{**vars(programs), "Popen": start})


def rules_to_run(workflow: Any) -> set[str]:
    """The names of the rules that this start has jobs of."""
    return {job.rule.name for job in _known(workflow.dag, "needrun_jobs")()}


def remove_locks(folder: Path, locks: Path = LOCKS) -> bool:
    """Removes Snakemake's locks on files of `folder`; True when there were any. Those of other run folders stay."""
    inside = f"{folder.as_posix()}/"
    stale = [
        lock
        for lock in locks.glob("*.lock")
        if any(name.startswith(inside) for name in lock.read_text(errors="replace").splitlines())
    ]
    for lock in stale:
        lock.unlink(missing_ok=True)
    return bool(stale)


def forget_marks(folder: Path, marks: Path = MARKS) -> None:
    """Removes the marks of files in `folder` that are there although a start was killed before it noted them. Only for
    files that get their names when they are whole."""
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
