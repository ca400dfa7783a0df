"""Determines the paths that are visible in the sandbox: those in the config, and those that programs need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

_DATA = "lensbench_workflow"
"""Where a wheel of lensbench puts task sets, criteria and reference patches, beside the packages."""
_LARGE = (
    "/usr",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc",
    "/sys",
)
"""Folders with too many others to look for installations more than one level below."""


TEMPORARY_FOLDERS = ("/tmp/", "/var/tmp/")
"""Paths in the sandbox of the folder for temporary files."""


def mounts_of(visible: Iterable[str], secret: Iterable[str], tmp: str) -> list[str]:
    """The mounts that show and hide paths. The deeper path wins; a path that is both shown and hidden is hidden, and so
    are the data of every installed lensbench below `visible`. `tmp` is the folder behind /tmp, which several programs
    share: links in it are made here, since bubblewrap fails when another start makes one at the same time."""
    links: dict[str, str] = {}
    visibility: dict[str, bool] = {}
    hidden = [*secret]
    for path in visible:
        real, on_the_way = _resolve(os.path.abspath(path))
        links |= on_the_way
        visibility[real] = True
        hidden += [f"{folder}/{_DATA}" for folder in _package_folders(real)]
    for path in hidden:
        real, _ = _resolve(os.path.abspath(path))
        visibility[real] = False
    steps: dict[str, bool] = {}
    for path in sorted(visibility):  # a folder comes before its content
        if path != "/" and os.path.exists(path) and visibility[path] != _is_shown(path, steps):
            steps[path] = visibility[path]
    options = []
    for path, is_shown in steps.items():
        if is_shown:
            options += ["--ro-bind", path, path]
        elif os.path.isdir(path):
            options += ["--tmpfs", path]
        else:
            options += ["--ro-bind", os.devnull, path]
    for path, target in links.items():
        if _is_shown(path, steps):
            continue
        place = _below_temporary(path)
        if place and not any(path.startswith(f"{step}/") for step in steps):
            _link(tmp, place, target)
        else:
            options += ["--symlink", target, path]
    for path, is_shown in steps.items():
        if not is_shown and os.path.isdir(path):
            options += ["--remount-ro", path]
    return options


def _below_temporary(path: str) -> str:
    """The path below the folder for temporary files; "" for a path elsewhere."""
    for folder in TEMPORARY_FOLDERS:
        if path.startswith(folder):
            return path.removeprefix(folder)
    return ""


def _link(top: str, path: str, target: str) -> None:
    """Makes a link at `path` below `top`, with its folders, unless something is there. Follows no links, which an agent
    may have put there."""
    *folders, name = path.split("/")
    place = os.open(top, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for folder in folders:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755, dir_fd=place)
            inner = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        with suppress(FileExistsError):
            os.symlink(target, name, dir_fd=place)
    except OSError:  # the program starts without it, or says that it cannot
        pass
    finally:
        os.close(place)


def releases(packages: Collection[str], visible: Iterable[str]) -> Iterator[str]:
    """The files and folders of the Python packages `packages` that are installed below `visible`."""
    if packages:
        from importlib.metadata import distributions  # few task sets need it

        folders = [folder for top in visible for folder in _package_folders(os.path.realpath(top))]
        for release in chain.from_iterable(
            distributions(name=name, path=folders) for name in packages
        ):
            for name in {file.parts[0] for file in release.files or ()} - {".."}:
                yield str(release.locate_file(name))


@cache  # most of it is the same for all runs that are forked from one process
def _package_folders(top: str) -> tuple[str, ...]:
    from glob import escape, glob  # Path's fails where folders vanish

    ways = ["", "lib*/", "*/lib*/"]
    if top not in _LARGE:
        ways += ["*/*/lib*/", "*/*/*/lib*/"]  # pipx has its installations in /opt/pipx/venvs/X
    found = []
    for way in ways:
        pattern = f"{escape(top)}/{way}python*/*-packages"
        found += glob(pattern, include_hidden=True)
    return tuple(found)


def _is_shown(path: str, steps: Mapping[str, bool]) -> bool:
    while path != "/":
        if path in steps:
            return steps[path]
        path = os.path.dirname(path)
    return False


@cache
def _resolve(path: str) -> tuple[str, Mapping[str, str]]:
    """The real path of an absolute path, and the symlinks on the way, which programs may use."""
    at = "/"
    rest = path.split("/")
    links: dict[str, str] = {}
    for _ in range(1000):  # links may be circular
        if not rest:
            break
        part = rest.pop(0)
        step = os.path.normpath(os.path.join(at, part))
        if os.path.islink(step):
            target = os.readlink(step)
            links[step] = target
            rest = target.split("/") + rest
            if target.startswith("/"):
                at = "/"
        else:
            at = step
    return at, links


def programs_of(command: Sequence[str], path: str) -> Iterator[str]:
    """The paths that a command needs: its program, files with absolute paths in it, and their installations."""
    program = shutil.which(command[0], path=path)
    for file in (program, *command[1:]):
        if not file or not os.path.isabs(file):
            continue
        if os.path.isfile(file) and os.access(file, os.R_OK):
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
        top = os.path.dirname(folder)
        for name in ("lib", "lib64", "pyvenv.cfg"):
            yield os.path.join(top, name)
    if file.endswith((".js", ".mjs", ".cjs")):
        for parent in Path(file).parents:
            if (parent / "package.json").is_file():
                yield str(parent)
                return


def _interpreter(file: str, path: str) -> Iterator[str]:
    """The interpreter of a script, from a first line such as `#!/usr/bin/env node`."""
    with open(file, "rb") as script:
        first = script.readline(256).decode(errors="replace")
    if not first.startswith("#!"):
        return
    words = first[2:].split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    if words:
        yield from programs_of(words[:1], path)
