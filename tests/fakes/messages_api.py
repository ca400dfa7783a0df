"""A scripted fake of a model's API on 127.0.0.1: rules say what it answers, and every request is kept.

    with serving(MessagesApi(), read_rules(entries)) as fake:

A rule is `{when: {...}, times: 1, reply: {...}}`; the first one that fits, and is not used up, answers. A request that
no rule fits gets status 403, which no client tries again. `When` and `Reply` list what can be written.

`serving` knows nothing of Anthropic's Messages API: another API is another class with the four methods of `Api`.
"""

import contextlib
import dataclasses
import itertools
import json
import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


@dataclass(frozen=True)
class Facts:
    """What the rules can ask about a request."""

    turn: int
    """1 for the first request of a conversation."""
    tools: tuple[str, ...]
    model: str
    stream: bool
    text: str
    """Everything said in the conversation, with the system prompt, as JSON."""
    tool_result: str
    """The latest result of a tool; "" when there is none."""


@dataclass(frozen=True)
class When:
    """Conditions of a rule; what is left out fits everything."""

    turn: int | None = None
    has_tool: str | None = None
    text: str = ""
    stream: bool | None = None

    def fits(self, facts: Facts) -> bool:
        """True when every condition holds."""
        offers = self.has_tool in (None, *facts.tools)
        return (
            self.turn in (None, facts.turn)
            and offers
            and self.text in facts.text
            and self.stream in (None, facts.stream)
        )


@dataclass(frozen=True)
class Reply:
    """An answer of the model, or a failure of the service."""

    text: str | None = None
    """`{tool_result}` stands for the latest tool result. None and no tools: a message without content."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tool calls, `{name: ..., input: {...}}`."""
    stop_reason: str = ""
    """In the words of the API, such as `max_tokens` or `refusal`; by default that of a complete answer."""
    model: str = ""
    """The model that says it answered; by default the one that was asked for."""
    delay_s: float = 0
    """Before anything is sent."""
    status: int = 200
    error: str = "scripted failure"
    """The message of an answer whose status is not 200."""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    """A body of its own, sent as HTML."""
    breaks: str = ""
    """`reset`: the connection is reset before an answer; `drop`: in the middle of it; `stall`: silence there;
    `error_event`: the stream ends with an error event."""


@dataclass
class Rule:
    """One entry of a script."""

    reply: Reply
    when: When = field(default_factory=When)
    times: float = float("inf")


Event = tuple[str, dict[str, Any]]


class Api(Protocol):
    """How one API says things."""

    def facts(self, path: str, body: dict[str, Any]) -> Facts | None:
        """What a request asks for; None when it is not one for the model."""

    def message(self, reply: Reply, facts: Facts) -> dict[str, Any]:
        """The answer in one piece."""

    def events(self, reply: Reply, facts: Facts) -> Sequence[Event]:
        """The answer as server-sent events; the first one starts it."""

    def failure(self, status: int, message: str) -> dict[str, Any]:
        """The body of an error."""


ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class MessagesApi:
    """Anthropic's Messages API: `POST /v1/messages`."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def facts(self, path: str, body: dict[str, Any]) -> Facts | None:
        if path.split("?")[0] != "/v1/messages":
            return None
        messages = body.get("messages", [])
        blocks = [
            block
            for message in messages
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        results = [
            text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"
        ]
        return Facts(
            turn=1 + sum(message["role"] == "assistant" for message in messages),
            tools=tuple(tool.get("name", "") for tool in body.get("tools", [])),
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            text=json.dumps([body.get("system"), messages], ensure_ascii=False),
            tool_result=results[-1] if results else "",
        )

    def message(self, reply: Reply, facts: Facts) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if reply.text is not None:
            content.append(
                {"type": "text", "text": reply.text.replace("{tool_result}", facts.tool_result)}
            )
        for tool in reply.tools:
            content.append({"type": "tool_use", "id": f"toolu_{next(self._numbers):04}", **tool})
        return {
            "id": f"msg_{next(self._numbers):04}",
            "type": "message",
            "role": "assistant",
            "model": reply.model or facts.model,
            "content": content,
            "stop_reason": reply.stop_reason or ("tool_use" if reply.tools else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_creation_input_tokens": 3,
                "cache_read_input_tokens": 7,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 1,
                    "ephemeral_1h_input_tokens": 2,
                },
            },
        }

    def events(self, reply: Reply, facts: Facts) -> Sequence[Event]:
        message = self.message(reply, facts)
        start = {
            **message,
            "content": [],
            "stop_reason": None,
            "usage": {**message["usage"], "output_tokens": 1},
        }
        events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": start})]
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty: dict[str, Any] = {"type": "text", "text": ""}
                delta: dict[str, Any] = {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            pieces = {"start": {"content_block": empty}, "delta": {"delta": delta}, "stop": {}}
            events += [
                (f"content_block_{name}", {"index": index, **piece})
                for name, piece in pieces.items()
            ]
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [
            ("message_delta", {"delta": ending, "usage": {"output_tokens": 20}}),
            ("message_stop", {}),
        ]
        return [(name, {"type": name, **data}) for name, data in events]

    def failure(self, status: int, message: str) -> dict[str, Any]:
        return {
            "type": "error",
            "error": {"type": ERRORS.get(status, "api_error"), "message": message},
        }


def text_of(content: Any) -> str:
    """The text of a message or of a tool's result."""
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


