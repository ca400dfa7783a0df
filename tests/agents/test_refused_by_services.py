"""Tool lists that are valid MCP, and that model services refuse."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from lensbench.agents.mcp.client import _reason
from lensbench.agents.mcp.tools import OfferedTool, refused_by_services

OBJECT: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}}


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


class Schema(BaseModel):
    type: str


class ListedTool(BaseModel):
    inputSchema: Schema


class ListToolsResult(BaseModel):
    tools: list[ListedTool]


def test_a_list_of_tools_that_is_not_as_mcp_has_it_is_refused_by_the_place_in_it() -> None:
    good = {"inputSchema": {"type": "object"}}
    union = {"inputSchema": {"anyOf": [{"type": "object"}]}}
    number = {"inputSchema": {"type": 3}}
    for answer, why in (
        ({"tools": [good, union]}, "inputSchema.type of its tool number 2 is missing"),
        ({"tools": [number]}, "inputSchema.type of its tool number 1 is wrong: Input should be"),
        ({"tools": None}, "tools is wrong: Input should be"),
        ({}, "tools is missing"),
    ):
        with pytest.raises(ValidationError) as refused:
            ListToolsResult.model_validate(answer)
        said = f"its answer is no ListToolsResult of MCP: {why}"
        assert _reason(refused.value).startswith(said)
    assert _reason(ExceptionGroup("", [refused.value])) == _reason(refused.value)
