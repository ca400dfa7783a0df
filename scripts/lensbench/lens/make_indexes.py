"""Indexes each prepared repository once for all runs, each in its own folder, which runs can read.

python -P -m lensbench.lens.make_indexes --repositories repositories.json --cache cache --output indexes.json
"""

from __future__ import annotations

import argparse
import sqlite3
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Repositories
from lensbench.core.system.files import read_json, write_json
from lensbench.core.system.program import run_program
from lensbench.lens.index_files import make_index


def make_indexes(repositories: Path, cache: Path, output: Path) -> None:
    """Reads repositories.json and writes the path of each index's folder, by the repository's name.

    Raises UserError when an index cannot be written.
    """
    folders = {}
    for name, facts in read_json(repositories, Repositories, needed=True).items():
        folder = cache / "indexes" / facts["tree_sha256"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            make_index(folder, Path(facts["tree"]).resolve())
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{folder}: the index of {name} cannot be written: {error}") from None
        folders[name] = str(folder)
    write_json(output, folders)


def main() -> None:
    """Indexes the repositories of a plan for the embedded server."""
    parser = argparse.ArgumentParser(prog="python -m lensbench.lens.make_indexes", description=main.__doc__)
    parser.add_argument("--repositories", required=True, type=Path, help="repositories.json")
    parser.add_argument("--cache", required=True, type=Path, help="folder that keeps the indexes")
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    make_indexes(arguments.repositories, arguments.cache, arguments.output)


if __name__ == "__main__":
    run_program(main)