class Fake:
    """The rules, and what was asked so far."""

    def __init__(self, api: Api, rules: Iterable[Rule] = ()) -> None:
        self.api = api
        self.requests: list[dict[str, Any]] = []
        """Every request: method, path, headers and body."""
        self.url = ""
        self.ending = threading.Event()
        self._rules = [dataclasses.replace(rule) for rule in rules]
        self._lock = threading.Lock()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests for the model, in order."""
        return [
            request["body"]
            for request in self.requests
            if self.api.facts(request["path"], request["body"])
        ]

    def take(
        self, method: str, path: str, headers: Message, body: dict[str, Any]
    ) -> tuple[Reply, Facts]:
        """Keeps the request and finds its answer."""
        facts = self.api.facts(path, body) if method == "POST" else None
        with self._lock:
            fitting = (
                n
                for n, rule in enumerate(self._rules)
                if facts and rule.times > 0 and rule.when.fits(facts)
            )
            number = next(fitting, None)
            self.requests.append(
                {"method": method, "path": path, "headers": dict(headers), "body": body}
            )
            if facts is None:
                return Reply(status=404, error=f"there is no {path}"), Facts(
                    0, (), "", False, "", ""
                )
            if number is None:
                return Reply(status=403, error="no rule fits this request"), facts
            self._rules[number].times -= 1
            return self._rules[number].reply, facts

    def gave(self, reply: Reply) -> None:
        """Called when a reply begins to be sent: a client that has it may ask again before the sender goes on."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(content)
        except ValueError:
            body = {}
        reply, facts = self.server.fake.take(self.command, self.path, self.headers, body)
        with contextlib.suppress(OSError):
            self._answer(reply, facts)

    do_GET = do_HEAD = do_POST

    def _answer(self, reply: Reply, facts: Facts) -> None:
        api = self.server.fake.api
        self._sleep(reply.delay_s)
        self.server.fake.gave(reply)
        if reply.breaks == "reset":
            self._reset()
        elif reply.raw is not None:
            self._whole(reply, "text/html", reply.raw)
        elif reply.status != 200:
            self._whole(
                reply, "application/json", json.dumps(api.failure(reply.status, reply.error))
            )
        elif facts.stream:
            self._stream(reply, api.events(reply, facts))
        else:
            self._whole(reply, "application/json", json.dumps(api.message(reply, facts)))

    def _whole(self, reply: Reply, kind: str, text: str) -> None:
        content = text.encode()
        self._head(reply, kind, ("Content-Length", str(len(content))))
        if reply.breaks:
            self.wfile.write(content[: len(content) // 2])
            return self._break(reply)
        if self.command != "HEAD":
            self.wfile.write(content)
        return None

    def _stream(self, reply: Reply, events: Sequence[Event]) -> None:
        self._head(reply, "text/event-stream", ("Transfer-Encoding", "chunked"))
        for number, event in enumerate(events):
            if number == min(2, len(events) - 1) and reply.breaks:
                return self._break(reply)
            self._send(event)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _break(self, reply: Reply) -> None:
        if reply.breaks == "stall":
            self.server.fake.ending.wait()
        elif reply.breaks == "error_event":
            self._send(("error", self.server.fake.api.failure(529, reply.error)))
        self._sleep(0.5)  # a reset takes away what a busy client has not read
        self._reset()

    def _send(self, event: Event) -> None:
        name = f"event: {event[0]}\n" if event[0] else ""
        content = f"{name}data: {json.dumps(event[1], ensure_ascii=False)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _head(self, reply: Reply, kind: str, length: tuple[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in (("Content-Type", kind), length, *reply.headers.items()):
            self.send_header(name, value)
        self.end_headers()

    def _reset(self) -> None:
        """Closes the connection with RST instead of an orderly end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _sleep(self, seconds: float) -> None:
        if seconds:
            self.server.fake.ending.wait(seconds)

    def log_message(self, *_: object) -> None:
        """Standard error stays the client's."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, fake: Fake, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.fake = fake

    def handle_error(self, *_: object) -> None:
        """A client that went away is no error of the fake."""


@contextlib.contextmanager
def serving(api: Api, rules: Iterable[Rule], port: int = 0) -> Iterator[Fake]:
    """Serves the rules until the block ends."""
    with served(Fake(api, rules), port) as fake:
        yield fake


@contextlib.contextmanager
def served(fake: Fake, port: int = 0) -> Iterator[Fake]:
    """Serves a fake until the block ends."""
    server = _Server(fake, port)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield fake
    finally:
        fake.ending.set()
        server.shutdown()
        server.server_close()


def read_rules(entries: Iterable[Mapping[str, Any]]) -> list[Rule]:
    """Rules from plain data. Raises TypeError for a key that does not exist."""
    return [_rule(**entry) for entry in entries]


def _rule(
    reply: Mapping[str, Any], when: Mapping[str, Any] | None = None, times: float = float("inf")
) -> Rule:
    return Rule(
        Reply(**{**reply, "tools": tuple(reply.get("tools", ()))}), When(**(when or {})), times
    )
