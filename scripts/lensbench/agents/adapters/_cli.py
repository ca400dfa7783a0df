"""Shared code of the adapters of other command-line agents: gateway, MCP file, version, and reading JSON Lines.

These programs report a failed MCP server only on standard error, and their events do not name the servers and the model
they were started with. So a shell command around the program prints these as the first event, and the program's
standard error as the last lines, where it cannot split an event.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from lensbench.agents import Assignment
from lensbench.agents.adapters._events import Event, read_event, sequence, text
from lensbench.core.error_texts import ErrorTexts, useless_servers
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import CONNECTED, FAILED, Call, Ending

Settings = dict[str, Any]
"""The configuration that a program reads."""
_STARTED = "lensbench.started"
_COMPLAINT = "stderr: "
"""The prefix of standard error lines, so that text from MCP servers cannot be mistaken for events."""
# SIGTERM must end only the program; the shell then still prints its output. The program does not inherit `trap :`.
_SHELL = (
    'trap : TERM; printf "%s\\n" "$0"; "$@" 2>"$HOME/stderr"; code=$?; '
    f'sed "s/^/{_COMPLAINT}/" "$HOME/stderr"; cat "$HOME/stderr" >&2; exit $code'
)
_LONGEST_COMPLAINT = 1000
REFUSAL: Final = "refusal"
"""The name under which an adapter notes that the model refused."""


class Gateway(NamedTuple):
    """The model's address and token; both empty for the program's own provider, with the key in `agent.pass_env`."""

    base_url: str
    token: str


TOKEN_VARIABLE = "LENSBENCH_TOKEN"
"""The variable in which a program finds the gateway's token, where its config names one."""


def gateway(
    settings: AgentSettings,
    addresses: Mapping[str, str] = MappingProxyType({}),
    keys: Sequence[str] = (),
) -> Gateway:
    """Address and token of `agent.provider`; `addresses` has the providers whose API the program speaks, `keys` the
    variables of `agent.pass_env` that can stand for its token. Raises UserError when the model, the address, or a key
    that the config names is missing."""
    kind = settings["kind"]
    provider = settings["provider"]
    token_env = settings["token_env"]
    own = [name for name in settings["pass_env"] if name in keys]
    if not settings["model"]:
        raise UserError(f"agent.model is empty; kind {kind!r} needs a model's name")
    for name in filter(None, (token_env, *own)):
        if not os.environ.get(name):
            place = "token_env" if name == token_env else "pass_env"
            raise UserError(
                f"agent.{place} names {name}, which is not set in the environment; export it first"
            )
    address = settings["base_url"] or addresses.get(provider, "")
    if provider and not address:
        raise UserError(
            f"agent.base_url is missing; kind {kind!r} needs the address of provider {provider!r}"
        )
    if provider and not token_env and not own:
        raise UserError(
            f"agent.token_env is missing; name the environment variable with the token of {provider!r}"
        )
    return Gateway(
        address.rstrip("/") if provider else "", os.environ[token_env] if token_env else ""
    )


def announced(run: Assignment, argv: Iterable[str]) -> tuple[str, ...]:
    """The program's arguments, wrapped in the shell command whose output `observe` reads. A program on PATH is named by
    its file, which the sandbox then shows."""
    program, *arguments = argv
    event = {
        "type": _STARTED,
        "model": run.settings["model"],
        "workspace": run.workspace,
        "servers": [*run.servers],
        "denied_servers": [*run.denied_servers],
    }
    return (
        "/bin/sh",
        "-c",
        _SHELL,
        json.dumps(event),
        shutil.which(program) or program,
        *arguments,
    )


def version_of(program: str, settings: AgentSettings, says: str = "") -> str | None:
    """The version that the program reports, such as `1.18.33`, or None. Its output must contain `says`: a `cc` that was
    meant as a launcher may be the C compiler."""
    with tempfile.TemporaryDirectory(prefix="lb-", ignore_cleanup_errors=True) as home:
        try:
            process = subprocess.run(
                [*(settings["command"] or [program]), "--version"],
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": home},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=60,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    match = re.search(r"\d{1,9}\.\d{1,9}\.\d{1,9}[\w.+-]*", process.stdout)
    return match[0] if match and process.returncode == 0 and says in process.stdout else None


@dataclass(frozen=True)
class ParsedStream:
    """A program's output: its events, and everything else as text."""

    events: list[Event]
    started: Mapping[str, Any]
    log: str

    @property
    def models_asked(self) -> tuple[str, ...] | None:
        model = text(self.started.get("model"))
        return (model,) if model else None

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(map(text, sequence(self.started.get("servers"))))

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]

    def last(self, kind: str) -> Event:
        """The last event of a type; empty when there is none."""
        return [{}, *self.of(kind)][-1]

    def tool(self, name: str, prefix: str) -> str:
        """A tool's name in the form of records: `<prefix><server>_<tool>` becomes `mcp__<server>__<tool>`."""
        others = map(text, sequence(self.started.get("denied_servers")))
        for server in sorted((*self.servers, *others), key=len, reverse=True):
            if name.startswith(f"{prefix}{server}_"):
                return f"mcp__{server}__{name.removeprefix(f'{prefix}{server}_')}"
        return name

    def files(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The paths that lie in the workspace, relative to it."""
        return inside(text(self.started.get("workspace")) or ".", paths)

    def states(self, faults: Collection[str]) -> dict[str, str]:
        """The state of every server, of which `faults` has those that failed."""
        return {name: FAILED if name in faults else CONNECTED for name in self.servers}

    def states_if_failed(self, faults: Collection[str]) -> dict[str, str] | None:
        """The same; None when no server failed, because a program that only reports failures does not show that
        servers are connected."""
        states = self.states(faults)
        return states if FAILED in states.values() else None


def inside(root: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The paths that lie in the folder `root`, relative to it."""
    relative = {posixpath.relpath(posixpath.join(root, path), root) for path in paths if path}
    return tuple(sorted(path for path in relative if path.split("/")[0] not in (".", "..")))


def observe(lines: Iterable[str]) -> ParsedStream:
    """The output of a program started through `announced`."""
    events: list[Event] = []
    start: Event = {}
    log: list[str] = []
    for line in lines:
        event = read_event(line)
        if event is None:
            log.append(line.removeprefix(_COMPLAINT)[:_LONGEST_COMPLAINT])
        elif not start and event["type"] == _STARTED:
            start = event
        else:
            events.append(event)
    return ParsedStream(events, start, "".join(log))


def ending_of(limit: str, is_finished: bool, is_compacted: bool = False) -> Ending:
    """How an answer ended, by the name of the limit at which the agent gave up."""
    if limit:
        return REFUSAL if limit == REFUSAL else "limit"
    if not is_finished:
        return "unknown"
    return "compaction" if is_compacted else "finished"


def tried(
    calls: Iterable[tuple[str, str, bool]], errors: ErrorTexts
) -> tuple[tuple[Call, ...], dict[str, str]]:
    """Calls by tool, and the error of each server that answered none: from each call's name, result, and failure."""
    complaints = []
    counts = []
    for name, result, is_error in calls:
        complaint = errors.found(name, result)
        complaints.append((name, complaint, is_error))
        counts.append((name, is_error or bool(complaint)))
    return counted(counts), useless_servers(complaints)


def counted(calls: Iterable[tuple[str, bool]]) -> tuple[Call, ...]:
    """Calls by tool, from each call's name and whether it failed."""
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for name, is_error in calls:
        counts[name] += 1
        if is_error:
            errors[name] += 1
    return tuple(Call(name, counts[name], errors[name]) for name in sorted(counts))
