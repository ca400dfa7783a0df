"""The agent's tools. Every call is counted, limited and reported as an event."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from lensbench.agents.mcp.client import Servers
from lensbench.agents.mcp.tools import OfferedTool
from lensbench.core.error_texts import REFUSAL
from lensbench_demo.offline.references import ImportSearch
from lensbench_demo.offline.workspace import Workspace
from lensbench_tasks.question import Term

OWN_TOOLS = ("Glob", "Grep", "Read")
READ_LINES = 2500

Emit = Callable[[dict[str, Any]], None]


class Toolbox:
    """The agent's own tools and those of the servers. At the limit, further calls return nothing."""

    def __init__(
        self,
        workspace: Workspace,
        servers: Servers | None,
        emit: Emit,
        max_calls: int,
        without: Sequence[str] = (),
    ) -> None:
        """`without`: the full names of servers' tools that it does not have."""
        self.workspace = workspace
        tools = servers.tools if servers else ()
        self.offered = tuple(tool for tool in tools if tool.full_name not in without)
        self.calls: Counter[str] = Counter()
        self.files_read: set[str] = set()
        self._servers = servers
        self._emit = emit
        self._left = max_calls

    def glob(self) -> tuple[str, ...]:
        """All files of the workspace."""
        if not self._begin("Glob", {"pattern": "**/*"}):
            return ()
        files = self.workspace.files
        self._end(sum(len(path) + 1 for path in files))
        return files

    def grep(
        self, term: Term, files: Sequence[str], within: str = ""
    ) -> dict[str, tuple[int, ...]]:
        """file -> lines with `term`, for those of `files` that have it; `within` says in the event which files."""
        arguments = {"pattern": "|".join(term.variants), "match": "word" if term.whole else "part"}
        if not self._begin("Grep", arguments | ({"path": within} if within else {})):
            return {}
        hits = {path: self.workspace.hits(path, term) for path in files}
        hits = {path: lines for path, lines in hits.items() if lines}
        self._end(sum(len(path) + 8 * len(lines) for path, lines in hits.items()))
        return hits

    def grep_imports(self, search: ImportSearch, files: Sequence[str]) -> tuple[str, ...]:
        """Those of `files` that have a line as `search` describes it."""
        if not self._begin(
            "Grep", {"pattern": search.pattern, "glob": f"**/*{{{','.join(search.suffixes)}}}"}
        ):
            return ()
        line = re.compile(search.pattern)
        sources = (path for path in files if path.endswith(search.suffixes))
        paths = tuple(path for path in sources if any(map(line.search, self.workspace.lines(path))))
        self._end(sum(len(path) + 1 for path in paths))
        return paths

    def read(self, path: str, around: int) -> tuple[int, list[str]]:
        """The number of the first line and the lines of `path`; of a long file a part with line `around` in it."""
        lines = self.workspace.lines(path)
        first = (
            1
            if len(lines) <= READ_LINES
            else max(1, min(around - READ_LINES // 2, len(lines) - READ_LINES + 1))
        )
        if not self._begin("Read", {"path": path, "offset": first, "limit": READ_LINES}):
            return 1, []
        part = lines[first - 1 : first - 1 + READ_LINES]
        self.files_read.add(path)
        self._end(sum(len(line) + 1 for line in part), path=path)
        return first, part

    def call(self, tool: OfferedTool, arguments: dict[str, Any]) -> str:
        """The text result of an MCP tool; empty when it failed."""
        if self._servers is None or not self._begin(tool.full_name, arguments):
            return ""
        result = self._servers.call(tool, arguments)
        text = {"text": result.text} if len(result.text) < REFUSAL else {}
        self._end(len(result.text), is_error=result.is_error, **text)
        return "" if result.is_error else result.text

    def _begin(self, name: str, arguments: dict[str, Any]) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        self.calls[name] += 1
        self._emit(
            {"type": "tool_call", "id": self.calls.total(), "name": name, "input": arguments}
        )
        return True

    def _end(self, size: int, is_error: bool = False, **more: str) -> None:
        event = {
            "type": "tool_result",
            "id": self.calls.total(),
            "is_error": is_error,
            "size": size,
        }
        self._emit(event | more)


def print_event(event: dict[str, Any]) -> None:
    """Writes one event as a line of JSON, at once."""
    print(json.dumps(event, ensure_ascii=False), flush=True)
