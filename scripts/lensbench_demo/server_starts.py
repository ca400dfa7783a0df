"""What a server that does not start in a run lacks there, for `init` and `doctor`: it is started by hand, and then as
in a run with one more setting at a time, until it starts or its words name nothing more."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lensbench.agents import Assignment
from lensbench.agents.mcp.client import ServerEntry, Servers, ServerStatus
from lensbench.agents.reach import hosts_in
from lensbench.agents.sandbox import Place
from lensbench.core.preflight_results import Cure
from lensbench.core.system.redaction import Redactor, is_secret
from lensbench.runs.server_checks import FailedStart, placed

MOST_STARTS = 6
"""Starts in the sandbox, each with one more setting."""
PATIENCE = 4
"""How many times `agent.mcp_start_s` a server gets that is tried by hand."""
_REAL = {"python": ("-c", "import sys; print(sys.executable)"), "node": ("-p", "process.execPath")}
"""How to ask an interpreter for its own path: the one on PATH may be the script of a version manager."""
_MODULE = re.compile(r"No module named '?([\w.]+)|Cannot find (?:module|package) '([^'\n]+)'")
_NO_FILE = re.compile(
    r"(?i)no such file|ENOENT|can't (?:open|cd)|cannot open|not found|cannot find|does not exist"
)
_NO_HOST = re.compile(
    r"(?i)\bENOTFOUND|EAI_AGAIN|getaddrinfo|name resolution|name or service|failed to lookup|resolve"
)
_HOST = re.compile(r"(?:ENOTFOUND |EAI_AGAIN |host='|lookup )([a-z0-9-]+(?:\.[a-z0-9-]+)+)")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_PATH = re.compile(r"(?:/[\w.+@-]+)+")
_VARIABLE = re.compile(r"\b(?!ERR_)[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_ASKS = re.compile(
    r"(?i)environ|variable|require|missing|must be|not set|provide|undefined|KeyError"
)
"""What a line says that asks for a variable; others have error codes in capitals, too."""


@dataclass(frozen=True)
class Trial:
    """How a server is started, and what was changed for it."""

    entry: ServerEntry
    seconds: float
    visible: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    """Words of the command line as the MCP file has them, and as it should."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables that its entry lacks."""

    def cure(self, limit: float, mcp: str, server: str) -> Cure:
        settings: dict[str, Sequence[str] | float] = {}
        if self.visible:
            settings["sandbox_visible"] = self.visible
        if self.hosts:
            settings["sandbox_hosts"] = self.hosts
        if self.variables:
            settings["agent.pass_env"] = self.variables
        if self.seconds > limit:
            settings["agent.mcp_start_s"] = self.seconds
        return Cure(settings, mcp, server, dict(self.words), dict(self.env))


def advice(failed: FailedStart) -> tuple[ServerStatus, str | Cure]:
    """What makes a server start that failed, or the advice in words when nothing tried did; and the status to show:
    that of the start by hand where this failed, too, as its cause must go first."""
    name, entry, first, mcp, run, env, place = failed
    limit = float(run.settings["mcp_start_s"])
    workspace = place.outside(run.workspace)
    began = time.monotonic()
    by_hand = replace(entry, command=_outside(entry.command, run.workspace, workspace))
    outside = _start(name, by_hand, os.getcwd(), PATIENCE * limit, os.environ)
    took = time.monotonic() - began
    if not outside.connected:
        return _shown_status(first, outside), _advice_by_hand(entry, outside)
    untried = Trial(entry, limit)
    seconds = _rounded(2 * took) if took > limit else limit
    trial = _written_out(Trial(entry, seconds), workspace)
    status = first
    for _ in range(MOST_STARTS):
        if trial != untried:
            status = _in_run(name, trial, run, env, place)
            if status.connected:
                return first, trial.cure(limit, mcp, name)
        next_trial = next((new for new in _cures(trial, status, limit, env) if new != trial), None)
        if next_trial is None:
            break
        trial = next_trial
    missing = _remedy(entry)
    if _NO_HOST.search(status.said):
        missing = "; name the hosts that it calls in sandbox_hosts"
    where = "in the sandbox" if place.sandbox.program else "as in a run"
    tried = str(trial.cure(limit, mcp, name))
    if tried:
        where += f", even with {tried}"
    why = f"{status.detail}{missing} (docs/servers.md)"
    return first, f"it starts by hand in {took:.0f} s, but not {where}: {why}"


def _outside(command: Sequence[str], inside: str, outside: str) -> tuple[str, ...]:
    """The command line with the real path of the workspace: for `/repo`, and not for `/repositories`."""
    root = re.compile(rf"(?<![\w.-]){re.escape(inside)}(?![\w.-])")
    return tuple(root.sub(outside, part) for part in command)


def _shown_status(first: ServerStatus, outside: ServerStatus) -> ServerStatus:
    """The status of the start by hand, if that says more than that it took too long."""
    if not outside.said or "not ready" in outside.detail:
        return first
    secrets = [name for name, value in os.environ.items() if is_secret(name, value)]
    redact = Redactor(secrets, os.environ)
    return replace(outside, detail=redact(outside.detail))


def _advice_by_hand(entry: ServerEntry, outside: ServerStatus) -> str:
    """What to do about a server that does not start by hand: export a variable that it asks for."""
    advice = "it does not start by hand either, in this folder and with your environment"
    for line in filter(_ASKS.search, outside.said.splitlines()):
        for word in _VARIABLE.findall(line):
            if word not in os.environ:
                export = f"write `export {word}=...` in the shell that starts lensbench"
                return f"{advice}; {export}, and add it to agent.pass_env"
    return advice + _remedy(entry)


