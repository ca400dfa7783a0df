"""Terminals: a program with typed input, and what a program draws."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Sequence
from contextlib import suppress
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


def open_terminal(columns: int) -> tuple[int, int]:
    """Our end of a new terminal of that width (0: nobody told it), and the one for a program, to be closed here once it
    has started."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return ours, theirs


def drawn_on(ours: int) -> str:
    """All that programs draw until the last one has closed the terminal."""
    written = b""
    with suppress(OSError):  # how a terminal ends
        while part := os.read(ours, 1 << 16):
            written += part
    os.close(ours)
    return written.decode()
