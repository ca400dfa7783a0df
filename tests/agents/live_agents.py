"""The real Claude Code, Codex, Gemini CLI and opencode on scripted fakes of their services, started as a run starts
them. `make agents` installs them."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import lensbench
from fakes.gemini_api import GeminiApi
from fakes.messages_api import Api, Fake, MessagesApi, read_rules, serving
from fakes.responses_api import ResponsesApi
from lensbench.agents import Assignment, programs
from lensbench.agents.adapters._events import read_event
from lensbench.agents.refusals import Action
from lensbench.agents.sandbox import NO_SANDBOX, Place
from lensbench.agents.start import AgentReply, start_agent
from lensbench.core.system.redaction import Redactor
from lensbench.plan.config import Agent
from lensbench.runs.reasons import REASONS, Expectation, meaning_of, reason_of, stops

INSTALLED = Path(
    os.environ.get("TEST_AGENTS") or Path(__file__).parents[2] / "tools" / "agents"
).absolute()
"""Where the programs are: the pinned ones, or the newest (`make agents-newest`)."""
SERVER = {
    "command": sys.executable,
    "args": ["-P", str(Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py")],
}
TEXTS = [
    "$HOME",
    "$$HOME",
    r"\$HOME",
    "${HOME}",
    "${NO_SUCH:-y}",
    "{env:HOME}",
    "{file:/etc/hostname}",
    "a$$b",
]
"""What looks like a variable of a program's own."""
SPY = (
    "import json, os, runpy, sys; json.dump([sys.argv[1:], os.environ['TEXT']], open('../seen.json', 'w'));"
    "del sys.argv[1:]; runpy.run_module('lensbench_demo.lens', run_name='__main__')"
)
LENS = {
    "command": sys.executable,
    "args": ["-P", "-c", SPY, *TEXTS],
    "env": {"PYTHONPATH": str(Path(lensbench.__file__).parents[1]), "TEXT": " ".join(TEXTS)},
}
"""The embedded server, which first writes down what it was given."""


def one_search(answer: str, tool: str = "lens_grep") -> list[dict[str, Any]]:
    """The replies of a model that searches with a server's tool once, LENS's by default, and then answers."""
    return [
        {"when": {"turn": 1}, "reply": {"text": "I look.", "tools": [tool]}},
        {"reply": {"text": answer}},
    ]


KEY = "dummy-key-that-must-not-be-written"
PROMPT = 'Where is  "cart"?\n\n- 007 --x'


