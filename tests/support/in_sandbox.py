"""Runs a command in a sandbox in both ways: by its command line, and in a forked process, as for runs."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence

from lensbench.agents.sandbox_here import own_start
from lensbench.core.system.processes import run_process

Started = subprocess.CompletedProcess[str]
Start = Callable[[Sequence[str], Mapping[str, str]], Started]


def by_command(argv: Sequence[str], env: Mapping[str, str]) -> Started:
    """The output of the command, and how it ended."""
    return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def by_a_run(argv: Sequence[str], env: Mapping[str, str]) -> Started:
    """The same, of a command that starts the sandbox."""
    own = own_start(argv, env)
    assert own
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        said, ended = run_process(argv, env, os.getcwd(), 60, errors.fileno(), "".join, own)
        errors.seek(0)
        return subprocess.CompletedProcess(
            argv, -9 if ended.exit_code is None else ended.exit_code, said, errors.read()
        )


BOTH_WAYS: tuple[Start, ...] = (by_command, by_a_run)
start: Start = by_command
"""The way of this test."""
