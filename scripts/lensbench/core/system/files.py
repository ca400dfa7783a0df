"""Writes files atomically, with checksums that show damage (docs/faults.md)."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lensbench.core import numbers
from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.locks import lock

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
_KEPT_TWICE = (RunFolder.config, RunFolder.preflight, RunFolder.look_ledger, "discard.json")
"""Files that no stage can rebuild."""
_NOT_NOTED = (f"{RunFolder.runs}/", f"{RunFolder.attempts}/", ".")
"""Files without a checksum in the list, except the JSON of the store: a record has the checksums of answer and patch.
And empty marker files."""
_DEPTH = 5
"""The maximum depth of files in a run folder."""


def keep_from_others() -> None:
    """Removes write access of other users to the files of this process, independent of the inherited umask."""
    os.umask(os.umask(0o002) | 0o002)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes beside `path` and renames; creates missing folders. Lone surrogates become question marks. The checksum is
    noted first: a record without a note is another machine's, wherever the process that wrote it was killed."""
    data = content.encode(errors="replace") if isinstance(content, str) else content
    real = Path(
        os.path.realpath(path.parent), path.name
    )  # the folder of a look has links to the run folder's files
    folder = next(
        (parent for parent in real.parents[:_DEPTH] if RunFolder(parent).checksums.exists()), None
    )
    if folder is None:
        _replace(path, data)
        return
    name = real.relative_to(folder).as_posix()
    if name.endswith(_KEPT_TWICE):
        _replace(RunFolder(folder).copies / name, data)
    of_store = name.startswith(f"{RunFolder.attempts}/") and name.endswith(".json")
    if name == RunFolder.timing or of_store or not name.startswith(_NOT_NOTED):
        note_checksum(folder, name, data)
    _replace(path, data)


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def note_checksum(folder: Path, name: str, data: bytes) -> None:
    """Appends the checksum of a file in the run folder to the list."""
    with open(RunFolder(folder).checksums, "a", encoding="utf-8") as checksums:
        lock(checksums)
        checksums.write(f"{_checksum_line(name, data)}\n")


def was_noted(folder: Path, name: str, data: bytes) -> bool:
    """True when the list has this content of a file, as its newest or as one before."""
    text = RunFolder(folder).checksums.read_text(errors="replace", encoding="utf-8")
    return _checksum_line(name, data) in text.split("\n")


def _checksum_line(name: str, data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()}  {name}"


def read_checksums(folder: Path) -> dict[str, str]:
    """The checksums by file; incomplete lines are ignored."""
    try:
        text = RunFolder(folder).checksums.read_text(errors="replace", encoding="utf-8")
    except FileNotFoundError:
        return {}
    newest = {line[66:]: line for line in text.split("\n")}
    return {
        name: line[:64] for name, line in newest.items() if line[64:66] == "  " and _is_inside(name)
    }


def _is_inside(name: str) -> bool:
    """Whether a path stays in the folder: damaged files are deleted, and the list is not trusted."""
    return name[:1] not in ("", "/") and (".." not in name or ".." not in name.split("/"))


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as JSON with sorted keys: the same value gives the same bytes."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path, *, needed: bool = False) -> dict[str, Any]:
    """The output of a stage; empty if it has not run, unless it is `needed`. Raises UserError if it is unreadable."""
    if not needed and not path.exists():
        return {}
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); delete it, and the next start rebuilds it"
        ) from None
    return value


_ADAPTERS: dict[object, TypeAdapter[Any]] = {}
"""Class -> its reader, which takes longer to make than to use."""


def read_typed(path: Path, kind: type[T]) -> T:
    """The output of a stage as the class that wrote it. Raises UserError if it is missing or of another form."""
    from pydantic import TypeAdapter, ValidationError  # no run of an agent reads such a file

    if kind not in _ADAPTERS:
        with warnings.catch_warnings(action="ignore"):  # keys that are only read are no problem
            _ADAPTERS[kind] = TypeAdapter(kind)
    try:
        value: T = _ADAPTERS[kind].validate_json(path.read_bytes())
        return value
    except OSError as error:
        problem = str(error)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise UserError(
        f"{path}: cannot be read ({problem}); delete it, and the next start rebuilds it"
    )


def plain(value: Any) -> Any:
    """The data for JSON, with numbers rounded to six decimals; those of exact ones that are whole are integers."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(vars(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Fraction):
        text = numbers.decimal(value) or "0"
        return float(text) if "." in text else int(text)
    return round(value, 6) if isinstance(value, float) else value
