"""A fake of a model's API whose model judges: rules can ask for what is judged, and a function replies."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from fakes.messages_api import Facts, MessagesApi, Reply

JUDGE = "{judge}"
"""A rule's text that stands for what `judge` says."""
_END = "\0"


class JudgingApi(MessagesApi):
    """The Messages API. `judge` gets a judge's request as it was rendered, and returns what the model says.

    To the rules such a request is nothing but `asked(fact, answer)`.
    """

    def __init__(self, judge: Callable[[str], str]) -> None:
        super().__init__()
        self._judge = judge

    def facts(self, path: str, body: dict[str, Any]) -> Facts | None:
        facts = super().facts(path, body)
        request = request_in(body)
        if not facts or not request:
            return facts
        fact, answer = (part(request, name) for name in ("fact", "answer"))
        return dataclasses.replace(facts, text=f"{asked(fact, answer)}{_END}{request}")

    def message(self, reply: Reply, facts: Facts) -> dict[str, Any]:
        if reply.text == JUDGE:
            _, _, request = facts.text.partition(_END)
            reply = dataclasses.replace(reply, text=self._judge(request) if request else "ok")
        return super().message(reply, facts)


def asked(fact: str, answer: str) -> str:
    """What a rule finds a request by; the beginning of the answer is enough."""
    return f"{fact}\n{answer}"


def request_in(body: dict[str, Any]) -> str:
    """The judge's request in the body of a request to the API; "" when there is none."""
    return next((text for text in _texts(body) if "<fact-" in text), "")


def part(request: str, name: str) -> str:
    """What stands between the marks of a part."""
    found = re.search(rf"<{name}-(\w+)>\n(.*)\n</{name}-\1>", request, re.DOTALL)
    assert found, name
    return found[2]


def _texts(body: dict[str, Any]) -> Iterator[str]:
    for message in body.get("messages", []):
        content = message["content"]
        yield from (
            [content] if isinstance(content, str) else (block.get("text", "") for block in content)
        )
