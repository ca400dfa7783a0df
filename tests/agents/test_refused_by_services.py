"""Tool lists that are valid MCP, and that model services refuse."""

from typing import Any

import pytest

from lensbench.agents.mcp.client import _listed
from lensbench.agents.mcp.stdio import ServerProblem
from lensbench.agents.mcp.tools import OfferedTool, refused_by_services

OBJECT: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}}
FIND: dict[str, Any] = {"name": "find", "inputSchema": OBJECT}
UNION: dict[str, Any] = {"name": "find", "inputSchema": {"anyOf": [{"type": "object"}]}}


def tool(name: str = "find", **schema: Any) -> OfferedTool:
    return OfferedTool("srv", name, "Finds.", {**OBJECT, **schema}, changes=False)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([tool()], []),
        ([tool(anyOf=[{"required": ["query"]}])], ["find: anyOf at the top of its inputSchema"]),
        ([tool(oneOf=[])], ["find: oneOf at the top of its inputSchema"]),
        ([tool(properties={"q": {"anyOf": [{"type": "string"}]}})], []),
        ([tool("a" * 54)], []),  # mcp__srv__ has ten
        ([tool("a" * 55)], [f"{'a' * 55}: its name has 65 characters with the prefix"]),
        ([tool("find.code")], ["find.code: its name may have letters, digits, _ and - only"]),
        ([tool(properties={"a.b c$": {}})], ["find: its argument 'a.b c$'"]),
        ([tool(f"t{n}") for n in range(128)], []),
        ([tool(f"t{n}") for n in range(129)], ["129 tools: OpenAI refuses more than 128"]),
    ],
)
def test_what_a_service_refuses_is_named_with_tool_and_rule(
    tools: list[OfferedTool], said: list[str]
) -> None:
    found = list(refused_by_services(tools))
    assert len(found) == len(said)
    for sentence, beginning in zip(found, said, strict=True):
        assert sentence.startswith(beginning)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ({"tools": [FIND, UNION]}, "inputSchema.type of its tool number 2 is missing"),
        (
            {"tools": [{**FIND, "inputSchema": {"type": 3}}]},
            "inputSchema.type of its tool number 1 is 3",
        ),
        ({"tools": [{"name": "find"}]}, "inputSchema of its tool number 1 is missing"),
        ({"tools": [FIND, "find"]}, "name of its tool number 2 is missing"),
        ({"tools": None}, "tools is None"),
        ({}, "tools is missing"),
    ],
)
def test_a_list_of_tools_that_is_not_as_mcp_has_it_is_refused_by_the_place_in_it(
    page: dict[str, Any], why: str
) -> None:
    with pytest.raises(ServerProblem) as refused:
        _listed(page)
    assert str(refused.value) == f"its answer is no ListToolsResult of MCP: {why}"
