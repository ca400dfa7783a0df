"""Everything that depends on Snakemake's internals, as of 9.27.1: names outside its public interface.

tests/pipeline/test_snakemake_inside.py shows why each one is needed and fails when it is gone.
"""

from __future__ import annotations

from typing import Any

from snakemake import __version__
from snakemake.exceptions import WorkflowError


def lift_rate_limit(workflow: Any) -> None:
    """Removes the limit of 100 job starts per second.

    The limiter re-examines all waiting jobs once a second for every finished job, so CPU time grows with the square of
    the number of runs (snakemake/snakemake#3744).
    """
    _known(workflow.scheduler, "job_rate_limiter")
    workflow.scheduler.job_rate_limiter = None


def add_resources(workflow: Any, resources: dict[str, int]) -> None:
    """Sets the total of each resource, as `--resources` does."""
    for name, there_is in resources.items():
        _known(workflow, "register_resource")(name, there_is)


def _known(owner: Any, name: str) -> Any:
    if not hasattr(owner, name):
        kind = owner.__name__ if isinstance(owner, type) else type(owner).__name__
        raise WorkflowError(f"Snakemake {__version__} has no {kind}.{name}, which lensbench uses; install 9.27.1")
    return getattr(owner, name)
