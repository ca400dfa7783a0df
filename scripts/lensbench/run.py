"""Starts the workflow in the current folder; every option is one of Snakemake's: `lensbench run --cores 4`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from lensbench.house import ROOT
from lensbench.program import run_program

DEMO = ("config.yaml", "scenarios", ".claude/skills/benchmark")
"""What the demo needs, as it lies in a checkout."""
ASKS_ONLY = ("-h", "--help", "-v", "--version")


def copy_demo(folder: Path) -> None:
    """Copies the demo's config, task sets and MCP file into `folder`; what is there already is left as it is."""
    for part in DEMO:
        files = [ROOT / part] if (ROOT / part).is_file() else sorted((ROOT / part).rglob("*"))
        for file in (file for file in files if file.is_file()):
            target = folder / file.relative_to(ROOT)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)  # run.sh of the skill stays executable


def needs_demo(folder: Path, options: Sequence[str]) -> bool:
    """True when there is no config here, none is named, and more is wanted than help."""
    is_named = any(option.startswith(("--configfile", "-d", "--directory")) for option in options)
    return not (is_named or (folder / "config.yaml").exists() or set(options) & set(ASKS_ONLY))


def main() -> None:
    """Becomes Snakemake with the workflow of this package."""
    here, options = Path.cwd(), sys.argv[1:]
    if needs_demo(here, options):
        copy_demo(here)
        print("there was no config.yaml here: this is the demo's now; `lensbench starting` writes one for your server")
    sys.stdout.flush()
    os.execv(
        sys.executable, [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *options]
    )


if __name__ == "__main__":
    run_program(main)
