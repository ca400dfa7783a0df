"""`kind: acp`: what a record has of an agent that speaks the Agent Client Protocol, by a script and by real programs."""

import json
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from live_agents import CLIS, INSTALLED, KEY, PROMPT, ask, one_search
from other_clis import assignment
from test_sandbox import AUTO, bubblewrap, make_place

from fakes.messages_api import read_rules, serving
from lensbench.agents.acp_client import TOKENS, tokens_of
from lensbench.agents.sandbox import NO_SANDBOX, find_sandbox
from lensbench.agents.start import AgentReply, start_agent
from lensbench.core.records import Call
from lensbench.core.system.redaction import Redactor
from lensbench.runs.reasons import Expectation, reason_of

ROWS = yaml.safe_load(Path(__file__).with_name("tokens.yaml").read_text(encoding="utf-8"))


FAKES = Path(__file__).parents[1] / "fakes"
FAKE = (sys.executable, "-I", str(FAKES / "acp_agent.py"))
SERVER = {
    "command": sys.executable,
    "args": ["-I", str(FAKES / "stdio_mcp_server.py")],
    "env": {"A": "b"},
}
LENS_ONLY = Expectation(["lens"], [])


def says(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}


def calls(kind: str, status: str = "completed", **more: Any) -> list[dict[str, Any]]:
    call = {"sessionUpdate": "tool_call", "toolCallId": kind, "kind": kind, "title": "x"}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": kind, "status": status, **more}
    return [{**call, "status": "pending"}, done]


SESSION = {"sessionId": "s"}
END: dict[str, Any] = {"stop": "end_turn"}
ANSWER = [says("It is in "), says("src/cart.py."), END]
GREET = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
LIST: dict[str, Any] = {"id": 1, "method": "tools/list"}
FIND = {"id": 2, "method": "tools/call", "params": {"name": "find", "arguments": {"query": "x"}}}


def start(
    folder: Path,
    command: tuple[str, ...],
    server: Any = None,
    sandbox: Any = None,
    timeout_s: float = 60,
    **settings: Any,
) -> AgentReply:
    """One start of an agent by the adapter `acp`."""
    place = make_place(folder, find_sandbox(sandbox) if sandbox else NO_SANDBOX)
    session = f"{place.private}/session"
    Path(session, "home", "tmp").mkdir(parents=True)
    Path(session, "prompt.md").write_text(PROMPT, encoding="utf-8")
    servers = {"lens": server} if server else {}
    run = replace(
        assignment(
            folder,
            treatment=False,
            kind="acp",
            command=command,
            timeout_s=timeout_s,
            **{"model": "", **settings},
        ),
        prompt=PROMPT,
        prompt_file=place.inside(f"{session}/prompt.md"),
        workspace=place.inside(f"{place.private}/repo"),
        home=place.inside(f"{session}/home"),
        mcp_servers=servers,
        mcp_file=place.inside(f"{session}/mcp.json"),
        servers=tuple(servers),
        denied_servers=(),
    )
    Path(session, "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return start_agent(run, place, timeout_s, Redactor((), {}))


def scripted(folder: Path, script: list[Any], session: Any = SESSION, **more: Any) -> AgentReply:
    return start(folder, (*FAKE, json.dumps(script), json.dumps(session)), **more)


def heard(folder: Path) -> list[dict[str, Any]]:
    """What the agent got."""
    text = (folder / "session" / "home" / "heard.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("sandbox", [None, pytest.param(AUTO, marks=bubblewrap)])
def test_a_run_has_answer_calls_files_tokens_cost_version_and_end(
    tmp_path: Path, sandbox: Any
) -> None:
    repo = "/repo" if sandbox else f"{tmp_path}/repo"
    script = [
        {"print": "hello, I print"},
        says("I look."),
        {"sessionUpdate": "plan", "entries": [{"content": "look", "status": "pending"}]},
        *calls("read", locations=[{"path": f"{repo}/a.py"}]),
        *calls("execute", "failed"),
        {"sessionUpdate": "usage_update", "used": 1, "cost": {"amount": 0.25, "currency": "USD"}},
        {"server": [GREET, LIST, FIND]},
        *ANSWER[:2],
        {**END, "usage": USAGE},
    ]
    said = scripted(tmp_path, script, server=SERVER, sandbox=sandbox)
    outcome = said.outcome
    assert (said.answer, outcome.finished, outcome.ending) == (
        "It is in src/cart.py.",
        True,
        "finished",
    )
    assert (outcome.agent_version, outcome.files_read) == ("1.2.3", ("a.py",))
    assert outcome.tokens == {"input": 200, "output": 40, "cache_read": 14, "cache_write": 0}
    assert outcome.cost_usd == 0.25
    assert (outcome.models, outcome.servers, outcome.tools_offered) == (None, None, None)
    assert outcome.calls == (Call("execute", 1, 1), Call("read", 1, 0))
    assert said.seen.tools_offered == ("mcp__lens__find", "mcp__lens__crash")
    found = [(one.name, one.count, one.errors) for one in said.seen.calls or ()]
    assert found == [("execute", 1, 1), ("read", 1, 0), ("mcp__lens__find", 1, 0)]
    assert reason_of(said, LENS_ONLY) == ("", "")
    new, prompt = heard(tmp_path)[1:3]
    assert new["params"]["cwd"] == repo
    given = new["params"]["mcpServers"][0]
    assert (given["command"], given["args"][0], given["env"]) == ("env", "A=b", [])
    assert prompt["params"]["prompt"] == [{"type": "text", "text": PROMPT}]


def test_an_agent_that_accepts_servers_and_never_starts_them_is_discarded(tmp_path: Path) -> None:
    said = scripted(tmp_path, ANSWER, server=SERVER)
    assert (said.answer, said.outcome.error) == ("It is in src/cart.py.", "")
    assert reason_of(said, LENS_ONLY) == ("mcp_not_offered", "no tool of lens")


def test_a_server_with_a_url_is_one_of_the_session(tmp_path: Path) -> None:
    remote = {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"X-A": "b"}}
    scripted(tmp_path, ANSWER, server=remote, tee=False)
    given = heard(tmp_path)[1]["params"]["mcpServers"]
    assert given == [
        {
            "type": "http",
            "name": "lens",
            "url": remote["url"],
            "headers": [{"name": "X-A", "value": "b"}],
        }
    ]


@pytest.mark.parametrize(
    ("kind", "tools", "option"),
    [
        ("read", ("Read",), "id-allow_once"),
        ("search", ("Read", "Glob"), "id-allow_once"),
        ("execute", ("Read",), "id-reject_once"),
        ("edit", ("Bash", "Read"), "id-reject_once"),
        ("edit", ("Write",), "id-allow_once"),
        ("other", (), "id-allow_once"),
        (None, (), "id-allow_once"),
    ],
)
def test_questions_for_permission_are_answered_by_the_tools_of_the_config(
    tmp_path: Path, kind: str, tools: tuple[str, ...], option: str
) -> None:
    scripted(tmp_path, [{"ask": kind}, *ANSWER], tools=tools)
    outcome = heard(tmp_path)[-1]["result"]["outcome"]
    assert outcome == {"outcome": "selected", "optionId": option}


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "x/y"])
def test_files_and_terminals_of_the_client_are_refused(tmp_path: Path, method: str) -> None:
    said = scripted(tmp_path, [{"request": method}, *ANSWER])
    assert heard(tmp_path)[-1]["error"]["code"] == -32601
    assert said.answer == "It is in src/cart.py."


