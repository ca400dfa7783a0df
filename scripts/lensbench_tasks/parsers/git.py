"""Reads a git work tree without running anything that the repository contains.

A cloned repository may have a configuration, hooks and a partial-clone remote. Git is started with its own
environment, the repository's settings that start programs are overridden, and no transport is allowed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TIME_LIMIT_S = 30

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}

SETTINGS = (
    "safe.directory=*",
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "log.showSignature=false",
    "diff.orderFile=/dev/null",
)


def is_work_tree(root: Path) -> bool:
    """True if `root` is the top folder of a git work tree.

    A folder inside another work tree is served as plain files, because the history is that of its parent folder.
    """
    return (root / ".git").exists()


def git(root: Path, *arguments: str) -> bytes | None:
    """Standard output of one git command in the work tree `root`; None if git is missing, fails or takes too long."""
    command = ["git", "--no-pager", f"--git-dir={root / '.git'}", f"--work-tree={root}"]
    for setting in SETTINGS:
        command += ["-c", setting]
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=root,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
