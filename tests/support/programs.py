"""Programs of lensbench, run to their ends."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest

from lensbench.core.errors import UserError
from lensbench.core.system.places import ROOT


def run_module(
    module: str, *arguments: object, cwd: Path | None = None, given: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a module with further variables in its environment; `given` is its standard input."""
    command = [sys.executable, "-P", "-m", module, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts"), **variables}
    return subprocess.run(
        command, cwd=cwd, env=environment, input=given, capture_output=True, text=True, timeout=280
    )


def run_here(main: Callable[[], object], *arguments: object, given: str = "") -> str:
    """What a program prints that is run in this process, where its modules are loaded; a mistake is a UserError."""
    argv = ["lensbench", *map(str, arguments)]
    printed = StringIO()
    with (
        patch.object(sys, "argv", argv),
        patch.object(sys, "stdin", StringIO(given)),
        redirect_stdout(printed),
    ):
        main()
    return printed.getvalue()


def refusal(main: Callable[[], object], *arguments: object) -> str:
    """The one line with which a program that is run in this process refuses its arguments."""
    with redirect_stderr(StringIO()) as said, pytest.raises((UserError, SystemExit)) as caught:
        run_here(main, *arguments)
    (line,) = (said.getvalue().removeprefix("error: ") or str(caught.value)).splitlines()
    return line
