import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import stock
from lensbench.core.system.trees import copy_tree, exceeds, hash_tree, remove_tree, walk

NAMES = st.sampled_from(
    [b"a", b"b.py", b"c d", b"\xff\xfe", b"new\nline", b"-x", b".hidden", b"sub", "é".encode()]
)
Entry = tuple[str, bytes, bool]
Tree = dict[tuple[bytes, ...], Entry]


@st.composite
def trees(draw: DrawFn) -> Tree:
    """Paths and what stands there; a path below a file does not occur."""
    paths = draw(
        st.lists(st.lists(NAMES, min_size=1, max_size=3).map(tuple), max_size=6, unique=True)
    )
    tree: Tree = {}
    for path in sorted(paths, key=len):
        if any(path[:end] in tree for end in range(1, len(path))):
            continue
        kind = draw(st.sampled_from(["file", "link"]))
        content = draw(
            st.binary(max_size=8)
            if kind == "file"
            else st.sampled_from([b"a", b"../x", b"/nowhere"])
        )
        tree[path] = (kind, content, kind == "file" and draw(st.booleans()))
    return tree


def write(tree: Tree, root: Path) -> Path:
    for parts, (kind, content, executable) in tree.items():
        path = os.path.join(os.fsencode(root), *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "link":
            os.symlink(content, path)
        else:
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, 0o755 if executable else 0o644)
    root.mkdir(exist_ok=True)
    return root


@settings(max_examples=60)
@given(first=trees(), second=trees())
def test_equal_trees_alone_share_a_hash(
    tmp_path_factory: pytest.TempPathFactory, first: Tree, second: Tree
) -> None:
    base = tmp_path_factory.mktemp("trees")
    one = write(first, base / "one")
    two = write(second, base / "two")
    assert (hash_tree(str(one)) == hash_tree(str(two))) == (first == second)


@settings(max_examples=40)
@given(tree=trees())
def test_a_copy_has_its_tree_s_hash_and_no_shared_file(
    tmp_path_factory: pytest.TempPathFactory, tree: Tree
) -> None:
    base = tmp_path_factory.mktemp("trees")
    source = write(tree, base / "source")
    copy_tree(str(source), str(base / "copy"))
    assert hash_tree(str(source)) == hash_tree(str(base / "copy"))
    for folder, _, files in os.walk(base / "copy"):
        assert all(os.lstat(os.path.join(folder, name)).st_nlink == 1 for name in files)


def sample(root: Path) -> Path:
    stock.write(
        root, {"pkg/core.py": "x = 1\n", "run.sh": "echo\n", ".git/HEAD": "ref: refs/heads/main\n"}
    )
    (root / "link").symlink_to("pkg/core.py")
    return root


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def relink(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("run.sh")


def replace_link_by_its_content(root: Path) -> None:
    content = (root / "link").read_bytes()
    (root / "link").unlink()
    (root / "link").write_bytes(content)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: append(root / "pkg/core.py", "y"), id="content"),
        pytest.param(lambda root: (root / "run.sh").chmod(0o755), id="executable bit"),
        pytest.param(lambda root: (root / "run.sh").rename(root / "pkg" / "run.sh"), id="moved"),
        pytest.param(lambda root: (root / "run.sh").unlink(), id="removed"),
        pytest.param(lambda root: (root / "new").touch(), id="empty file"),
        pytest.param(lambda root: (root / "new").mkdir(), id="empty folder"),
        pytest.param(lambda root: (root / "pkg" / ".git").mkdir(), id="repository inside"),
        pytest.param(lambda root: os.mkfifo(root / "pipe"), id="FIFO"),
        pytest.param(relink, id="link target"),
        pytest.param(replace_link_by_its_content, id="link to file"),
    ],
)
def test_any_change_of_the_tree_changes_its_hash(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    root = sample(tmp_path / "tree")
    before = hash_tree(str(root))
    change(root)
    assert hash_tree(str(root)) != before


def test_git_and_caches_of_tools_do_not_count(tmp_path: Path) -> None:
    root = sample(tmp_path / "tree")
    before = hash_tree(str(root))
    (root / ".git" / "index").write_text("changed")
    caches = (
        "__pycache__/file",
        ".pytest_cache/file",
        ".mypy_cache/file",
        ".ruff_cache/file",
        "core.pyc",
    )
    stock.write(root / "pkg", dict.fromkeys(caches, "cached"))
    (root / "run.sh").touch()
    assert hash_tree(str(root)) == before


def test_a_fifo_is_hashed_and_copied_around_without_waiting_for_it(tmp_path: Path) -> None:
    root = sample(tmp_path / "tree")
    os.mkfifo(root / "pipe")
    hash_tree(str(root))
    copy_tree(str(root), str(tmp_path / "copy"))
    assert not (tmp_path / "copy" / "pipe").exists()


def test_what_cannot_be_read_counts_as_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sample(tmp_path / "tree")
    before = hash_tree(str(root))
    really_open = os.open

    def refuse(path: bytes, flags: int, mode: int = 0o777) -> int:
        if path.endswith(b"core.py"):
            raise PermissionError(13, "refused")
        return really_open(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    assert hash_tree(str(root)) != before


def test_folders_in_folders_deeper_than_python_calls_itself_are_read_to_the_end(
    tmp_path: Path,
) -> None:
    place = top = tmp_path / "t"
    for _ in range(1500):
        place.mkdir()
        place = place / "a"
    try:
        assert not exceeds(str(top), 0)
        place.write_text("x", encoding="utf-8")
        assert exceeds(str(top), 0)
        assert [names for _, _, names in walk(str(top)) if names] == [["a"]]
    finally:
        remove_tree(str(top))  # pytest cannot


def test_a_folder_that_is_not_there_has_no_hash(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hash_tree(str(tmp_path / "missing"))


def test_a_copy_keeps_modes_links_times_and_the_git_folder(tmp_path: Path) -> None:
    root = sample(tmp_path / "tree")
    (root / "run.sh").chmod(0o750)
    (root / "pkg").chmod(0o555)
    os.utime(root / "run.sh", ns=(10**18, 10**18))
    copy_tree(str(root), str(tmp_path / "deep" / "copy"))
    copy = tmp_path / "deep" / "copy"
    assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o750
    assert stat.S_IMODE((copy / "pkg").stat().st_mode) == 0o555
    assert (copy / "run.sh").stat().st_mtime_ns == 10**18
    assert os.readlink(copy / "link") == "pkg/core.py"
    assert (copy / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"


def test_a_copy_never_writes_into_an_existing_folder(tmp_path: Path) -> None:
    root = sample(tmp_path / "tree")
    (tmp_path / "copy").mkdir()
    with pytest.raises(FileExistsError):
        copy_tree(str(root), str(tmp_path / "copy"))


def test_read_only_folders_are_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    root = sample(tmp_path / "tree")
    (root / "away").symlink_to(outside)
    (root / "pkg").chmod(0o000)
    root.chmod(0o555)
    remove_tree(str(root))
    remove_tree(str(root))
    assert not root.exists()
    assert (outside / "kept").exists()


def test_folders_nested_beyond_the_longest_path_are_hashed_and_removed(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    here = os.open(root, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("n" * 200, dir_fd=here)
        below = os.open("n" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    hash_tree(str(root))
    remove_tree(str(root))
    assert not root.exists()
