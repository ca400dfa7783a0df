"""The MCP server: four tools over one `Service`, and the log of their calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from lensbench import __version__
from lensbench.core.errors import UserError
from lensbench_demo.lens.calls import CallLog
from lensbench_demo.lens.service import Service

RepoPath = Annotated[
    str | None,
    Field(
        max_length=4096,
        description="Folder to ask about: the repository root (default), or a folder inside it.",
    ),
]

GREP = """Ranked search over the repository's file paths, symbols and text.

Use it to find where something is defined or dealt with when you know a name, part of a name or a few words, and to \
see at once how central each file is. Each term is matched as it is written (any case); identifiers also in other \
styles, so 'option parser' finds OptionParser and option_parser. It is no regular expression search, and it shows the \
first lines of each file, not all of them: for every occurrence of a string, use a text search.

Returns JSON: per term the best files with score, matches (kind, value, line), importers and hubScore (how many files \
import it, relative to the most imported one). Lists inside a file are shortened; `omitted` counts the files that did \
not fit."""

GRAPH = """Map of the repository, from its import statements.

Without `dir`: groups of files (first two path segments) and which group imports from which, with the number of \
imports; for a first look at an unknown repository. With `dir`: the files below it with their symbols, most imported \
first, and the import edges that touch them (source imports target).

Imports are resolved for Python, JavaScript, TypeScript, Go, Rust and Java. Returns JSON; `omitted` counts what did \
not fit: ask for a smaller folder then."""

NEIGHBORS = """The surroundings of one file: its symbols with lines, the files it imports and the files that import it.

Use it before a change, to see what may be affected, once you know the file. importers are direct ones: ask again for \
each of them to go further. Returns JSON."""

REINDEX = """Brings the index up to date with the files on disk.

The index is made when the server starts and does not follow later edits. Call this after you changed, added or \
deleted files and want to search or map them. Returns JSON: files_scanned, duration_ms, skipped (true if nothing had \
changed, unless `force` is set)."""


def make_server(service: Service, log: CallLog | None) -> MCPServer[Any]:
    """The server: its tools call `service`, and its calls are written to `log`, if there is one."""
    server: MCPServer[Any] = MCPServer(
        "lens", version=__version__, log_level="WARNING", middleware=[_logged(log)] if log else []
    )
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    @server.tool(
        title="Ranked code search", description=GREP, annotations=looks, structured_output=False
    )
    def lens_grep(
        query: Annotated[
            str, Field(max_length=1000, description="One or more terms, separated by |.")
        ],
        repoPath: RepoPath = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Files per term.")] = 20,
    ) -> str:
        return _told(lambda: service.grep(repoPath, query, limit))

    @server.tool(
        title="Dependency map", description=GRAPH, annotations=looks, structured_output=False
    )
    def lens_graph(
        repoPath: RepoPath = None,
        dir: Annotated[
            str | None,
            Field(
                max_length=4096,
                description="Folder to show file by file; '' is the whole repository.",
            ),
        ] = None,
    ) -> str:
        return _told(lambda: service.graph(repoPath, dir))

    @server.tool(
        title="File neighborhood", description=NEIGHBORS, annotations=looks, structured_output=False
    )
    def lens_graph_neighbors(
        path: Annotated[
            str, Field(max_length=4096, description="The file, relative to the repository root.")
        ],
        repoPath: RepoPath = None,
    ) -> str:
        return _told(lambda: service.neighbors(repoPath, path))

    @server.tool(
        title="Refresh the index", description=REINDEX, annotations=looks, structured_output=False
    )
    def lens_reindex(
        repoPath: RepoPath = None,
        force: Annotated[
            bool, Field(description="Read all files even if none has changed.")
        ] = False,
    ) -> str:
        return _told(lambda: service.reindex(repoPath, force))

    return server


def _told(answer: Callable[[], str]) -> str:
    """The answer; a UserError is returned to the caller as a tool error."""
    try:
        return answer()
    except UserError as error:
        raise ToolError(str(error)) from None


def _logged(log: CallLog) -> Any:
    """A middleware that logs tool calls and their results."""

    async def middleware(
        context: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if context.method != "tools/call":
            return await call_next(context)
        start = time.monotonic()
        size = 0
        is_error = True
        params = context.params or {}
        try:
            result = await call_next(context)
            size, is_error = _size(result)
        finally:
            log.write(
                str(params.get("name", "")), params.get("arguments"), start, size, is_error=is_error
            )
        return result

    return middleware


def _size(result: HandlerResult) -> tuple[int, bool]:
    """The number of characters of a serialized answer, and whether it is an error."""
    message = result.model_dump(by_alias=True) if isinstance(result, BaseModel) else result or {}
    texts = [part.get("text", "") for part in message.get("content", ())]
    return sum(map(len, texts)), bool(message.get("isError"))
