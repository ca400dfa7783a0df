"""The index of one folder, kept while the server runs, and the answers of the four tools."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench_demo.lens import graph
from lensbench_demo.lens.search import grep
from lensbench_tasks.survey import Survey


class Service:
    """Answers calls one at a time. The folder is indexed on first use, or before by `warm_up`."""

    def __init__(self, root: Path) -> None:
        """`root` is the folder to serve. Raises UserError if it is not a folder."""
        if not root.is_dir():
            raise UserError(f"--root {root} is not a folder. Give the folder to serve.")
        self.root = root.resolve()
        self._survey: Survey | None = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Starts indexing in the background; calls wait for it. A failure is reported by the call that needs the
        index."""

        def read() -> None:
            with self._lock:
                self._ready()

        threading.Thread(target=read, name="lens-index", daemon=True).start()

    def grep(self, repo_path: str | None, query: str, limit: int) -> str:
        """The answer of lens_grep. Raises UserError for invalid arguments."""
        with self._lock:
            folder = self._folder(repo_path)
            return grep(self._ready(), folder, query, limit)

    def graph(self, repo_path: str | None, name: str | None) -> str:
        """The answer of lens_graph. Raises UserError for invalid arguments."""
        with self._lock:
            folder = self._folder(repo_path)
            if name is None:
                return graph.clusters(self._ready(), folder)
            return graph.files(self._ready(), self._path(folder, name))

    def neighbors(self, repo_path: str | None, name: str) -> str:
        """The answer of lens_graph_neighbors. Raises UserError for invalid arguments."""
        with self._lock:
            path = self._path(self._folder(repo_path), name)
            return graph.neighbors(self._ready(), path)

    def reindex(self, repo_path: str | None, force: bool) -> str:
        """The answer of lens_reindex: files scanned, milliseconds, and whether nothing had changed."""
        with self._lock:
            self._folder(repo_path)
            start = time.monotonic()
            before = self._survey
            if force or before is None or not before.is_current:
                self._survey = Survey.read(self.root, with_names=False)
            return graph.render(
                {
                    "files_scanned": len(self._ready().listed),
                    "duration_ms": round(1000 * (time.monotonic() - start)),
                    "skipped": self._survey is before,
                }
            )

    def _folder(self, repo_path: str | None) -> str:
        """The folder that a call is about, relative to the root; "" for the root, and where it is omitted.

        Raises UserError if it is outside the root or not a folder.
        """
        folder = self._relative(repo_path or "")
        if not (self.root / folder).is_dir():
            raise UserError(
                f"repoPath {(repo_path or '')[:200]!r} is not a folder. Omit it to search all of {self.root}."
            )
        return folder

    def _path(self, folder: str, name: str) -> str:
        """A path relative to the root, from one that is relative to the root or to the folder."""
        path = self._relative(name)
        if graph.is_inside(path, folder):
            return path
        return self._relative(f"{folder}/{name}")

    def _relative(self, name: str) -> str:
        """An agent's path (absolute, relative to the root, with `./`) made relative to the root; "" is the root.

        Raises UserError if it is outside the root, also through a symlink.
        """
        try:
            real = (self.root / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(f"{name[:200]!r} is not a valid path: {error}.") from None
        if not real.is_relative_to(self.root):
            raise UserError(
                f"{name[:200]!r} is outside the folder that this server serves, {self.root}. Give a path inside it."
            )
        return "" if real == self.root else real.relative_to(self.root).as_posix()

    def _ready(self) -> Survey:
        """The index, made now if necessary."""
        if self._survey is None:
            self._survey = Survey.read(self.root, with_names=False)
        return self._survey
