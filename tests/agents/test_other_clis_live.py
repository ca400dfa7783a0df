"""What the real programs are given, and what is read of it: `make agents` installs them."""

import json
from pathlib import Path
from typing import Any

import pytest
from live_agents import CLIS, KEY, LENS, PROMPT, TEXTS, Cli, Ran, ask

from lensbench.agents.prices import priced
from lensbench.core.records import Call

FILES = {
    "src/cart.py": "def cart():\n    return 1\n",
    "AGENTS.md": "PLANTED",
    "CLAUDE.md": "PLANTED",
    ".agents/skills/x/SKILL.md": "---\nname: x\ndescription: PLANTED\n---\n",
    ".codex/config.toml": '[mcp_servers.planted]\ncommand = "touch"\nargs = ["started"]\n',
    "opencode.json": '{"mcp": {"planted": {"type": "local", "command": ["touch", "started"]}}}',
    ".gemini/skills/x/SKILL.md": "---\nname: x\ndescription: PLANTED\n---\n",
    ".gemini/settings.json": '{"mcpServers": {"planted": {"command": "touch", "args": ["started"]}}}',
    ".env": "GEMINI_API_KEY=PLANTED\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9",
}
"""A repository with what it could bring to configure agents with."""
SHELL = {"codex": "command_execution", "gemini": "run_shell_command", "opencode": "bash"}
"""What a record calls the shell."""
READ = {
    "gemini": {"name": "read_file", "input": {"file_path": "src/cart.py"}},
    "opencode": {"name": "read", "input": {"filePath": "src/cart.py"}},
}
DELEGATE = {
    "codex": {"name": "multi_agent_v1__spawn_agent", "input": {"message": "SUBTASK"}},
    "gemini": {"name": "invoke_agent", "input": {"agent_name": "generalist", "prompt": "SUBTASK"}},
    "opencode": {
        "name": "task",
        "input": {"description": "x", "prompt": "SUBTASK", "subagent_type": "general"},
    },
}
others = pytest.mark.parametrize("cli", [CLIS[kind].param for kind in SHELL])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)


def said(ran: Ran) -> list[str]:
    """What the user says in the first request."""
    body = ran.fake.bodies[0]
    entries = body.get("input") or body.get("contents") or body["messages"]
    blocks = [
        block for entry in entries for block in entry.get("content") or entry.get("parts") or ()
    ]
    return [block["text"] for block in blocks if isinstance(block, dict) and "text" in block]


def tools(ran: Ran) -> tuple[str, ...]:
    """The tools of the first request."""
    facts = ran.fake.api.facts(ran.fake.requests[0]["path"], ran.fake.bodies[0])
    assert facts is not None
    return facts.tools


@others
def test_with_the_treatment_its_tools_are_offered_and_its_calls_work(
    cli: Cli, tmp_path: Path
) -> None:
    look = {"when": {"turn": 1}, "reply": {"text": "I look.", "tools": ["lens_grep"]}}
    rules: list[dict[str, Any]] = [
        look,
        {"reply": {"text": "It is in src/cart.py.", "model": "model-b"}},
    ]
    ran = ask(cli, tmp_path, rules, LENS, FILES)
    outcome = ran.said.outcome
    assert (ran.said.ended.exit_code, outcome.error, outcome.finished, outcome.ending) == (
        0,
        "",
        True,
        "finished",
    )
    assert (outcome.servers or {"lens": "connected"}, outcome.subagents) == (
        {"lens": "connected"},
        0,
    )
    assert outcome.answer == "It is in src/cart.py."
    assert outcome.calls == (Call("mcp__lens__lens_grep", 1, 0),)
    assert f"{cli.prefix}lens_grep" in tools(ran)
    assert PROMPT in said(ran)
    assert "PLANTED" not in json.dumps(ran.fake.bodies)
    assert outcome.models == (("model-a", "model-b") if cli.kind == "gemini" else None)
    assert outcome.models_asked == ("model-a",)
    assert outcome.tokens is not None
    assert outcome.tokens["cache_read"] == 14
    # Two requests: the service counts 100 + 20 tokens for Codex, 129 for Gemini, 110 + 20 for opencode.
    totals = {"codex": 2 * 120, "gemini": 2 * 129, "opencode": 2 * 130}
    assert sum(outcome.tokens.values()) == totals[cli.kind]
    # Codex: 180 x 10 + 14 + 40 x 100 millionths of a dollar; Gemini has 18 tokens of reasoning and tools more
    price: Any = {
        "date": "",
        "source": "",
        "input": 10,
        "cache_read": 1,
        "cache_write": 0,
        "output": 100,
    }
    told = priced(outcome, {"model-*": price})
    assert {"codex": 0.005814, "gemini": 0.007674}.get(cli.kind, told.cost_usd) == told.cost_usd
    assert told.cost_is_guess
    home = tmp_path / "session" / "home"
    assert KEY not in "".join(
        path.read_text(errors="replace") for path in home.rglob("*") if path.is_file()
    )
    assert not (tmp_path / "repo" / "started").exists()
    assert json.loads((tmp_path / "seen.json").read_text()) == [TEXTS, " ".join(TEXTS)]


@others
def test_without_the_treatment_nothing_of_it_is_there(cli: Cli, tmp_path: Path) -> None:
    calls = ["shell", *([READ[cli.kind]] if cli.kind in READ else [])]
    rules = [
        {"when": {"turn": 1}, "reply": {"tools": calls}},
        {"reply": {"text": "It is in src/cart.py."}},
    ]
    ran = ask(cli, tmp_path, rules, None, FILES)
    outcome = ran.said.outcome
    assert (ran.said.ended.exit_code, outcome.answer) == (0, "It is in src/cart.py.")
    assert Call(SHELL[cli.kind], 1, 0) in (outcome.calls or ())
    assert outcome.files_read == (("src/cart.py",) if cli.kind in READ else None)
    assert outcome.subagents == 0
    assert "lens" not in " ".join(tools(ran))
    assert "PLANTED" not in json.dumps(ran.fake.bodies[0])
    assert "def cart" in json.dumps(ran.fake.bodies[1])
    assert not (tmp_path / "repo" / "started").exists()


@others
def test_a_sub_agent_of_a_stock_agent_is_counted_and_its_work_is_unknown(
    cli: Cli, tmp_path: Path
) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"text": "SUBTASK", "turn": 1}, "reply": {"tools": ["lens_grep"]}},
        {"when": {"turn": 1}, "reply": {"tools": [DELEGATE[cli.kind]]}},
        {"reply": {"text": "It is in src/cart.py."}},
    ]
    outcome = ask(cli, tmp_path, rules, LENS, profile="stock").said.outcome
    assert (outcome.answer, outcome.subagents, outcome.hides_work) == (
        "It is in src/cart.py.",
        1,
        True,
    )
    assert not any(call.name.startswith("mcp__") for call in outcome.calls or ())
