"""Determines the paths that are visible in the sandbox: those in the config, and those that programs need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

_DATA = "python*/*-packages/lensbench_workflow"
"""Where a wheel of lensbench puts task sets, criteria and reference patches, below the `lib` of an installation."""
_LARGE = ("/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/sys")
"""Folders with too many others to look for installations more than one level below."""


def mounts_of(visible: Iterable[str], secret: Iterable[str], tmp: str) -> list[str]:
    """The mounts that show and hide paths. The deeper path wins; a path that is both shown and hidden is hidden, and so
    are the data of every installed lensbench below `visible`. `tmp` is the folder behind /tmp: links that an earlier
    start left there are not made again."""
    visible = [*visible]
    secret = [*secret, *chain.from_iterable(map(_installed_data, map(os.path.realpath, visible)))]
    links: dict[str, str] = {}
    visibility: dict[str, bool] = {}
    for path in visible:
        visibility[_resolve(os.path.abspath(path), links)] = True
    visibility |= {os.path.realpath(path): False for path in secret}
    steps: dict[str, bool] = {}
    for path in sorted(visibility):  # a folder comes before its content
        if path != "/" and os.path.exists(path) and visibility[path] != _is_shown(path, steps):
            steps[path] = visibility[path]
    options = []
    for path, is_shown in steps.items():
        folder = ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", os.devnull, path]
        options += ["--ro-bind", path, path] if is_shown else folder
    for path, target in links.items():
        is_left = path.startswith("/tmp/") and os.path.islink(tmp + path.removeprefix("/tmp"))
        if not _is_shown(path, steps) and not is_left:
            options += ["--symlink", target, path]
    for path, is_shown in steps.items():
        if not is_shown and os.path.isdir(path):
            options += ["--remount-ro", path]
    return options


@cache  # most of it is the same for all runs that are forked from one process
def _installed_data(top: str) -> tuple[str, ...]:
    libraries, level = [top], [top]
    for _ in range(2 if top in _LARGE else 4):  # pipx has its installations in /opt/pipx/venvs/X
        level = [path for folder in level for path in _folders(folder)]
        libraries += [path for path in level if os.path.basename(path).startswith("lib")]
    return tuple(str(path) for library in libraries for path in Path(library).glob(_DATA))


def _folders(folder: str) -> list[str]:
    """The folders in a folder, without the modules of a Python, of which there are thousands."""
    modules = "python" if os.path.basename(folder).startswith("lib") else "\0"
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if not entry.name.startswith(modules) and entry.is_dir()]
    except OSError:
        return []


def _is_shown(path: str, steps: Mapping[str, bool]) -> bool:
    while path != "/":
        if path in steps:
            return steps[path]
        path = os.path.dirname(path)
    return False


def _resolve(path: str, links: dict[str, str]) -> str:
    """The real path of an absolute path. Symlinks on the way are added to `links`, because programs find their
    libraries through them."""
    at, rest = "/", path.split("/")
    for _ in range(1000):  # links may be circular
        if not rest:
            break
        part = rest.pop(0)
        step = os.path.normpath(os.path.join(at, part))
        if os.path.islink(step):
            links[step] = os.readlink(step)
            rest = links[step].split("/") + rest
            at = "/" if links[step].startswith("/") else at
        else:
            at = step
    return at


def programs_of(command: Sequence[str], path: str) -> Iterator[str]:
    """The paths that a command needs: its program, files with absolute paths in it, and their installations."""
    program = shutil.which(command[0], path=path)
    for file in (program, *command[1:]):
        if file and os.path.isabs(file) and os.path.isfile(file) and os.access(file, os.R_OK):
            yield from _installation(file)
            yield from _installation(os.path.realpath(file))
            yield from _interpreter(file, path)


def _installation(file: str) -> Iterator[str]:
    """The file and its installation: its node_modules, its JavaScript package, or `lib` next to its `bin`."""
    yield file
    before, separator, _ = file.partition("/node_modules/")
    if separator:
        yield before + separator.rstrip("/")
        return
    folder = os.path.dirname(file)
    if os.path.basename(folder) == "bin":
        yield folder
        yield from (os.path.join(os.path.dirname(folder), name) for name in ("lib", "lib64", "pyvenv.cfg"))
    if file.endswith((".js", ".mjs", ".cjs")):
        packages = (parent for parent in Path(file).parents if (parent / "package.json").is_file())
        yield from (str(parent) for parent in list(packages)[:1])


def _interpreter(file: str, path: str) -> Iterator[str]:
    """The interpreter of a script, from a first line such as `#!/usr/bin/env node`."""
    with open(file, "rb") as script:
        first = script.readline(256).decode(errors="replace")
    words = first[2:].split() if first.startswith("#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    if words:
        yield from programs_of(words[:1], path)
