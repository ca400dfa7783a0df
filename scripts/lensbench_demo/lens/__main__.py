"""Serves one folder to MCP clients: `python -P -m lensbench_demo.lens --root FOLDER`."""

from __future__ import annotations

import socket
import sys
from functools import partial
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.system.program import Parser, run_program

HOST = "127.0.0.1"
"""No other machine can read the folder."""


def main() -> None:
    """Reads the arguments and serves until the client disconnects (stdio) or the process is stopped (http)."""
    parser = Parser(prog="lensbench lens", description="Search and map one folder over MCP.")
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the folder to serve (default: the current one)"
    )
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument(
        "--port",
        type=int,
        default=4111,
        help=f"http: the port on {HOST} (default: %(default)s); path /mcp",
    )
    parser.add_argument("--log", type=Path, help="append every call to this JSON Lines file")
    arguments = parser.parse_args()
    if arguments.transport == "http":
        check_port(arguments.port)
    serve(arguments.root, arguments.transport, arguments.port, arguments.log)


def check_port(port: int) -> None:
    """Raises UserError unless the port is free."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except (OSError, OverflowError) as error:
        raise UserError(
            f"--port {port} on {HOST} cannot be used: {error}. Choose another port."
        ) from None


def serve(root: Path, transport: str, port: int, log: Path | None) -> None:
    """Serves `root`. Slow imports are here, so that --help and usage errors return at once.

    Raises UserError if the root is not a folder or the log cannot be written.
    """
    from lensbench_demo.lens import calls, stdio, tools
    from lensbench_demo.lens.service import Service

    service = Service(root)
    call_tool = partial(tools.call, service, calls.CallLog(log) if log else None)
    service.warm_up()
    if transport == "http":
        from lensbench_demo.lens import server

        server.serve(call_tool, HOST, port)
    else:
        stdio.serve(sys.stdin.buffer, sys.stdout, call_tool)


if __name__ == "__main__":
    run_program(main)
