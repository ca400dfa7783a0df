"""What the agent asks MCP tools, and the files that their results name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lensbench.agents.mcp.tools import OfferedTool
from lensbench_demo.offline.workspace import Workspace
from lensbench_tasks.question import Question

DEPENDENTS = re.compile(r"(?i)importer|dependent|imported_?by|used_?by|referenc|callers")
PATH_LIKE = re.compile(r"[\w.+@/-]{3,300}")
MAX_PATHS = 60
MAX_DEPTH = 12
NESTED = 0.3
"""What a path inside an entry about another path is worth."""


@dataclass(frozen=True)
class Suggestion:
    """A file in a tool's result."""

    path: str
    weight: float
    """1 for the first of a list, 1/2 for the second; less for paths inside an entry about another file."""


def queries(tool: OfferedTool, question: Question) -> list[str]:
    """What to search for: all terms in one call when the tool says that it splits at `|`, else a few calls."""
    words = [term.variants[0] for term in question.terms]
    parameters = json.dumps(tool.schema.get("properties", {}), ensure_ascii=False)
    if "|" in tool.description or "|" in parameters:
        return ["|".join(words[:8])] if words else []
    return list(dict.fromkeys([" ".join(words[:4]), *words[:3]])) if words else []


def suggestions(result: str, workspace: Workspace) -> list[Suggestion]:
    """The files in `result` (JSON or any text), each once, the best first."""
    best: dict[str, float] = {}
    for path, weight in _paths(_parsed(result), workspace, 0):
        best[path] = max(best.get(path, 0.0), weight)
    ranking = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [Suggestion(path, weight) for path, weight in ranking[:MAX_PATHS]]


def dependents(result: str, workspace: Workspace) -> list[str]:
    """The files that a JSON result lists at its top under a name such as `importers`."""
    value = _parsed(result)
    lists = (
        [item for key, item in value.items() if DEPENDENTS.search(key)]
        if isinstance(value, dict)
        else []
    )
    return list(dict.fromkeys(path for item in lists for path, _ in _paths(item, workspace, 0)))


def _parsed(result: str) -> Any:
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result


def _paths(value: Any, workspace: Workspace, depth: int) -> Iterator[tuple[str, float]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        whole = workspace.locate(value)
        candidates = (
            [whole]
            if whole
            else [workspace.locate(text.rstrip(".")) for text in PATH_LIKE.findall(value[:200_000])]
        )
        paths = list(dict.fromkeys(path for path in candidates if path))
        yield from ((path, 1 / (1 + position)) for position, path in enumerate(paths))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from (
                (path, weight / (1 + position))
                for path, weight in _paths(item, workspace, depth + 1)
            )
    elif isinstance(value, dict):
        plain = [item for item in value.values() if isinstance(item, str)]
        about_a_file = any(workspace.locate(item) for item in plain)
        for item in value.values():
            factor = NESTED if about_a_file and not isinstance(item, str) else 1.0
            yield from (
                (path, weight * factor) for path, weight in _paths(item, workspace, depth + 1)
            )
