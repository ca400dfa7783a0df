"""The real Codex, Gemini CLI and opencode against scripted fakes of their services: `make agents` installs them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from other_clis import started

import lensbench
from fakes.gemini_api import GeminiApi
from fakes.messages_api import Api, Fake, MessagesApi, read_rules, serving
from fakes.responses_api import ResponsesApi
from lensbench.agents import Assignment
from lensbench.agents.adapters import codex, gemini, opencode
from lensbench.core.records import Attempt, Call, Outcome
from lensbench.core.system.processes import Ended, run_process
from lensbench.plan.config import Agent
from lensbench.runs.reasons import REASONS, Expectation, find_reason, stops

INSTALLED = Path(__file__).parents[2] / "tools" / "agents"
SERVER = Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py"
KEY = "dummy-key-that-must-not-be-written"
LENS = {
    "command": sys.executable, "args": ["-P", "-m", "lensbench_demo.lens"],
    "env": {"PYTHONPATH": str(Path(lensbench.__file__).parents[1])},
}  # fmt: skip
PLANTED = {
    "AGENTS.md": "PLANTED", "CLAUDE.md": "PLANTED", ".agents/skills/x/SKILL.md": "---\nname: x\ndescription: PLANTED\n---\n",
    ".codex/config.toml": '[mcp_servers.planted]\ncommand = "touch"\nargs = ["started"]\n',
    "opencode.json": '{"mcp": {"planted": {"type": "local", "command": ["touch", "started"]}}}',
    ".gemini/skills/x/SKILL.md": "---\nname: x\ndescription: PLANTED\n---\n",
    ".gemini/settings.json": '{"mcpServers": {"planted": {"command": "touch", "args": ["started"]}}}',
    ".env": "GEMINI_API_KEY=PLANTED\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9",
}  # fmt: skip
"""What a repository could bring to configure agents with."""


@dataclass(frozen=True)
class Cli:
    """A program, its adapter, and the names that it gives to tools."""

    name: str
    adapter: ModuleType
    api: type[Api]
    path: str
    lens: str
    shell: Mapping[str, Any]
    shell_name: str
    read: Mapping[str, Any] | None = None


CLIS = [
    Cli("codex", codex, ResponsesApi, "/v1", "mcp__lens__",
        {"name": "exec_command", "input": {"cmd": "cat src/cart.py"}}, "command_execution"),
    Cli("gemini", gemini, GeminiApi, "", "mcp_lens_",
        {"name": "run_shell_command", "input": {"command": "cat src/cart.py"}}, "run_shell_command",
        {"name": "read_file", "input": {"file_path": "src/cart.py"}}),
    Cli("opencode", opencode, MessagesApi, "", "lens_",
        {"name": "bash", "input": {"command": "cat src/cart.py", "description": "Shows it"}}, "bash",
        {"name": "read", "input": {"filePath": "src/cart.py"}}),
]  # fmt: skip
live = pytest.mark.parametrize(
    "cli",
    [
        pytest.param(
            cli,
            id=cli.name,
            marks=pytest.mark.skipif(
                not (INSTALLED / "node_modules" / ".bin" / cli.name).exists() or not shutil.which("node"),
                reason=f"{cli.name} or Node is not installed; `make agents` installs the program where npm is there",
            ),
        )
        for cli in CLIS
    ],
)


@dataclass(frozen=True)
class Ran:
    """A run of the real program."""

    outcome: Outcome
    ended: Ended
    fake: Fake
    folder: Path

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of the first request."""
        facts = self.fake.api.facts(self.fake.requests[0]["path"], self.fake.bodies[0])
        assert facts is not None
        return facts.tools


def run(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, rules: Any, server: Mapping[str, Any] | None) -> Ran:
    """Runs the program as a run would, in a repository that wants to configure it; `server` is that of WITH."""
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    workspace, home, mcp_file = folder / "repo", folder / "home", folder / "mcp.json"
    for name, content in {**PLANTED, "src/cart.py": "def cart():\n    return 1\n"}.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(content)
    (home / "tmp").mkdir(parents=True)
    mcp_file.write_text(json.dumps({"mcpServers": {"lens": server} if server else {}}))
    with serving(cli.api(), read_rules(rules)) as fake:
        agent = Agent(
            kind=cli.name, command=(str(INSTALLED / "node_modules" / ".bin" / cli.name),), model="model-a",
            provider="custom", base_url=fake.url + cli.path, token_env="LIVE_TEST_KEY", tools=("Bash", "Read"),
            mcp_start_s=60,
        )  # fmt: skip
        invocation = started(cli.adapter, Assignment(
            prompt='Where is  "cart"?\n\n- 007 --x', prompt_file="", answer_file="",
            workspace=str(workspace), home=str(home), mcp_file=str(mcp_file), mcp_servers={"lens": server} if server else {},
            servers=("lens",) if server else (), denied_servers=() if server else ("lens",),
            settings=agent.model_dump(mode="json"), seed=1,
        ))  # fmt: skip

        def read(stream: Iterator[str]) -> Outcome:
            outcome: Outcome = cli.adapter.read(stream)
            return outcome

        outcome, ended = run_process(invocation.argv, invocation.env, str(workspace), 120, sys.stderr.fileno(), read)
    assert not (workspace / "started").exists()
    return Ran(outcome, ended, fake, folder)


