"""Fetches hidden files that a task set names by a pinned source."""

from __future__ import annotations

from pathlib import Path

from lensbench.changes.task import Binary, ChangeTask, Content, FromSource
from lensbench.core.errors import UserError


def with_files(task: ChangeTask, cache: Path) -> ChangeTask:
    """The task with the content of all its hidden files; sources that are not in `cache` are fetched.

    Raises UserError when a source cannot be fetched, or has no such file.
    """
    files = {
        path: _content(task.id, path, content, cache) for path, content in task.tests.files.items()
    }
    return task.model_copy(update={"tests": task.tests.model_copy(update={"files": files})})


def _content(task: str, path: str, content: Content | FromSource, cache: Path) -> Content:
    if not isinstance(content, FromSource):
        return content
    from lensbench.repositories.prepare import (
        prepare,
    )  # every start of Snakemake imports this module

    file = prepare(content.source, cache).tree / path
    if file.is_symlink() or not file.is_file():
        raise UserError(
            f"task {task!r}: tests.files: its source has no file {path}; correct the path or the source"
        )
    return Binary.text_or_bytes(file.read_bytes())
