"""A fake of a service with a limit: it answers so many requests at a time, and so many in each span of time.

Every other request gets 429. `answered` and `refused` count them, and `most` is how many were answered at a time.
"""

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from fakes.messages_api import Facts, Fake, MessagesApi, Reply, served


class LimitedApi(Fake):
    """`limit` requests are answered in `span_s` seconds, or at a time when that is 0."""

    def __init__(self, limit: int, span_s: float, answer_s: float) -> None:
        super().__init__(MessagesApi())
        self.limit = limit
        self.span_s = span_s
        self.answer_s = answer_s
        self.answered = self.refused = self.running = self.most = 0
        self._times: deque[float] = deque()

    @property
    def address(self) -> str:
        """Where it is asked, and its name as a service."""
        return self.url.removeprefix("http://")

    def take(self, *_: Any) -> tuple[Reply, Facts]:
        with self._lock:
            now = time.monotonic()
            while self._times and now - self._times[0] >= self.span_s:
                self._times.popleft()
            is_full = (len(self._times) if self.span_s else self.running) >= self.limit
            self.refused += is_full
            self.running += not is_full
            self.most = max(self.most, self.running)
            self._times.extend([] if is_full else [now])
            return Reply(status=429) if is_full else Reply(delay_s=self.answer_s), Facts(
                1, (), "", False, "", ""
            )

    def gave(self, reply: Reply) -> None:
        with self._lock:
            self.running -= reply.status == 200
            self.answered += reply.status == 200


@contextlib.contextmanager
def limited(limit: int, span_s: float = 0.0, answer_s: float = 0.3) -> Iterator[LimitedApi]:
    """Serves until the block ends."""
    with served(LimitedApi(limit, span_s, answer_s)) as fake:
        assert isinstance(fake, LimitedApi)
        yield fake
