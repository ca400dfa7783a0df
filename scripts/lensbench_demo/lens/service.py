"""The index of one folder, kept while the server runs, and the answers of the four tools."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench_demo.lens import graph
from lensbench_demo.lens.grep import grep
from lensbench_demo.lens.index import Index
from lensbench_demo.lens.output import render
from lensbench_demo.lens.scope import Scope, relative, scope_of


class Service:
    """Answers calls one at a time. The folder is indexed on first use, or before by `warm_up`."""

    def __init__(self, root: Path) -> None:
        """`root` is the folder to serve. Raises UserError if it is not a folder."""
        if not root.is_dir():
            raise UserError(f"--root {root} is not a folder. Give the folder to serve.")
        self.root = root.resolve()
        self._index: Index | None = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Starts indexing in the background; calls wait for it. A failure is reported by the call that needs the
        index."""
        threading.Thread(target=self._warm_up, name="lens-index", daemon=True).start()

    def grep(self, repo_path: str | None, query: str, limit: int) -> str:
        """The answer of lens_grep. Raises UserError for invalid arguments."""
        with self._lock:
            scope = scope_of(self.root, repo_path)
            return grep(self._ready(), scope, query, limit)

    def graph(self, repo_path: str | None, folder: str | None) -> str:
        """The answer of lens_graph. Raises UserError for invalid arguments."""
        with self._lock:
            scope = scope_of(self.root, repo_path)
            if folder is None:
                return graph.clusters(self._ready(), scope)
            return graph.folder(self._ready(), Scope(self._path(scope, folder)))

    def neighbors(self, repo_path: str | None, path: str) -> str:
        """The answer of lens_graph_neighbors. Raises UserError for invalid arguments."""
        with self._lock:
            scope = scope_of(self.root, repo_path)
            return graph.neighbors(self._ready(), self._path(scope, path))

    def reindex(self, repo_path: str | None, force: bool) -> str:
        """The answer of lens_reindex: files scanned, milliseconds, and whether nothing had changed."""
        with self._lock:
            scope_of(self.root, repo_path)
            start = time.monotonic()
            before = self._index
            if force or before is None or not before.is_current:
                self._index = Index.read(self.root)
            return render(
                {
                    "files_scanned": len(self._ready().listed),
                    "duration_ms": round(1000 * (time.monotonic() - start)),
                    "skipped": self._index is before,
                }
            )

    def _path(self, scope: Scope, name: str) -> str:
        """A path relative to the root, from one that is relative to the root or to the scope."""
        path = relative(self.root, name)
        if scope.folder and not scope.holds(path):
            path = relative(self.root, str(self.root / scope.folder / name))
        return path

    def _warm_up(self) -> None:
        with self._lock:
            _ = self._ready().lower, self._ready().symbol_names

    def _ready(self) -> Index:
        """The index, made now if necessary."""
        if self._index is None:
            self._index = Index.read(self.root)
        return self._index