@dataclass(frozen=True)
class Cli:
    """A program and the API that it speaks."""

    kind: str
    program: str
    package: str
    api: type[Api]
    prefix: str
    """What the program puts before `<tool>` of the server `lens`."""
    shell: Mapping[str, Any]
    stop_reasons: Mapping[str, str]
    """Why the model ended, as a table names it -> in the words of the API."""
    path: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        return (str(INSTALLED / "node_modules" / ".bin" / self.program),)

    @property
    def version(self) -> str:
        """The pinned version."""
        version: str = json.loads((INSTALLED / "package.json").read_text())["dependencies"][
            self.package
        ]
        return version

    @property
    def needed(self) -> Any:
        """The mark of a test that needs the program."""
        is_there = Path(*self.argv).exists() and shutil.which("node")
        why = f"{self.kind} or Node is not installed; `make agents` installs the program where npm is there"
        return pytest.mark.skipif(not is_there, reason=why)

    @property
    def param(self) -> Any:
        return pytest.param(self, id=self.kind, marks=self.needed)

    def rules(self, rules: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The rules in the words of the API: `shell` is a call of the shell, `<tool>` one of the server."""

        def call(name: str) -> Mapping[str, Any]:
            return (
                self.shell
                if name == "shell"
                else {"name": f"{self.prefix}{name}", "input": {"query": "cart"}}
            )

        replies = [dict(rule["reply"]) for rule in rules]
        for reply in replies:
            reply["tools"] = [
                call(tool) if isinstance(tool, str) else tool for tool in reply.get("tools", ())
            ]
            reply["stop_reason"] = self.stop_reasons.get(reply.get("stop_reason", ""), "")
        return [{**rule, "reply": reply} for rule, reply in zip(rules, replies, strict=True)]


CLIS = {
    cli.kind: cli
    for cli in (
        Cli(
            "claude-code",
            "claude",
            "@anthropic-ai/claude-code",
            MessagesApi,
            "mcp__lens__",
            {"name": "Bash", "input": {"command": "cat src/cart.py", "description": "Shows it"}},
            {"limit": "max_tokens", "refusal": "refusal"},
        ),
        Cli(
            "codex",
            "codex",
            "@openai/codex",
            ResponsesApi,
            "mcp__lens__",
            {"name": "exec_command", "input": {"cmd": "cat src/cart.py"}},
            {"limit": "max_output_tokens", "refusal": "content_filter"},
            "/v1",
        ),
        Cli(
            "gemini",
            "gemini",
            "@google/gemini-cli",
            GeminiApi,
            "mcp_lens_",
            {"name": "run_shell_command", "input": {"command": "cat src/cart.py"}},
            {"limit": "MAX_TOKENS", "refusal": "SAFETY"},
        ),
        Cli(
            "opencode",
            "opencode",
            "opencode-ai",
            MessagesApi,
            "lens_",
            {"name": "bash", "input": {"command": "cat src/cart.py", "description": "Shows it"}},
            {"limit": "max_tokens", "refusal": "refusal"},
        ),
    )
}


@dataclass(frozen=True)
class Ran:
    """A run of the real program."""

    said: AgentReply
    fake: Fake
    expected: Expectation
    secret: str = field(default=KEY, repr=False)


def ending_of(said: AgentReply, expected: Expectation) -> str:
    """What becomes of a run: how its answer ended, or what is done about its reason."""
    reason, _ = reason_of(said, expected)
    if not reason:
        return said.outcome.ending
    meaning = meaning_of(said.outcome)
    what = "stop" if stops(said.outcome) else REASONS[reason].policy
    return f"{'pause' if meaning == Action.PAUSE else what} {reason}"


DULL = {
    "uuid",
    "session_id",
    "timestamp",
    "request_id",
    "slash_commands",
    "terminal_slash_commands",
    "skills",
    "plugins",
    "agents",
    "capabilities",
    "messaging_socket_path",
    "memory_paths",
    "output_file",
    "tool_use_result",
}
"""What no adapter reads of an event."""


def recorded(transcript: str, folder: Path) -> list[str]:
    """The lines of a stream as they are kept: without ids, paths, ports, stack traces and long lists."""
    events = (
        (line, read_event(line))
        for line in transcript.splitlines()
        if not re.match(r"\s*$|stderr:\s+at ", line)
    )
    kept = [
        json.dumps({k: v for k, v in event.items() if k not in DULL}) if event else line
        for line, event in events
    ]
    text = "\n".join(kept).replace(str(folder), "").replace(re.sub(r"[/_]", "-", str(folder)), "")
    text = re.sub("/session/home/(?:.claude|tmp)", "/home", text)
    return re.sub(r"127\.0\.0\.1:\d{2,}", "127.0.0.1:PORT", text).splitlines()


def words_and_skill(kind: str) -> dict[str, str]:
    """The files of a condition that brings words and a skill."""
    program = programs()[kind]
    skill = "---\nname: x\ndescription: THE-SKILL\n---\n"
    return {program.words: "THE-WORDS\n", f"{program.skills}/x/SKILL.md": skill}


def ask(
    cli: Cli,
    folder: Path,
    rules: Iterable[Mapping[str, Any]],
    server: Mapping[str, Any] | None = None,
    files: Mapping[str, str] = {"src/cart.py": "def cart():\n    return 1\n"},
    timeout_s: float = 120,
    reads: bool = False,
    **settings: Any,
) -> Ran:
    """Starts the program in a workspace with `files`; `server` is that of WITH; `reads`: conditions bring
    files and skills. The key is in `LIVE_TEST_KEY`."""
    for name, content in files.items():
        (folder / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "repo" / name).write_text(content)
    (folder / "session" / "home" / "tmp").mkdir(parents=True)
    servers = {"lens": server} if server else {}
    (folder / "session" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with serving(cli.api(), read_rules(cli.rules(list(rules)))) as fake:
        agent = Agent(
            **{
                "kind": cli.kind,
                "command": cli.argv,
                "model": "model-a",
                "provider": "custom",
                "tools": ("Bash", "Read"),
                "base_url": fake.url + cli.path,
                "token_env": "LIVE_TEST_KEY",
                "mcp_start_s": 60,
                **settings,
            }
        )
        assignment = Assignment(
            prompt=PROMPT,
            prompt_file="",
            answer_file="",
            workspace=str(folder / "repo"),
            home=str(folder / "session" / "home"),
            mcp_file=str(folder / "session" / "mcp.json"),
            mcp_servers=servers,
            servers=tuple(servers),
            denied_servers=() if server else ("lens",),
            settings=agent.settings,
            seed=1,
            reads_files=reads,
            reads_skills=reads,
        )
        said = start_agent(assignment, Place(NO_SANDBOX, str(folder)), timeout_s, Redactor((), {}))
    return Ran(
        said, fake, Expectation(assignment.servers, assignment.denied_servers, served=agent.served)
    )
