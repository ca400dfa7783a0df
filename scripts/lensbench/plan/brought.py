"""The files that a condition brings into the workspace of its runs: those that it names, and skills from a folder."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path

from lensbench.agents import programs
from lensbench.core.system.yaml_places import KeyPath
from lensbench.plan.config import Condition, Config

MOST_BYTES = 1_000_000
"""Of all files of a condition: they are kept in the plan."""


def sources(condition: Condition, kind: str) -> dict[str, Path]:
    """The user's file for each path in the workspace. Skills are where the kind of agent looks for them."""
    folder, place = Path(condition.skills), programs()[kind].skills if kind in programs() else ""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()] if condition.skills and place else []
    skills = {f"{place}/{path.relative_to(folder).as_posix()}": path for path in files}
    return {**skills, **{path: Path(file) for path, file in condition.files.items()}}


def texts(condition: Condition, kind: str) -> dict[str, str]:
    """The text for each path in the workspace. Raises OSError and UnicodeDecodeError; `problems` explains both."""
    return {path: file.read_bytes().decode() for path, file in sources(condition, kind).items()}


def condition_files(config: Config) -> list[str]:
    """The user's files that conditions name: MCP files, and what is brought into the workspace."""
    conditions = config.conditions.values()
    files = (path for condition in conditions for path in sources(condition, config.agent.kind).values())
    return [*(condition.mcp for condition in conditions if condition.mcp), *dict.fromkeys(map(str, files))]


def problems(condition: Condition, kind: str) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with these files, each with its key in the condition, as the end of a sentence."""
    total = 0
    for path in condition.files:
        if path != posixpath.normpath(path) or path.split("/")[0] in ("", ".git", ".", ".."):
            yield ("files", path), f"must be the path of a file in the workspace, such as CLAUDE.md; it is {path!r}"
    if condition.skills and not (kind in programs() and programs()[kind].skills):
        yield ("skills",), f"is not possible for agent.kind {kind!r}; name each file in files"
    elif condition.skills and not list(Path(condition.skills).glob("*/SKILL.md")):
        yield ("skills",), f"must be a folder with skills, <name>/SKILL.md; {condition.skills} has none"
    for path, file in sources(condition, kind).items():
        key: KeyPath = ("files", path) if path in condition.files else ("skills",)
        try:
            total += len(file.read_bytes().decode().encode())
        except OSError as error:
            yield key, f"{file} cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            yield key, f"{file} is not a text in UTF-8"
    if total > MOST_BYTES:
        yield (), f"brings files of {total:,} bytes; {MOST_BYTES:,} are possible"
