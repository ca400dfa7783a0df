"""Takes away the lock that a killed Snakemake left, and only when no Snakemake works in this folder any more."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from lensbench.errors import UserError
from lensbench.program import run_program


def living_snakemakes(folder: Path) -> list[int]:
    """Process ids of the Snakemakes that work in `folder`."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        with suppress(psutil.Error, OSError):
            words = process.info["cmdline"] or []
            is_snakemake = any(Path(word).name == "snakemake" for word in words[:4])
            if is_snakemake and process.info["cwd"] and Path(process.info["cwd"]).samefile(folder):
                found.append(process.info["pid"])
    return found


def unlock(folder: Path) -> bool:
    """Removes a stale lock of `folder`; True when there was one. Raises UserError when it is not stale."""
    locks = folder / ".snakemake" / "locks"
    if not locks.is_dir() or not any(locks.iterdir()):
        return False
    alive = living_snakemakes(folder)
    if alive:
        raise UserError(
            f"Snakemake is at work in {folder} (process {alive[0]}); wait for it, or end it with kill -TERM"
        )
    subprocess.run([sys.executable, "-P", "-m", "snakemake", "--unlock"], cwd=folder, check=True, capture_output=True)
    return True


def main() -> None:
    """Unlocks the current folder after a killed Snakemake; does nothing when there is no lock."""
    if unlock(Path.cwd()):
        print("removed the lock of a Snakemake that was killed; finished runs are kept")


if __name__ == "__main__":
    run_program(main)
