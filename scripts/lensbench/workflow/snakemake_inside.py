"""The two names outside Snakemake's public interface that lensbench uses, as of 9.27.1."""

from __future__ import annotations

from typing import Any


def lift_rate_limit(workflow: Any) -> None:
    """Removes the limit of 100 job starts per second: it re-examines all waiting jobs for every finished job, so CPU
    time grows with the square of the number of runs (snakemake/snakemake#3744)."""
    workflow.scheduler.job_rate_limiter = None


def add_resources(workflow: Any, resources: dict[str, int]) -> None:
    """Sets the total of each resource, as `--resources` does; one in a profile is gone with another profile. Runs that
    took turns by lock files would hold their nodes meanwhile: eight of 1 s, one at a time, 32 s instead of 8."""
    for name, there_is in resources.items():
        workflow.register_resource(name, there_is)
