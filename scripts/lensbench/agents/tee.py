"""Passes the messages between an agent and an MCP server on unchanged, and notes them: `lensbench tee -- command...`.

It copies bytes and reads the copy (docs/decisions/copies.md): nothing is changed, but for the two answers in which
`words` change a text. The server takes the place of this process, so its process id, signals, exit code and standard
error are those without the tee; a process beside it copies.

Each line of the file `--to` is a message: time, server, direction, method, tool, bytes, error, ms, and of results the
tools that a list has, and how a call's text begins. It uses the standard library only, and imports little.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself imports much
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in sandbox_start: mypy takes it for true
    from collections.abc import Sequence
    from typing import Any

TO_SERVER, FROM_SERVER = "to_server", "from_server"
PIPE_BYTES = 1 << 16
"""Bytes up to which a message is noted before it is passed on, so that whoever ends this process cannot hide it."""
LONGEST_MESSAGE = 16_000_000
"""Bytes of a message that is read; longer ones are only passed on."""
MOST_ROWS = 20_000
"""Rows of one server."""
MOST_TEXT = 400
"""Characters of a result's text that are noted, as errors are detected in it."""
MAX_NAME_CHARS = 300
TAPS_FILE = "taps.jsonl"
_BEGIN = (
    f"import sys; sys.path += [{os.path.dirname(__file__)!r}]; import tee; "
    "tee.tee(sys.argv[5:], *sys.argv[1:4])"
)
"""Python would compile a script at each start: it is imported, without its package."""


def before(command: Sequence[str], to: str, server: str, words: str = "") -> list[str]:
    """The command that starts a server's `command` with the tee before it. `words`: a file with other words by server,
    `{"instructions": ..., "tools": {<tool>: <description>}}`."""
    return [sys.executable, "-IS", "-c", _BEGIN, to, server, words, "--", *command]


def behind(command: Sequence[str]) -> Sequence[str]:
    """The command that a tee starts; every other command as it is."""
    return command[command.index("--") + 1 :] if _BEGIN in command[:4] else command


class TapWriter:
    """The notes on one server's messages. No error in it may reach the copying."""

    def __init__(self, file: int, server: str) -> None:
        import threading  # after the server has been started

        self._file = file
        self._server = server
        self._rows = 0
        self._waiting: dict[tuple[str, str], tuple[str, str, float]] = {}
        self._lock = threading.Lock()

    def message(self, direction: str, content: bytes) -> None:
        """Notes a message, or a batch of them; nothing of what is none."""
        import json  # after the server has been started, as it takes longer than all else

        now = time.monotonic()
        with self._lock:
            try:
                value = json.loads(content)
                for part in value if isinstance(value, list) else [value]:
                    self._note(direction, part, len(content), now)
            except Exception:
                return

    def write(self, direction: str, **facts: Any) -> None:
        """Adds a row."""
        import json

        self._rows += 1
        if self._rows > MOST_ROWS:
            return
        stamp = time.time()
        day = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(stamp))
        milliseconds = int(stamp % 1 * 1000)
        row = {"time": f"{day}.{milliseconds:03d}Z", "server": self._server}
        line = json.dumps({**row, "direction": direction, **facts})
        try:
            os.write(self._file, line.encode() + b"\n")
        except OSError:  # a full disk
            return

    def _note(self, direction: str, message: dict[str, Any], size: int, now: float) -> None:
        key = repr(message.get("id"))
        if "method" in message:
            method = message["method"][:MAX_NAME_CHARS]
            tool = message.get("params", {}).get("name", "")[:MAX_NAME_CHARS]
            if "id" in message:
                self._waiting[direction, key] = (method, tool, now)
            self.write(direction, method=method, tool=tool, bytes=size, error="", ms=None)
            return
        asked = TO_SERVER if direction == FROM_SERVER else FROM_SERVER
        method, tool, began = self._waiting.pop((asked, key), ("", "", now))
        facts: dict[str, Any] = {
            "method": method,
            "tool": tool,
            "bytes": size,
            "error": "",
            "ms": round((now - began) * 1000, 3),
        }
        result = message.get("result", {})
        if "error" in message:
            facts["error"] = str(message["error"]["message"])[:MOST_TEXT]
        elif method == "tools/list":
            facts["tools"] = [tool["name"][:MAX_NAME_CHARS] for tool in result["tools"]]
        elif method == "tools/call":
            text = "\n".join(block.get("text", "") for block in result.get("content", ()))
            facts["text"] = text[:MOST_TEXT]
            facts["text_bytes"] = len(text.encode(errors="replace"))
            if result.get("isError"):
                facts["error"] = text[:MOST_TEXT] or "error"
        self.write(direction, **facts)


class LineReader:
    """The messages of one direction: lines of a stream that comes in pieces of any size."""

    def __init__(self, tap: TapWriter, direction: str) -> None:
        self._tap = tap
        self._direction = direction
        self._rest = bytearray()
        self._is_too_long = False

    @property
    def is_small(self) -> bool:
        """True while what is not yet read is short."""
        return len(self._rest) < PIPE_BYTES

    def feed(self, piece: bytes) -> None:
        """Notes the messages that end in this piece."""
        *ended, rest = piece.split(b"\n")
        for line in ended:
            self._keep(line)
            if self._rest and not self._is_too_long:
                self._tap.message(self._direction, bytes(self._rest))
            self._rest.clear()
            self._is_too_long = False
        self._keep(rest)

    def end(self) -> None:
        """Notes that a server will print no more, before anybody can see it."""
        if self._direction == FROM_SERVER:
            self._tap.write("", method="end")

    def _keep(self, part: bytes) -> None:
        self._is_too_long |= len(self._rest) + len(part) > LONGEST_MESSAGE
        if not self._is_too_long:
            self._rest += part


