"""Archives: what a benchmark leaves as one file that strangers can check (docs/archives.md)."""

from __future__ import annotations

RUN = "run"
"""The folder of the archive that holds the run folder, `bench/<run_id>`."""
PROJECT = "project"
"""The folder that holds what the run folder was made from: workflow, templates, task sets, MCP files."""
VERSIONS = "versions.json"
CRATE = "ro-crate-metadata.json"
SIGNATURE = "signature.dsse.json"
