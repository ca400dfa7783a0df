"""Which files change together, from the git log."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from lensbench_tasks.parsers.files import git_output, readable

MAX_COMMITS = 20_000
MAX_FILES_PER_COMMIT = 50
RECENT_S = 90 * 24 * 3600
COMMIT_MARK = re.compile(rb"\x01(\d+)\n?")


@dataclass(frozen=True)
class History:
    """Commits per file, those of the 90 days before the newest commit, and pairs of files by common commits.

    `partners[a][b] == partners[b][a]`: each pair is stored for both files.
    """

    head: str = ""
    commits: Counter[str] = field(default_factory=Counter)
    recent: Counter[str] = field(default_factory=Counter)
    partners: dict[str, Counter[str]] = field(default_factory=dict)


def head_of(root: Path) -> str:
    """The checked-out commit, or "" when there is none."""
    return (
        (git_output(root, "rev-parse", "--verify", "HEAD") or b"")
        .decode("ascii", "replace")
        .strip()
    )


def read_history(root: Path, head: str, paths: frozenset[str]) -> History:
    """The history of `paths` up to `head`: non-merge commits that touch at most 50 files, the newest 20,000.

    The history is empty without git, without commits, and when git takes too long.
    """
    output = (
        git_output(
            root,
            "log",
            "-z",
            "--no-merges",
            f"--max-count={MAX_COMMITS}",
            "--format=%x01%ct",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-show-signature",
            "--ignore-submodules=all",
            head,
            "--",
        )
        if head
        else None
    )
    history = History(head, partners=defaultdict(Counter))
    newest: int | None = None
    for time, names in _commits(output or b""):
        newest = time if newest is None else newest
        if len(names) > MAX_FILES_PER_COMMIT:
            continue
        files = sorted(paths.intersection(readable(os.fsdecode(name)) for name in names))
        history.commits.update(files)
        if time >= newest - RECENT_S:
            history.recent.update(files)
        for one, other in combinations(files, 2):
            history.partners[one][other] += 1
            history.partners[other][one] += 1
    return history


def _commits(output: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The time and the names of each commit in `git log -z` output."""
    time, names = None, list[bytes]()
    for entry in output.split(b"\0"):
        if mark := COMMIT_MARK.fullmatch(entry):
            if time is not None:
                yield time, names
            time, names = int(mark[1]), []
        elif name := entry.removeprefix(
            b"\n"
        ):  # git puts a line break before a commit's first name
            names.append(name)
    if time is not None:
        yield time, names
