"""The map of the folder: clusters and their dependencies, the files of one folder, the neighbours of one file."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches

from lensbench.core.errors import UserError
from lensbench_demo.lens.index import Index
from lensbench_demo.lens.output import MAX_CHARS, Answer, fit, render
from lensbench_demo.lens.scope import Scope
from lensbench_tasks.parsers.code import Definition

CLUSTER_SEGMENTS = 2
SYMBOLS_PER_FILE = (30, 10, 4)  # the largest with which the whole folder fits is used
MAX_DETAILED = 200  # a folder with more files or edges cannot fit whole


def clusters(index: Index, scope: Scope) -> str:
    """The answer of lens_graph without `dir`: groups of files, and how often each group imports from each other one.

    A group is named by its first two path segments (below the scope); a file above that level is its own group.
    """
    depth = CLUSTER_SEGMENTS + (scope.folder.count("/") + 1 if scope.folder else 0)
    key = {path: "/".join(path.split("/")[:depth]) for path in index.texts if scope.holds(path)}
    sizes = Counter(key.values())
    weights = Counter(
        (key[path], key[target])
        for path, targets in index.imports.items()
        for target in targets
        if path in key and target in key and key[path] != key[target]
    )
    groups = [
        {"key": name, "fileCount": n}
        for name, n in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    ]
    heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    edges = [
        {"source": source, "target": target, "weight": weight}
        for (source, target), weight in heaviest
    ]
    return fit(
        lambda length: {"clusters": groups[:length], "edges": edges[:length]},
        {"clusters": len(groups), "edges": len(edges)},
    )


def folder(index: Index, scope: Scope) -> str:
    """The answer of lens_graph with `dir`: its files, hubs first, and the import edges touching them.

    Raises UserError if no indexed file is below the folder.
    """
    paths = sorted(
        filter(scope.holds, index.texts), key=lambda path: (-index.hub_score(path), path)
    )
    if not paths:
        raise UserError(
            f"no indexed file is below {scope.folder!r}. Call lens_graph without dir to see the folders."
        )
    inside = set(paths)
    edges = [
        {"source": path, "target": target}
        for path, targets in sorted(index.imports.items())
        for target in targets
        if path in inside or target in inside
    ]

    def build(length: int, symbols: int = SYMBOLS_PER_FILE[-1]) -> Answer:
        files = [_file(index, path, symbols) for path in paths[:length]]
        return {"files": files, "edges": edges[:length]}

    if max(len(paths), len(edges)) <= MAX_DETAILED:
        for symbols in SYMBOLS_PER_FILE:
            whole = render(build(MAX_DETAILED, symbols))
            if len(whole) <= MAX_CHARS:
                return whole
    return fit(build, {"files": len(paths), "edges": len(edges)})


def neighbors(index: Index, path: str) -> str:
    """The answer of lens_graph_neighbors: one file, what it imports, and what imports it.

    Raises UserError if the file is not indexed.
    """
    if path not in index.texts:
        raise UserError(_unknown_file(index, path))
    imports = index.imports[path]
    importers = index.importers.get(path, [])

    def build(length: int) -> Answer:
        return {
            "file": _file(index, path, length),
            "imports": imports[:length],
            "importers": importers[:length],
        }

    sizes = {"imports": len(imports), "importers": len(importers)}
    return fit(build, sizes | {"symbols": len(_visible(index, path))})


def _file(index: Index, path: str, length: int) -> Answer:
    """One file of an answer, with at most `length` symbols."""
    symbols = _visible(index, path)
    answer: Answer = {
        "path": path,
        "language": index.languages[path],
        "symbols": [
            {"name": one.shown, "kind": one.kind, "line": one.line} for one in symbols[:length]
        ],
        "hubScore": index.hub_score(path),
        "isHub": index.is_hub(path),
    }
    if len(symbols) > length:
        answer["symbolsOmitted"] = len(symbols) - length
    return answer


def _visible(index: Index, path: str) -> list[Definition]:
    """The symbols that are not local to a function."""
    return [one for one in index.codes[path].definitions if not one.local]


def _unknown_file(index: Index, path: str) -> str:
    """The message for a file that is not indexed, with similar paths."""
    name = path.rsplit("/", 1)[-1]
    same = sorted(other for other in index.texts if other.rsplit("/", 1)[-1] == name)
    near = (same or get_close_matches(path, index.texts, n=3))[:3]
    hint = f"Did you mean {', '.join(near)}?" if near else "Use lens_grep to find the path."
    return f"{path[:200]!r} is not in the index. {hint}"
