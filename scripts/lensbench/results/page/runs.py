"""A page per run: the agent's steps, with arguments and results folded."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import NamedTuple

from lensbench.agents.timeline import Step, read_timeline
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.core.system.terminal import printable, printable_lines

MOST_CHARS = 20_000
"""The maximum characters of a text on the page; a tool can return megabytes."""
MOST_STEPS = 2_000
MOST_PREVIEW = 100


class ShownStep(NamedTuple):
    """A step, as shown on the page."""

    number: int
    kind: str
    title: str
    preview: str
    given: str
    got: str
    failed: bool
    at_s: float | None


class RunPage(NamedTuple):
    """A run with its steps."""

    run: RunId
    steps: list[ShownStep]
    left_out: int
    """The number of steps that are only in the transcript."""
    problem: str
    """Why there is no timeline; empty when there is one."""
    transcript: str
    """The path of the whole output, relative to the run folder."""


def run_page(folder: Path, run: RunId) -> RunPage | None:
    """The page of a run; None when it has no transcript."""
    path = run_files(folder, run).transcript
    name = path.relative_to(folder).as_posix()
    if not path.exists():
        return None
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            steps = read_timeline(lines)
    except (OSError, EOFError, zlib.error) as error:
        return RunPage(run, [], 0, f"the transcript cannot be read ({error})", name)
    problem = "" if steps else "this agent's output shows no single steps"
    rows = [_shown(number, step) for number, step in enumerate(steps[:MOST_STEPS], 1)]
    return RunPage(run, rows, max(len(steps) - MOST_STEPS, 0), problem, name)


def _shown(number: int, step: Step) -> ShownStep:
    preview = " ".join(printable(step.given[: 4 * MOST_PREVIEW]).split())
    preview = preview if len(preview) <= MOST_PREVIEW else f"{preview[:MOST_PREVIEW]}…"
    request, result = _cut(step.given), _cut(step.got)
    return ShownStep(number, step.kind, printable(step.title), preview, request, result, step.failed, step.at_s)


def _cut(text: str) -> str:
    more = len(text) - MOST_CHARS
    return printable_lines(text[:MOST_CHARS]) + (f"\n… {more} more characters in the transcript" if more > 0 else "")
