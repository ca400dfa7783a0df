"""Asks an agent one prompt by the Agent Client Protocol, and prints the events of docs/events.md. It runs in the
sandbox, beside the agent, with the standard library only.

    python -IS acp_client.py settings.json gemini --acp

The agent uses files and terminals by itself, in the sandbox: this client offers none. It answers questions for
permission by the config's tools. What the agent does not show stands in no event.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, NoReturn

Message = dict[str, Any]

TOOL_KINDS = {
    "execute": ("Bash",),
    "read": ("Read",),
    "search": ("Grep", "Glob"),
    "edit": ("Edit", "Write"),
    "delete": ("Edit", "Write"),
    "move": ("Edit", "Write"),
    "fetch": ("WebFetch", "WebSearch"),
}
"""A kind of tool call -> the config's tools that allow it; other kinds, such as those of servers, are allowed."""
STOP_REASONS = {
    "end_turn": "finished",
    "max_tokens": "limit",
    "max_turn_requests": "limit",
    "refusal": "refusal",
}
LAST_REQUEST_ONLY = ("OpenCode",)
"""Agents whose `usage` is not that of the prompt, but of its last request (1.18.33): their tokens are not shown."""
TOKENS = (
    "inputTokens",
    "outputTokens",
    "thoughtTokens",
    "cachedReadTokens",
    "cachedWriteTokens",
    "totalTokens",
)
GONE_S = 3.0
"""How long the agent may take to end when its input has ended, and to stop before the time limit."""
_NO_METHOD = {"code": -32601, "message": "this client does not offer it"}
_LOGIN = -32000
"""The code with which an agent asks for a login."""


def say(kind: str, **facts: Any) -> None:
    """Prints an event."""
    print(json.dumps({"type": kind, **facts}), flush=True)


class RefusedRequest(Exception):
    """The agent's error for a request."""

    def __init__(self, error: Any) -> None:
        said = _mapping(error)
        words = str(said.get("message", error))
        if detail := said.get("data"):
            words += f" {json.dumps(detail)}"
        super().__init__(words)
        code = said.get("code")
        self.status: int | None = None
        if code == _LOGIN:
            self.status = 401
        elif code in range(400, 600):
            self.status = code


class Client:
    """A connection to an agent, which has one session."""

    def __init__(self, settings: Mapping[str, Any], to: IO[str], answers: IO[str]) -> None:
        self._settings = settings
        self._to = to
        self._answers = answers
        self._asked = 0
        self._words = ""
        self._cost: float | None = None
        self._calls = set[str]()
        self.session = ""
        self.agent = ""
        """Its name."""

    def send(self, **message: Any) -> None:
        """Sends a message."""
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self._to, flush=True)

    def ask(self, method: str, **params: Any) -> Message:
        """The result of a request; what the agent says and asks until then is handled. Raises RefusedRequest for an
        error, and EOFError when the agent ends."""
        self._asked += 1
        self.send(id=self._asked, method=method, params=params)
        return self._result()

    def cancel(self) -> None:
        """Tells the agent to stop, and prints what it said and used until then. Raises as `ask`."""
        self._end_of_words()
        self.send(method="session/cancel", params={"sessionId": self.session})
        self.finish({**self._result(), "stopReason": "cancelled"})

    def _result(self) -> Message:
        """That of the last request."""
        for line in self._answers:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue  # what a program prints before it speaks
            if not isinstance(message, dict):
                continue
            if "method" in message:
                self._hear(message)
            elif message.get("id") == self._asked:
                if "error" in message:
                    raise RefusedRequest(message["error"])
                return _mapping(message.get("result"))
        raise EOFError

    def finish(self, result: Message) -> None:
        """Prints the answer and the end."""
        self._end_of_words()
        reason = result.get("stopReason")
        facts: Message = {"ended": STOP_REASONS.get(str(reason), str(reason))}
        tokens = tokens_of(_mapping(result.get("usage")))
        if tokens and self.agent not in LAST_REQUEST_ONLY:
            facts["tokens"] = tokens
        if self._cost is not None:
            facts["cost_usd"] = self._cost
        say("end", **facts)

    def _hear(self, message: Message) -> None:
        params = _mapping(message.get("params"))
        if message["method"] == "session/update":
            self._update(_mapping(params.get("update")))
        elif message["method"] == "session/request_permission":
            self._call(_mapping(params.get("toolCall")))
            self.send(id=message.get("id"), result={"outcome": self._permitted(params)})
        elif "id" in message:
            self.send(id=message["id"], error=_NO_METHOD)

    def _update(self, update: Message) -> None:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._words += str(_mapping(update.get("content")).get("text", ""))
            case "tool_call" | "tool_call_update":
                self._call(update)
            case "usage_update":
                cost = _mapping(update.get("cost"))
                if cost.get("currency") == "USD":
                    self._cost = cost.get("amount")

    def _call(self, update: Message) -> None:
        """Prints a call, when it is mentioned for the first time, and its result."""
        key = str(update.get("toolCallId"))
        if key not in self._calls:
            self._calls.add(key)
            self._end_of_words()
            kind = str(update.get("kind") or "other")
            given = {"title": update.get("title"), "input": update.get("rawInput")}
            say("tool_call", id=key, name=kind, input=given)
        if update.get("status") not in ("completed", "failed"):
            return
        facts: Message = {"id": key, "is_error": update["status"] == "failed"}
        places = [_mapping(place).get("path") for place in update.get("locations") or ()]
        if places and isinstance(places[0], str):
            facts["path"] = os.path.relpath(places[0], self._settings["workspace"])
        say("tool_result", **facts)

    def _permitted(self, params: Message) -> Message:
        """The outcome of a question for permission: once, and by the kind of the call."""
        allowing = TOOL_KINDS.get(str(_mapping(params.get("toolCall")).get("kind")))
        is_allowed = allowing is None or not {*allowing}.isdisjoint(self._settings["tools"])
        wanted = "allow" if is_allowed else "reject"
        options = {option.get("kind"): option for option in params.get("options") or ()}
        option = options.get(f"{wanted}_once") or options.get(f"{wanted}_always")
        if option is None:
            return {"outcome": "cancelled"}
        return {"outcome": "selected", "optionId": option.get("optionId")}

    def _end_of_words(self) -> None:
        if self._words:
            say("answer", text=self._words)
        self._words = ""


