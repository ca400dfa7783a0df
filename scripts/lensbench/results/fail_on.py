"""The exit code of a benchmark: 1 when a verdict of its gate is listed in `fail_on` (docs/ci.md)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lensbench.core.errors import CheckFailed
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json, write_atomic
from lensbench.core.system.program import run_program, stage_parser


def refuse(folder: Path, names: Collection[str]) -> None:
    """Raises UserError, and writes the marker file, when a treatment's verdict is one of these `names`."""
    results = read_json(RunFolder(folder).results_json, needed=True)
    refusals = [
        f"{results['names'][name]!r} is {verdict}"
        for name, verdict in results["verdicts_on"].items()
        if verdict in names
    ]
    if refusals:
        line = f"the verdict on {', on '.join(refusals)}, which fail_on names; all results are in {folder}"
        write_atomic(RunFolder(folder).refused, f"{line}\n")
        raise CheckFailed(line)


def main() -> None:
    """Fails when a verdict is one of those in --verdicts."""
    parser = stage_parser(main.__doc__)
    parser.add_argument("--verdicts", nargs="+", required=True, help="such as HARM")
    arguments = parser.parse_args()
    refuse(arguments.folder, arguments.verdicts)


if __name__ == "__main__":
    run_program(main)