@pytest.mark.parametrize(
    ("end", "ending", "reason"),
    [
        ([END], "finished", ""),
        ([{"stop": "max_tokens"}], "limit", ""),
        ([{"stop": "max_turn_requests"}], "limit", ""),
        ([{"stop": "refusal"}], "refusal", ""),
        ([{"stop": "cancelled"}], "unknown", "cut_off"),
        ([{"stop": "new_reason"}], "unknown", "cut_off"),
        ([{"error": {"code": 429, "message": "slow down"}}], "unknown", "rate_limited"),
        ([{"error": {"code": -32000, "message": "log in"}}], "unknown", "api_error"),
        (
            [{"error": {"code": -32603, "message": "Internal error", "data": {"x": 1}}}],
            "unknown",
            "api_error",
        ),
        ([{"error": "odd"}], "unknown", "api_error"),
        ([{"exit": 3}], "unknown", "crashed"),
        ([{"exit": 0}], "unknown", "crashed"),
    ],
)
def test_each_end_is_one_of_ours(tmp_path: Path, end: list[Any], ending: str, reason: str) -> None:
    said = scripted(tmp_path, [says("It is in src/cart.py."), *end])
    assert (said.outcome.ending, reason_of(said, Expectation([], []))[0]) == (ending, reason)
    expected = {"slow down": 429, "log in": 401}.get(said.outcome.error)
    assert said.outcome.error_status == expected


def test_a_session_that_wants_a_login_is_an_error_of_the_service(tmp_path: Path) -> None:
    refusal = {"error": {"code": -32000, "message": "Authentication required"}}
    said = scripted(tmp_path, ANSWER, session=refusal)
    assert (said.outcome.error, said.outcome.error_status) == ("Authentication required", 401)


USAGE = {"inputTokens": 200, "outputTokens": 40, "cachedReadTokens": 14, "totalTokens": 254}


