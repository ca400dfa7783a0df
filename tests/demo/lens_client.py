"""Asking the embedded server as agents do: through the SDK's client, in this process, over stdio or over HTTP."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Tool

import stock
from lensbench_demo.lens.calls import CallLog
from lensbench_demo.lens.server import make_server
from lensbench_demo.lens.service import Service
from lensbench_demo.lens.tools import call
from stock import git

SCRIPTS = str(Path(__file__).parents[2] / "scripts")
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Answer:
    """What a call gave."""

    text: str
    is_error: bool

    @property
    def json(self) -> Any:
        assert not self.is_error, self.text
        return json.loads(self.text)


async def _answers(target: Any, calls: Sequence[Call]) -> tuple[list[Tool], list[Answer]]:
    async with Client(target) as client:
        tools = (await client.list_tools()).tools
        answers = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert len(result.content) == 1
            assert result.structured_content is None
            answers.append(Answer(result.content[0].text, bool(result.is_error)))  # type: ignore[union-attr]
        return tools, answers


def ask_service(service: Service, *calls: Call, log: Path | None = None) -> list[Answer]:
    """The answers of a server in this process."""
    call_tool = partial(call, service, CallLog(log) if log else None)
    return asyncio.run(_answers(make_server(call_tool), calls))[1]


def ask(root: Path, tool: str, **arguments: Any) -> Answer:
    """One answer about a folder, from a fresh index."""
    return ask_service(Service(root), (tool, arguments))[0]


def ask_stdio(
    arguments: Sequence[str], calls: Sequence[Call], cwd: Path, **env: str
) -> tuple[list[Tool], list[Answer]]:
    """The tools and answers of a server started as MCP clients start it."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "lensbench_demo.lens", *arguments],
        env={"PYTHONPATH": SCRIPTS, **env},
        cwd=cwd,
    )
    return asyncio.run(_answers(stdio_client(parameters), calls))


def commit(root: Path, message: str = "x") -> None:
    """Commits everything, in a repository that is made if need be."""
    git(root, "init", "--quiet")
    stock.commit(root, message, {})
