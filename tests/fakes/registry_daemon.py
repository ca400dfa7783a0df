"""An MCP server that runs as a daemon and knows only the workspaces that it was told of over HTTP.

    python -P registry_daemon.py serve PORT LOG     MCP at /mcp, workspaces at /workspaces
    python -P registry_daemon.py tell URL FOLDER    a setup command
    python -P registry_daemon.py forget URL FOLDER  a teardown command

Like some real servers it answers for a workspace that it does not know, and does not call that an error. LOG gets a
line for everything that it was told and asked.
"""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path


def serve(port: int, log: Path) -> None:
    from mcp.server.mcpserver import MCPServer
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response

    server = MCPServer("lens", log_level="WARNING")
    known: set[str] = set()

    def note(word: str, detail: str) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{word} {detail}\n")

    @server.custom_route("/workspaces", ["POST", "DELETE"])
    async def workspaces(request: Request) -> Response:
        folder = (await request.json())["path"]
        note("told" if request.method == "POST" else "forgot", folder)
        if request.method == "POST" and not Path(folder).is_dir():
            return JSONResponse({"error": f"no folder {folder}"}, 404)
        (known.add if request.method == "POST" else known.discard)(folder)
        return JSONResponse({"workspaces": sorted(known)})

    @server.tool(structured_output=False)
    def lens_grep(repoPath: str, query: str) -> str:
        """Ranked search; separate terms with `|`."""
        note("asked" if repoPath in known else "refused", repoPath)
        if repoPath not in known:
            return "Repo not registered. Register it first."
        terms = query.lower().split("|")
        files = sorted(Path(repoPath).rglob("*.py"))
        hits = [
            file
            for file in files
            if any(term in file.read_text(encoding="utf-8").lower() for term in terms)
        ]
        return json.dumps([{"path": str(file.relative_to(repoPath))} for file in hits])

    server.run("streamable-http", host="127.0.0.1", port=port)


def tell(method: str, url: str, folder: str) -> None:
    body = json.dumps({"path": folder}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=20).close()
    except urllib.error.HTTPError as error:
        sys.exit(f"the daemon says {error.code}: {error.read().decode()}")
    except OSError as error:
        sys.exit(f"the daemon does not answer: {error}")


if __name__ == "__main__":
    word, place, argument = sys.argv[1:4]
    if word == "serve":
        serve(int(place), Path(argument))
    else:
        tell({"tell": "POST", "forget": "DELETE"}[word], place, argument)
