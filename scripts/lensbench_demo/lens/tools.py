"""The four tools: their names, what they accept, their answers by one `Service`, and the log of their calls."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lensbench_demo.lens.calls import CallLog
from lensbench_demo.lens.service import Service

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

PathName = Annotated[str, Field(max_length=4096)]
RepoPath = Annotated[
    PathName | None,
    Field(description="Folder to ask about: the repository root (default), or a folder inside it."),
]


class Arguments(BaseModel):
    """The arguments of a call, by the protocol's names. A docstring of a subclass would stand in its schema."""

    def answer(self, service: Service) -> str:
        """The answer of the tool, as JSON. Raises UserError for invalid arguments."""
        raise NotImplementedError


class Grep(Arguments):
    model_config = ConfigDict(title="lens_grepArguments")

    query: Annotated[str, Field(max_length=1000, description="One or more terms, separated by |.")]
    repoPath: RepoPath = None
    limit: Annotated[int, Field(ge=1, le=50, description="Files per term.")] = 20

    def answer(self, service: Service) -> str:
        return service.grep(self.repoPath, self.query, self.limit)


class Graph(Arguments):
    model_config = ConfigDict(title="lens_graphArguments")

    repoPath: RepoPath = None
    dir: Annotated[
        PathName | None,
        Field(description="Folder to show file by file; '' is the whole repository."),
    ] = None

    def answer(self, service: Service) -> str:
        return service.graph(self.repoPath, self.dir)


class Neighbors(Arguments):
    model_config = ConfigDict(title="lens_graph_neighborsArguments")

    path: Annotated[PathName, Field(description="The file, relative to the repository root.")]
    repoPath: RepoPath = None

    def answer(self, service: Service) -> str:
        return service.neighbors(self.repoPath, self.path)


class Reindex(Arguments):
    model_config = ConfigDict(title="lens_reindexArguments")

    repoPath: RepoPath = None
    force: Annotated[bool, Field(description="Read all files even if none has changed.")] = False

    def answer(self, service: Service) -> str:
        return service.reindex(self.repoPath, self.force)


@dataclass(frozen=True)
class Tool:
    """A tool as clients see it."""

    title: str
    description: str
    arguments: type[Arguments]


TOOLS = {
    "lens_grep": Tool("Ranked code search", GREP, Grep),
    "lens_graph": Tool("Dependency map", GRAPH, Graph),
    "lens_graph_neighbors": Tool("File neighborhood", NEIGHBORS, Neighbors),
    "lens_reindex": Tool("Refresh the index", REINDEX, Reindex),
}


def listing() -> list[dict[str, Any]]:
    """The tools as `tools/list` names them."""
    tools = []
    for name, tool in TOOLS.items():
        tools.append(
            {
                "name": name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": tool.arguments.model_json_schema(),
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            }
        )
    return tools


def call(service: Service, log: CallLog | None, name: str, arguments: object) -> dict[str, Any]:
    """The result of `tools/call`; every mistake of the caller is a result with `isError`. It is written to `log`."""
    start = time.monotonic()
    is_error = True
    if name not in TOOLS:
        text = f"Unknown tool: {name}"
    else:
        try:
            text = TOOLS[name].arguments.model_validate(arguments or {}).answer(service)
            is_error = False
        except Exception as error:  # whatever is wrong with a call, the next one is answered
            text = f"Error executing tool {name}: {error}"
    if log:
        log.write(name, arguments, start, len(text), is_error=is_error)
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
