"""The location of files that are not Python: around the package in a checkout, beside it when installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
_INSTALLED = PACKAGE.with_name("lensbench_workflow")
IS_CHECKOUT = not _INSTALLED.is_dir()
ROOT = PACKAGE.parents[1] if IS_CHECKOUT else _INSTALLED
TEMPLATES = ROOT / "templates"
PROTOCOL = ROOT / "docs" / "protocol.md"


def commit() -> str:
    """The commit of this code: of the checkout, or the one that a wheel was built from; unknown without git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--tags", "--abbrev=40"]
    try:
        if not (ROOT / ".git").exists():
            return (ROOT / "commit").read_text(encoding="utf-8").strip()
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
