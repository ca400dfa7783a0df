"""Writes and checks archives as BagIt bags (RFC 8493) in zip files, with checksums by the library `bagit`."""

from __future__ import annotations

import logging
import os
import zipfile
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.records import sha256
from lensbench.core.system.program import needs_extra
from lensbench_archive.unpacking import files_in

with needs_extra("archive"):
    import bagit

MANIFEST = "tagmanifest-sha256.txt"
"""The tag manifest. It has the checksum of the manifest, which has those of all files."""
_TAG_FILES = {"bagit.txt", "bag-info.txt", "manifest-sha256.txt", MANIFEST}


def make_bag(folder: Path, run_id: str, date: str) -> None:
    """Converts the folder to a bag; its content moves to `data/`."""
    bagit.make_bag(
        str(folder), {"External-Identifier": run_id, "Bagging-Date": date}, checksums=["sha256"]
    )


def check_bag(folder: Path) -> list[str]:
    """The problems of a bag, one sentence each."""
    logging.getLogger("bagit").setLevel(logging.CRITICAL)  # it would also log every problem
    there = files_in(folder).keys()
    try:
        entries: dict[str, dict[str, str]] = bagit.Bag(str(folder)).entries
        problems = [f"{name}: is missing" for name in sorted({*entries, *_TAG_FILES} - there)]
        problems += [
            f"{name}: was added to the archive" for name in sorted(there - {*entries, *_TAG_FILES})
        ]
        for name in sorted(there & set(entries)):
            if entries[name].get("sha256") != sha256((folder / name).read_bytes()):
                problems.append(f"{name}: was changed (its sha256 differs from the manifest)")
    except (bagit.BagError, OSError, ValueError, LookupError) as error:
        return [f"is not a BagIt bag: {error}"]
    return problems


def write_zip(folder: Path, output: Path) -> None:
    """Packs a folder: the same files give the same bytes."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w") as bundle:
            for name, path in files_in(folder).items():
                try:
                    member = zipfile.ZipInfo(
                        f"{folder.name}/{name}".encode().decode()
                    )  # always 1980-01-01
                except UnicodeError:
                    raise UserError(
                        f"{name!r}: a file with this name cannot be archived; rename it"
                    ) from None
                member.create_system = 3
                member.external_attr = 0o100644 << 16
                member.compress_type = zipfile.ZIP_DEFLATED
                bundle.writestr(member, path.read_bytes(), compresslevel=9)
        temporary.replace(output)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
