"""Records the first minutes of a new user: `python tools/docs/first_minutes.py > docs/first-minutes.md`.

Runs commands in a new clone with an empty home folder, and records their output, with the seconds since the start of
the command on each line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[2]
LONGEST = 140


class Step(NamedTuple):
    """A command of a new user."""

    title: str
    about: str
    command: str


PYTHON = "$PWD/.venv/bin/python"
SERVER = f'--mcp "{PYTHON} $PWD/examples/own-server/server.py \\${{workspace}}"'
DELETED = "bench/demo/runs/click-tgt-01-with.md"
STEPS = (
    Step("The first result", "The README's one command, in a fresh clone.", "make run"),
    Step("Again", "Nothing is left to do.", "make run"),
    Step(
        "An answer is deleted",
        "It is made again, and nothing else.",
        f"rm {DELETED} && make run",
    ),
    Step(
        "A server of one's own",
        "The server of examples/own-server, a package, and no key: `init` writes tasks and config, and tries them.",
        f"cp -r .cache/repositories/click-*/tree click && .venv/bin/lensbench init --name mine {SERVER} "
        "--agent offline --repo click --yes",
    ),
    Step(
        "Its benchmark",
        "All tasks that were written.",
        ".venv/bin/lensbench run --cores 4 --configfile config.mine.yaml",
    ),
)


def recorded(command: str, folder: Path, home: Path) -> Iterator[str]:
    """The output of a command, each line with the seconds since its start."""
    began = time.monotonic()
    environment = {**os.environ, "HOME": str(home), "TERM": "dumb"}
    with subprocess.Popen(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        for line in process.stdout:
            shown = line.rstrip().replace(str(folder), "~/lensbench").replace(str(home), "~")
            yield f"{time.monotonic() - began:5.1f} s  {shown[:LONGEST]}".rstrip()
    if process.returncode:
        sys.exit(f"{command}: exit code {process.returncode}")
    yield f"{time.monotonic() - began:5.1f} s  (done)"


def main() -> None:
    """Prints the page."""
    print(
        "# The first minutes\n\nA fresh clone, an empty home folder, two cores, no key and no model: what each command"
    )
    print("printed, and after how many seconds. `python tools/docs/first_minutes.py` records it.")
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "lensbench", Path(temporary) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(folder)], check=True)
        for step in STEPS:
            print(f"\n## {step.title}\n\n{step.about}\n\n```text\n$ {step.command}")
            for line in recorded(step.command, folder, home):
                print(line, flush=True)
            print("```", flush=True)


if __name__ == "__main__":
    main()
