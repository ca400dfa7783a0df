"""A scripted fake of the Responses API, which Codex speaks: `POST .../responses`. Rules and log: see `messages_api`.

A rule names the tools of an MCP server `mcp__<server>__<tool>`, although they come in a namespace here.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fakes.messages_api import Event, Facts, Reply, text_of


class ResponsesApi:
    """OpenAI's Responses API."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def facts(self, path: str, body: dict[str, Any]) -> Facts | None:
        if path.split("?")[0].rsplit("/", 1)[-1] != "responses":
            return None
        items = [item for item in body.get("input", []) if isinstance(item, dict)]
        results = [
            text_of(item.get("output"))
            for item in items
            if item.get("type") == "function_call_output"
        ]
        return Facts(
            turn=1 + sum(item.get("type") == "function_call" for item in items),
            tools=tuple(_names(body.get("tools", []))),
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            text=json.dumps([body.get("instructions"), items], ensure_ascii=False),
            tool_result=results[-1] if results else "",
        )

    def message(self, reply: Reply, facts: Facts) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if reply.text is not None:
            text = {
                "type": "output_text",
                "text": reply.text.replace("{tool_result}", facts.tool_result),
                "annotations": [],
            }
            output.append(
                {"type": "message", "id": self._id("msg"), "role": "assistant", "content": [text]}
            )
        output += [self._call(tool) for tool in reply.tools]
        return {
            "id": self._id("resp"),
            "object": "response",
            "model": reply.model or facts.model,
            "output": output,
            "status": "incomplete" if reply.stop_reason else "completed",
            "incomplete_details": {"reason": reply.stop_reason} if reply.stop_reason else None,
            "usage": {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 7, "cache_write_tokens": 3},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 120,
            },
        }

    def events(self, reply: Reply, facts: Facts) -> Sequence[Event]:
        response = self.message(reply, facts)
        start = {**response, "status": "in_progress", "output": [], "usage": None}
        events: list[Event] = [("response.created", {"response": start})]
        for index, item in enumerate(response["output"]):
            place = {"output_index": index}
            events.append(
                ("response.output_item.added", {**place, "item": {**item, "status": "in_progress"}})
            )
            events.append(
                ("response.output_item.done", {**place, "item": {**item, "status": "completed"}})
            )
        events.append((f"response.{response['status']}", {"response": response}))
        return [(name, {"type": name, **data}) for name, data in events]

    def failure(self, status: int, message: str) -> dict[str, Any]:
        return {
            "error": {
                "message": message,
                "type": "server_error" if status >= 500 else "invalid_request_error",
                "code": str(status),
            }
        }

    def _call(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        namespace, _, name = tool["name"].rpartition("__")
        return {
            "type": "function_call",
            "id": self._id("fc"),
            "call_id": self._id("call"),
            "name": name,
            "arguments": json.dumps(tool["input"]),
            **({"namespace": namespace} if namespace else {}),
        }

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers):04}"


def _names(tools: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for tool in tools:
        name = tool.get("name") or tool.get("type", "")
        if tool.get("type") == "namespace":
            yield from (f"{name}__{inner}" for inner in _names(tool["tools"]))
        else:
            yield name
