"""Passes the requests to an MCP server with a URL on, and notes its messages as `tee` does. It listens on this machine,
prints its port, and serves until its standard input ends. All bytes pass as they come; only `Host` names the server.
With other words for it, its messages are read whole, and go on with these.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lensbench.agents.tee import (
    FROM_SERVER,
    LONGEST_MESSAGE,
    PIPE_BYTES,
    TO_SERVER,
    TapWriter,
    opened,
    read_words,
    reworded,
)

_LINE = b"\r\n"
_GAP = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""Between two events of a stream."""
_EVENT = re.compile(rb"(?s).+?(?:%s|\Z)" % _GAP.pattern)
"""An event with its end."""
_EVENTS = b"text/event-stream"
_NO_BODY = (*range(100, 200), 204, 304)
"""Statuses without one."""


@dataclass(frozen=True)
class Head:
    """The lines before a body, and what they say of it."""

    text: bytes
    status: int
    """0 in a request."""
    fields: Mapping[bytes, bytes]

    @classmethod
    def read(cls, text: bytes, direction: str) -> Head:
        """Raises ValueError and IndexError for what is no head."""
        first, *lines = text.split(_LINE)
        pairs = (line.partition(b":") for line in lines)
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        status = int(first.split()[1]) if direction == FROM_SERVER else 0
        return cls(text, status, fields)

    @property
    def is_chunked(self) -> bool:
        return b"chunked" in self.fields.get(b"transfer-encoding", b"").lower()

    @property
    def length(self) -> int | None:
        """Bytes of the body, where they are said."""
        said = self.fields.get(b"content-length")
        return int(said) if said else None

    def is_type(self, name: bytes) -> bool:
        """True when the body is of this media type."""
        return self.fields.get(b"content-type", b"").lower().startswith(name)

    def with_length(self, length: int) -> bytes:
        """The lines for a body of another length, in one piece."""
        kept = re.sub(rb"(?i)\r\n(content-length|transfer-encoding):[^\r\n]*", b"", self.text)
        return kept.removesuffix(_LINE) + b"Content-Length: %d\r\n\r\n" % length


class Copy:
    """One direction of a connection."""

    def __init__(
        self, tap: TapWriter, direction: str, source: socket.socket, target: socket.socket
    ) -> None:
        self._tap = tap
        self._direction = direction
        self._source = source.makefile("rb")
        self._target = target
        self._body = bytearray()
        self._is_stream = False

    def run(self, fields: Mapping[bytes, bytes]) -> None:
        """Passes everything on, until one side ends. Where a head has these `fields`, their values stand in it."""
        with suppress(OSError):
            with suppress(ValueError, IndexError):  # what cannot be read is only passed on
                while True:
                    self._pass_message(fields)
            while piece := self._source.read1(PIPE_BYTES):
                self._target.sendall(piece)

    def _pass_message(self, fields: Mapping[bytes, bytes]) -> None:
        """Passes a request or a response on. Raises ValueError at the end."""
        text = self._lines()
        for name, value in fields.items():
            text = re.sub(rb"(?i)(\r\n%s:)[^\r\n]*" % name, rb"\1 " + value, text, count=1)
        try:
            head = Head.read(text, self._direction)
        except (ValueError, IndexError):
            self._target.sendall(text)
            raise
        if head.status >= 400:
            self._tap.write(self._direction, method="", error=f"HTTP {head.status}")
        if packing := head.fields.get(b"content-encoding"):
            self._tap.write(self._direction, method="unread", error=packing.decode())
        self._is_stream = head.is_type(_EVENTS)
        self._pass_body(head)

    def _pass_body(self, head: Head) -> None:
        """Passes a head on with its body."""
        self._target.sendall(head.text)
        if head.status in _NO_BODY:
            return
        if head.is_chunked:
            self._pass_chunks()
        elif head.length:
            self._pass(head.length, is_all=True)
        elif head.length is None and head.status:
            while self._pass(PIPE_BYTES, is_all=False):
                pass
            self._read(is_end=True)

    def _lines(self) -> bytes:
        """The lines up to an empty one. Raises ValueError at the end."""
        lines = [self._source.readline(LONGEST_MESSAGE)]
        while lines[-1] not in (_LINE, b""):
            lines.append(self._source.readline(LONGEST_MESSAGE))
        if not lines[-1]:
            self._target.sendall(b"".join(lines))
            raise ValueError
        return b"".join(lines)

    def _pass_chunks(self) -> None:
        while True:
            line = self._source.readline(LONGEST_MESSAGE)
            is_last = not line.partition(b";")[0].strip(b"0\r\n ")
            if is_last:
                self._read(is_end=True)
            self._target.sendall(line)
            if is_last:
                self._target.sendall(self._lines())
                return
            self._pass(int(line.partition(b";")[0], 16), is_all=False)
            self._target.sendall(self._source.readline(LONGEST_MESSAGE))

    def _pass(self, size: int, *, is_all: bool) -> bool:
        """Passes so many bytes of a body on, all of it or a part; False when there are no more."""
        while size and (piece := self._source.read1(min(size, PIPE_BYTES))):
            size -= len(piece)
            self._body += piece
            is_small = len(self._body) < PIPE_BYTES
            is_end = is_all and not size
            if is_small:
                self._read(is_end, len(piece))
            self._target.sendall(piece)
            if not is_small:
                self._read(is_end, len(piece))
        return not size

    def _read(self, is_end: bool, size: int = 0) -> None:
        """Notes what is complete of a body: events, of which the last `size` bytes are new, or all of it at its end."""
        if self._is_stream and _GAP.search(self._body, max(0, len(self._body) - size - 3)):
            *events, rest = _GAP.split(bytes(self._body))
            for event in events:
                self._tap.message(self._direction, _message(event))
            self._body[:] = rest
        if is_end and not self._is_stream:
            self._tap.message(self._direction, bytes(self._body))
        if is_end or len(self._body) > LONGEST_MESSAGE:
            self._body.clear()


