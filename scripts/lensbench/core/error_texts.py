"""Detects results of MCP tools that are errors without being marked as such, for example "Repo not registered"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

UNKNOWN_WORKSPACE = re.compile(
    r"(?i)(\bnot|n['\u2019]t) (yet )?(been )?(registered|indexed)|(unknown|no such|no active) (repo|workspace|project)"
    r"|(workspace|project|repo\w*) (is )?not initiali[sz]ed"
)
"""For servers without patterns in the config."""
LONGEST_REFUSAL = 400  # longer answers are no errors
LONGEST_SEARCHED = 4000  # characters that the config's patterns search
DISCONNECTED = re.compile(
    r"(?i)connection closed|(is )?not connected|transport closed|ECONNREFUSED|ECONNRESET|EPIPE"
    r"|socket connection was closed|socket hang up|error POSTing to endpoint|fetch failed"
    r"|\b(bad gateway|service unavailable|gateway time-?out)\b"
)
"""Client messages for a call to a server that is gone."""


class ErrorTexts:
    """The error patterns (RE2) of each server."""

    def __init__(self, patterns: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
        self._patterns = patterns

    def found(self, tool: str, answer: str) -> str:
        """The shortened answer when it is an error of a tool (`mcp__<server>__<name>`); "" otherwise."""
        if not tool.startswith("mcp__"):
            return ""
        patterns = self._patterns.get(tool.split("__")[1])
        if patterns is None:
            is_error = len(answer) < LONGEST_REFUSAL and bool(UNKNOWN_WORKSPACE.search(answer))
        else:
            import re2  # imported only when needed, since every run imports this module

            is_error = any(re2.search(pattern, answer[:LONGEST_SEARCHED]) for pattern in patterns)
        return " ".join(answer.split())[:200] if is_error else ""


KNOWN_ERRORS = ErrorTexts()


def useless_servers(calls: Iterable[tuple[str, str, bool]]) -> dict[str, str]:
    """Servers that answered no call and returned an error as a result -> that text. A call is (tool, error text in its
    result or "", whether it failed in any way)."""
    texts: dict[str, str] = {}
    useful: set[str] = set()
    for tool, error, is_error in calls:
        server = tool.split("__")[1] if tool.startswith("mcp__") else ""
        if error:
            texts.setdefault(server, error)
        elif not is_error:
            useful.add(server)
    return {server: error for server, error in texts.items() if server not in useful}
