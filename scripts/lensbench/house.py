"""Where the parts of the project lie that are not Python."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
PROTOCOL = ROOT / "docs" / "protocol.md"
