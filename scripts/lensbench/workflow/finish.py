"""What a person at the terminal wants to know at the end: the headline, what is missing, and what to open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.system.program import run_stage
from lensbench.core.system.terminal import printable
from lensbench.workflow.status import Status


def lines(folder: Path, data: dict[str, Any]) -> Iterator[str]:
    """The lines to print for a run folder, from its results.json."""
    for treatment, found in data["estimates"].items():
        yield f"{treatment}: {found['gate']['sentence']}"
    yield from data["headlines"]
    if data["agent"]["kind"] == "offline":
        yield "No language model answered: this was the offline agent, which shows that the pipeline works."
    counts = data["counts"]
    if counts["discarded"] or counts["missing"] or counts["unjudged"]:
        yield f"{counts['discarded']} runs discarded, {counts['missing']} missing, {counts['unjudged']} unjudged."
        if data["agent"]["kind"] != "none" and (left := Status(folder).left):
            yield f"Start again to make the {left} runs that are discarded or missing, and only those."
    yield f"open {folder / 'report.html'} or {folder / 'results.md'}"


def print_headline(folder: Path) -> None:
    """Prints the headline of a benchmark; in a job of GitHub Actions it stands on the job's page too.

    Raises UserError when there are no results.
    """
    try:
        data = json.loads((folder / "results.json").read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / 'results.json'}: cannot be read ({error}); start Snakemake to write it") from None
    print("", *map(printable, lines(folder, data)), sep="\n")
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(page, "a") as file:
            file.write((folder / "summary.md").read_text())


if __name__ == "__main__":
    run_stage(print_headline)
