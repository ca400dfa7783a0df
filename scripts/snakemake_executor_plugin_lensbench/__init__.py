"""Snakemake's executor plug-in `lensbench`: runs on this machine without a new Python with its imports for each.

A job whose rule has `params: program` (what `python -P -m` starts) is forked from a process that has the imports; all
others, and these if that fails, are left to Snakemake's executor `local`. The rule's `shell:` does the same by hand, on
a cluster, and without this plug-in, which uses only Snakemake's interface (mypy checks it).
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

from snakemake_interface_executor_plugins.executors.base import AbstractExecutor, SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_executor_plugins.settings import CommonSettings

from lensbench.core.system.processes import adopt_orphans

common_settings = CommonSettings(
    non_local_exec=False, implies_no_shared_fs=False, job_deploy_sources=False
)
THREADS = ("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
TEMPORARY = (
    "TMPDIR",
    "TMP",
    "TEMPDIR",
    "TEMP",
)  # these variables have a job's folder and threads, as in its shell


class Executor(AbstractExecutor):
    """Forks the jobs that name their program, and waits for each in a thread, as `local` does."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._local: Any = cast(Any, ExecutorPluginRegistry().get_plugin("local")).executor(*given)
        self._waiting = ThreadPoolExecutor(max_workers=10_000)
        self._forks: subprocess.Popen[bytes] | None = None
        self._requests, self._served = socket.socketpair()
        self._requests.settimeout(
            30
        )  # a fork takes milliseconds; a process that does not reply is given up

    def run_job(self, job: JobExecutorInterface) -> None:
        """Starts a job, which ends in the background."""
        program = json.loads(str(job.properties())).get("params", {}).get("program")
        pid = self._fork(job, program) if program and sys.platform == "linux" else None
        if pid is None:
            self._local.run_job(job)
        else:
            self.report_job_submission(info := SubmittedJobInfo(job))
            self._waiting.submit(self._wait, info, pid)

    def _fork(self, job: JobExecutorInterface, program: str) -> int | None:
        """The process id of the job's program; None when the process that forks is gone, now and from then on. A run
        that was requested and not confirmed may have started: its start gate lets no second one in."""
        command, (log,) = shlex.split(job.format_wildcards(program)), job.log
        for path in (*job.output, log):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        environment = {**os.environ, **{f"{name}_THREADS": str(job.threads) for name in THREADS}}
        environment |= dict.fromkeys(TEMPORARY, str(job.resources["tmpdir"]))
        with suppress(OSError, ValueError):
            if not self._forks:
                adopt_orphans()
                with self._served as end:
                    forks = [
                        sys.executable,
                        "-P",
                        f"{os.path.dirname(__file__)}/forks.py",
                        str(end.fileno()),
                    ]
                    self._forks = subprocess.Popen(
                        [*forks, f"{'room for ps':400}"], pass_fds=[end.fileno()]
                    )
            self._requests.sendall(
                json.dumps([command, log, environment, os.getcwd()]).encode() + b"\n"
            )
            return int(self._requests.makefile("rb").readline())
        self._requests.close()
        return None

    def _wait(self, info: SubmittedJobInfo, pid: int) -> None:
        if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            self.report_job_error(info, msg=f"its program ended with exit code {code}")
        else:
            self.report_job_success(info)

    def shutdown(self) -> None:
        """Waits for the jobs that run."""
        self._local.shutdown()
        self._waiting.shutdown()
        if self._forks:
            self._forks.kill()

    cancel = shutdown  # as in `local`: Control-C in their terminal ends the jobs, and so does the end of Snakemake

    def handle_job_success(self, job: JobExecutorInterface) -> None:
        """Does nothing, as `local`."""

    handle_job_error = handle_job_success
