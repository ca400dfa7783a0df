"""An MCP server over HTTP that serves many folders at a time: `python3 daemon.py [port]`, 4112 by default.

It knows a folder after `PUT /folders?path=...`, which indexes it, until `DELETE /folders?path=...`. Each MCP request
names its folder in the header X-Folder. It needs only the standard library.
"""

import json
import re
import sys
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

TOOL = {
    "name": "search",
    "description": "Searches all files for the words of the query; returns file, line number and line.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
INDEXES = {}
"""Folder -> word -> the places where it occurs."""


def index(folder):
    """The places of every word in a folder."""
    found = defaultdict(list)
    for path in sorted(Path(folder).rglob("*.py")):
        for number, line in enumerate(path.read_text(errors="replace", encoding="utf-8").splitlines(), 1):
            for word in dict.fromkeys(re.findall(r"\w+", line.lower())):
                found[word].append(f"{path.relative_to(folder)}:{number}: {line}")
    return found


def called(folder, arguments):
    """The result of a call of the tool."""
    if folder not in INDEXES:
        return {"content": [{"type": "text", "text": f"folder not registered: {folder}"}], "isError": True}
    words = re.findall(r"\w+", str(arguments.get("query", "")).lower())
    places = [place for word in words for place in INDEXES[folder].get(word, [])]
    return {"content": [{"type": "text", "text": "\n".join(places[:50]) or "nothing found"}]}


def answered(method, params, folder):
    """The result of an MCP request; None for a method that it does not have."""
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "daemon", "version": "1"}}
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"), **about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return called(folder, params.get("arguments", {}))
    return {} if method == "ping" else None


class Handler(BaseHTTPRequestHandler):
    """MCP at /mcp (streamable HTTP, without streams and sessions), folders at /folders."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if "id" not in request:
            return self.reply(202)
        result = answered(request["method"], request.get("params", {}), self.headers.get("X-Folder", ""))
        told = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        return self.reply(200, {"jsonrpc": "2.0", "id": request["id"], **told})

    def do_PUT(self):
        folder = self.folder()
        INDEXES[folder] = index(folder)
        self.reply(200, {"words": len(INDEXES[folder])})

    def do_DELETE(self):
        if urlsplit(self.path).path == "/folders":
            INDEXES.pop(self.folder(), None)
        self.reply(200, {})

    def do_GET(self):
        self.reply(405)  # no stream

    def folder(self):
        return parse_qs(urlsplit(self.path).query)["path"][0]

    def reply(self, status, value=None):
        content = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 4112
    print(f"listening at http://127.0.0.1:{port}/mcp", flush=True)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()  # loopback only
