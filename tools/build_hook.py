"""Hatch's build hook: puts the commit that is built into the wheel and the sdist (core/system/places.py reads it)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the file `commit`, unless an sdist brought it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the file to what is built; an editable installation has its checkout."""
        root = Path(self.root)
        if version == "editable":
            return
        brought = root / "commit"
        if (root / ".git").exists():
            brought = root / ".cache" / "commit"
            brought.parent.mkdir(exist_ok=True)
            command = [
                "git",
                "-C",
                str(root),
                "describe",
                "--always",
                "--dirty",
                "--tags",
                "--abbrev=40",
            ]
            said = subprocess.run(
                command, capture_output=True, encoding="utf-8", check=False
            ).stdout
            brought.write_text(said or "unknown\n", encoding="utf-8")
        if brought.is_file():
            target = "lensbench_workflow/commit" if self.target_name == "wheel" else "commit"
            build_data["force_include"][str(brought)] = target
