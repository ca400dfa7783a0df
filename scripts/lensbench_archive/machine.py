"""Finds text that identifies a machine or its user: known paths, the user name, the host name."""

from __future__ import annotations

import getpass
import json
import re
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lensbench.core.records import sha256

SHORTEST_NAME = 4
"""The minimum length of a name; shorter ones occur in ordinary text."""
_NOBODY = frozenset(
    {
        "root",
        "admin",
        "administrator",
        "user",
        "users",
        "ubuntu",
        "debian",
        "fedora",
        "alpine",
        "vagrant",
        "docker",
        "podman",
        "runner",
        "jenkins",
        "builder",
        "build",
        "nobody",
        "node",
        "python",
        "localhost",
        "server",
        "desktop",
        "laptop",
        "default",
        "test",
        "tests",
    }
)
"""Names that do not identify anybody."""
_EVERYWHERE = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/dev", "/proc", "/sys")
"""Folders that exist on all machines."""


class Trace(NamedTuple):
    """A piece of text that identifies a machine or its user."""

    text: str
    what: str
    instead: str
    """The replacement; empty to keep the text."""
    is_word: bool = False
    is_telling: bool = True
    """True when it must not be in an archive; otherwise it is only replaced in files that may be rewritten."""


@dataclass(frozen=True)
class Machine:
    """The traces of one machine. Created by `this_machine`."""

    traces: tuple[Trace, ...]

    def allowing(self, exceptions: frozenset[str]) -> Machine:
        """The same machine without the traces whose ids are `exceptions`, and without traces inside these."""
        return Machine(
            tuple(
                trace._replace(instead="", is_telling=False)
                if trace_id(trace) in exceptions
                else trace
                for trace in self.traces
            )
        )

    def rewritten(self, text: str) -> str:
        """The text with every trace replaced."""
        return (
            self._all[0].sub(lambda match: self._all[1][match[0]].instead or match[0], text)
            if self.traces
            else text
        )

    def find(self, text: str) -> Iterator[tuple[int, Trace]]:
        """The positions of telling traces."""
        for match in self._all[0].finditer(text) if self.traces else ():
            trace = self._all[1][match[0]]
            if trace.is_telling:
                yield match.start(), trace

    @cached_property
    def _all(self) -> tuple[re.Pattern[str], dict[str, Trace]]:
        """One pattern for all traces in all forms, longest first, and the trace of each form."""
        forms = {form: trace for trace in self.traces for form in _forms(trace.text)}
        order = sorted(forms, key=lambda form: (-len(form), form))
        return re.compile("|".join(_pattern(form, forms[form].is_word) for form in order)), forms


def trace_id(trace: Trace) -> str:
    """The id with which users can allow a trace."""
    return sha256(trace.text.encode())[:12]


def _forms(text: str) -> set[str]:
    """The text as it is, and as escaped in JSON and YAML."""
    return {
        text,
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        text.replace("'", "''"),
    }


def _pattern(form: str, is_word: bool) -> str:
    """A pattern for the path or word. A word may follow an escaped line end, as in JSON."""
    before = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))" if is_word else ""
    return rf"{before}{re.escape(form)}(?![A-Za-z0-9_])"


def this_machine(settings: Any, root: Path) -> Machine:
    """The traces of this machine, its user, the project in the folder `root`, and paths in the settings."""
    home = str(Path.home())
    traces = [
        Trace(str(root), "the project's folder", ".", is_telling=_is_telling(str(root))),
        Trace(home, "the home folder", "~", is_telling=_is_telling(home)),
        Trace(sys.prefix, "Python's folder", "<python>", is_telling=_is_telling(sys.prefix)),
        Trace(tempfile.gettempdir(), "the temporary folder", "<tmp>", is_telling=False),
    ]
    for path in sorted(set(_absolute_paths(settings))):
        if not PurePosixPath(path).is_relative_to(root):
            traces.append(
                Trace(path, "a path from the settings", outside(path), is_telling=_is_telling(path))
            )
    names = (
        (_user(), "the user's name", "<user>"),
        (socket.gethostname(), "the host's name", "<host>"),
    )
    traces += [
        Trace(name, what, instead, is_word=True) for name, what, instead in names if _is_name(name)
    ]
    return Machine(tuple(trace for trace in traces if len(trace.text) > 1))


def outside(path: str) -> str:
    """The name in an archive for a path outside the project."""
    return f"outside/{PurePosixPath(path).name}"


def _is_telling(path: str) -> bool:
    """False for paths such as `/app` and `/root`, which exist on every machine and may be the topic of answers."""
    return len(PurePosixPath(path).parts) > 2


def _absolute_paths(settings: Any) -> Iterator[str]:
    """All absolute paths in the strings of plain data, except those that are the same everywhere."""
    if isinstance(settings, Mapping):
        settings = list(settings.values())
    if isinstance(settings, list):
        for item in settings:
            yield from _absolute_paths(item)
    elif isinstance(settings, str) and settings.startswith("/") and "\n" not in settings:
        path = PurePosixPath(settings)
        if len(path.parts) > 1 and not any(path.is_relative_to(folder) for folder in _EVERYWHERE):
            yield str(path)


def _is_name(name: str) -> bool:
    return len(name) >= SHORTEST_NAME and name.lower() not in _NOBODY


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return ""
