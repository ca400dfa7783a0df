"""Trees that many runs see at once, each through a layer of its own (overlayfs).

What a run changed stands in its layer. Whether somebody changed the tree itself is told by the times of its inodes
(ctime), which nobody can set back.

Nothing here reads the whole tree unless something was touched: a repository of 100,000 files would cost each run a
minute. `agents/sandbox_start.py` makes the mount. Paths are bytes inside, as in `trees`.
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
"""How long before a run the tree may have been looked at; after a run it is always looked at."""
OPAQUE = "user.overlay.opaque"
"""The attribute of a folder in a layer that hides all that the tree has in its place."""


def is_whole(tree: str, sha256: str, stamp: Path, within_s: float = 0.0) -> bool:
    """Whether `tree` still has the content of that hash (`trees.hash_tree`).

    It is read only when something below it was touched since the file `stamp` was written, and not even walked when
    that was looked at in the last `within_s` seconds. Raises OSError when the tree is not there.
    """
    try:
        noted, since = stamp.read_text().split()
        known = noted == sha256
        if known and 0 <= time.time() - stamp.stat().st_mtime < within_s:
            return True
    except (OSError, ValueError):
        known, since = False, "0"
    if known and not _is_touched(tree, int(since)):
        os.utime(stamp)
        return True
    write_atomic(stamp, "")  # on the tree's own disk, whose clock the times below it are of
    began = stamp.stat().st_ctime_ns
    if hash_tree(tree) != sha256:
        return False
    write_atomic(stamp, f"{sha256} {began}\n")
    return True


def _is_touched(tree: str, since: int) -> bool:
    """Whether a file or folder in `tree` was changed, made, removed or renamed at `since` (nanoseconds) or later."""
    for _, _, files, folder in os.fwalk(tree):
        if os.fstat(folder).st_ctime_ns >= since:
            return True
        for name in files:
            if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime_ns >= since:
                return True
    return False


def has_changes(layer: str, tree: str) -> bool:
    """Whether `tree`, seen through `layer`, has another content than alone, by what counts for `trees.hash_tree`.

    Reads what is in the layer, and the files in their places in the tree. A folder that was removed and made anew
    counts as changed, and so does a layer that cannot be read.
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
    """The entry stands for something of the tree that was removed."""
    status = entry.stat(follow_symlinks=False)
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
