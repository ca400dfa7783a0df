"""Finished benchmarks: packed in one file that others can verify (docs/archives.md), imported, and compared.

Its contract with the engine is the run folder.
"""

VERBS = {
    "Results": {
        "compare": ("lensbench_archive.compare", "compare finished benchmarks on their common tasks"),
        "archive": ("lensbench_archive.archive", "pack a benchmark into one file that others can verify"),
        "verify": ("lensbench_archive.verify", "verify an archive: hashes, and every number"),
        "import": ("lensbench_archive.import_runs", "import a finished run in the protocol's format"),
    }
}
"""Group -> verb -> its module, and its line in the overview; an entry point of `lensbench.verbs`."""

RUN = "run"
"""The folder in the archive with the run folder, `bench/<run_id>`."""
PROJECT = "project"
"""The folder in the archive with the inputs: workflow, templates, task sets, MCP files."""
VERSIONS = "versions.json"
