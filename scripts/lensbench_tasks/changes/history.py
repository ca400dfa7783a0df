"""Commits of a git repository that touch source and tests: each is a task with a known solution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lensbench.repositories.sources.git_program import git
from lensbench_tasks.changes.kinds import FileKind, kind_of
from lensbench_tasks.changes.telling import without_chaff

_RECORD, _FIELD = "\x1e", "\x1f"
_FORMAT = f"{_RECORD}%H{_FIELD}%P{_FIELD}%B{_FIELD}"
_MERGE = re.compile(r"Merge (pull request|branch|remote-tracking|tag|commit)\b")
_TRAILER = re.compile(
    r"((\w+-)+(by|id):|(closes|fixes|refs?|resolves)\b)"
    r"|(add|update|fix)(s|e?d)? (\w+ ){0,3}tests?( (for|to) .{0,60})?[.]?$",
    re.IGNORECASE,
)


_ITEM = re.compile(r"\s*[*-]\s+(.*\S)")
_CHORE = re.compile(
    r"(\w+ ){0,5}(docs|changelog|news|pr ?#?\d*|typos?|lint|mypy|coverage|ci|review|feedback|nits)[.!]?$|merge\b|wip\b",
    re.IGNORECASE,
)
"""An item of a squashed commit's list that says nothing about the behaviour."""


class Commit(NamedTuple):
    """A change on the main line; for a merge, the change that it merged."""

    id: str
    parent: str
    message: str
    """The author's message, without trailers and the first line of a merge."""
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    """The added or changed test files."""


def commits(repository: Path, revision: str) -> Iterator[Commit]:
    """The commits up to `revision` that change source and add or change tests, newest first. Raises GitError."""
    log = git(
        repository,
        "log",
        "-z",
        "--first-parent",
        "--diff-merges=first-parent",
        "--no-renames",
        "--name-status",
        f"--format={_FORMAT}",
        revision,
        "--",
    )
    for record in log.decode(errors="replace").split(_RECORD)[1:]:
        commit, parents, message, listing = record.split(_FIELD, 3)
        words = [word for word in listing.strip("\n\0").split("\0") if word.strip()]
        sources = []
        tests = []
        for status, path in zip(words[::2], words[1::2], strict=False):
            kind = kind_of(path)
            if kind is FileKind.SOURCE:
                sources.append(path)
            elif kind is FileKind.TEST and status.strip() != "D":
                tests.append(path)
        if parents and sources and tests:
            text = without_chaff(clean_message(message))
            yield Commit(commit, parents.split()[0], text, tuple(sources), tuple(tests))


def clean_message(message: str) -> str:
    """A commit message without its technical lines."""
    paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", message.strip())]
    if paragraphs and _MERGE.match(paragraphs[0]):
        del paragraphs[0]
    prose: list[str] = []
    title = ""
    for line in "\n\n".join(paragraphs).splitlines():
        if _TRAILER.match(line.strip(" -*")):
            continue
        title = title or line.strip()
        item = _ITEM.match(line)
        is_chore = item and (_CHORE.match(item[1]) or item[1] in title)
        if not is_chore:
            prose.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
