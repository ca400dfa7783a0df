"""Servers with a login: a command of the user's prints a token before each start, and no file that stays has it."""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from lensbench.agents.tee import FROM_SERVER
from lensbench.core.conditions import TOKEN, filled, last_line, mcp_servers
from lensbench.core.frozen_plan import PlannedCondition
from lensbench.core.system.processes import run_process
from lensbench.core.system.redaction import SHORTEST, Redactor, is_secret
from lensbench.runs.stopping import StopEverything

COMMAND = "token_command"
LOGIN_LIMIT_S = 60.0
"""For a command: a cached login answers at once, an identity provider within seconds."""
_ENDED = re.compile(
    r"(?i)\b(?:HTTP|status|code|error)\W{1,3}401\b|\bunauthori[sz]ed\b|\bneeds?[-_ ]auth"
    r"|\b(?:token|login|session|credentials?)\b[^.\n]{0,20}\b(?:expired|revoked|invalid)\b"
    r"|\b(?:expired|invalid)[-_ ](?:access[-_ ])?(?:token|login|session|credentials?|grant)"
)
"""How a server or its service says that a token is not taken."""
_REFUSED = re.compile(r"(?i)\b403\b|\bforbidden\b")
"""The same of a server that answers nothing; in an answer it may be about one thing that was asked for."""


def logins(condition: PlannedCondition) -> list[str]:
    """The servers of a condition that get a token."""
    named = (servers for _, servers in mcp_servers([condition]))
    return [name for servers in named for name, entry in servers.items() if COMMAND in entry]


def with_tokens(servers: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    """The entries of an MCP file without their commands, and with the tokens that these print now; `redact` hides them.
    Raises StopEverything when a command fails: no run of the server can be made."""
    entries = dict(servers)
    for name, entry in servers.items():
        if COMMAND in entry:
            rest = {key: value for key, value in entry.items() if key != COMMAND}
            entries[name] = filled(rest, {TOKEN: _printed(name, entry[COMMAND], redact)})
    return entries


def _printed(server: str, command: Sequence[str], redact: Redactor) -> str:
    """The token that the command prints in this folder and the user's environment, as it is the user's."""
    with tempfile.TemporaryFile() as errors:
        try:
            output, end = run_process(
                command, os.environ, os.getcwd(), LOGIN_LIMIT_S, errors.fileno(), "".join
            )
        except OSError as error:
            raise _failure(server, f"cannot be started: {command[0]}: {error.strerror}") from None
        errors.seek(0)
        said = last_line(io.TextIOWrapper(errors, encoding="utf-8", errors="replace"))
    token = output.strip()
    redact.learn({f"{server}.{TOKEN}": token})
    if end.timed_out:
        why = f"was not done in {LOGIN_LIMIT_S:g} s"
    elif end.exit_code:
        why = f"failed, exit code {end.exit_code}"
    elif not token:
        why = "printed nothing"
    elif len(token) < SHORTEST or not re.fullmatch(r"[ -~]+", token):
        why = "printed no token; it must print one line of at least 6 ASCII characters"
    else:
        return token
    secrets = [name for name, value in os.environ.items() if is_secret(name, value)]
    ending = Redactor(secrets, os.environ)(redact(said))
    raise _failure(server, f"{why}: {ending}" if ending else why)


def _failure(server: str, why: str) -> StopEverything:
    return StopEverything(f"server {server!r}: its {COMMAND} {why}")


def login_ended(detail: str, said: Iterable[str]) -> str:
    """What tells that a token ended: why a server failed, or what one `said` in the run; "" when nothing does."""
    if _REFUSED.search(detail):
        return detail
    return next((line for line in [detail, *said] if _ENDED.search(line)), "")


def said_by(servers: Sequence[str], log: str, taps: str) -> Iterator[str]:
    """The lines of a server's log that are no calls, and what these servers answered as errors, which the tee saw."""
    for line in log.splitlines():
        if '"tool"' not in line:
            yield line
    for line in taps.splitlines():
        with suppress(ValueError, LookupError, TypeError):
            row = json.loads(line)
            if row["server"] in servers and row["direction"] == FROM_SERVER:
                yield str(row["error"])