def said(cli: Cli, ran: Ran) -> list[str]:
    """What the user says in the first request."""
    body = ran.fake.bodies[0]
    entries = body.get("input") or body.get("contents") or body["messages"]
    blocks = [block for entry in entries for block in entry.get("content") or entry.get("parts") or ()]
    return [block["text"] for block in blocks if isinstance(block, dict) and "text" in block]


@live
def test_with_the_treatment_its_tools_are_offered_and_its_calls_work(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"name": f"{cli.lens}lens_grep", "input": {"query": "cart"}}
    rules = [
        {"when": {"turn": 1}, "reply": {"text": "I look.", "tools": [call]}},
        {"reply": {"text": "It is in src/cart.py.", "model": "model-b"}},
    ]
    ran = run(cli, tmp_path, monkeypatch, rules, LENS)
    outcome = ran.outcome
    assert (ran.ended.exit_code, outcome.error, outcome.finished, outcome.ending) == (0, "", True, "finished")
    assert (outcome.servers or {"lens": "connected"}, outcome.subagents) == ({"lens": "connected"}, 0)
    assert outcome.answer == "It is in src/cart.py."
    assert outcome.calls == (Call("mcp__lens__lens_grep", 1, 0),)
    assert f"{cli.lens}lens_grep" in ran.tools
    assert 'Where is  "cart"?\n\n- 007 --x' in said(cli, ran)
    assert "PLANTED" not in json.dumps(ran.fake.bodies)
    assert outcome.models == (("model-a", "model-b") if cli.name == "gemini" else None)
    assert outcome.models_asked == ("model-a",)
    assert outcome.tokens is not None
    assert outcome.tokens["cache_read"] == 14
    assert KEY not in "".join(
        path.read_text(errors="replace") for path in (tmp_path / "home").rglob("*") if path.is_file()
    )


@live
def test_without_the_treatment_nothing_of_it_is_there(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [cli.shell, *([cli.read] if cli.read else [])]
    rules = [{"when": {"turn": 1}, "reply": {"tools": calls}}, {"reply": {"text": "It is in src/cart.py."}}]
    ran = run(cli, tmp_path, monkeypatch, rules, None)
    outcome = ran.outcome
    assert (ran.ended.exit_code, outcome.answer) == (0, "It is in src/cart.py.")
    assert Call(cli.shell_name, 1, 0) in (outcome.calls or ())
    assert outcome.files_read == (("src/cart.py",) if cli.read else None)
    assert outcome.subagents == 0
    assert "lens" not in " ".join(ran.tools)
    assert "PLANTED" not in json.dumps(ran.fake.bodies[0])
    assert "def cart" in json.dumps(ran.fake.bodies[1])


@live
def test_a_server_that_does_not_start_is_seen(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(cli, tmp_path, monkeypatch, [{"reply": {"text": "I guess."}}], {"command": "no-such-program"})
    assert ran.outcome.servers is not None
    assert ran.outcome.servers["lens"].startswith("failed")


@live
def test_a_refused_key_is_an_error_with_its_status(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(cli, tmp_path, monkeypatch, [{"reply": {"status": 401, "error": "bad key"}}], None)
    assert ran.ended.exit_code not in (0, None)
    assert (ran.outcome.error_status, ran.outcome.answer) == (401, "")
    assert "bad key" in ran.outcome.error


@live
@pytest.mark.parametrize(
    ("status", "is_first", "expected"),
    [
        (402, True, "stop api_error"),
        (400, True, "stop api_error"),
        (404, True, "stop api_error"),
        (400, False, "again api_error"),
        (413, False, "again api_error"),
        (429, True, "again rate_limited"),
    ],
)
def test_a_refusal_becomes_what_the_docs_say(
    cli: Cli, status: int, is_first: bool, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (cli.name, status) == ("opencode", 429):
        pytest.skip("opencode repeats this request for 74 s; test_endings_by_agent.py has its stream")
    call = [] if is_first else [{"when": {"turn": 1}, "reply": {"tools": [cli.shell]}}]
    ran = run(cli, tmp_path, monkeypatch, [*call, {"reply": {"status": status, "error": "not this one"}}], None)
    attempt = Attempt(1, "", 1.0, 0.0, ran.ended.exit_code, ran.ended.timed_out)
    reason, _ = find_reason(attempt, ran.outcome, ran.outcome.answer, Expectation((), ("lens",)))
    assert f"{'stop' if stops(ran.outcome) else REASONS[reason].policy} {reason}" == expected


@live
def test_the_version_is_that_of_the_program(cli: Cli) -> None:
    pinned = json.loads((INSTALLED / "package.json").read_text())["dependencies"]
    settings = {"command": [str(INSTALLED / "node_modules" / ".bin" / cli.name)]}
    version = cli.adapter.version(settings)
    assert any(
        name.startswith(("@openai/codex", "@google/gemini", "opencode")) and version == pinned[name] for name in pinned
    )
