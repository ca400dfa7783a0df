"""The whole chain with a model judge: the real Claude Code, and a fake of its model's API that fails in every way."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from fakes import judge as fake_judge
from fakes.judging_api import JUDGE, JudgingApi, asked, part, request_in
from fakes.messages_api import Fake, read_rules, serving
from small_benchmark import CHECKOUT, Project

CLAUDE = CHECKOUT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
KEY = "sk-live-test-0123456789abcdef"

pytestmark = [
    pytest.mark.skipif(
        not CLAUDE.exists(), reason="Claude Code is not installed: make agents (needs npm)"
    ),
    pytest.mark.xdist_group("claude"),
]

FACTS = (
    "Names the class `Cart`",
    "Names the file `shop.py`",
    "Says that it asked an `index`",
    "Names the file `cli.py`",
)
PATTERNS = ("Cart", "shop.py", "index", "cli.py")
RIGHT = {"with": ["Met", "Met", "Met", "Missed"], "without": ["Met", "Met", "Missed", "Missed"]}
BEGINNINGS = {
    "with": "anna: `Cart` is in shop.py, of 2 files. An index",
    "without": "anna: `Cart` is in shop.py, of 2 files. \n",
}
"""What tells the answers of the fake agent apart."""

FAILURES: dict[tuple[str, int], tuple[dict[str, Any], str]] = {
    ("with", 1): ({"status": 429}, "api_error"),
    ("with", 2): ({"text": ""}, "api_error"),
    ("with", 3): ({"text": "I cannot help with that.", "stop_reason": "refusal"}, "refused"),
    ("with", 4): ({"raw": "<html>busy</html>"}, "api_error"),
    ("without", 1): ({"status": 529}, "api_error"),
    ("without", 2): ({"text": '{"verdict": "Met"}'}, "unparsable"),
    ("without", 3): ({"text": "It", "breaks": "stall"}, "timeout"),
}
"""What the service gives for a criterion of an answer, and what becomes of it. Both answers meet the overloaded service
first, so that its pauses are one."""


def rules(failures: Mapping[tuple[str, int], tuple[dict[str, Any], str]]) -> list[dict[str, Any]]:
    failing = [
        {"when": {"text": asked(FACTS[number - 1], BEGINNINGS[condition])}, "reply": reply}
        for (condition, number), (reply, _) in failures.items()
    ]
    return [*failing, {"reply": {"text": JUDGE, "model": "glm-5"}}]


def honest(request: str) -> str:
    nonce = re.search(r"<fact-(\w+)>", request)
    assert nonce
    return fake_judge.reply("honest", nonce[1], part(request, "fact"), part(request, "answer"))


def configure(project: Project, url: str) -> None:
    facts = zip(FACTS, PATTERNS, strict=True)
    task = {
        "id": "anna",
        "category": "Targeted",
        "prompt": "Task anna: where is the cart?",
        "criteria": [{"text": text, "all_of": pattern} for text, pattern in facts],
    }
    (project.folder / "tasks.yaml").write_text(yaml.safe_dump({"tasks": [task]}))
    agent = {
        "kind": "claude-code",
        "command": [str(CLAUDE)],
        "version": "2.1.329",
        "model": "sonnet",
        "provider": "custom",
        "base_url": url,
        "token_env": "LIVE_TEST_KEY",
        "pass_env": ["CLAUDE_CODE_MAX_RETRIES"],
        "timeout_s": 10,
        "retries": 1,
    }
    judges = ["mechanical", {"name": "claude", "agent": agent}]
    project.configure(judges=judges)


def start(project: Project) -> str:
    return project.start(env={"LIVE_TEST_KEY": KEY, "CLAUDE_CODE_MAX_RETRIES": "0"})


def requests(fake: Fake) -> list[str]:
    return [request for request in map(request_in, fake.bodies) if request]


def said(project: Project, judge: str, condition: str) -> list[str]:
    rows = [
        row
        for row in project.table("verdicts")
        if (row["judge"], row["condition"]) == (judge, condition)
    ]
    return [
        row["failure"] or row["verdict"]
        for row in sorted(rows, key=lambda row: int(row["criterion"]))
    ]


def test_a_chain_with_a_model_judge_ends_with_the_right_verdicts_whatever_fails_on_the_way(
    project: Project,
) -> None:
    with serving(JudgingApi(honest), read_rules(rules(FAILURES))) as failing:
        configure(project, failing.url)
        start(project)
        sent = failing.bodies
    for condition in RIGHT:
        failures = {
            number: failure for (of, number), (_, failure) in FAILURES.items() if of == condition
        }
        expected = [
            failures.get(number, verdict) for number, verdict in enumerate(RIGHT[condition], 1)
        ]
        assert said(project, "claude", condition) == expected
        assert said(project, "mechanical", condition) == RIGHT[condition]
    assert {row["status"] for row in project.table("scores")} == {"unjudged"}
    assert [row["delta"] for row in project.table("pairs")] == [""]

    port = int(failing.url.rpartition(":")[2])
    with serving(JudgingApi(honest), read_rules(rules({})), port=port) as working:
        start(project)
        again = [part(request, "fact") for request in requests(working)]
        assert "Nothing to be done" in start(project)
        assert len(requests(working)) == len(again)
        sent = [*sent, *working.bodies]
    # No verdict, no canary is paid for twice.
    assert sorted(again) == sorted(FACTS[number - 1] for _, number in FAILURES)
    for condition in RIGHT:
        assert said(project, "claude", condition) == RIGHT[condition]
    scores = {row["condition"]: row["score"] for row in project.table("scores")}
    assert scores == {"with": "0.75", "without": "0.5"}
    assert {row["model"] for row in project.table("verdicts") if row["judge"] == "claude"} == {
        "glm-5"
    }

    check_what_was_sent(sent, project)
    written = [
        path for path in project.folder.rglob("*") if path.is_file() and not path.is_symlink()
    ]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def check_what_was_sent(sent: list[dict[str, Any]], project: Project) -> None:
    """Each request is about one fact; it offers no tools, and tells nothing of the run."""
    marks = set()
    for body in sent:
        request = request_in(body)
        assert request, body
        assert not body.get("tools")
        assert str(project.folder) not in str(body)
        nonce = re.search(r"\n<answer-([0-9a-f]{16})>\n", request)
        assert nonce
        assert (
            request.count(nonce[1]) >= 7
        )  # both marks of the question, the fact and the answer, and the reply's id
        marks.add(nonce[1])
        answer = part(request, "answer")
        assert answer.partition("anna: `Cart`")[1]
        assert not re.search(r"\b(with|without|mcp|fake|Grep|Tool calls|Report)\b", answer)
    assert (
        len(marks) == 6 + 8
    )  # canaries and criteria; what a later start asks again is the same request
