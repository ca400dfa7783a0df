"""Programs of lensbench, run to their ends."""

import os
import subprocess
import sys
from pathlib import Path

from lensbench.core.system.places import ROOT


def run_module(
    module: str, *arguments: object, cwd: Path | None = None, given: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a module with further variables in its environment; `given` is its standard input."""
    command = [sys.executable, "-P", "-m", module, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts"), **variables}
    return subprocess.run(command, cwd=cwd, env=environment, input=given, capture_output=True, text=True, timeout=280)
