"""How every program of ours starts and ends: a user's mistake is one message and exit code 1, not a traceback."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

from lensbench.errors import UserError
from lensbench.files import keep_from_others
from lensbench.processes import end_in_order
from lensbench.terminal import printable_lines

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}


def run_program(main: Callable[[], object]) -> None:
    """Runs `main`; a UserError, or a disk that takes nothing from this user, is printed and ends with exit code 1.

    Signals let it tidy up first. A reader that has seen enough, such as `head`, is no mistake.
    """
    end_in_order()
    keep_from_others()
    try:
        main()
        sys.stdout.flush()
    except UserError as error:
        sys.exit(printable_lines(f"error: {error}"))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more at its end
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        place = f"{error.filename}: " if error.filename else ""
        sys.exit(f"error: {place}{error.strerror}; mend that, then start again: what is finished is kept")


def run_stage(stage: Callable[[Path], object]) -> None:
    """The program of a stage that needs the run folder only: `python -m lensbench.<stage> --folder bench/<run_id>`."""
    parser = argparse.ArgumentParser(description=stage.__doc__)
    parser.add_argument("--folder", required=True, type=Path, help="the run folder, bench/<run_id>")
    folder = parser.parse_args().folder
    run_program(lambda: stage(folder))
