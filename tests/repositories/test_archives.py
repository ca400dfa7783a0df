import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from lensbench.core.errors import UserError
from lensbench.repositories.sources import archives
from lensbench.repositories.sources.archives import unpack


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def tar_of(path: Path, *members: tarfile.TarInfo, mode: str = "gz") -> Path:
    with tarfile.open(path, f"w:{mode}") as tar:  # type: ignore[call-overload]
        for info in members:
            tar.addfile(info, io.BytesIO(b"x" * info.size) if info.isreg() else None)
    return path


def unpacked(archive: Path, folder: Path) -> list[str]:
    folder.mkdir()
    unpack(archive, folder)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("mode", ["", "gz", "bz2", "xz"])
def test_the_single_top_folder_is_stripped(tmp_path: Path, mode: str) -> None:
    archive = tar_of(tmp_path / "a", member("p-1/a.py", size=3), member("p-1/p-1/b.py"), mode=mode)
    assert unpacked(archive, tmp_path / "tree") == ["a.py", "p-1", "p-1/b.py"]


def test_archives_without_one_top_folder_and_zip_files_are_unpacked_too(tmp_path: Path) -> None:
    assert unpacked(tar_of(tmp_path / "a", member("a.py"), member("b.py")), tmp_path / "tree") == [
        "a.py",
        "b.py",
    ]
    with zipfile.ZipFile(tmp_path / "a", "w") as zipped:
        zipped.writestr("p-1/pkg/a.py", "x")
    assert unpacked(tmp_path / "a", tmp_path / "other") == ["pkg", "pkg/a.py"]


def test_links_inside_the_tree_and_executable_bits_survive(tmp_path: Path) -> None:
    link = member("p/link", tarfile.SYMTYPE, "run.sh")
    program = member("p/run.sh", size=2)
    hard = member("p/hard", tarfile.LNKTYPE, "p/run.sh")
    program.mode = hard.mode = 0o755
    archive = tar_of(tmp_path / "a", link, program, hard)
    assert unpacked(archive, tmp_path / "tree") == ["hard", "link", "run.sh"]
    assert (tmp_path / "tree" / "run.sh").stat().st_mode & 0o100
    assert (tmp_path / "tree" / "link").readlink() == Path("run.sh")
    assert (tmp_path / "tree" / "hard").read_bytes() == b"xx"


def test_a_python_without_extraction_filters_unpacks_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the 3.11.2 of Debian 12; a set-uid bit and a stranger's files do not survive either."""
    program = member("p/run.sh", size=2)
    program.mode, program.uid = 0o4777, 12345
    archive = tar_of(tmp_path / "a", program, member("p/b.py", size=1))
    with_filters = tarfile.TarFile.extractall
    monkeypatch.setattr(
        tarfile.TarFile, "extractall", lambda tar, path, members: with_filters(tar, path, members)
    )
    monkeypatch.delattr(tarfile, "data_filter")
    assert unpacked(archive, tmp_path / "tree") == ["b.py", "run.sh"]
    found = (tmp_path / "tree" / "run.sh").stat()
    assert (found.st_mode & 0o7777, found.st_uid) == (0o755, os.getuid())


HOSTILE = {
    "parent": [member("p/../../evil", size=1)],
    "absolute": [member("/tmp/evil", size=1)],
    "device": [member("p/null", tarfile.CHRTYPE)],
    "block device": [member("p/disk", tarfile.BLKTYPE)],
    "FIFO": [member("p/pipe", tarfile.FIFOTYPE)],
    "absolute link": [member("p/l", tarfile.SYMTYPE, "/etc/passwd")],
    "link upwards": [member("p/l", tarfile.SYMTYPE, "../../etc")],
    "write through a link": [member("p/l", tarfile.SYMTYPE, "q"), member("p/l/evil", size=1)],
    "link, then file": [member("p/l", tarfile.SYMTYPE, "q"), member("p/l", size=1)],
    "hard link outside": [member("p/l", tarfile.LNKTYPE, "../../etc/passwd")],
    "hard link to a link": [
        member("p/s", tarfile.SYMTYPE, "q"),
        member("p/h", tarfile.LNKTYPE, "p/s"),
    ],
    "file below a file": [member("p/f", size=1), member("p/f/g", size=1)],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_archive_that_reaches_out_is_refused_unwritten(
    tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    archive = tar_of(tmp_path / "a", member("p/a.py", size=1), *members)
    folder = tmp_path / "tree"
    folder.mkdir()
    with pytest.raises(UserError, match="use the git source"):
        unpack(archive, folder)
    assert list(folder.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "tree"]


def test_bombs_by_members_and_by_size_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 100)
    archive = tar_of(tmp_path / "a", *(member(f"p/{number}") for number in range(101)))
    with pytest.raises(UserError, match="more than 100 members"):
        unpacked(archive, tmp_path / "tree")
    bomb = member("p/zeros", size=3 << 30)
    (tmp_path / "a").write_bytes(bomb.tobuf() + b"\0" * 10240)
    with pytest.raises(UserError, match="bytes"):
        unpacked(tmp_path / "a", tmp_path / "other")


def test_cut_off_archives_and_other_files_are_refused(tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "a", *(member(f"p/{number}", size=900) for number in range(50)))
    archive.write_bytes(archive.read_bytes()[:-60])
    with pytest.raises(UserError, match="damaged"):
        unpacked(archive, tmp_path / "tree")
    (tmp_path / "a").write_text("<html>")
    with pytest.raises(UserError, match="neither a tar nor a zip"):
        unpacked(tmp_path / "a", tmp_path / "other")


@pytest.mark.parametrize("name", ["../evil", "/evil", "p/../../evil"])
def test_zip_archives_that_reach_out_are_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as zipped:
        zipped.writestr(name, "x")
    with pytest.raises(UserError, match="leaves its folder"):
        unpacked(tmp_path / "a", tmp_path / "tree")
