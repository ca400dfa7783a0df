#!/usr/bin/env python3
"""Registers a workspace with a LENS daemon over HTTP, or removes it: `workspace.py register|remove <folder>`.

LENS_URL is the daemon's address, http://127.0.0.1:4111 by default. It needs only the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

URL = os.environ.get("LENS_URL", "http://127.0.0.1:4111").rstrip("/")
INDEX_S = 600


def ask(method: str, path: str, body: dict[str, Any] | None = None, limit_s: float = 30) -> Any:
    """The daemon's answer. Raises SystemExit with one line when there is none, or a refusal."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/api/cli/{path}", data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=limit_s) as response:
            content = response.read()
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: HTTP {error.code} {error.read()[:200].decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"{URL} does not answer ({error}); start the daemon, or set LENS_URL")
    return json.loads(content) if content.strip() else None


def ids_of(folder: str) -> list[str]:
    """The registrations of the folder."""
    listed = ask("GET", "repos")
    listed = listed.get("repos", []) if isinstance(listed, dict) else listed
    return [str(repo["id"]) for repo in listed if repo.get("root_path") == folder]


def register(folder: str) -> None:
    """Registers the folder again, and waits until it is indexed. Registering over HTTP writes nothing into it."""
    remove(folder)
    repo = str(ask("POST", "repos", {"path": folder})["id"])
    ask("POST", f"repos/{repo}/index", {"force": True}, INDEX_S)
    stats = ask("GET", f"repos/{repo}/stats")
    print(f"{folder}: indexed as {repo}: {json.dumps(stats)[:200]}")


def remove(folder: str) -> None:
    """Removes the folder from the daemon; does nothing if it is not registered."""
    for repo in ids_of(folder):
        ask("DELETE", f"repos/{repo}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("register", "remove"):
        sys.exit("usage: workspace.py register|remove <folder>")
    {"register": register, "remove": remove}[sys.argv[1]](os.path.realpath(sys.argv[2]))
