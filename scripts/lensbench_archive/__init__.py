"""What is done with finished benchmarks: view, compare and pack them so that others can verify them (docs/archives.md),
import those of others, and plan the size of the next one.

Its contract with the engine is the run folder.
"""

VERBS = {
    "Begin": {
        "size": (
            "lensbench_archive.sample_size",
            "compute how many tasks, repositories and trials a decision needs",
        ),
    },
    "Results": {
        "view": (
            "lensbench_archive.view",
            "open the results page of a benchmark, or list the benchmarks of a folder",
        ),
        "compare": (
            "lensbench_archive.compare",
            "compare finished benchmarks on their common tasks",
        ),
        "table": (
            "lensbench_archive.table",
            "write one table of many benchmarks, and a server's history",
        ),
        "archive": (
            "lensbench_archive.archive",
            "pack a benchmark into one file that others can verify",
        ),
        "claim": (
            "lensbench_archive.claim",
            "print a claim for a README, or check the claims in one",
        ),
        "verify": ("lensbench_archive.verify", "verify an archive: hashes, and every number"),
        "import": (
            "lensbench_archive.import_runs",
            "import a finished run in the protocol's format",
        ),
        "verdict": ("lensbench_archive.verdict", "give the verdict on scores from elsewhere (CSV)"),
    },
    "Check and maintain": {
        "clean": (
            "lensbench_archive.clean",
            "list what could go and what numbers rest on; remove it",
        ),
    },
}
"""Group -> verb -> its module, and its line in the overview."""

RUN = "run"
"""The folder in the archive with the run folder, `bench/<run_id>`."""
PROJECT = "project"
"""The folder in the archive with the inputs: workflow, templates, task sets, MCP files."""
VERSIONS_FILE = "versions.json"
REDACTIONS = "redactions.json"
"""In a redacted archive: how often each word stands for a text."""
