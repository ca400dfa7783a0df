"""Trees that many runs share, each with its own layer (overlayfs).

A run's changes are in its layer. Changes to the tree itself are detected by the times of its inodes (ctime), which
cannot be set back.

The whole tree is only read when something in it was touched: a repository of 100,000 files would cost each run a
minute. `agents/sandbox_start.py` mounts it. Paths are bytes internally, as in `trees`.
"""

from __future__ import annotations

import os
import stat
import time

from lensbench.core.system.files import write_atomic
from lensbench.core.system.trees import fact_of, hash_tree

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in `trees`: every run imports this
    from pathlib import Path

TRUSTED_S = 60.0
"""How long ago the tree may have been checked before a run; after a run it is always checked."""
OPAQUE = "user.overlay.opaque"
"""The attribute of a folder in a layer that hides the content of the same folder in the tree."""


def is_whole(tree: str, sha256: str, stamp: Path, within_s: float = 0.0) -> bool:
    """Whether the content of `tree` still has this hash (`trees.hash_tree`).

    The tree is only read when something in it was touched since the file `stamp` was written, and not even walked when
    that was checked in the last `within_s` seconds. Raises OSError when the tree does not exist.
    """
    try:
        noted, since = stamp.read_text(encoding="utf-8").split()
        known = noted == sha256
        if known and 0 <= time.time() - stamp.stat().st_mtime < within_s:
            return True
    except (OSError, ValueError):
        known, since = False, "0"
    if known and not _is_touched(tree, int(since)):
        os.utime(stamp)
        return True
    write_atomic(stamp, "")  # on the same disk as the tree, so that both have times of the same clock
    began = stamp.stat().st_ctime_ns
    if hash_tree(tree) != sha256:
        return False
    write_atomic(stamp, f"{sha256} {began}\n")
    return True


def _is_touched(tree: str, since: int) -> bool:
    """Whether a file or folder in `tree` was changed, created, removed or renamed at `since` (nanoseconds) or later."""
    for _, _, files, folder in os.fwalk(tree):
        if os.fstat(folder).st_ctime_ns >= since:
            return True
        for name in files:
            if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime_ns >= since:
                return True
    return False


def has_changes(layer: str, tree: str) -> bool:
    """Whether `layer` changes the content of `tree`, by what counts for `trees.hash_tree`.

    Reads the files in the layer and the same files in the tree. A folder that was removed and created again counts as
    changed, and so does an unreadable layer.
    """
    root, below = os.fsencode(layer), os.fsencode(tree)
    folders = [root]
    for folder in folders:  # grows while it is walked
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return True
        for entry in entries:
            name = entry.path[len(root) + 1 :]
            fact = None if _is_whiteout(entry) else fact_of(entry.path, name)
            if fact != fact_of(below + b"/" + name, name):
                return True
            if fact and fact[0] == b"folder":
                if OPAQUE in os.listxattr(entry.path):
                    return True
                folders.append(entry.path)
    return False


def _is_whiteout(entry: os.DirEntry[bytes]) -> bool:
    """Whether the entry marks something that was removed from the tree."""
    status = entry.stat(follow_symlinks=False)
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
