"""Speaks MCP with a program over its standard input and output: JSON-RPC, a message a line.

The SDK would do the same, but its import takes half a second in each run, more than a search for an answer.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

Message = dict[str, Any]

VERSION = "2025-11-25"
"""Of the protocol, as agents ask for it; a server may answer with an older one."""
GONE_S = 2.0
"""How long a server may take to end after its input."""
_NO_METHOD = {"code": -32601, "message": "this client does not offer it"}


class ServerProblem(Exception):
    """What is wrong with a server, in words for the user."""


class ServerEnded(ServerProblem):
    """The server has closed its output, or its connection."""

    def __init__(self) -> None:
        super().__init__("it ended")


class MCPError(Exception):
    """The server's error for a request."""


def insist_on(
    answer: object, key: str, kind: type, name: str, of_it: str = "", before: str = ""
) -> None:
    """Raises ServerProblem where an answer, or a part of one, lacks what MCP wants: agents refuse it as a whole."""
    place = f"its answer is no {name} of MCP: {before}{key}{of_it}"
    if not isinstance(answer, dict) or key not in answer:
        raise ServerProblem(f"{place} is missing")
    if not isinstance(answer[key], kind):
        raise ServerProblem(f"{place} is {answer[key]!r}")


class Program:
    """A running server. A thread reads what it says, so that it can always write; requests fit into a pipe."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        errors: IO[bytes],
        on_other_text: Callable[[str], None],
    ) -> None:
        """Starts it. `errors` gets its standard error, `on_other_text` each line that is no message. Raises OSError or
        ValueError when it cannot be started."""
        self._on_other_text = on_other_text
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        self._writing = threading.Lock()
        self._asked = 0
        self._reply: Message | None = None
        """That to the last request."""
        self._has_ended = False
        self._heard = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def greet(self, seconds: float) -> Message:
        """The handshake; returns what the server says of itself. Raises as `ask`."""
        asked = {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "lensbench", "version": "1"},
        }
        greeting = self.ask("initialize", asked, seconds)
        insist_on(greeting, "protocolVersion", str, "InitializeResult")
        insist_on(greeting, "capabilities", dict, "InitializeResult")
        insist_on(greeting, "serverInfo", dict, "InitializeResult")
        self._send(method="notifications/initialized")
        return greeting

    def ask(self, method: str, params: Message, seconds: float) -> Message:
        """The result of a request. Raises MCPError for an error, TimeoutError, and ServerEnded."""
        with self._heard:
            self._asked += 1
            self._reply = None
            self._send(id=self._asked, method=method, params=params)
            self._heard.wait_for(lambda: self._reply or self._has_ended, seconds)
            reply = self._reply
        if reply is None:
            if self._has_ended:
                raise ServerEnded
            raise TimeoutError
        if "error" in reply:
            error = reply["error"]
            if isinstance(error, dict):
                error = error.get("message")
            raise MCPError(error)
        result = reply.get("result")
        return result if isinstance(result, dict) else {}

    def close(self) -> None:
        """Ends its input, which a server takes for its end; what then still runs is left to the caller."""
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.close()

    def _send(self, **message: Any) -> None:
        assert self._process.stdin
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self._writing, suppress(OSError):  # then its output has ended too, or will not answer
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()

    def _listen(self) -> None:
        """Hands on replies; answers what the server asks, and skips what it tells."""
        assert self._process.stdout
        for line in self._process.stdout:
            message = _message(line)
            if message is None:
                self._on_other_text(line.decode("utf-8", "replace"))
            elif "method" not in message:
                self._take(message)
            elif "id" in message:
                answer = {"result": {}} if message["method"] == "ping" else {"error": _NO_METHOD}
                self._send(id=message["id"], **answer)
        with self._heard:
            self._has_ended = True
            self._heard.notify_all()

    def _take(self, reply: Message) -> None:
        with self._heard:
            if reply["id"] == self._asked:  # not the late one to a request that was given up
                self._reply = reply
                self._heard.notify_all()


def _message(line: bytes) -> Message | None:
    """A line as a message of JSON-RPC; None when it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(message, dict) and ("method" in message or "id" in message):
        return message
    return None
