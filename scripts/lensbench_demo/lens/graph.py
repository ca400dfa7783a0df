"""The map of the folder: clusters and their dependencies, the files of one folder, the neighbours of one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from lensbench.core.errors import UserError
from lensbench_demo.lens.output import MAX_CHARS, Answer, fit, render
from lensbench_demo.lens.scope import Scope
from lensbench_demo.lens.tree import Tree
from lensbench_tasks.parsers.symbols import Symbol

CLUSTER_SEGMENTS = 2
SYMBOLS_PER_FILE = (30, 10, 4)  # the largest with which the whole folder fits is used
MAX_DETAILED = 200  # a folder with more files, edges or pairs cannot fit whole


def clusters(tree: Tree, scope: Scope) -> str:
    """The answer of lens_graph without `dir`: groups of files, and how often each group imports from each other one.

    A group is named by its first two path segments (below the scope); a file above that level is its own group.
    """
    depth = CLUSTER_SEGMENTS + (scope.folder.count("/") + 1 if scope.folder else 0)
    key = {path: "/".join(path.split("/")[:depth]) for path in tree.texts if scope.holds(path)}
    sizes = Counter(key.values())
    weights = Counter(
        (key[path], key[target])
        for path, targets in tree.imports.items()
        for target in targets
        if path in key and target in key and key[path] != key[target]
    )
    groups = [
        {"key": name, "fileCount": n}
        for name, n in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    ]
    edges = [
        {"source": source, "target": target, "weight": weight}
        for (source, target), weight in sorted(
            weights.items(), key=lambda item: (-item[1], item[0])
        )
    ]
    return fit(
        lambda length: {"clusters": groups[:length], "edges": edges[:length]},
        {"clusters": len(groups), "edges": len(edges)},
    )


def folder(tree: Tree, scope: Scope) -> str:
    """The answer of lens_graph with `dir`: its files, hubs first; the import edges and co-change pairs touching them.

    Raises UserError if no indexed file is below the folder.
    """
    paths = sorted(filter(scope.holds, tree.texts), key=lambda path: (-tree.hub_score(path), path))
    if not paths:
        raise UserError(
            f"no indexed file is below {scope.folder!r}. Call lens_graph without dir to see the folders."
        )
    inside = set(paths)
    edges = [
        {"source": path, "target": target}
        for path, targets in sorted(tree.imports.items())
        for target in targets
        if path in inside or target in inside
    ]
    pairs = {
        (min(path, other), max(path, other)): weight
        for path in paths
        for other, weight in tree.partners(path)
    }
    cochanges = [
        {"source": one, "target": other, "weight": weight}
        for (one, other), weight in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    ]
    sizes = {"files": len(paths), "edges": len(edges), "cochanges": len(cochanges)}

    def build(length: int, symbols: int = SYMBOLS_PER_FILE[-1]) -> Answer:
        return {
            "files": [_file(tree, path, symbols) for path in paths[:length]],
            "edges": edges[:length],
            "cochanges": cochanges[:length],
        }

    if max(sizes.values()) <= MAX_DETAILED:
        for symbols in SYMBOLS_PER_FILE:
            if len(whole := render(build(MAX_DETAILED, symbols))) <= MAX_CHARS:
                return whole
    return fit(build, sizes)


def neighbors(tree: Tree, path: str, cochange_limit: int) -> str:
    """The answer of lens_graph_neighbors: one file, what it imports, what imports it, what changes with it.

    Raises UserError if the file is not indexed.
    """
    if path not in tree.texts:
        raise UserError(_unknown_file(tree, path))
    imports, importers = tree.imports.get(path, []), tree.importers.get(path, [])
    cochanges = [
        {"path": other, "weight": weight} for other, weight in tree.partners(path)[:cochange_limit]
    ]
    facts = tree.facts[path]

    def build(length: int) -> Answer:
        return {
            "file": _file(tree, path, length),
            "imports": imports[:length],
            "importers": importers[:length],
            "cochanges": cochanges[:length],
        }

    lists: dict[str, Sequence[Any]] = {
        "symbols": _visible(facts.symbols),
        "exports": facts.exports,
        "imports": imports,
        "importers": importers,
        "cochanges": cochanges,
    }
    return fit(build, {name: len(items) for name, items in lists.items()})


def _file(tree: Tree, path: str, length: int) -> Answer:
    """One file of an answer, with at most `length` symbols and exports."""
    facts = tree.facts[path]
    symbols = _visible(facts.symbols)
    left_out = {"symbolsOmitted": len(symbols) - length} if len(symbols) > length else {}
    return {
        "path": path,
        "language": tree.languages[path],
        "exports": list(facts.exports[:length]),
        "symbols": [
            {"name": one.name, "kind": one.kind, "line": one.line, "exported": one.exported}
            for one in symbols[:length]
        ],
        **left_out,
        "hubScore": tree.hub_score(path),
        "isHub": tree.is_hub(path),
        "commits": tree.history.commits[path],
        "recent90d": tree.history.recent[path],
    }


def _visible(symbols: Sequence[Symbol]) -> list[Symbol]:
    """The symbols that are not local to a function; exported ones first, so that they are kept when a list is cut."""
    return sorted(
        (one for one in symbols if not one.local), key=lambda one: (not one.exported, one.line)
    )


def _unknown_file(tree: Tree, path: str) -> str:
    """The message for a file that is not indexed, with similar paths."""
    name = path.rsplit("/", 1)[-1]
    same = sorted(other for other in tree.texts if other.rsplit("/", 1)[-1] == name)
    near = (same or get_close_matches(path, tree.texts, n=3))[:3]
    hint = f"Did you mean {', '.join(near)}?" if near else "Use lens_grep to find the path."
    return f"{path[:200]!r} is not in the index. {hint}"
