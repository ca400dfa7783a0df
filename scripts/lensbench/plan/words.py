"""Other words for servers: descriptions of tools, and instructions (docs/words.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from lensbench.core.conditions import read_jsonc
from lensbench.core.system.yaml_places import DocumentError, parse_document
from lensbench.core.tasks import Strict

FORM = "write <server>: {instructions: ..., tools: {<tool>: <description>}}"


class Words(Strict):
    """The words for a server; what is not written stays as the server has it."""

    instructions: str | None = None
    tools: dict[str, str] = Field(default={})


def words_text(path: Path) -> str:
    """The words in a file as JSON, by server. Raises OSError, and ValueError for a file without words."""
    document = parse_document(path.read_bytes())
    words: Any = TypeAdapter(dict[str, Words]).validate_python(document.value)
    if not words:
        raise ValueError
    parts = {server: own.model_dump() for server, own in words.items()}
    return json.dumps(parts, sort_keys=True, ensure_ascii=False)


def words_problem(path: Path, mcp: str | None) -> str:
    """What is wrong with a file of words for servers of an MCP file, as the end of a sentence; "" without a fault."""
    try:
        text = words_text(path)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    except DocumentError as error:
        return f"{path}:{error.line} {error}"
    except (ValidationError, ValueError):
        return f"{path} has no words for servers; {FORM}"
    servers = read_jsonc(Path(mcp).read_bytes())["mcpServers"] if mcp else {}
    for server in json.loads(text):
        if server not in servers:
            return f"{path} has words for {server!r}, which is no server of the condition"
    return ""
