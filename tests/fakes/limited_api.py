"""A fake of a service with a limit: it answers so many requests at a time, and so many in each span of time.

Every other request gets 429. `answered` and `refused` count them, and `most` is how many were answered at a time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LimitedApi(ThreadingHTTPServer):
    """On 127.0.0.1. `limit` requests are answered in `span_s` seconds, or at a time when that is 0."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, limit: int, span_s: float, answer_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.limit, self.span_s, self.answer_s = limit, span_s, answer_s
        self.answered = self.refused = self.running = self.most = 0
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        """Where it is asked, and its name as a service."""
        return f"127.0.0.1:{self.server_address[1]}"

    def takes(self) -> bool:
        """True when one more request may be answered now."""
        with self._lock:
            now = time.monotonic()
            while self._times and now - self._times[0] >= self.span_s:
                self._times.popleft()
            if (len(self._times) if self.span_s else self.running) >= self.limit:
                self.refused += 1
                return False
            self._times.append(now)
            self.running += 1
            self.most = max(self.most, self.running)
            return True

    def has_answered(self) -> None:
        with self._lock:
            self.running -= 1
            self.answered += 1


class _Handler(BaseHTTPRequestHandler):
    server: LimitedApi

    def do_GET(self) -> None:
        takes = self.server.takes()
        if takes:
            time.sleep(self.server.answer_s)
            self.server.has_answered()
        with contextlib.suppress(OSError):
            self.send_response(200 if takes else 429)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_: object) -> None:
        """Standard error stays the client's."""


@contextlib.contextmanager
def limited(limit: int, span_s: float = 0.0, answer_s: float = 0.3) -> Iterator[LimitedApi]:
    """Serves until the block ends."""
    with LimitedApi(limit, span_s, answer_s) as api:
        threading.Thread(target=api.serve_forever, args=(0.05,), daemon=True).start()
        yield api
        api.shutdown()
