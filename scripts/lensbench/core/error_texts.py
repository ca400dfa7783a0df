"""Answers of MCP tools that are errors although nothing marks them as such, such as "Repo not registered"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

UNKNOWN_WORKSPACE = re.compile(
    r"(?i)\bnot (yet )?(been )?(registered|indexed)|(unknown|no such) (repo|workspace|project)"
)
"""A run with such a server looks as if it had one. Looked for where the config names no patterns for the server."""
REFUSAL = 400
"""Longer answers are no refusals, whatever words are in them."""
LONGEST = 4000
"""Characters of an answer in which the config's own patterns are looked for."""
DISCONNECTED = re.compile(
    r"(?i)connection closed|(is )?not connected|transport closed|ECONNREFUSED|ECONNRESET|EPIPE"
    r"|socket connection was closed|socket hang up|error POSTing to endpoint|fetch failed"
    r"|\b(bad gateway|service unavailable|gateway time-?out)\b"
)
"""What clients report of a call whose server is gone."""


class ErrorTexts:
    """The patterns (RE2) of each server's error texts."""

    def __init__(self, patterns: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
        self._patterns = patterns

    def found(self, tool: str, answer: str) -> str:
        """The answer, cut, when a tool (`mcp__<server>__<name>`) reports an error in it; "" otherwise."""
        if not tool.startswith("mcp__"):
            return ""
        given = self._patterns.get(tool.split("__")[1])
        if given is None:
            is_error = len(answer) < REFUSAL and bool(UNKNOWN_WORKSPACE.search(answer))
        else:
            import re2  # only where patterns are given: every run imports this module

            is_error = any(re2.search(pattern, answer[:LONGEST]) for pattern in given)
        return " ".join(answer.split())[:200] if is_error else ""


KNOWN_ERRORS = ErrorTexts()
"""Without patterns of the config."""


def useless_servers(calls: Iterable[tuple[str, str, bool]]) -> dict[str, str]:
    """Servers that answered no call and reported an error as if it were an answer, and that text. A call is the tool,
    the error text in its answer ("" for none), and whether it failed in any way."""
    texts: dict[str, str] = {}
    useful: set[str] = set()
    for tool, said, failed in calls:
        server = tool.split("__")[1] if tool.startswith("mcp__") else ""
        if said:
            texts.setdefault(server, said)
        elif not failed:
            useful.add(server)
    return {server: said for server, said in texts.items() if server not in useful}
