"""Places the tee between an agent and the servers of its condition, and reads what it noted.

A server with a command is started through `tee`, in the sandbox; one with a URL is reached through `tee_http`, outside.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lensbench.agents import Assignment, load_adapter
from lensbench.agents.sandbox import Place
from lensbench.agents.tee import FROM_SERVER, TAPS_FILE, TO_SERVER, before
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.preflight_results import BYTES_A_TOKEN
from lensbench.core.records import MAX_NAME, MAX_NAMES, Tap, TapCall
from lensbench.core.system.files import write_atomic

_HOST = re.compile(r"(?<=://)[^/?#]*")


def is_tapped(settings: AgentSettings) -> bool:
    """True when the servers' messages are noted: as `agent.tee` says, or else where the adapter cannot show them."""
    chosen = settings.get("tee")
    if chosen is not None:
        return chosen
    return bool(getattr(load_adapter(settings["kind"]), "TEE", False))


@contextmanager
def tapped(run: Assignment, place: Place) -> Iterator[Assignment]:
    """The run with the tee before each of its servers, if it is to be used; in the MCP file, too, until the end."""
    if not run.mcp_servers or not (is_tapped(run.settings) or run.words is not None):
        yield run
        return
    mcp_file = Path(place.outside(run.mcp_file))
    own = mcp_file.read_bytes()
    servers = {}
    with ExitStack() as stack:
        if run.words:
            write_atomic(Path(_words_file(place)), json.dumps(run.words))
        for name, entry in run.mcp_servers.items():
            servers[name] = _placed(name, entry, place, stack, is_reworded=bool(run.words))
        write_atomic(mcp_file, json.dumps({"mcpServers": servers}))
        stack.callback(write_atomic, mcp_file, own)
        yield replace(run, mcp_servers=servers)


def tap_file(place: Place) -> str:
    """The file with the notes, by its path outside the sandbox."""
    return os.path.join(place.private, "session", TAPS_FILE)


def _words_file(place: Place) -> str:
    return os.path.join(place.private, "session", "words.json")


def _placed(
    name: str, entry: Mapping[str, Any], place: Place, stack: ExitStack, *, is_reworded: bool
) -> Mapping[str, Any]:
    """The entry of a server with the tee before it."""
    if "url" in entry:
        words = _words_file(place) if is_reworded else ""
        port = stack.enter_context(forwarder(tap_file(place), name, entry["url"], words))
        here = _HOST.sub(f"127.0.0.1:{port}", entry["url"], count=1)
        return {**entry, "url": re.sub("^https", "http", here)}
    command = [entry["command"], *entry.get("args", ())]
    words = place.inside(_words_file(place)) if is_reworded else ""
    program, *arguments = before(command, place.inside(tap_file(place)), name, words)
    return {**entry, "command": program, "args": arguments}


@contextmanager
def forwarder(file: str, name: str, url: str, words: str) -> Iterator[int]:
    """The port of a process that forwards to the server of a URL."""
    argv = [sys.executable, "-P", "-m", "lensbench.agents.tee_http", file, name, words]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        print(url, file=process.stdin, flush=True)  # others see arguments, and it may have a key
        yield int(process.stdout.readline())
        process.kill()


@dataclass
class _Notes:
    """What is known of a server."""

    excluded: Collection[str] = ()
    """The tools that the agent leaves out of its list."""
    is_unread: bool = False
    """It sent what the tee cannot read, such as compressed results."""
    is_over: bool = False
    is_silent: bool = False
    """It was asked to initialize, and has not answered."""
    offered: dict[str, None] | None = None
    calls: dict[str, TapCall] = field(default_factory=dict)

    def add(self, server: str, row: Mapping[str, Any], errors: ErrorTexts) -> None:
        """Reads a row."""
        name = f"mcp__{server}__{row.get('tool')}"[:MAX_NAME]
        is_good = row["direction"] == FROM_SERVER and not row["error"]
        match row.get("method"):
            case "unread":
                self.is_unread = True
            case "end":
                self.is_over = True
            case "initialize":
                self.is_silent = not is_good
            case "tools/list" if is_good:
                names = [f"mcp__{server}__{tool}"[:MAX_NAME] for tool in row["tools"]]
                names = [name for name in names if name not in self.excluded]
                self.offered = dict.fromkeys([*(self.offered or ()), *names][:MAX_NAMES])
            case "tools/call" if name in self.calls or len(self.calls) < MAX_NAMES:
                self._call(name, row, is_good and not errors.found(name, row["text"]))

    def _call(self, name: str, row: Mapping[str, Any], is_good: bool) -> None:
        """Counts a call, which has failed until a good result comes, or adds a result."""
        call = self.calls.get(name, TapCall(name, 0))
        if row["direction"] == TO_SERVER:
            self.calls[name] = replace(call, count=call.count + 1, errors=call.errors + 1)
            return
        self.calls[name] = replace(
            call,
            errors=call.errors - is_good,
            ms=round(call.ms + row["ms"], 3),
            tokens=call.tokens + row.get("text_bytes", 0) // BYTES_A_TOKEN,
        )

    @property
    def tap(self) -> Tap:
        calls = tuple(self.calls[name] for name in sorted(self.calls))
        offered = None if self.offered is None else tuple(self.offered)
        return Tap(offered, calls, self.is_over and self.is_silent)


def read_taps(
    text: str,
    servers: Iterable[str],
    errors: ErrorTexts = KNOWN_ERRORS,
    excluded: Collection[str] = (),
) -> dict[str, Tap]:
    """What the notes say of each of these servers; a result in which `errors` finds something is a failed call. Servers
    can write the file, too: lines that are no notes are left out, and of lists the `excluded` tools. Nothing, when one
    sent what cannot be read."""
    notes = {name: _Notes(excluded) for name in servers}
    for line in text.splitlines():
        try:
            row = json.loads(line)
            notes[row["server"]].add(row["server"], row, errors)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            continue
    if any(own.is_unread for own in notes.values()):
        return {}
    return {name: own.tap for name, own in notes.items()}
