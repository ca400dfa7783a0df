"""The location of files that are not Python: around the package in a checkout, beside it when installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
_INSTALLED = PACKAGE.with_name("lensbench_workflow")
IS_CHECKOUT = not _INSTALLED.is_dir()
ROOT = PACKAGE.parents[1] if IS_CHECKOUT else _INSTALLED
TEMPLATES = ROOT / "templates"
PROTOCOL = ROOT / "docs" / "protocol.md"
