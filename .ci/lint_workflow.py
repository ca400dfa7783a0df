"""Snakemake's own linter, without two of its rules that do not fit here. Exit code 1 for anything else it finds.

- "Specify a conda environment": one lock file with hashes pins the software of all rules.
- "directly uses variable": PYTHON and BENCH stand in every command so that it can be copied out of the log; as params
  they would make Snakemake repeat runs when the project folder is moved.
"""

from __future__ import annotations

import subprocess
import sys

ACCEPTED = ("Specify a conda environment", "Shell command directly uses variable")


def main() -> None:
    """Prints each remaining finding below the rule that it is about."""
    command = [sys.executable, "-m", "snakemake", "--lint"]
    place = ""
    findings = []
    clean = False
    said = subprocess.run(command, capture_output=True, encoding="utf-8", check=False).stderr
    for line in said.splitlines():
        if line.startswith("Lints for"):
            place = line.removeprefix("Lints for ")
            clean = True
        elif line.startswith("    * ") and not line[6:].startswith(ACCEPTED):
            findings.append(f"{place} {line[6:]}")
        elif "in good condition" in line:
            clean = True
    if not clean:
        sys.exit(f"snakemake --lint could not read the workflow:\n{said}")
    print("\n".join(findings) or "snakemake --lint: nothing but what is accepted")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