@pytest.mark.parametrize("sandbox", [None, pytest.param(AUTO, marks=bubblewrap)])
@pytest.mark.parametrize(
    ("end", "answer", "tokens"),
    [
        ([], "I look.", 1),
        ([{"exit": 0}], "I look.", 1),
        ([says("Half."), {"stop": "cancelled", "usage": USAGE}], "Half.", 40),
        ([says("Half."), {"stop": "end_turn", "usage": USAGE}], "Half.", 40),
    ],
)
def test_at_the_time_limit_the_prompt_is_cancelled_and_what_was_said_is_kept(
    tmp_path: Path, end: list[Any], answer: str, tokens: int, sandbox: Any
) -> None:
    script = [says("I look."), {"wait": 1}, *end]
    said = scripted(tmp_path, script, timeout_s=4, sandbox=sandbox)
    assert heard(tmp_path)[-1] == {
        "jsonrpc": "2.0",
        "method": "session/cancel",
        "params": {"sessionId": "s"},
    }
    assert reason_of(said, Expectation([], [])) == ("timed_out", "after 4 s")
    assert (said.answer, said.outcome.tokens and said.outcome.tokens["output"]) == (answer, tokens)
    assert '"text": "I look."' in said.transcript


MODELS = [
    ({"sessionId": "s", "models": {"availableModels": []}}, "session/set_model"),
    (
        {"sessionId": "s", "configOptions": [{"id": "m", "category": "model"}]},
        "session/set_config_option",
    ),
    ({"sessionId": "s"}, ""),
]


@pytest.mark.parametrize(("session", "method"), MODELS)
def test_a_model_is_chosen_as_the_session_offers_it(
    tmp_path: Path, session: Any, method: str
) -> None:
    said = scripted(tmp_path, ANSWER, session=session, model="model-a")
    methods = [message["method"] for message in heard(tmp_path)]
    assert (method in methods) == bool(method)
    assert said.outcome.error == (
        "" if method else "the agent lets nobody choose a model; name it in agent.command"
    )


@pytest.mark.parametrize(("counts", "tokens"), ROWS)
def test_tokens_that_do_not_add_up_are_not_shown(counts: Any, tokens: Any) -> None:
    kinds = ("input", "output", "cache_read", "cache_write")
    expected = None if tokens is None else dict(zip(kinds, tokens, strict=True))
    assert tokens_of(dict(zip(TOKENS, counts, strict=True))) == expected


def test_a_call_that_begins_with_its_question_is_one_call(tmp_path: Path) -> None:
    """Gemini CLI announces it by no `tool_call`."""
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}
    said = scripted(tmp_path, [says("I look."), {"ask": "read"}, done, done, *ANSWER])
    assert (said.answer, said.outcome.calls) == ("It is in src/cart.py.", (Call("read", 1, 0),))


def test_usage_that_is_not_shown_is_not_zero(tmp_path: Path) -> None:
    outcome = scripted(tmp_path, ANSWER).outcome
    assert (outcome.tokens, outcome.cost_usd, outcome.models) == (None, None, None)


ACP = INSTALLED / "acp"
LAUNCHERS = {
    "gemini": """
export GEMINI_API_KEY=$LIVE_TEST_KEY GOOGLE_GEMINI_BASE_URL={url}
mkdir -p "$HOME/.gemini"
echo '{{"security": {{"auth": {{"selectedType": "gemini-api-key"}}}}}}' > "$HOME/.gemini/settings.json"
exec {own} --acp --model model-a --skip-trust
""",
    "opencode": """
export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_PROJECT_CONFIG=1
export OPENCODE_CONFIG="$HOME/opencode.json"
cat > "$OPENCODE_CONFIG" <<END
{{"model": "gateway/model-a", "small_model": "gateway/model-a", "enabled_providers": ["gateway"], "provider": {{
"gateway": {{"npm": "@ai-sdk/anthropic", "name": "gateway", "options": {{"baseURL": "{url}/v1", "apiKey": "x"}},
"models": {{"model-a": {{"name": "model-a"}}}}}}}}}}
END
exec {own} acp --pure
""",
    "claude-agent-acp": """
export ANTHROPIC_API_KEY=$LIVE_TEST_KEY ANTHROPIC_BASE_URL={url} CLAUDE_CODE_EXECUTABLE=$(readlink -f {own})
mkdir -p "$HOME/.claude"
echo '{{"permissions": {{"defaultMode": "default"}}}}' > "$HOME/.claude/settings.json"
exec {by_acp}
""",
    "codex-acp": """
export CODEX_API_KEY=$LIVE_TEST_KEY CODEX_PATH={own} MODEL_PROVIDER=gateway INITIAL_AGENT_MODE=agent-full-access
export CODEX_CONFIG='{{"model": "model-a", "model_provider": "gateway", "model_providers": {{"gateway": {{
"name": "gateway", "base_url": "{url}/v1", "env_key": "LIVE_TEST_KEY", "wire_api": "responses"}}}}}}'
exec {by_acp}
""",
    "qwen": """
export ANTHROPIC_API_KEY=$LIVE_TEST_KEY ANTHROPIC_BASE_URL={url} QWEN_CODE_LEGACY_MCP_BLOCKING=1
mkdir -p "$HOME/.qwen"
echo '{{"tools": {{"toolSearch": {{"enabled": false}}}}, "memory": {{"enableManagedAutoMemory": false}}}}' \\
    > "$HOME/.qwen/settings.json"
exec {by_acp} --acp --auth-type anthropic --model model-a --approval-mode default
""",
}


