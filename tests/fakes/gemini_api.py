"""A scripted fake of the Gemini API: `POST /v1beta/models/<model>:streamGenerateContent`. Rules and log: see
`messages_api`.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from fakes.messages_api import Event, Facts, Reply

STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class GeminiApi:
    """Google's generateContent, whole or streamed. Its events have no names."""

    def facts(self, path: str, body: dict[str, Any]) -> Facts | None:
        asked = re.search(r"/models/([^/:]+):(generateContent|streamGenerateContent)", path)
        if not asked:
            return None
        contents = body.get("contents", [])
        parts = [part for content in contents for part in content.get("parts", [])]
        results = [
            part["functionResponse"].get("response") for part in parts if "functionResponse" in part
        ]
        declared = [
            entry
            for tool in body.get("tools", [])
            for entry in tool.get("functionDeclarations", [])
        ]
        return Facts(
            turn=1 + sum(content.get("role") == "model" for content in contents),
            tools=tuple(entry["name"] for entry in declared),
            model=asked[1],
            stream=asked[2] == "streamGenerateContent",
            text=json.dumps([body.get("systemInstruction"), contents], ensure_ascii=False),
            tool_result=json.dumps(results[-1], ensure_ascii=False) if results else "",
        )

    def message(self, reply: Reply, facts: Facts) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        if reply.text is not None:
            parts.append({"text": reply.text.replace("{tool_result}", facts.tool_result)})
        parts += [
            {"functionCall": {"name": tool["name"], "args": tool["input"]}} for tool in reply.tools
        ]
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts},
                    "index": 0,
                    "finishReason": reply.stop_reason or "STOP",
                }
            ],
            "modelVersion": reply.model or facts.model,
            "usageMetadata": {
                "promptTokenCount": 100,
                "candidatesTokenCount": 20,
                "totalTokenCount": 129,
                "cachedContentTokenCount": 7,
                "thoughtsTokenCount": 5,
                "toolUsePromptTokenCount": 4,
            },
        }

    def events(self, reply: Reply, facts: Facts) -> Sequence[Event]:
        message = self.message(reply, facts)
        begun = {
            **message["candidates"][0],
            "finishReason": None,
            "content": {"role": "model", "parts": [{"text": ""}]},
        }
        return [("", {**message, "candidates": [begun]}), ("", message)]

    def failure(self, status: int, message: str) -> dict[str, Any]:
        return {
            "error": {"code": status, "message": message, "status": STATUS.get(status, "UNKNOWN")}
        }
