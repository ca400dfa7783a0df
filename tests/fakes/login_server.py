"""A small MCP server over HTTP that wants a token: `login_server.py PORT FILE`, a file with a valid token a line."""

import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import MCPServer

server = MCPServer("shop")
VALID = Path(sys.argv[2])


@server.tool()
def search(query: str) -> str:
    """Searches the files for a query."""
    return f"{query} is in shop.py"


APP = server.streamable_http_app()


async def guarded(scope: Any, receive: Any, send: Any) -> None:
    """Answers 401 to a request without a valid token."""
    headers = dict(scope.get("headers", ()))
    token = headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
    if scope["type"] == "http" and token not in VALID.read_text(encoding="utf-8").split():
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"token expired"})
        return
    await APP(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(guarded, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
