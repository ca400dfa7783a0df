"""Servers that `npx` or `uvx` would fetch in every run: their packages are fetched once, before the first run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.core.conditions import filled, mcp_servers
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import PlannedCondition
from lensbench.core.preflight_results import Check
from lensbench.core.records import sha256
from lensbench.core.system.files import read_json, write_json
from lensbench.core.system.locks import locked

_FLAGS = ("-y", "--yes", "-q", "--quiet")
_PACKAGES = {"npx": ("-p", "--package"), "uvx": ("--from",)}
"""Launchers, and the options that name their packages."""
_OPTIONS = {
    "npx": (),
    "uvx": ("--with", "--python", "-p", "--index"),
}  # the installer has them, too
_UNKNOWN = re.compile(
    r"404 .{0,200}?'(\S{1,214}?)(?:@\*)?'|Because (\S+) was not found in the package registry"
)
"""What npm and uv say of a name that no index has."""


class Launch(NamedTuple):
    """A launcher's command line, without the server's own arguments; `program` is "" for the package's only one."""

    words: tuple[str, ...]
    packages: tuple[str, ...]
    program: str


def read_launch(command: Sequence[str]) -> Launch | None:
    """What a launcher's command line fetches and starts; None for other programs, and with options that are unknown."""
    launcher = os.path.basename(command[0])
    rest = deque(command[1:])
    options = list[str]()
    packages = list[str]()
    while launcher in _PACKAGES and rest:
        option, _, value = (word := rest.popleft()).partition("=")
        if not word.startswith("-"):
            program = word if packages else word.partition("@")[0] if launcher == "uvx" else ""
            return Launch(
                tuple(command[: len(command) - len(rest)]),
                (*options, *(packages or [word])),
                program,
            )
        if option in _PACKAGES[launcher] and (value or rest):
            packages.append(value or rest.popleft())
        elif option in _OPTIONS[launcher] and (value or rest):
            options += [option, value or rest.popleft()]
        elif option not in _FLAGS:
            return None
    return None


def server_entries(conditions: Iterable[PlannedCondition]) -> Iterator[Mapping[str, Any]]:
    """The servers with a command in the conditions' MCP files, with the names replaced that mean the same in all
    runs."""
    for file, servers in mcp_servers(conditions):
        here = str(Path(file).resolve().parent)
        values = {**os.environ, "here": here, "python": sys.executable}
        for entry in filled(servers, values).values():
            if "command" in entry:
                yield entry


def fetch_packages(
    conditions: Mapping[str, PlannedCondition], cache: Path
) -> Iterator[tuple[Check, dict[str, str]]]:
    """Fetches the packages of all launchers in the conditions' MCP files to `servers/` in the cache, if they are not
    there; yields a check of each, and its program by the launcher's line."""
    for name, condition in conditions.items():
        for entry in server_entries([condition]):
            launch = read_launch([entry["command"], *entry.get("args", ())])
            if launch is None:
                continue
            line = shlex.join(launch.words)
            row = f"{name}: package"
            try:
                program, version = _fetch(launch, cache / "servers")
            except UserError as error:
                yield Check(row, "failed", f"{line}: {error}"), {}
                continue
            detail = f"{line}: {version}, fetched once for all runs: {program}"
            yield Check(row, "ok", detail), {line: program}


def own_command(text: str, program: str, packages: Mapping[str, str]) -> list[str]:
    """The command of a server's program that a text quotes, such as `graph init`, with the workspace behind it and the
    launcher of `packages` in place of what it fetched; empty without one."""
    quoted = re.search(rf"(['\"`]){re.escape(os.path.basename(program))} ([^'\"`\n]+)\1", text)
    if not quoted:
        return []
    launchers = {os.path.abspath(fetched): line for line, fetched in packages.items()}
    start = shlex.split(launchers.get(program, shlex.quote(program)))
    return [*start, *quoted[2].split(), "{workspace}"]


def _fetch(launch: Launch, packages: Path) -> tuple[str, str]:
    """The program of the launch among the packages, and what was installed there with its version. Raises UserError."""
    digest = sha256(json.dumps([launch, str(packages.absolute())]).encode())[
        :8
    ]  # an environment cannot be moved
    folder = packages / f"{Path(launch.packages[-1]).name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "server.json"
    with locked(folder / "one.lock"):
        there = read_json(note)
        if not there or not os.path.exists(there["program"]):
            program, version = (_npm if launch.words[0].endswith("npx") else _uv)(launch, folder)
            if not program.exists():
                raise UserError(f"the package has no program {program.name}")
            write_json(note, there := {"program": str(program), "version": version})
    return there["program"], there["version"]


def _npm(launch: Launch, folder: Path) -> tuple[Path, str]:
    _run(["npm", "install", "--prefix", str(folder), "--loglevel", "error", *launch.packages], {})
    name = next(iter(read_json(folder / "package.json", needed=True)["dependencies"]))
    package = read_json(folder / "node_modules" / name / "package.json", needed=True)
    programs = package.get("bin", {})
    own = name.rpartition("/")[2]
    only = own if isinstance(programs, str) or own in programs else next(iter(programs), own)
    return folder / "node_modules" / ".bin" / (
        launch.program or only
    ), f"{name} {package['version']}"


def _uv(launch: Launch, folder: Path) -> tuple[Path, str]:
    places = {
        "UV_TOOL_DIR": str(folder.absolute() / "tools"),
        "UV_TOOL_BIN_DIR": str(folder.absolute() / "bin"),
    }
    _run(["uv", "tool", "install", *launch.packages], places)
    return folder / "bin" / launch.program, _run(["uv", "tool", "list"], places).partition("\n")[0]


def _run(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """The standard output of a package manager. Raises UserError with the beginning of its errors."""
    if not shutil.which(argv[0]):
        raise UserError(f"there is no program {argv[0]} here; install it")
    child = subprocess.run(
        argv,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if child.returncode:
        if unknown := _UNKNOWN.search(child.stderr):
            raise UserError(
                f"there is no package {unknown[1] or unknown[2]}: correct its name, or log in if it is private"
            )
        raise UserError(
            f"`{shlex.join(argv)}` failed: {' '.join(child.stderr.replace('npm error', '').split())[:200]}"
        )
    return child.stdout
