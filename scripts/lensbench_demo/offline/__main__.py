"""`python -P -m lensbench_demo.offline`: the command line of the agent without a language model."""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from lensbench.agents.mcp.client import Servers, read_entry
from lensbench.core.errors import UserError
from lensbench_demo.offline.agent import answer_prompt
from lensbench_demo.offline.toolbox import OWN_TOOLS, Toolbox, print_event
from lensbench_demo.offline.workspace import Workspace

VERSION = "4"


def main() -> int:
    """Answers one prompt. Returns the exit code: 0 for an answer, 2 for a mistake in the arguments."""
    gc.disable()  # the process lives for a second, and garbage collection during its imports took a tenth of that
    options = _arguments()
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(143)
    )  # exit normally, so that the servers are ended
    try:
        prompt = _read(options.prompt_file)
        config = _servers(options.mcp_config) if options.mcp_config else {}
        if not os.path.isdir(options.workspace):
            raise UserError(
                f"{options.workspace}: is not a folder. Name the workspace with --workspace."
            )
    except UserError as error:
        print(f"lensbench_demo.offline: {error}", file=sys.stderr)
        return 2
    entries = {name: read_entry(entry) for name, entry in config.items()}
    workspace = Workspace(options.workspace)
    with Servers(entries, workspace.root, options.mcp_start_s) as servers:
        toolbox = Toolbox(workspace, servers, options.max_turns, options.without_tool)
        print_event(_start_event(workspace, servers, toolbox))
        text = answer_prompt(prompt, toolbox, options.seed)
        print_event({"type": "answer", "text": text})
    print_event({"type": "end", "turns": toolbox.calls.total() + 1, "is_error": False})
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -P -m lensbench_demo.offline", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--prompt-file", required=True, help="the file with the prompt")
    parser.add_argument(
        "--workspace",
        required=True,
        help="the folder that the prompt is about; no other files are read",
    )
    parser.add_argument("--mcp-config", help="a file with MCP servers in the mcpServers format")
    parser.add_argument(
        "--seed", type=int, default=0, help="decides the order of files with equal scores"
    )
    parser.add_argument(
        "--mcp-start-s",
        type=float,
        default=15.0,
        help="time limit for the start of a server, in seconds (default: 15)",
    )
    parser.add_argument(
        "--max-turns", type=int, default=30, help="the maximum number of tool calls (default: 30)"
    )
    parser.add_argument(
        "--without-tool", action="append", default=[], help="a server's tool that it is not to have"
    )
    return parser.parse_args()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def _servers(path: str) -> dict[str, Any]:
    try:
        return {**json.loads(_read(path))["mcpServers"]}
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path}: is not an MCP file ({error})") from None


def _start_event(workspace: Workspace, servers: Servers, toolbox: Toolbox) -> dict[str, Any]:
    tools = [*OWN_TOOLS, *(tool.full_name for tool in toolbox.offered)]
    statuses = [
        {
            "name": status.name,
            "status": "connected" if status.connected else "failed",
            "detail": status.detail,
        }
        for status in servers.statuses
    ]
    agent = {
        "agent": "offline-retrieval",
        "version": VERSION,
        "model": "none",
        "cwd": workspace.root,
    }
    return {"type": "start", **agent, "tools": tools, "mcp_servers": statuses}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader of the events has gone
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # there is nowhere to flush to
        sys.exit(1)
