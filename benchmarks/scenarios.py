"""Prints how often each test of the store starts Snakemake and agents, and with which exit codes.

    python benchmarks/scenarios.py [store_scenarios repeating ...]          (docs/testing.md)

A test fails when an answer that counts is bought again, lost or doubled. The agents are counted by their own ledger,
without the four of the benchmark that many tests begin with a copy of.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
NAMES = ("store_scenarios", "repeating", "stopping", "damage", "clusters", "slurm")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="files of tests/pipeline/")
    tests = [f"tests/pipeline/test_{name}.py" for name in parser.parse_args().names]
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={record}", *tests]
        ended = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        cases = list(ElementTree.parse(record).iter("testcase"))
    print("| scenario | starts | agents | exit codes | |\n|---|--:|--:|---|---|")
    for case in cases:
        if (made := case.find("properties/property[@name='scenario']")) is not None:
            starts, agents, *codes = made.attrib["value"].strip("[]").split(", ")
            result = "fails" if case.find("failure") is not None else "holds"
            name = case.attrib["name"].removeprefix("test_").replace("_", " ")
            print(f"| {name} | {starts} | {agents} | {' '.join(codes)} | {result} |")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
