"""A tree that many runs share: what one changed is told from its layer, and a touched tree by the times of its inodes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.core.system.shared_trees import has_changes, is_whole
from lensbench.core.system.trees import hash_tree, remove_tree

INSIDE = """
import json, os, shutil, sys
for kind, path, other in json.loads(sys.argv[1]):
    try:
        if kind == "write":
            open(path, "w").write(other)
        elif kind == "same":
            data = open(path).read(); open(path, "w").write(data)
        elif kind == "touch":
            os.utime(path, (1, 1))
        elif kind == "mode" and os.path.isfile(path):  # folders have modes that do not count
            os.chmod(path, os.stat(path).st_mode ^ 0o111)
        elif kind == "move":
            os.rename(path, other)
        elif kind == "link":
            os.symlink(other, path)
        elif kind == "make":
            os.makedirs(path)
        elif kind == "remove":
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    except OSError:
        pass
from lensbench.core.system.trees import hash_tree
print(hash_tree("/repo"))
"""
PATHS = (
    "a.py", "new.py", "pkg/b.py", "pkg/sub/c.py", "pkg/new/d.py", "pkg", "pkg/sub", "link", "pkg/b.pyc",
    "pkg/__pycache__", "pkg/__pycache__/x", ".git", ".git/HEAD", "pkg/.git", "program",
)  # fmt: skip
KINDS = ("write", "same", "touch", "mode", "move", "link", "make", "remove")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(PATHS), st.sampled_from(PATHS)), max_size=6)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository with a link, a program, a cache and a `.git`."""
    root = tmp_path_factory.mktemp("shared") / "tree: a, b"
    for path in ("a.py", "pkg/b.py", "pkg/sub/c.py", "pkg/b.pyc", "pkg/__pycache__/x", ".git/HEAD", "program"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{path}\n")
    (root / "program").chmod(0o755)
    (root / "link").symlink_to("a.py")
    return root


@pytest.fixture(scope="module")
def sandbox(tree: Path) -> Any:
    found = find_sandbox({"mode": "auto", "visible": [], "hidden": []}, tree=str(tree))
    if not found.can_share:
        pytest.skip(f"no overlay on this machine: {found.reason}")
    return found


def changed(sandbox: Any, tree: Path, steps: list[tuple[str, str, str]]) -> tuple[bool, bool]:
    """What the layer says and what the hash of all files says, after an agent took these steps."""
    with TemporaryDirectory() as private:
        os.makedirs(f"{private}/session")
        os.mkdir(f"{private}/tmp")
        place = Place(sandbox, private, tree=str(tree))
        env = {"PATH": os.environ["PATH"]}
        argv = place.wrap([sys.executable, "-c", INSIDE, json.dumps(steps)], env, "")
        said = run(argv, env=env, cwd=f"{private}/repo", capture_output=True, text=True, check=True).stdout
        result = has_changes(place.changes, str(tree)), said.strip() != hash_tree(str(tree))
        assert not os.listdir(f"{private}/repo"), "outside, the workspace is empty"
        remove_tree(f"{private}/work")  # the kernel's folder has no permissions
        return result


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_a_layer_has_changes_where_the_hash_of_all_files_differs(
    sandbox: Any, tree: Path, steps: list[tuple[str, str, str]]
) -> None:
    before = hash_tree(str(tree))
    by_layer, by_hash = changed(sandbox, tree, steps)
    is_made_anew = any(kind == "remove" for kind, _, _ in steps) and any(kind == "make" for kind, _, _ in steps)
    assert by_layer == by_hash or (by_layer and is_made_anew)
    assert hash_tree(str(tree)) == before, "the tree itself is nobody's to change"


@pytest.mark.parametrize(
    ("steps", "is_change"),
    [
        ([], False),
        ([("same", "a.py", "")], False),
        ([("touch", "pkg/sub/c.py", "")], False),
        ([("write", ".git/HEAD", "other")], False),
        ([("write", "pkg/__pycache__/x", "other")], False),
        ([("remove", "pkg/__pycache__", "")], False),
        ([("remove", "pkg/b.pyc", "")], False),
        ([("write", "new.py", "x"), ("remove", "new.py", "")], False),
        ([("move", "a.py", "new.py"), ("move", "new.py", "a.py")], False),
        ([("write", "a.py", "x"), ("touch", "a.py", "")], True),
        ([("mode", "a.py", "")], True),
        ([("remove", "pkg/sub", "")], True),
        ([("remove", "pkg/sub", ""), ("make", "pkg/sub", "")], True),
        ([("remove", "link", ""), ("link", "link", "program")], True),
        ([("make", "pkg/.git", "")], True),
    ],
)
def test_what_counts_as_a_change(sandbox: Any, tree: Path, steps: list[Any], is_change: bool) -> None:
    assert changed(sandbox, tree, steps) == (is_change, is_change)


@pytest.fixture
def own(tree: Path, tmp_path: Path) -> tuple[Path, str, Path]:
    """A tree that a test may change, its hash, and its stamp."""
    copy = Path(shutil.copytree(tree, tmp_path / "tree", symlinks=True))
    digest = hash_tree(str(copy))
    assert is_whole(str(copy), digest, tmp_path / "stamp")
    return copy, digest, tmp_path / "stamp"


@pytest.mark.parametrize("path", ["a.py", "pkg/sub/c.py"])
def test_a_changed_file_is_found_although_its_times_were_set_back(own: tuple[Path, str, Path], path: str) -> None:
    copy, digest, stamp = own
    status = (copy / path).stat()
    (copy / path).write_text("x" * status.st_size)
    os.utime(copy / path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not is_whole(str(copy), digest, stamp)
    assert not is_whole(str(copy), digest, stamp, within_s=3600), "nobody vouches for it any more"


@pytest.mark.parametrize("change", ["remove", "add", "replace", "mode"])
def test_other_changes_of_a_tree_are_found(own: tuple[Path, str, Path], change: str) -> None:
    copy, digest, stamp = own
    if change == "remove":
        (copy / "a.py").unlink()
    elif change == "add":
        (copy / "pkg" / "more.py").write_text("")
    elif change == "replace":
        (copy.parent / "other").write_text("other")
        (copy.parent / "other").rename(copy / "a.py")
    else:
        (copy / "a.py").chmod(0o755)
    assert not is_whole(str(copy), digest, stamp)


def test_a_tree_that_was_touched_and_is_the_same_is_whole(own: tuple[Path, str, Path]) -> None:
    copy, digest, stamp = own
    (copy / ".git" / "HEAD").write_text("packed by somebody")
    os.utime(copy / "a.py")
    assert is_whole(str(copy), digest, stamp)
    assert is_whole(str(copy), digest, stamp)


def test_a_stamp_of_another_hash_or_a_broken_one_vouches_for_nothing(own: tuple[Path, str, Path]) -> None:
    copy, digest, stamp = own
    assert not is_whole(str(copy), "0" * 64, stamp, within_s=3600)
    for broken in ("", "x", f"{digest} soon"):
        stamp.write_text(broken)
        assert is_whole(str(copy), digest, stamp, within_s=3600)


def test_a_tree_is_trusted_for_a_while_only(own: tuple[Path, str, Path]) -> None:
    copy, digest, stamp = own
    (copy / "a.py").write_text("changed")
    assert is_whole(str(copy), digest, stamp, within_s=3600), "it was looked at just now"
    earlier = time.time() - 7200
    os.utime(stamp, (earlier, earlier))
    assert not is_whole(str(copy), digest, stamp, within_s=3600)


def test_a_tree_that_is_gone_is_an_error(own: tuple[Path, str, Path]) -> None:
    copy, digest, stamp = own
    shutil.rmtree(copy)
    with pytest.raises(FileNotFoundError):
        is_whole(str(copy), digest, stamp)
