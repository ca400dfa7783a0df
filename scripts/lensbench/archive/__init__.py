"""Archives: a benchmark packed in one file that others can verify (docs/archives.md)."""

from __future__ import annotations

RUN = "run"
"""The folder in the archive with the run folder, `bench/<run_id>`."""
PROJECT = "project"
"""The folder in the archive with the inputs: workflow, templates, task sets, MCP files."""
VERSIONS = "versions.json"
