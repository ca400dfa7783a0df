"""An MCP server in Python: one tool, which searches the files of the folder that it is started with."""

import re
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

ROOT = Path(sys.argv[1])
server = MCPServer("search")


@server.tool()
def search(query: str) -> str:
    """Searches all files for the words of the query; returns file, line number and line, the best files first."""
    words = [word.lower() for word in re.findall(r"\w+", query)]
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        hits = [(number, line) for number, line in enumerate(lines, 1) if any(word in line.lower() for word in words)]
        found.append((len(hits), [f"{path.relative_to(ROOT)}:{number}: {line}" for number, line in hits]))
    return "\n".join(line for _, lines in sorted(found, reverse=True) for line in lines) or "nothing found"


server.run()
