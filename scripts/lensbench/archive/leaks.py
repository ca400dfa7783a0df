"""What must not leave the machine in an archive: found before it leaves, and named without being shown."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lensbench.archive import PROJECT
from lensbench.archive.machine import Machine, trace_id
from lensbench.archive.secrets import find_secrets
from lensbench.core.errors import UserError
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic

MAX_SHOWN = 20
_SETTINGS = (RunFolder.config, RunFolder.plan, RunFolder.preflight, RunFolder.repositories)
_REWRITTEN = (RunFolder.citations, RunFolder.logs, RunFolder.looks, RunFolder.transcripts, *_SETTINGS)
"""What no other file vouches for. Answers, records, discards and verdicts are evidence: they stay as they are."""


class Leak(NamedTuple):
    """Something that must not leave: where it is, what it is, and the id by which a user lets it pass."""

    path: str
    line: int
    what: str
    id: str


def rewrite(path: Path, machine: Machine) -> None:
    """Replaces the machine's traces in a file; a compressed one is compressed anew, without a time."""
    text = read_text(path)
    changed = machine.rewritten(text)
    if changed != text:
        content = changed.encode(errors="surrogateescape")
        write_atomic(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def may_be_rewritten(name: str) -> bool:
    """True for a file of the run folder, by its path there, that is no evidence."""
    return name.split("/")[0] in _REWRITTEN


def find_leaks(folder: Path, names: Iterable[str], machine: Machine, values: Iterable[str]) -> Iterator[Leak]:
    """Everything in the files of an archive that tells whose machine this is, or looks like a secret.

    `values` are those of the environment variables that the settings name.
    """
    values = list(values)
    for name in names:
        text = read_text(folder / name)
        for _, trace in machine.find(name):
            yield Leak(name, 0, f"{trace.what}, in the file's name", trace_id(trace))
        for place, trace in machine.find(text):
            yield Leak(name, _line(text, place), trace.what, trace_id(trace))
        for place, kind, secret in find_secrets(text, _is_settings(name), values):
            yield Leak(name, _line(text, place), f"what looks like a secret ({kind})", sha256(secret.encode())[:12])


def _is_settings(name: str) -> bool:
    """MCP files and the config, and what programs said of themselves; not texts that are about code."""
    top, _, rest = name.partition("/")
    return rest.endswith(".json") if top == PROJECT else rest in _SETTINGS or rest.startswith(f"{RunFolder.logs}/")


def refuse(leaks: Iterable[Leak], allowed: frozenset[str]) -> None:
    """Raises UserError with one line per leak that is not `allowed`."""
    found = [leak for leak in dict.fromkeys(leaks) if leak.id not in allowed]
    if not found:
        return
    lines = [f"  {leak.path}:{leak.line}: {leak.what}, id {leak.id}" for leak in found[:MAX_SHOWN]]
    if len(found) > MAX_SHOWN:
        lines.append(f"  and {len(found) - MAX_SHOWN} more")
    ids = ", ".join(dict.fromkeys(leak.id for leak in found))
    raise UserError(
        "no archive was made, because these must not leave this machine:\n" + "\n".join(lines) + "\n"
        "Answers and records are evidence, and are not rewritten. What may leave although it was found can be let "
        f"pass by its id: --config 'archive={{allow: [{ids}]}}'"
    )


def read_text(path: Path) -> str:
    """The text of a file; of a compressed one, what is inside (or its bytes, when it is cut off)."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError):
            return content.decode(errors="surrogateescape")
    return content.decode(errors="surrogateescape")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
