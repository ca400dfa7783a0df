"""A fake MCP server over stdio: works, exits at once, never answers, or answers after 20 seconds."""

import sys
import time

from mcp.server import MCPServer

if sys.argv[1] == "exit":
    sys.exit(1)
if sys.argv[1] == "mute":
    time.sleep(600)
if sys.argv[1] == "late":
    time.sleep(20)

server = MCPServer("fake")


@server.tool()
def search(query: str) -> str:
    """Searches the files for a query."""
    return f"shop.py: {query}"


server.run("stdio")
