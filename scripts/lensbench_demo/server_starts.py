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

ROUNDS = 6
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
        lists = {
            "sandbox_visible": self.visible,
            "sandbox_hosts": self.hosts,
            "agent.pass_env": self.variables,
        }
        settings: dict[str, Sequence[str] | float] = {
            key: values for key, values in lists.items() if values
        }
        settings |= {"agent.mcp_start_s": self.seconds} if self.seconds > limit else {}
        return Cure(settings, mcp, server, dict(self.words), dict(self.env))


def advice(failed: FailedStart) -> tuple[ServerStatus, str | Cure]:
    """What makes a server start that failed, or the advice in words when nothing tried did; and the status to show:
    that of the start by hand where this failed, too, as its cause must go first."""
    name, entry, status, mcp, run, env, place = failed
    first, began, limit = status, time.monotonic(), float(run.settings["mcp_start_s"])
    root = re.compile(
        rf"(?<![\w.-]){re.escape(run.workspace)}(?![\w.-])"
    )  # `/repo`, and not in `/repositories`
    by_hand = replace(
        entry, command=tuple(root.sub(place.outside(run.workspace), part) for part in entry.command)
    )
    outside = _start(name, by_hand, os.getcwd(), PATIENCE * limit, os.environ)
    took = time.monotonic() - began
    if not outside.connected:
        words = [
            word
            for line in filter(_ASKS.search, outside.said.splitlines())
            for word in _VARIABLE.findall(line)
        ]
        unset = next((word for word in words if word not in os.environ), "")
        export = f"; write `export {unset}=...` in the shell that starts lensbench, and add it to agent.pass_env"
        also = "it does not start by hand either, in this folder and with your environment"
        if outside.said and "not ready" not in outside.detail:
            secrets = [name for name, value in os.environ.items() if is_secret(name, value)]
            status = replace(outside, detail=Redactor(secrets, os.environ)(outside.detail))
        return status, also + (export if unset else _remedy(entry))
    trial = _written_out(
        Trial(entry, _rounded(2 * took) if took > limit else limit), place.outside(run.workspace)
    )
    for _ in range(ROUNDS):
        if trial != Trial(entry, limit):
            status = _in_run(name, trial, run, env, place)
            if status.connected:
                return first, trial.cure(limit, mcp, name)
        next_trial = next((new for new in _cures(trial, status, limit, env) if new != trial), None)
        if next_trial is None:
            break
        trial = next_trial
    missing = (
        "; name the hosts that it calls in sandbox_hosts"
        if _NO_HOST.search(status.said)
        else _remedy(entry)
    )
    where = "in the sandbox" if place.sandbox.program else "as in a run"
    where += f", even with {so_far}" if (so_far := str(trial.cure(limit, mcp, name))) else ""
    return (
        first,
        f"it starts by hand in {took:.0f} s, but not {where}: {status.detail}{missing} (docs/servers.md)",
    )


def _remedy(entry: ServerEntry) -> str:
    engine = "; a container: start it before, with HTTP on 127.0.0.1, as a run has no engine"
    remedies = {
        "uv": "; name the program itself, PROJECT/.venv/bin/PROGRAM",
        "docker": engine,
        "podman": engine,
    }
    return remedies.get(os.path.basename(entry.command[0]), "")


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
        is_ours = (
            is_path and os.path.exists(part) and not os.path.exists(os.path.join(workspace, part))
        )
        command.append(os.path.abspath(part) if is_ours else part)
    program = shutil.which(command[0])
    ask = next(
        (ask for name, ask in _REAL.items() if os.path.basename(command[0]).startswith(name)), None
    )
    if program and ask and Path(program).read_bytes()[:2] == b"#!":
        process = subprocess.run(
            [program, *ask], capture_output=True, encoding="utf-8", errors="replace"
        )
        command[0] = process.stdout.strip() or command[0]
    pairs = zip(trial.entry.command, command, strict=True)
    words = tuple((old, new) for old, new in pairs if new != old)
    return replace(trial, entry=replace(trial.entry, command=tuple(command)), words=words)


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
    if status.detail.startswith("not ready in"):
        yield replace(trial, seconds=max(trial.seconds, _rounded(PATIENCE * limit)))
    for part in filter(os.path.isabs, trial.entry.command[1:]):  # not all say it
        if os.path.isfile(part):
            yield _showing(trial, os.path.dirname(part), part)


def _with_module(trial: Trial, module: str) -> Iterator[Trial]:
    """The trial with a visible module: beside the script, here, or where an editable installation points to."""
    entry, here = trial.entry, os.getcwd()
    scripts = [
        os.path.dirname(part)
        for part in entry.command[1:]
        if os.path.isabs(part) and os.path.isfile(part)
    ]
    top = module if "/" in module else module.partition(".")[0]
    for folder in (*scripts, *_editable(shutil.which(entry.command[0]) or "", top), here):
        for path in (
            os.path.normpath(os.path.join(folder, top + end)) for end in ("", ".py", ".js", ".mjs")
        ):
            if not os.path.exists(path):
                continue
            new = _showing(
                trial, folder if path.startswith(f"{folder}/") else os.path.dirname(path), path
            )
            if folder == here and here not in scripts and "-m" in entry.command:
                extra = (("PYTHONPATH", here),)
                new = replace(
                    new, entry=replace(entry, env=(*dict(entry.env).items(), *extra)), env=extra
                )
            yield new


def _editable(program: str, top: str) -> Iterator[str]:
    """The folders outside of an installation from which it takes a module (`pip install -e`)."""
    for file in Path(program).parent.parent.glob("lib/python*/site-packages/*"):
        if file.suffix == ".pth" or file.name.startswith("__editable__"):
            for path in _PATH.findall(
                file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            ):
                yield (
                    os.path.dirname(path) if os.path.basename(path) in (top, f"{top}.py") else path
                )


def _showing(trial: Trial, folder: str, path: str) -> Trial:
    """The trial with a folder visible; only `path` in it, if the folder has this one, and so the tasks with it."""
    holds_ours = f"{os.getcwd()}/".startswith(f"{os.path.realpath(folder).rstrip('/')}/")
    return replace(
        trial, visible=tuple(dict.fromkeys((*trial.visible, path if holds_ours else folder)))
    )


def _rounded(seconds: float) -> float:
    return 10.0 * math.ceil(seconds / 10)
