"""The files that a condition brings, in the workspace of a run: written before the agent starts, taken back after it,
as they are part of the experiment: in no patch, and no change of the workspace."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lensbench.agents import programs
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan, PlannedCondition
from lensbench.core.records import sha256


def brought(plan: Plan, condition: PlannedCondition) -> dict[str, bytes]:
    """The content of each file, by its path in the workspace. Raises UserError for a damaged plan."""
    texts = plan.get("texts", {})
    files = {
        path: texts.get(digest, "").encode() for path, digest in condition.get("files", {}).items()
    }
    for path, content in files.items():
        if sha256(content) != condition["files"][path]:
            raise UserError(
                f"plan.json: the text of {path} was changed; start the benchmark again, which writes it"
            )
    return files


def words_of(plan: Plan, condition: PlannedCondition) -> Mapping[str, Mapping[str, Any]] | None:
    """The other words for a condition's servers; None when no condition has any."""
    conditions = plan["conditions"].values()
    has_words = any("describe" in other for other in conditions)
    if not has_words:
        return None
    if "describe" not in condition:
        return {}
    text = plan.get("texts", {}).get(condition["describe"], "")
    if sha256(text.encode()) != condition["describe"]:
        raise UserError(
            "plan.json: the words of a condition were changed; start the benchmark again"
        )
    words: Mapping[str, Mapping[str, Any]] = json.loads(text)
    return words


def write_brought(files: Mapping[str, bytes], workspace: Path) -> None:
    """Writes the files. Git does not show instructions and hidden files as new ones: they would be in the prompts of
    some agents a second time. A file that starts with `#!` is a program."""
    for path, content in files.items():
        target = workspace / path
        if not _is_within(target, workspace):
            raise UserError(
                f"a condition brings {path}, which leads out of the workspace by a link; use another path"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_bytes(content)
        target.chmod(0o755 if content.startswith(b"#!") else 0o644)
    words = {program.words for program in programs().values()}
    quiet = sorted(f"/{path}\n" for path in files if path.startswith(".") or path in words)
    if quiet and (workspace / ".git").is_dir():
        (workspace / ".git" / "info").mkdir(exist_ok=True)
        with (workspace / ".git" / "info" / "exclude").open("a", encoding="utf-8") as file:
            file.writelines(quiet)


def take_back(files: Mapping[str, bytes], workspace: Path, tree: Path, even_changed: bool) -> None:
    """Puts the repository's own content back; a file that the agent changed stays, unless `even_changed`."""
    for path, content in files.items():
        target = workspace / path
        if not _is_within(target, workspace) or target.is_dir():
            continue
        is_same = target.is_file() and not target.is_symlink() and target.read_bytes() == content
        if not (is_same or even_changed):
            continue
        with suppress(FileNotFoundError):  # the agent may have made the folder read-only
            target.parent.chmod(target.parent.stat().st_mode | 0o700)
        target.unlink(missing_ok=True)
        if os.path.lexists(tree / path):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / path, target, follow_symlinks=False)
        for parent in Path(path).parents:
            if not (tree / parent).exists():
                with suppress(OSError):  # it has other files
                    (workspace / parent).rmdir()


def _is_within(target: Path, workspace: Path) -> bool:
    """True when no link on the way leads elsewhere: the agent can replace a folder by one."""
    return (
        os.path.realpath(target.parent)
        == os.path.realpath(workspace) + str(target.parent)[len(str(workspace)) :]
    )
