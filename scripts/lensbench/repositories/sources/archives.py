"""Unpacks an untrusted source archive, without running anything and without writing outside the folder."""

from __future__ import annotations

import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

from lensbench.core.errors import UserError

MAX_MEMBERS = 200_000
_MAX_UNPACKED_BYTES = 2 << 30
M = TypeVar("M", tarfile.TarInfo, zipfile.ZipInfo)
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    ValueError,
    RuntimeError,
)


def unpack(archive: Path, destination: Path) -> None:
    """Unpacks a tar (plain, gz, bz2, xz) or zip file into the existing empty folder `destination`.

    A single folder at the top of the archive is stripped. Raises UserError for an archive that is damaged, has more
    than 200,000 members or 2 GB, or contains an absolute name, `..`, a device, or a link out of the folder.
    """
    try:
        if tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian 12 has none
                tar.extractall(destination, members=_checked_tar(tar))
        elif zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle:
                for member in _within_limits(bundle.infolist()):
                    _safe_name(member.filename)
                bundle.extractall(destination)
        else:
            raise UserError(
                "the archive is neither a tar nor a zip file; use the project's source distribution"
            )
    except _DAMAGED as error:
        raise UserError(f"the archive is damaged: {error}; use the git source") from None
    _strip_top_folder(destination)


def _within_limits(members: Iterable[M]) -> Iterator[M]:
    """The members, counted while they are listed, so that a zip bomb is detected before it is unpacked."""
    total = 0
    for count, member in enumerate(members, 1):
        size = member.size if isinstance(member, tarfile.TarInfo) else member.file_size
        total += max(size, 0)
        if count > MAX_MEMBERS or total > _MAX_UNPACKED_BYTES:
            raise UserError(
                f"the archive holds more than {MAX_MEMBERS} members or {_MAX_UNPACKED_BYTES} bytes; use the git source"
            )
        yield member


def _checked_tar(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """All members, links last, so that nothing is written through a link."""
    kinds: dict[str, bytes] = {}
    members: list[tarfile.TarInfo] = []
    for member in _within_limits(tar):
        name = _safe_name(member.name)
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise UserError(
                f"the archive holds {name!r}, which is no file, folder or link; use the git source"
            )
        kind = b"file" if member.isreg() else member.type
        if kinds.setdefault(name, kind) != kind:
            raise UserError(
                f"the archive holds {name!r} twice, as different things; use the git source"
            )
        member.uid = os.getuid()
        member.gid = os.getgid()
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        members.append(member)
    for member in members:
        _check_place(member, kinds)
    return sorted(members, key=lambda member: (member.issym(), member.islnk()))


def _check_place(member: tarfile.TarInfo, kinds: dict[str, bytes]) -> None:
    name = _safe_name(member.name)
    for parent in PurePosixPath(name).parents:
        if kinds.get(str(parent), tarfile.DIRTYPE) != tarfile.DIRTYPE:
            raise UserError(
                f"the archive holds {name!r} below {str(parent)!r}, no folder; use the git source"
            )
    if member.islnk() and kinds.get(_safe_name(member.linkname)) != b"file":
        raise UserError(
            f"the archive holds {name!r}, a hard link to no file of it; use the git source"
        )
    if member.issym() and _leaves(name, member.linkname):
        raise UserError(
            f"the archive holds {name!r}, a link that leaves its folder; use the git source"
        )


def _safe_name(name: str) -> str:
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        raise UserError(f"the archive holds {name!r}, which leaves its folder; use the git source")
    return os.path.normpath(name)


def _leaves(name: str, target: str) -> bool:
    place = os.path.normpath(f"{os.path.dirname(name)}/./{target}")
    return os.path.isabs(target) or place.startswith("..")


def _strip_top_folder(folder: Path) -> None:
    entries = list(folder.iterdir())
    if len(entries) != 1 or entries[0].is_symlink() or not entries[0].is_dir():
        return
    # Renamed first, because the folder may hold an entry of its own name.
    top = entries[0].rename(folder / f".top.{os.getpid()}")
    top.chmod(0o755)
    for entry in list(top.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            entry.chmod(0o755)
        entry.rename(folder / entry.name)
    top.rmdir()
