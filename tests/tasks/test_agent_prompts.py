"""Prompts of change tasks that an agent writes: the real Claude Code, and a model that says what the test wants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_author import CLAUDE, KEY, live
from test_change_sources import generate, needs_sandbox, shop

from fakes.messages_api import Fake, MessagesApi, read_rules, serving
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.author import marked

__all__ = ["shop"]
GOOD = "The total of a cart is one less than the sum of its prices. It should be the sum."


def written(text: str) -> dict[str, Any]:
    return {"text": f"Here it is.\n<<<prompt>>>\n{text}\n<<<end>>>\n"}


def generated(rules: Sequence[Mapping[str, Any]], monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, Fake]:
    """The prompt of the one task, what was printed, and what the model was asked."""
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    with serving(MessagesApi(), read_rules([*rules, {"reply": {"text": "ok"}}])) as fake:
        agent = {
            "kind": "claude-code", "command": [str(CLAUDE)], "model": "sonnet", "provider": "custom",
            "base_url": fake.url, "token_env": "LIVE_TEST_KEY", "timeout_s": 120,
        }  # fmt: skip
        said = generate(
            "--repo", "shop", "--count", "1", "--output", "shop.yaml", "--prompts", "agent",
            "--settings", json.dumps({"agent": agent}),
        )  # fmt: skip
    (task,) = read_scenarios(["shop.yaml"]).tasks
    return task.prompt, said, fake


@pytest.mark.slow
@live
@needs_sandbox
def test_the_agent_writes_what_is_wanted_and_sees_neither_change_nor_tests(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = {"name": "Bash", "input": {"command": "cat cart.py tests/*; git log -p --all", "description": "look"}}
    rules = [
        {"when": {"turn": 1, "text": "<<<prompt>>>"}, "reply": {"tools": [look]}},
        {"when": {"turn": 2, "text": "<<<prompt>>>"}, "reply": written(GOOD)},
    ]
    prompt, _, fake = generated(rules, monkeypatch)
    assert prompt.startswith(GOOD)
    assert "- tests/test_cart.py::test_total" in prompt
    asked = json.dumps(fake.bodies)
    assert "it was one too small" in asked
    assert "return sum(prices) - 1" in asked, "it saw the repository"
    assert "assert total([1, 2]) == 3" not in asked
    assert "return sum(prices)\\\\n" not in asked.replace(" - 1", "?")
    assert "an agent's words" in Path("shop.report.md").read_text(encoding="utf-8")
    kept = b"".join(path.read_bytes() for path in Path("shop.transcripts").iterdir())
    assert KEY.encode() not in kept


@pytest.mark.slow
@live
@needs_sandbox
def test_a_prompt_that_gives_the_tests_away_goes_back_once(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leak = "The total is wrong: `assert total([1]) is not None` should hold."
    again = {"when": {"text": "cannot be used"}, "reply": written(GOOD)}
    rules = [again, {"when": {"text": "<<<prompt>>>"}, "reply": written(leak)}]
    prompt, _, fake = generated(rules, monkeypatch)
    assert prompt.startswith(GOOD)
    assert "it contains a line of a hidden test" in json.dumps(fake.bodies)


@pytest.mark.slow
@live
@needs_sandbox
def test_where_the_agent_writes_nothing_that_can_be_used_the_author_s_words_stay(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt, _, _ = generated([{"when": {"text": "<<<prompt>>>"}, "reply": written("Mend it.")}], monkeypatch)
    assert prompt.startswith("Fix the total: it was one too small")
    assert "the author's words: the agent's text has no task between the two marks" in Path("shop.report.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(("answer", "found"), [
    ("", ""), ("<<<prompt>>>\n<<<end>>>", ""),
    ("<<<prompt>>>\na\n<<<end>>>\nNo:\n<<<prompt>>>\nb\nc\n<<<end>>>\n", "b\nc"), ("x <<<prompt>>>\na\n<<<end>>>", ""),
])  # fmt: skip
def test_the_last_marked_text_is_the_prompt(answer: str, found: str) -> None:
    assert (marked(answer, "prompt") or "").strip() == found
