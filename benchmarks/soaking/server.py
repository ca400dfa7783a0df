"""The MCP server of the soak test: tests/fakes/stdio_mcp_server.py, started with the injector's arguments.

server.py <injector's address> <workspace>
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

LOG_BYTES = 3_000_000
FAKE = Path(__file__).resolve().parents[2] / "tests" / "fakes" / "stdio_mcp_server.py"


def main(address: str, workspace: str) -> None:
    """Asks the injector, and replaces itself by the server; that of the preflight has no prompt and never a fault."""
    prompt = Path(workspace).parent / "session" / "prompt.md"
    arguments = ""
    if prompt.exists():
        asked = {
            "place": prompt.parents[1].name,
            "task": prompt.read_text(encoding="utf-8").split()[1].rstrip(":"),
        }
        with urlopen(f"{address}/server?{urlencode(asked)}") as answer:
            arguments = answer.read().decode()
    if arguments == "--exit":
        sys.exit(1)
    if arguments == "--log-bomb":
        (prompt.parent / "server.jsonl").write_bytes(b"[" * LOG_BYTES + b"\n\0\n")
        arguments = ""
    os.execv(sys.executable, [sys.executable, "-IS", str(FAKE), *arguments.split()])


if __name__ == "__main__":
    main(*sys.argv[1:])
