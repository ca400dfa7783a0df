"""The scripted fake of the Messages API, as a program and inside a test."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes.messages_api import MessagesApi, read_rules, serving

PROGRAM = Path(__file__).parents[1] / "fakes" / "messages_api.py"


def ask(url: str, text: str = "hello", **fields: Any) -> tuple[int, str]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **fields}
    request = urllib.request.Request(f"{url}/v1/messages?beta=true", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextmanager
def program(folder: Path, rules: list[dict[str, Any]]) -> Iterator[str]:
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    argv = [sys.executable, "-P", str(PROGRAM), "--script", "rules.yaml", "--log", "log.jsonl"]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def test_the_program_answers_by_its_script_and_logs_every_request(tmp_path: Path) -> None:
    with program(tmp_path, [{"times": 1, "reply": {"status": 529}}, {"reply": {"text": "hi"}}]) as url:
        assert ask(url)[0] == 529
        status, text = ask(url)
    assert status == 200
    assert json.loads(text)["content"] == [{"type": "text", "text": "hi"}]
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(entry["path"], entry["rule"], entry["body"]["model"]) for entry in logged] == [
        ("/v1/messages?beta=true", 1, "m"),
        ("/v1/messages?beta=true", 2, "m"),
    ]


def test_the_first_rule_that_fits_answers() -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"turn": 2}, "reply": {"text": "second turn"}},
        {"when": {"has_tool": "find"}, "reply": {"text": "has it"}},
        {"when": {"text": "secret"}, "reply": {"text": "was told"}},
        {"when": {"model": "m", "lacks_tool": "find", "stream": False}, "reply": {"text": "plain"}},
    ]
    with serving(MessagesApi(), read_rules(rules)) as fake:
        later = [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]
        answers = [
            ask(fake.url, messages=later)[1], ask(fake.url, tools=[{"name": "find"}])[1], ask(fake.url, "a secret")[1],
            ask(fake.url)[1],
        ]  # fmt: skip
        assert ask(fake.url, model="other")[0] == 403
    assert [json.loads(text)["content"][0]["text"] for text in answers] == [
        "second turn", "has it", "was told", "plain",
    ]  # fmt: skip


def test_a_streamed_answer_says_the_same_as_a_whole_one() -> None:
    tool = {"name": "find", "input": {"query": "cart"}}
    with serving(MessagesApi(), read_rules([{"reply": {"text": "Looking.", "tools": [tool]}}])) as fake:
        events = [
            json.loads(line[6:]) for line in ask(fake.url, stream=True)[1].splitlines() if line.startswith("data: ")
        ]
    kinds = [
        "message_start", *["content_block_start", "content_block_delta", "content_block_stop"] * 2, "message_delta",
    ]  # fmt: skip
    assert [event["type"] for event in events] == [*kinds, "message_stop"]
    assert json.loads(events[5]["delta"]["partial_json"]) == {"query": "cart"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize("breaks", ["reset", "drop", "error_event"])
def test_a_broken_answer_is_broken(breaks: str) -> None:
    with (
        serving(MessagesApi(), read_rules([{"reply": {"text": "half", "breaks": breaks}}])) as fake,
        pytest.raises(OSError, match=r"reset|closed"),
    ):
        ask(fake.url, stream=True)


def test_an_error_carries_its_headers_and_kind() -> None:
    rules = [{"reply": {"status": 429, "error": "slow down", "headers": {"retry-after": "7"}}}]
    with serving(MessagesApi(), read_rules(rules)) as fake:
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{fake.url}/v1/messages", b"{}", timeout=10)
        assert caught.value.headers["retry-after"] == "7"
        assert json.loads(caught.value.read())["error"] == {"type": "rate_limit_error", "message": "slow down"}


def test_a_misspelt_key_of_a_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="txt"):
        read_rules([{"reply": {"txt": "hi"}}])