def _mapping(value: Any) -> Message:
    return value if isinstance(value, dict) else {}


def tokens_of(usage: Mapping[str, Any]) -> dict[str, int] | None:
    """The tokens of docs/events.md; None where they do not add up to the total, as the protocol wants: some count what
    is cached twice."""
    if "inputTokens" not in usage:
        return None
    counts = []
    for name in TOKENS:
        count = usage.get(name) or 0
        if type(count) is not int:
            return None
        counts.append(count)
    given, written, thought, read, write, total = counts
    if total != given + written + thought + read + write:
        return None
    return {
        "input": given,
        "output": written + thought,
        "cache_read": read,
        "cache_write": write,
    }


def choose_model(client: Client, session: Message, model: str) -> None:
    """Selects the model in the way that the session offers. Raises RefusedRequest where it offers none."""
    if "models" in session:
        client.ask("session/set_model", sessionId=client.session, modelId=model)
        return
    for option in map(_mapping, session.get("configOptions") or ()):
        if option.get("category") == "model":
            key = option.get("id")
            client.ask(
                "session/set_config_option", sessionId=client.session, configId=key, value=model
            )
            return
    raise RefusedRequest("the agent lets nobody choose a model; name it in agent.command")


def converse(client: Client, settings: Mapping[str, Any]) -> None:
    """One session with one prompt."""
    greeting = client.ask(
        "initialize",
        protocolVersion=1,
        clientCapabilities={"fs": {"readTextFile": False, "writeTextFile": False}},
        clientInfo={"name": "lensbench", "version": "1"},
    )
    about = _mapping(greeting.get("agentInfo"))
    client.agent = str(about.get("name"))
    say("start", agent=about.get("name"), version=about.get("version"))
    session = client.ask("session/new", cwd=settings["workspace"], mcpServers=settings["servers"])
    client.session = str(session.get("sessionId"))
    if settings["model"]:
        choose_model(client, session, settings["model"])
    with open(settings["prompt_file"], encoding="utf-8", newline="") as file:
        prompt = [{"type": "text", "text": file.read()}]
    client.finish(client.ask("session/prompt", sessionId=client.session, prompt=prompt))


def _at_the_limit(number: int, frame: object) -> NoReturn:
    raise TimeoutError


def main(settings_file: str, command: Sequence[str]) -> int:
    """The exit code: the agent's when it ended by itself."""
    with open(settings_file, encoding="utf-8") as file:
        settings = json.load(file)
    pipe = subprocess.PIPE
    agent = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8", errors="replace")
    assert agent.stdin
    assert agent.stdout
    client = Client(settings, agent.stdin, agent.stdout)
    limit = settings["timeout_s"]
    signal.signal(signal.SIGALRM, _at_the_limit)
    signal.setitimer(signal.ITIMER_REAL, max(limit / 2, limit - GONE_S))
    try:
        converse(client, settings)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeoutError:
        with suppress(RefusedRequest, EOFError, BrokenPipeError):
            client.cancel()
        signal.pause()  # at the time limit all are ended
    except RefusedRequest as error:
        say("end", is_error=True, error=str(error), status=error.status)
    except (EOFError, BrokenPipeError):
        return agent.wait() or 1
    agent.stdin.close()
    with suppress(subprocess.TimeoutExpired):  # then it is ended with everything that it started
        agent.wait(GONE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
