"""The real Claude Code against a scripted fake of its service: `make agents` installs it.

`ALL_ROWS=1` runs every row of claude_code_rows.py; `RECORD_STREAMS=1` also writes tests/agents/streams/ again.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from claude_code_rows import ANSWER, QUICK, ROWS, Row, unmet
from live_agents import CLIS, KEY, LENS, SERVER, TEXTS, Ran, ask, recorded, words_and_skill

from lensbench.agents.adapters import claude_code
from lensbench.core.records import Call

PROJECT = Path(__file__).parents[2]
CLAUDE = CLIS["claude-code"]
STREAMS = Path(__file__).parent / "streams"

pytestmark = CLAUDE.needed


def start(row: Row, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Runs Claude Code as a run would, in `folder`."""
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "1")
    command = claude_code.command
    monkeypatch.setattr(
        claude_code,
        "command",
        lambda run: replace(started := command(run), argv=loosened(started.argv, row.loose)),
    )
    script = {**SERVER, "args": [*SERVER["args"], *(row.server or ())]}
    entry = script if row.server is not None else {"command": "no-such-program"}
    settings = {
        "model": "sonnet",
        "tools": ("Bash", "Read", "Grep", "Glob"),
        "mcp_start_s": 15,
        "pass_env": ("CLAUDE_CODE_MAX_RETRIES",),
        "timeout_s": 60,
        **row.settings,
    }
    is_stock = row.settings.get("profile") == "stock"
    return ask(
        CLAUDE, folder, row.rules, entry if row.treatment else None, reads=is_stock, **settings
    )


def loosened(argv: Sequence[str], promise: str) -> list[str]:
    """The command line without one of its promises."""
    if promise == "permission":
        return [part.replace(",mcp__lens", "") for part in argv]
    if promise == "subagents":
        offered = [f"{part},Task" if part.startswith("Bash,") else part for part in argv]
        return [part.replace("Task,mcp__lens", "mcp__lens") for part in offered]
    return list(argv)


@pytest.mark.parametrize(
    "name",
    ROWS if os.environ.get("ALL_ROWS") or os.environ.get("RECORD_STREAMS") else sorted(QUICK),
)
def test_the_real_program_shows_the_row(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = start(ROWS[name], tmp_path, monkeypatch)
    assert unmet(ROWS[name], ran.said.outcome) == []
    assert ran.said.ended.exit_code == ROWS[name].exit_code
    assert ran.said.ended.timed_out == (ROWS[name].exit_code is None)
    if os.environ.get("RECORD_STREAMS"):
        (STREAMS / f"{name}.jsonl").write_text(
            "".join(f"{line}\n" for line in recorded(ran.said.transcript, tmp_path))
        )
    # The key reaches the gateway, and no file.
    assert any(
        request["headers"].get("Authorization") == f"Bearer {KEY}" for request in ran.fake.requests
    )
    assert [
        path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ] == []
    assert KEY not in ran.said.transcript


def test_the_four_kinds_of_tokens_add_up_to_what_the_service_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = start(Row([ANSWER], {}), tmp_path, monkeypatch)
    tokens = ran.said.outcome.tokens
    asked = len(ran.fake.bodies)
    assert tokens is not None
    # Of each request the service counts 100 tokens of input, 20 of output, 7 from its cache and 3 into it.
    kinds = {"input": 100, "output": 20, "cache_read": 7, "cache_write": 3}
    assert tokens == {kind: count * asked for kind, count in kinds.items()}
    assert sum(tokens.values()) == 130 * asked
    assert ran.said.outcome.cache_write_1h == 2 * asked


def test_its_settings_servers_hooks_and_words_do_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "planted"
    repository = tmp_path / "run" / "repo"
    (repository / ".claude" / "skills" / "trap").mkdir(parents=True)
    hook = {"hooks": [{"type": "command", "command": f"touch {planted}"}]}
    settings = {
        "hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook]},
        "permissions": {"deny": ["Read"]},
    }
    (repository / ".claude" / "settings.json").write_text(json.dumps(settings))
    (repository / ".claude" / "skills" / "trap" / "SKILL.md").write_text(
        "---\nname: trap\ndescription: MARKER\n---\n"
    )
    (repository / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"own": {"command": "touch", "args": [str(planted)]}}})
    )
    for name in ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md"):
        (repository / name).write_text("MARKER\n")
    ran = start(Row([ANSWER], {}), tmp_path / "run", monkeypatch)
    assert "MARKER" not in json.dumps(ran.fake.bodies)
    assert ran.said.outcome.servers == {}
    assert ran.said.outcome.tools_offered == ("Bash", "Glob", "Grep", "Read")
    assert not planted.exists()


def test_the_embedded_server_is_offered_beside_words_and_a_skill_and_no_text_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    grep = {
        "name": "mcp__lens__lens_grep",
        "input": {"query": "cart", "repoPath": str(tmp_path / "repo")},
    }
    rules = [
        {"when": {"turn": 1}, "reply": {"tools": [grep]}},
        {"reply": {"text": "{tool_result}"}},
    ]
    files = {"src/cart.py": "def cart():\n", **words_and_skill("claude-code")}
    ran = ask(CLAUDE, tmp_path, rules, LENS, files, reads=True)
    outcome = ran.said.outcome
    assert (outcome.error, outcome.servers) == ("", {"lens": "connected"})
    assert "src/cart.py" in outcome.answer
    assert outcome.calls == (Call("mcp__lens__lens_grep", 1, 0),)
    sent = json.dumps(ran.fake.bodies[0])
    assert ("THE-WORDS" in sent, "THE-SKILL" in sent) == (True, True)
    assert json.loads((tmp_path / "seen.json").read_text()) == [TEXTS, " ".join(TEXTS)]