def copy(source: int, target: int, lines: LineReader, words: dict[str, Any]) -> None:
    """Passes everything on until the end of `source`, or of whoever reads `target`; then closes both. With other
    `words`, message by message."""
    rest = bytearray()
    try:
        while piece := os.read(source, PIPE_BYTES):
            is_small = lines.is_small
            if is_small:
                lines.feed(piece)
            if not words:
                _write(target, piece)
            elif b"\n" in piece:
                *ended, last = bytes(rest + piece).split(b"\n")
                rest = bytearray(last)
                for line in ended:
                    _write(target, reworded(line, words) + b"\n")
            else:
                rest += piece
            if not is_small:
                lines.feed(piece)
        _write(target, bytes(rest))
    except OSError:
        pass
    lines.end()
    os.close(source)
    os.close(target)


def _write(target: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(target, left) :]


def reworded(message: bytes, words: dict[str, Any]) -> bytes:
    """The answer to `initialize` or `tools/list` with other instructions and descriptions; every other message, and one
    that keeps its words, as it is."""
    import json

    try:
        content = json.loads(message)
        before = json.dumps(content)
        for part in content if isinstance(content, list) else [content]:
            _reword(part.get("result", {}), words)
        after = json.dumps(content)
        return message if after == before else after.encode()
    except Exception:
        return message


def _reword(result: dict[str, Any], words: dict[str, Any]) -> None:
    if "protocolVersion" in result and words.get("instructions") is not None:
        result["instructions"] = words["instructions"]
    if "content" in result:
        return
    for tool in result.get("tools", ()):
        if tool["name"] in words["tools"]:
            tool["description"] = words["tools"][tool["name"]]


def _copy_beside(
    server: Server,
    agent: tuple[int, int],
    ends: tuple[int, int],
    file: int,
    name: str,
    words: dict[str, Any],
) -> None:
    """Copies in both directions until the server has ended and everything that it printed has been passed on."""
    import threading

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the server, which may print a last word
    kept = sorted({*agent, *ends, file, *server.descriptors})
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)
    for low, high in zip([2, *kept], [*kept, 1 << 16], strict=True):
        os.closerange(low + 1, high)
    os.chdir("/")
    tap = TapWriter(file, name)
    tap.write("", method="start")
    questions = LineReader(tap, TO_SERVER)
    threading.Thread(target=copy, args=(agent[0], ends[0], questions, {}), daemon=True).start()
    copy(ends[1], agent[1], LineReader(tap, FROM_SERVER), words)
    server.wait()


def read_words(path: str, server: str) -> dict[str, Any]:
    """The words for a server in a file; empty without a file."""
    if not path:
        return {}
    import json

    with open(path, encoding="utf-8") as file:
        words: dict[str, Any] = json.load(file).get(server, {})
    return words


class Server:
    """This process, whose end others can wait for."""

    def __init__(self) -> None:
        self._number = os.getpid()
        self.descriptors: list[int] = []
        if hasattr(os, "pidfd_open"):  # Linux
            self.descriptors.append(os.pidfd_open(self._number))

    def wait(self) -> None:
        """Waits for the end of the process."""
        poller = select.poll()
        for descriptor in self.descriptors:
            poller.register(descriptor, select.POLLIN)
            poller.poll()
        while not self.descriptors and self._is_alive():
            time.sleep(0.05)

    def _is_alive(self) -> bool:
        try:
            os.kill(self._number, 0)
        except OSError:
            return False
        return True


def opened(path: str) -> int:
    """The descriptor of the file for notes, to which several tees append. Ends the program when there can be none."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}; name another file with --to")


def tee(command: Sequence[str], to: str, name: str, words: str = "") -> None:
    """Becomes the command, and leaves a process that copies its messages to the file `to`, with the `words` of that
    file."""
    file = opened(to)
    others = read_words(words, name)
    server = Server()
    questions = os.pipe()
    answers = os.pipe()
    if (between := os.fork()) == 0:
        if os.fork() == 0:  # no child of the server, which may wait for all of its own
            agent = os.dup(0), os.dup(1)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            _copy_beside(server, agent, (questions[1], answers[0]), file, name, others)
        os._exit(0)
    os.waitpid(between, 0)
    os.dup2(questions[0], 0)
    os.dup2(answers[1], 1)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them
    try:
        os.execvpe(command[0], list(command), _given_environment())
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


def _given_environment() -> dict[bytes, bytes]:
    """The environment as passed to this process, without the variable that Python adds (PEP 538)."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
    except OSError:  # not on Linux
        return dict(os.environb)
    return {name: value for name, _, value in pairs}


def main() -> None:
    """Note the messages between an agent and an MCP server that it starts (docs/tee.md)."""
    from lensbench.core.system.program import Parser

    parser = Parser(prog="lensbench tee", description=main.__doc__)
    parser.add_argument(
        "--to", default=TAPS_FILE, help=f"the file for the notes (default: {TAPS_FILE})"
    )
    parser.add_argument("--server", help="its name in the notes (default: its program)")
    parser.add_argument("command", nargs="+", help="the server's command, after --")
    given = parser.parse_args()
    tee(given.command, given.to, given.server or os.path.basename(given.command[0]))


if __name__ == "__main__":
    main()
