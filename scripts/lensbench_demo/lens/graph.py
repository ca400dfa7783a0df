"""The map of the folder: groups of files and their imports, the files of one folder, the neighbours of one file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from lensbench.core.errors import UserError
from lensbench_tasks.survey import Survey

Answer = dict[str, Any]
"""The content of an answer, as JSON has it."""
MAX_CHARS = 20_000
MAX_ITEMS = 2_000  # more never fit
CLUSTER_SEGMENTS = 2
SYMBOLS_PER_FILE = 10
HUB_IMPORTERS = 5


def render(answer: Mapping[str, Any]) -> str:
    """The answer as JSON with an indent of two."""
    return json.dumps(answer, indent=2, ensure_ascii=False)


def fit(build: Callable[[int], Answer], sizes: Mapping[str, int]) -> str:
    """The answer with its lists cut to fit into 20,000 characters.

    `build(n)` returns the answer with the first n items of each list; `sizes` is the full length of each list.
    When lists were cut, `omitted` is the number of items omitted per list.
    """
    length = min(max(sizes.values(), default=0), MAX_ITEMS)
    while True:
        answer = build(length)
        omitted = {name: size - length for name, size in sizes.items() if size > length}
        if omitted:
            answer["omitted"] = omitted
        text = render(answer)
        if len(text) <= MAX_CHARS or not length:
            return text
        length = length * 9 // 10


def is_inside(path: str, folder: str) -> bool:
    """True if the path is below the folder, "" for the root."""
    return not folder or path.startswith(f"{folder}/")


def is_hub(survey: Survey, path: str) -> bool:
    """True if at least five files import this one."""
    return len(survey.importers.get(path, ())) >= HUB_IMPORTERS


def hub_scores(survey: Survey) -> dict[str, float]:
    """File -> the number of its importers, divided by that of the most imported file; 0 to 1."""
    counts = {path: len(survey.importers.get(path, ())) for path in survey.texts}
    most = max(counts.values(), default=0) or 1
    return {path: round(count / most, 4) for path, count in counts.items()}


def clusters(survey: Survey, folder: str) -> str:
    """The answer of lens_graph without `dir`: groups of files, and how often each group imports from each other one.

    A group is named by its first two path segments below the folder; a file above that level is its own group.
    """
    depth = CLUSTER_SEGMENTS
    if folder:
        depth += folder.count("/") + 1
    key = {
        path: "/".join(path.split("/")[:depth]) for path in survey.texts if is_inside(path, folder)
    }
    weights: Counter[tuple[str, str]] = Counter()
    for path, targets in survey.imports.items():
        for target in targets:
            if path in key and target in key and key[path] != key[target]:
                weights[key[path], key[target]] += 1
    groups = [{"key": name, "fileCount": count} for name, count in _ordered(Counter(key.values()))]
    edges = [
        {"source": source, "target": target, "weight": weight}
        for (source, target), weight in _ordered(weights)
    ]
    return fit(
        lambda length: {"clusters": groups[:length], "edges": edges[:length]},
        {"clusters": len(groups), "edges": len(edges)},
    )


def _ordered(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """The counts, the largest first, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def files(survey: Survey, folder: str) -> str:
    """The answer of lens_graph with `dir`: its files, hubs first, and the import edges touching them.

    Raises UserError if no indexed file is below the folder.
    """
    hubs = hub_scores(survey)
    paths = [path for path in survey.texts if is_inside(path, folder)]
    if not paths:
        raise UserError(
            f"no indexed file is below {folder!r}. Call lens_graph without dir to see the folders."
        )
    paths.sort(key=lambda path: (-hubs[path], path))
    edges = []
    for path, targets in sorted(survey.imports.items()):
        for target in targets:
            if is_inside(path, folder) or is_inside(target, folder):
                edges.append({"source": path, "target": target})

    def build(length: int) -> Answer:
        shown = [_file(survey, path, hubs[path], SYMBOLS_PER_FILE) for path in paths[:length]]
        return {"files": shown, "edges": edges[:length]}

    return fit(build, {"files": len(paths), "edges": len(edges)})


def neighbors(survey: Survey, path: str) -> str:
    """The answer of lens_graph_neighbors: one file, what it imports, and what imports it.

    Raises UserError if the file is not indexed.
    """
    if path not in survey.texts:
        near = get_close_matches(path, survey.texts, n=3)
        hint = f"Did you mean {', '.join(near)}?" if near else "Use lens_grep to find the path."
        raise UserError(f"{path[:200]!r} is not in the index. {hint}")
    imports = survey.imports[path]
    importers = survey.importers.get(path, [])
    hub = hub_scores(survey)[path]

    def build(length: int) -> Answer:
        return {
            "file": _file(survey, path, hub, length),
            "imports": imports[:length],
            "importers": importers[:length],
        }

    sizes = {"imports": len(imports), "importers": len(importers)}
    return fit(build, {**sizes, "symbols": len(_symbols(survey, path))})


def _file(survey: Survey, path: str, hub: float, length: int) -> Answer:
    """One file of an answer, with at most `length` symbols."""
    symbols = _symbols(survey, path)
    answer: Answer = {
        "path": path,
        "language": survey.languages[path],
        "symbols": symbols[:length],
        "hubScore": hub,
        "isHub": is_hub(survey, path),
    }
    if len(symbols) > length:
        answer["symbolsOmitted"] = len(symbols) - length
    return answer


def _symbols(survey: Survey, path: str) -> list[Answer]:
    """The symbols that are not local to a function."""
    return [
        {"name": one.shown, "kind": one.kind, "line": one.line}
        for one in survey.codes[path].definitions
        if not one.local
    ]
