"""Unpacks an archive of unknown origin within limits, and lists its files. Names stay inside the folder: `zipfile` sees
to it."""

from __future__ import annotations

import zipfile
from pathlib import Path

from lensbench.core.errors import UserError

MAX_UNPACKED_FILES = 200_000
MAX_UNPACKED_BYTES = 4 << 30
MAX_RATIO = 100
ANY_RATIO_BYTES = 64 << 20
"""The maximum compression ratio of archives that unpack to more bytes; tables have about 10."""


def unpack(archive: Path, destination: Path) -> Path:
    """Unpacks a zip file into the empty folder `destination`; returns its only top-level folder.

    Links become files, and of a name that is there twice the last one stays: the checksums tell. Raises UserError for
    an archive that is damaged, encrypted or too large, or that contains more than one top-level folder.
    """
    try:
        with zipfile.ZipFile(archive) as bundle:
            _check_size(bundle.infolist(), archive.stat().st_size)
            bundle.extractall(destination)
    except UserError:
        raise
    except OSError as error:
        raise UserError(
            f"{archive}: cannot be read ({error.strerror or error}); give the path of an archive"
        ) from None
    except Exception as error:  # of many kinds
        raise UserError(
            f"{archive}: is damaged, or is not a zip file ({error}); get it again"
        ) from None
    tops = list(destination.iterdir())
    if len(tops) != 1 or not tops[0].is_dir():
        raise UserError(
            f"{archive}: does not contain one folder and no more; this is not an archive of a benchmark"
        )
    return tops[0]


def files_in(folder: Path) -> dict[str, Path]:
    """All files below a folder by their paths in it, in order."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _check_size(members: list[zipfile.ZipInfo], archive_size: int) -> None:
    size = sum(
        member.file_size for member in members
    )  # of a member no more bytes than this are written
    if len(members) > MAX_UNPACKED_FILES:
        raise UserError(
            f"the archive contains {len(members)} files; at most {MAX_UNPACKED_FILES} are unpacked"
        )
    if size > MAX_UNPACKED_BYTES:
        raise UserError(
            f"the archive unpacks to {size} bytes; at most {MAX_UNPACKED_BYTES} are unpacked"
        )
    if size > ANY_RATIO_BYTES and size > MAX_RATIO * archive_size:
        raise UserError(
            f"the archive unpacks {archive_size} bytes to {size}: it looks like a zip bomb"
        )