def _remedy(entry: ServerEntry) -> str:
    program = os.path.basename(entry.command[0])
    if program == "uv":
        return "; name the program itself, PROJECT/.venv/bin/PROGRAM"
    if program in ("docker", "podman"):
        return "; a container: start it before, with HTTP on 127.0.0.1, as a run has no engine"
    return ""


def _start(
    name: str, entry: ServerEntry | str, folder: str, seconds: float, env: Mapping[str, str]
) -> ServerStatus:
    with Servers({name: entry}, folder, seconds, env) as servers:
        return servers.statuses[0]


def _in_run(
    name: str, trial: Trial, run: Assignment, environment: Mapping[str, str], place: Place
) -> ServerStatus:
    """How the server starts as in a run with the settings of the trial."""
    sandbox = place.sandbox
    sandbox = replace(
        sandbox, shown=(*sandbox.shown, *trial.visible), hosts=(*sandbox.hosts, *trial.hosts)
    )
    env = {**environment, **{name: os.environ[name] for name in trial.variables}}
    entry = placed(trial.entry, run, env, replace(place, sandbox=sandbox))
    return _start(name, entry, place.outside(run.workspace), trial.seconds, env)


def _written_out(trial: Trial, workspace: str) -> Trial:
    """The trial with absolute paths for those that are relative to this folder, and without a version manager."""
    command = []
    for part in trial.entry.command:
        is_path = os.sep in part or os.path.splitext(part)[1]
        is_here = os.path.exists(part) and not os.path.exists(os.path.join(workspace, part))
        command.append(os.path.abspath(part) if is_path and is_here else part)
    command[0] = _real_program(command[0])
    pairs = zip(trial.entry.command, command, strict=True)
    words = tuple((old, new) for old, new in pairs if new != old)
    return replace(trial, entry=replace(trial.entry, command=tuple(command)), words=words)


def _real_program(name: str) -> str:
    """The interpreter behind a script of a version manager; any other program as it is."""
    program = shutil.which(name)
    for interpreter, ask in _REAL.items():
        is_one = os.path.basename(name).startswith(interpreter)
        if program and is_one and Path(program).read_bytes()[:2] == b"#!":
            process = subprocess.run(
                [program, *ask], capture_output=True, encoding="utf-8", errors="replace"
            )
            return process.stdout.strip() or name
    return name


def _cures(
    trial: Trial, status: ServerStatus, limit: float, environment: Mapping[str, str]
) -> Iterator[Trial]:
    """The trial with what a server's last words name, the surest first."""
    output = status.said
    for match in _MODULE.finditer(output):
        yield from _with_module(trial, match[1] or match[2])
    for line in filter(_NO_FILE.search, output.splitlines()):
        for path in filter(os.path.exists, _PATH.findall(line)):
            folder = path if os.path.isdir(path) else os.path.dirname(path)
            is_venv = os.path.isfile(os.path.join(folder, "..", "pyvenv.cfg"))
            yield _showing(trial, os.path.dirname(folder) if is_venv else folder, path)
    certificates = _CERTIFICATES if "certificate" in output else ()
    for word in (*_VARIABLE.findall(output), *certificates):
        if word in os.environ and word not in environment and word not in trial.variables:
            yield replace(trial, variables=(*trial.variables, word))
    if _NO_HOST.search(output):
        hosts = [*map(str, hosts_in([output])), *(f"{name}:443" for name in _HOST.findall(output))]
        yield replace(trial, hosts=tuple(dict.fromkeys((*trial.hosts, *hosts))))
    if status.is_late:
        yield replace(trial, seconds=max(trial.seconds, _rounded(PATIENCE * limit)))
    for part in filter(os.path.isabs, trial.entry.command[1:]):  # not all say it
        if os.path.isfile(part):
            yield _showing(trial, os.path.dirname(part), part)


def _with_module(trial: Trial, module: str) -> Iterator[Trial]:
    """The trial with a visible module: beside the script, here, or where an editable installation points to."""
    entry = trial.entry
    here = os.getcwd()
    scripts = [
        os.path.dirname(part)
        for part in entry.command[1:]
        if os.path.isabs(part) and os.path.isfile(part)
    ]
    top = module if "/" in module else module.partition(".")[0]
    installed = _editable(shutil.which(entry.command[0]) or "", top)
    for folder in (*scripts, *installed, here):
        for end in ("", ".py", ".js", ".mjs"):
            path = os.path.normpath(os.path.join(folder, top + end))
            if not os.path.exists(path):
                continue
            is_inside = path.startswith(f"{folder}/")
            new = _showing(trial, folder if is_inside else os.path.dirname(path), path)
            if folder == here and here not in scripts and "-m" in entry.command:
                extra = (("PYTHONPATH", here),)
                new = replace(new, entry=replace(entry, env=(*entry.env, *extra)), env=extra)
            yield new


def _editable(program: str, top: str) -> Iterator[str]:
    """The folders outside of an installation from which it takes a module (`pip install -e`)."""
    for file in Path(program).parent.parent.glob("lib/python*/site-packages/*"):
        is_pointer = file.suffix == ".pth" or file.name.startswith("__editable__")
        if is_pointer and file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            for path in _PATH.findall(text):
                is_module = os.path.basename(path) in (top, f"{top}.py")
                yield os.path.dirname(path) if is_module else path


def _showing(trial: Trial, folder: str, path: str) -> Trial:
    """The trial with a folder visible; only `path` in it, if the folder has this one, and so the tasks with it."""
    real = os.path.realpath(folder).rstrip("/")
    holds_ours = f"{os.getcwd()}/".startswith(f"{real}/")
    shown = path if holds_ours else folder
    return replace(trial, visible=tuple(dict.fromkeys((*trial.visible, shown))))


def _rounded(seconds: float) -> float:
    return 10.0 * math.ceil(seconds / 10)
