"""Copies of a repository for test runs: a new one for each, or one that is kept for the next run of the same kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lensbench.core.system.trees import CACHE_SUFFIX, remove_tree, walk

Facts = dict[bytes, int]
"""The mode of a folder, and when a file was changed, by path below the copy. Every change of content, mode, times or
links sets that time (ctime), and no program in the sandbox can choose it."""


@dataclass(frozen=True)
class Copies:
    """Copies that are kept in `folder`; without one each is new.

    What a run added is removed before the next. A copy in which anything else differs is not used again, so that no run
    sees what another did. It shares no file with the repository. But a program can find out that a copy is not new, by
    the times of access, so whoever could cheat gets a new one.
    """

    folder: Path | None = None
    _facts: dict[Path, Facts] = field(default_factory=dict)

    @contextmanager
    def at(self, place: Path, key: object, make: Callable[[], None]) -> Iterator[None]:
        """Has the copy for `key` at `place` during the block; `make` makes one there unless it is kept."""
        if not self.folder:
            make()
            yield
            return
        home = self.folder / str(hash(key))
        top = os.fsencode(place)
        if home.exists():
            home.rename(place)
        else:
            make()
            self._facts[home] = _facts(top)
        yield
        if _put_right(top, self._facts[home]):
            place.rename(home)


NEW_COPIES = Copies()


def _facts(top: bytes) -> Facts:
    facts: Facts = {}
    for folder, _, files in walk(top):
        below = folder[len(top) :]
        facts[below] = os.lstat(folder).st_mode
        for name in files:
            facts[below + b"/" + name] = os.lstat(os.path.join(folder, name)).st_ctime_ns
    return facts


def _put_right(top: bytes, facts: Facts) -> bool:
    """Removes what is new below `top`, and bytecode that Python wrote again; whether all else is as it was."""
    try:
        for name, fact in _facts(top).items():
            if name not in facts or (name.endswith(CACHE_SUFFIX) and fact != facts[name]):
                remove_tree(os.fsdecode(top + name))
                facts.pop(name, None)
        return _facts(top) == facts
    except OSError:
        return False
