"""Safely unpacks an archive of unknown origin: only inside the folder, each file once, within a size limit."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from lensbench.core.errors import UserError

MAX_MEMBERS = 200_000
MAX_BYTES = 4 << 30
MAX_RATIO = 100
"""The maximum compression ratio; answers and tables have about 10."""
SMALL = 64 << 20
"""Archives that unpack to fewer bytes may have any ratio."""
_CHUNK = 1 << 20


def unpack(archive: Path, destination: Path) -> Path:
    """Unpacks a zip file into the empty folder `destination`; returns its only top-level folder.

    Raises UserError for an archive that is damaged, encrypted or too large, or that contains an absolute or duplicate
    name, a name with `..`, a link, a device, or more than one top-level folder.
    """
    try:
        with zipfile.ZipFile(archive) as zipped:
            _check_edges(archive, zipped)
            members = [member for member in zipped.infolist() if not member.filename.endswith("/")]
            _check_size(members, archive.stat().st_size)
            tops = _check_names([(member.filename, member) for member in members])
            for member in members:
                _extract(zipped, member, destination / member.filename)
    except OSError as error:
        raise UserError(f"{archive}: cannot be read ({error.strerror}); give the path of an archive") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        raise UserError(f"{archive}: is damaged, or is not a zip file ({error}); get it again") from None
    if len(tops) != 1:
        raise UserError(
            f"{archive}: must contain one folder, but has {len(tops)}; this is not an archive of a benchmark"
        )
    return destination / tops.pop()


def _check_edges(archive: Path, zipped: zipfile.ZipFile) -> None:
    """Rejects data before the first file and a comment, because no checksum of the archive covers them."""
    with archive.open("rb") as file:
        begins = file.read(2) == b"PK"
    first = min((member.header_offset for member in zipped.infolist()), default=0)
    if first or not begins:
        raise UserError(f"{archive}: has bytes before its first file, which no checksum covers; get it again")
    if zipped.comment or any(member.comment for member in zipped.infolist()):
        raise UserError(f"{archive}: has a comment, which no checksum covers; get it again")


def _check_size(members: list[zipfile.ZipInfo], packed: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS:
        raise UserError(f"the archive contains {len(members)} files; at most {MAX_MEMBERS} are unpacked")
    if unpacked > MAX_BYTES:
        raise UserError(f"the archive unpacks to {unpacked} bytes; at most {MAX_BYTES} are unpacked")
    if unpacked > SMALL and unpacked > MAX_RATIO * packed:
        raise UserError(f"the archive unpacks {packed} bytes to {unpacked}: it looks like a zip bomb")


def _check_names(members: Iterable[tuple[str, zipfile.ZipInfo]]) -> set[str]:
    """Checks all names; returns the top-level folders."""
    names: set[str] = set()
    spelt: dict[str, str] = {}
    folders: set[str] = set()
    for name, member in members:
        # zipfile truncates a name at a zero byte; orig_filename shows all of it
        parts = name.split("/")
        if name != member.orig_filename or not all(parts) or {".", ".."} & set(parts) or not _is_plain(name):
            raise UserError(
                f"the archive contains the name {member.orig_filename[:80]!r}, which may lead outside the folder"
            )
        if len(parts) == 1:
            raise UserError(
                f"the archive contains {name[:80]!r} outside its folder; this is not an archive of a benchmark"
            )
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise UserError(f"the archive contains {name[:80]!r}, which is a link or a device")
        if name in names:
            raise UserError(f"the archive contains {name[:80]!r} twice")
        if other := spelt.get(name.casefold()):
            raise UserError(
                f"the archive contains {name[:80]!r} and {other[:80]!r}, which are the same file on some systems"
            )
        names.add(name)
        spelt[name.casefold()] = name
        folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
    if both := names & folders:
        raise UserError(f"the archive contains {min(both)[:80]!r} both as a file and as a folder")
    return {name.partition("/")[0] for name in names}


def _is_plain(name: str) -> bool:
    """True for a name without control characters and without path syntax of other systems."""
    return name.isprintable() and not {"\\", ":"} & set(name)


def _extract(zipped: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Writes a member, but no more bytes than its declared size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with zipped.open(member) as source, path.open("xb") as target:
        while chunk := source.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise zipfile.BadZipFile(f"{member.filename} is longer than its declared size")
            target.write(chunk)
