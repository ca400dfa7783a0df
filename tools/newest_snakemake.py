"""Tests the use of Snakemake's internals with the newest Snakemake 9, if that is not the pinned version.

    python tools/newest_snakemake.py

It is installed into .cache/newest, without its dependencies. Exit code 1 when a test fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
TESTS = ("tests/pipeline/test_snakemake_inside.py", "tests/pipeline/test_as_module.py", "tests/pipeline/test_locks.py")


def newest() -> str | None:
    """The newest version 9 in the package index; None when the index is not available."""
    asked = subprocess.run([*PIP, "index", "versions", "snakemake"], capture_output=True, encoding="utf-8", check=False)
    found = re.findall(r"\b9\.\d+\.\d+\b", asked.stdout)
    return max(found, key=lambda each: tuple(map(int, each.split(".")))) if found else None


def main() -> None:
    """Installs the newest version beside the pinned one, and runs the tests with it."""
    pinned, there_is = version("snakemake"), newest()
    if there_is is None:
        print("newest Snakemake: the package index is not available")
        return
    if there_is == pinned:
        print(f"newest Snakemake: {pinned}, which is the pinned one")
        return
    place = ROOT / ".cache" / "newest" / there_is
    if not place.is_dir():
        subprocess.run(
            [*PIP, "install", "--quiet", "--no-deps", "--target", str(place), f"snakemake=={there_is}"], check=True
        )
    print(f"newest Snakemake: {there_is} (pinned: {pinned})", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(place)}
    tried = [sys.executable, "-m", "pytest", *TESTS]
    sys.exit(subprocess.run(tried, cwd=ROOT, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
