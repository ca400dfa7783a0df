"""Removes what agents must not see of a repository: instructions, configuration, answers, and links out of the tree."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from pathlib import Path

from lensbench.core.system.trees import remove_tree, walk
from lensbench.repositories.sources.git_program import git

INSTRUCTIONS = (
    "claude.md",
    "claude.local.md",
    "agents.md",
    "agents.override.md",
    "agent.md",
    "gemini.md",
)
_LISTED = re.sub(
    "(?m)^#.*", "", Path(__file__).with_name("agent_files.txt").read_text(encoding="utf-8")
).split()
AGENT_FILE = re.compile(
    "|".join(translate(f"*/{pattern}") for pattern in (*INSTRUCTIONS, *_LISTED))
)

_IMPORT = re.compile(r"(?<![\w`])@([\w./-]+\w)")
"""An import."""

BENCHMARK_FOLDERS = frozenset(("bench", "benches", "benchmark", "benchmarks"))
CRITERIA_MARK = "**Judge Criteria**"
SCENARIO_FILE = re.compile(r"scenarios[^/]*\.md", re.IGNORECASE)
ANSWER_FILE = re.compile(r"(?:.*/)?runs/[^/]+-with\.md", re.IGNORECASE)
MAX_SCENARIO_BYTES = 8_000_000


def clean(tree: Path, servers: Sequence[str] | None = None) -> tuple[str, ...]:
    """Removes what agents must not see from `tree`; returns the removed paths, sorted, folders with `/` at the end.
    With `servers`, files with instructions stay, but for those that name one of these.

    These are files of agents, repositories inside the repository (their hooks and settings would run),
    benchmark folders with answers, and symlinks out of the tree. The `.git` at the top is kept.
    """
    targets: set[str] = set()
    for path in _entries(tree):
        is_instruction = servers is not None and _is_instruction(tree, path, servers)
        if AGENT_FILE.match(f"/{path.lower()}") and not is_instruction:
            targets.add(path)
        if _is_foreign_git(tree, path) or _leaves(tree, path):
            targets.add(path)
        if _has_answers(tree, path):
            targets.add(_holder(path))
    outermost = [path for path in targets if targets.isdisjoint(_parents(path))]
    return tuple(sorted(_remove(tree, path) for path in outermost))


def indexes(tree: Path, words: Sequence[str]) -> list[str]:
    """The hidden paths with one of these names of servers: maybe indexes, which a baseline reads."""
    names = [word for word in words if word not in ("git", "github", "vscode", "idea")]
    if not names:
        return []
    own = re.compile(rf"\.({'|'.join(map(re.escape, names))})(?![a-z0-9])")
    paths = {path for path in _entries(tree) if own.match(os.path.basename(path).lower())}
    return sorted(path for path in paths if paths.isdisjoint(_parents(path)))


def answers_in_history(tree: Path) -> set[str]:
    """The paths of answers and of files with criteria of a benchmark in any commit of HEAD's history."""
    criteria = _changed(tree, f"-S{CRITERIA_MARK}", "HEAD", "--", ":(icase,glob)**/scenarios*.md")
    return criteria | _changed(tree, "HEAD", "--", ":(icase,glob)**/runs/*-with.md")


def unwanted_in_history(tree: Path, answers: set[str]) -> set[str]:
    """The outermost paths without which the history reveals no `answers`: these, and what else was around them.

    What `tree`, which is clean, still contains around them is harmless, and keeps its history.
    """
    holders = {_holder(path) for path in answers}
    around = _changed(tree, "HEAD", "--", *(f":(literal){holder}" for holder in holders))
    targets: set[str] = set()
    for path in around:
        missing: list[str] = []
        for part in (path, *_parents(path)):
            is_inside = not holders.isdisjoint((part, *_parents(part)))
            if is_inside and not os.path.lexists(tree / part):
                missing.append(part)
        if missing:
            targets.add(missing[-1])
        elif path in answers:
            targets.add(path)
    return targets


def _changed(tree: Path, *which: str) -> set[str]:
    """The paths that commits changed, also those whose changes a merge undid."""
    log = ("log", "--full-history", "-m", "--no-renames", "--format=", "--name-only", "-z")
    return {os.fsdecode(path) for path in git(tree, *log, *which).split(b"\0") if path}


def _entries(tree: Path) -> Iterator[str]:
    for folder, folders, files in walk(str(tree)):
        below = os.path.relpath(folder, tree)
        if below == ".":
            folders[:] = [name for name in folders if name != ".git"]
        for name in folders + files:
            yield os.path.normpath(os.path.join(below, name))


def _parents(path: str) -> Iterator[str]:
    while path := os.path.dirname(path):
        yield path


def _is_instruction(tree: Path, path: str, servers: Sequence[str]) -> bool:
    """True for a file with instructions that names none of the servers, nor does what it imports."""
    if os.path.basename(path).lower() not in INSTRUCTIONS:
        return False
    names = re.compile(rf"(?i)(?<![a-z0-9])({'|'.join(map(re.escape, servers))})(?![a-z0-9])")
    read: set[Path] = set()
    files = [tree / path]
    while files:
        file = files.pop().resolve()
        if file.is_file() and file not in read:
            text = file.read_text(encoding="utf-8", errors="replace")
            if servers and names.search(text):
                return False
            read.add(file)
            files += [file.parent / name for name in _IMPORT.findall(text)]
    return bool(read)


def _is_foreign_git(tree: Path, path: str) -> bool:
    """True for `.git` below the top in any spelling, and for a `.gitmodules` that is a link (git refuses it)."""
    name = os.path.basename(path).lower()
    if name == ".gitmodules":
        return (tree / path).is_symlink()
    return name == ".git" and path != ".git"


def _leaves(tree: Path, path: str) -> bool:
    """True for a link out of the tree."""
    if not (tree / path).is_symlink():
        return False
    target = os.readlink(tree / path)
    lexical = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.isabs(target) or lexical == ".." or lexical.startswith("../"):
        return True
    root = os.path.realpath(tree)
    return os.path.commonpath((root, os.path.realpath(tree / path))) != root


def _has_answers(tree: Path, path: str) -> bool:
    """True for answers of run folders, and scenario files with criteria."""
    if ANSWER_FILE.fullmatch(path):
        return True
    file = tree / path
    if not SCENARIO_FILE.fullmatch(file.name) or file.is_symlink() or not file.is_file():
        return False
    is_small = file.stat().st_size <= MAX_SCENARIO_BYTES
    return is_small and CRITERIA_MARK.encode() in file.read_bytes()


def _holder(answer: str) -> str:
    """What to remove for `answer`: the outermost benchmark folder around it, its run folder, or what is possible.

    The run folder is the parent of `runs`, or the folder of the scenario file; at the top of the tree it is `runs`
    or the file itself.
    """
    folder = os.path.dirname(answer)
    holder = folder or answer
    if ANSWER_FILE.fullmatch(answer):
        holder = os.path.dirname(folder) or folder
    for path in _parents(answer):
        if os.path.basename(path).lower() in BENCHMARK_FOLDERS:
            holder = path
    return holder


def _remove(tree: Path, path: str) -> str:
    if (tree / path).is_dir() and not (tree / path).is_symlink():
        remove_tree(str(tree / path))
        return f"{path}/"
    (tree / path).unlink()
    return path
