"""The agent's tools. Every call is counted, limited and printed as an event."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lensbench.agents.mcp.client import Servers
from lensbench.agents.mcp.tools import OfferedTool, ToolArguments
from lensbench.core.error_texts import LONGEST_REFUSAL
from lensbench_demo.offline.workspace import Workspace

OWN_TOOLS = ("Glob", "Grep", "Read")


class Toolbox:
    """The agent's own tools and those of the servers. At the limit, further calls return nothing."""

    def __init__(
        self,
        workspace: Workspace,
        servers: Servers,
        max_calls: int,
        without: Sequence[str] = (),
    ) -> None:
        """`without`: the full names of servers' tools that it does not have."""
        self.workspace = workspace
        self.offered = [tool for tool in servers.tools if tool.full_name not in without]
        self.calls: Counter[str] = Counter()
        self.files_read: set[str] = set()
        self._servers = servers
        self._max_calls = max_calls

    def glob(self) -> tuple[str, ...]:
        """All files of the workspace."""
        if not self._begin("Glob", {"pattern": "**/*"}):
            return ()
        files = self.workspace.files
        self._end(sum(map(len, files)))
        return files

    def grep(self, words: Sequence[str], pattern: re.Pattern[str]) -> dict[str, list[int]]:
        """File -> the lines on which `pattern` begins, which has one of `words` in it."""
        if not self._begin("Grep", {"pattern": "|".join(words)}):
            return {}
        hits = self.workspace.hits(pattern, words)
        self._end(sum(map(len, hits)))
        return hits

    def read(self, path: str) -> list[str]:
        """The lines of a file."""
        if not self._begin("Read", {"path": path}):
            return []
        self.files_read.add(path)
        self._end(len(self.workspace.text(path)), path=path)
        return self.workspace.lines(path)

    def call(self, tool: OfferedTool, arguments: ToolArguments) -> str:
        """The text result of an MCP tool; empty when it failed."""
        if not self._begin(tool.full_name, arguments):
            return ""
        result = self._servers.call(tool, arguments)
        text = {"text": result.text} if len(result.text) < LONGEST_REFUSAL else {}
        self._end(len(result.text), is_error=result.is_error, **text)
        return "" if result.is_error else result.text

    def _begin(self, name: str, arguments: ToolArguments) -> bool:
        if self.calls.total() >= self._max_calls:
            return False
        self.calls[name] += 1
        event = {
            "type": "tool_call",
            "id": self.calls.total(),
            "name": name,
            "input": arguments,
        }
        print_event(event)
        return True

    def _end(self, size: int, is_error: bool = False, **more: str) -> None:
        event = {
            "type": "tool_result",
            "id": self.calls.total(),
            "is_error": is_error,
            "size": size,
            **more,
        }
        print_event(event)


def print_event(event: dict[str, Any]) -> None:
    """Writes one event as a line of JSON, at once."""
    print(json.dumps(event, ensure_ascii=False), flush=True)