class RewordedCopy(Copy):
    """The answers of a server, message by message, with other words."""

    def __init__(
        self, tap: TapWriter, source: socket.socket, target: socket.socket, words: dict[str, Any]
    ) -> None:
        super().__init__(tap, FROM_SERVER, source, target)
        self._words = words

    def _pass_body(self, head: Head) -> None:
        is_read = self._is_stream or head.is_type(b"application/json")
        if not is_read or head.status in _NO_BODY or b"content-encoding" in head.fields:
            super()._pass_body(head)
        elif self._is_stream and head.length is None:
            self._pass_events(head)
        else:
            self._pass_whole(head)

    def _pass_whole(self, head: Head) -> None:
        body = b"".join(self._pieces(head))
        self._body += body
        self._read(is_end=True, size=len(body))
        if self._is_stream:
            body = b"".join(self._reworded_event(event) for event in _EVENT.findall(body))
        else:
            body = reworded(body, self._words)
        self._target.sendall(head.with_length(len(body)) + body)

    def _pass_events(self, head: Head) -> None:
        """Passes each event on when it is complete."""
        self._target.sendall(head.text)
        rest = bytearray()
        for piece in self._pieces(head):
            self._body += piece
            self._read(is_end=False, size=len(piece))
            rest += piece
            start = max(0, len(rest) - len(piece) - 3)
            while end := _GAP.search(rest, start):
                self._send(head, self._reworded_event(bytes(rest[: end.end()])))
                del rest[: end.end()]
                start = 0
        self._read(is_end=True)
        if rest:
            self._send(head, bytes(rest))
        if head.is_chunked:
            self._target.sendall(b"0\r\n\r\n")

    def _send(self, head: Head, part: bytes) -> None:
        if head.is_chunked:
            part = b"%x\r\n%s\r\n" % (len(part), part)
        self._target.sendall(part)

    def _pieces(self, head: Head) -> Iterator[bytes]:
        """The body as it comes, without the marks between its chunks."""
        if not head.is_chunked:
            left = head.length
            while left != 0 and (piece := self._source.read1(min(left or PIPE_BYTES, PIPE_BYTES))):
                left = None if left is None else left - len(piece)
                yield piece
            return
        while size := int(self._source.readline(LONGEST_MESSAGE).partition(b";")[0], 16):
            while size and (piece := self._source.read1(min(size, PIPE_BYTES))):
                size -= len(piece)
                yield piece
            self._source.readline(LONGEST_MESSAGE)
        self._lines()

    def _reworded_event(self, event: bytes) -> bytes:
        """An event of a stream with other words, or as it is."""
        message = _message(event)
        other = reworded(message, self._words)
        if other == message:
            return event
        lines = event.splitlines()
        kept = [line for line in lines if line and not line.startswith(b"data:")]
        return b"\n".join([*kept, b"data: " + other, b"", b""])


def _message(event: bytes) -> bytes:
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines)


def connect(client: socket.socket, url: str, tap: TapWriter, words: dict[str, Any]) -> None:
    """Copies between a connection and the server of a URL, until one of them ends it; its messages with other words."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    name = parts.hostname or ""
    try:
        server = socket.create_connection((name, parts.port or (443 if is_secure else 80)))
        if is_secure:
            server = ssl.create_default_context().wrap_socket(server, server_hostname=name)
    except OSError as error:
        tap.write(TO_SERVER, method="connect", error=str(error))
        client.close()
        return
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    fields = {b"host": parts.netloc.rpartition("@")[2].encode()}
    answers = Copy(tap, FROM_SERVER, server, client)
    if words:
        fields[b"accept-encoding"] = b"identity"  # what is compressed cannot be read
        answers = RewordedCopy(tap, server, client, words)

    def ask() -> None:
        Copy(tap, TO_SERVER, client, server).run(fields)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR if is_secure else socket.SHUT_WR)

    threading.Thread(target=ask, daemon=True).start()
    answers.run({})
    for end in (client, server):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)  # for the thread that reads it, too
        end.close()


def serve(server: socket.socket, url: str, tap: TapWriter, words: dict[str, Any]) -> None:
    """Accepts connections, for ever."""
    while True:
        client = server.accept()[0]
        threading.Thread(target=connect, args=(client, url, tap, words), daemon=True).start()


def main() -> None:
    """Forwards connections to the server of a URL."""
    file, name, words_file = sys.argv[1:]
    url = sys.stdin.readline().strip()
    tap = TapWriter(opened(file), name)
    words = read_words(words_file, name)
    server = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(server.getsockname()[1], flush=True)
    threading.Thread(target=serve, args=(server, url, tap, words), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
