"""Finds content that must not be in an archive, and reports it without showing it."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import TRANSCRIPT
from lensbench.core.system.files import write_atomic
from lensbench.core.system.progress import step
from lensbench_archive import PROJECT
from lensbench_archive.machine import Machine, trace_id
from lensbench_archive.secrets import find_secrets

MAX_LEAKS_SHOWN = 20
_SETTINGS = (RunFolder.config, RunFolder.plan, RunFolder.preflight, RunFolder.repositories)
_REWRITTEN = (
    RunFolder.citations,
    RunFolder.environments,
    RunFolder.logs,
    RunFolder.looks,
    RunFolder.requests,
    RunFolder.taps,
    *_SETTINGS,
)
"""Evidence that is never rewritten: answers, records, discards and verdicts."""


class Leak(NamedTuple):
    """Content that must not be in an archive: its place, its kind, and the id with which users can allow it."""

    path: str
    line: int
    what: str
    id: str


def rewrite(path: Path, machine: Machine) -> None:
    """Replaces the machine's traces in a file; a compressed file is compressed again, without a timestamp."""
    text = read_text(path)
    after = machine.rewritten(text)
    if after != text:
        content = after.encode(errors="surrogateescape")
        write_atomic(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def may_be_rewritten(name: str) -> bool:
    """True when the file with this path in the run folder is not evidence."""
    return name.split("/")[0] in _REWRITTEN or name.endswith(f"/{TRANSCRIPT}")


def find_leaks(
    folder: Path, names: Sequence[str], machine: Machine, values: Iterable[str]
) -> Iterator[Leak]:
    """Everything in the files of an archive that identifies the machine or its user, or looks like a secret.

    `values`: the values of the environment variables that the settings name.
    """
    values = list(values)
    for read, name in enumerate(names):
        step("looking for secrets, file by file", read, len(names))
        text = read_text(folder / name)
        for _, trace in machine.find(name):
            yield Leak(name, 0, f"{trace.what}, in the file's name", trace_id(trace))
        for place, trace in machine.find(text):
            yield Leak(name, _line(text, place), trace.what, trace_id(trace))
        for place, kind, secret in find_secrets(text, _is_settings(name), values):
            yield Leak(
                name, _line(text, place), f"possible secret ({kind})", sha256(secret.encode())[:12]
            )


def _is_settings(name: str) -> bool:
    """True for MCP files, the config and logs of programs; False for texts about code."""
    top, _, rest = name.partition("/")
    return (
        rest.endswith(".json")
        if top == PROJECT
        else rest in _SETTINGS or rest.startswith(f"{RunFolder.logs}/")
    )


def refuse(leaks: Iterable[Leak], exceptions: frozenset[str]) -> None:
    """Raises UserError with a line for each leak that is none of the `exceptions`."""
    rest = [leak for leak in dict.fromkeys(leaks) if leak.id not in exceptions]
    if not rest:
        return
    lines = [
        f"  {leak.path}:{leak.line}: {leak.what}, id {leak.id}" for leak in rest[:MAX_LEAKS_SHOWN]
    ]
    if len(rest) > MAX_LEAKS_SHOWN:
        lines.append(f"  and {len(rest) - MAX_LEAKS_SHOWN} more")
    ids = ", ".join(dict.fromkeys(leak.id for leak in rest))
    raise UserError(
        "no archive was written, because these must not leave this machine:\n"
        + "\n".join(lines)
        + "\n"
        "Answers and records are evidence and are not rewritten. To include harmless findings anyway, allow "
        f"their ids: --config 'archive={{allow: [{ids}]}}'"
    )


def read_text(path: Path) -> str:
    """The text of a file; a compressed file is decompressed first, unless it is truncated."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError):
            return content.decode(errors="surrogateescape")
    return content.decode(errors="surrogateescape")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
