"""Runs git independent of the user's settings and of those of an untrusted repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lensbench.core.errors import UserError

# Network access and credentials: all that is used of the user's environment.
KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
)

VARIABLES = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.logAllRefUpdates=false",
    "core.looseCompression=0",
    # Otherwise git refuses names that are harmless on Linux.
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "fetch.unpackLimit=1",
    "gc.auto=0",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "protocol.ext.allow=never",
    "safe.directory=*",
    "submodule.recurse=false",
)


class GitError(Exception):
    """A git command failed; the text is the line of its output that says why."""


def git(
    folder: Path,
    *arguments: str,
    stdin: bytes | None = None,
    variables: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> bytes:
    """The output of `git <arguments>` in `folder`, with `stdin` on its standard input.

    Raises GitError when it fails or takes longer than `timeout_s`, and UserError when there is no git.
    """
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        process = subprocess.run(
            ["git", *settings, *arguments],
            cwd=folder,
            env={**environment, **VARIABLES, **(variables or {})},
            input=stdin or b"",
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        raise UserError("git is not installed, or not on PATH; install it") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git took longer than {timeout_s:g} s") from None
    if process.returncode:
        raise GitError(
            _complaint(process.stderr.decode(errors="replace"))
            or f"git ended with {process.returncode}"
        )
    return process.stdout


def _complaint(text: str) -> str:
    """The line that says why, without hints around it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or [""])[0]