class Program(NamedTuple):
    """A program that is asked by the protocol."""

    name: str
    package: str
    of: str
    """The kind of the adapter for the same program, or, of Qwen Code, for its service."""
    call: str = "other"
    """What it says of a call of a server."""

    @property
    def param(self) -> Any:
        why = f"{self.name} is not installed; `make agents` installs it where npm is there"
        marks = [CLIS[self.of].needed]
        if self.package:
            marks.append(pytest.mark.skipif(not Path(self.file).exists(), reason=why))
        return pytest.param(self, id=self.name, marks=marks)

    @property
    def file(self) -> str:
        return str(ACP / "node_modules" / ".bin" / self.name)

    @property
    def version(self) -> Any:
        if not self.package:
            return CLIS[self.of].version
        return json.loads((ACP / "package.json").read_text())["dependencies"][self.package]

    @contextmanager
    def served(self, folder: Path, rules: list[dict[str, Any]]) -> Iterator[str]:
        """A file that starts it on a service with these replies. The key is in `LIVE_TEST_KEY`."""
        cli = CLIS[self.of]
        launcher = folder / "launcher"
        with serving(cli.api(), read_rules(cli.rules(rules))) as fake:
            script = LAUNCHERS[self.name].format(url=fake.url, own=cli.argv[0], by_acp=self.file)
            launcher.write_text(f"#!/bin/sh{script}")
            launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
            yield str(launcher)


PROGRAMS = [
    Program("gemini", "", "gemini"),
    Program("opencode", "", "opencode"),
    Program("claude-agent-acp", "@agentclientprotocol/claude-agent-acp", "claude-code"),
    Program("codex-acp", "@agentclientprotocol/codex-acp", "codex", "execute"),
    Program("qwen", "@qwen-code/qwen-code", "claude-code"),
]


@pytest.mark.live
@pytest.mark.parametrize("program", [program.param for program in PROGRAMS])
def test_by_the_protocol_a_record_is_that_of_the_programs_own_adapter(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    rules = one_search("It is in src/cart.py.", "find")
    own = ask(CLIS[program.of], tmp_path / "own", rules, SERVER, tee=True).said
    with program.served(tmp_path, rules) as launcher:
        settings = {"timeout_s": 120, "pass_env": ("LIVE_TEST_KEY",)}
        said = start(tmp_path / "acp", (launcher,), SERVER, **settings)
    assert said.outcome.error == ""
    assert said.outcome.agent_version == program.version
    assert said.outcome.calls == (Call(program.call, 1, 0),)
    found = "mcp__lens__find"
    for side in (said, own):
        assert (side.answer, side.outcome.ending) == ("It is in src/cart.py.", "finished")
        assert side.taps is not None
        assert side.taps["lens"].offered == (found, "mcp__lens__crash")
        assert [(one.name, one.count, one.errors) for one in side.taps["lens"].calls] == [
            (found, 1, 0)
        ]
        assert reason_of(side, LENS_ONLY) == ("", "")
    if program.name != "claude-agent-acp":
        assert (said.outcome.tokens, said.outcome.cost_usd) == (None, None)
        return
    assert said.outcome.tokens == own.outcome.tokens
    assert said.outcome.cost_usd
    assert own.outcome.cost_usd
    assert said.outcome.cost_usd > own.outcome.cost_usd  # with that of its request for a title


def test_copilot_accepts_a_server_and_never_starts_it(tmp_path: Path) -> None:
    """Its output was recorded with the service of another provider: it was not tried with an account."""
    recorded = Path(__file__).parent / "copilot-acp.jsonl"
    said = start(tmp_path, ("sh", "-c", f"cat {recorded}; cat > /dev/null"), SERVER)
    assert (said.answer, said.outcome.agent_version) == ("It is in src/cart.py.", "1.0.102")
    assert said.outcome.calls == (Call("other", 1, 1),)
    assert said.outcome.tokens is None  # it counts cached ones twice
    assert reason_of(said, LENS_ONLY) == ("mcp_not_offered", "no tool of lens")
