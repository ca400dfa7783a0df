"""Runs a program on a terminal with typed input."""

import os
import pty
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path


def type_into(command: Sequence[str], folder: Path, lines: str) -> tuple[int, str]:
    """The exit code, and all output on the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, lines.encode())
    shown = b""
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        try:
            shown += os.read(ours, 65536) if select.select([ours], [], [], 1)[0] else b""
        except OSError:  # the last program has closed it
            break
    os.close(ours)
    return process.wait(), shown.decode().replace("\r\n", "\n")
