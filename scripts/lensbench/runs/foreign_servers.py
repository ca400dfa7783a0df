"""What a run could do with servers that only other conditions have: the files of their programs, which the sandbox
hides, and the calls that may have reached them, by an address or by a program's name. A server's program is what its
command line starts, with the files beside it that it names. In the sandbox a network of its own reaches no address;
without one such calls show in the transcript. A search for an address is none.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.agents.reach import Host, hosts_in
from lensbench.core.conditions import filled, mcp_servers
from lensbench.core.frozen_plan import Plan, PlannedCondition
from lensbench.core.system.places import PACKAGE
from lensbench.runs.server_packages import server_entries
from lensbench.runs.timeline import own_calls

_WITH_RUN = re.compile(r"uv|poetry|pdm|hatch|pixi|pipenv|rye|conda|mamba")
"""Launchers with `run` and a command after it."""
_LAUNCHER = re.compile(rf"npx|npm|pnpm|yarn|bunx?|uvx|pipx|deno|go|{_WITH_RUN.pattern}")
"""Programs that run a package by its name."""
_GENERAL = re.compile(
    r"(python|pypy)[\d.]*|node(js)?|tsx|ts-node|(ba|da|z|k)?sh|ruby|perl|php|lua|Rscript|java|dotnet|cargo"
    rf"|(fast)?mcp|docker|podman|cd|export|set|echo|test|\[|source|\.|{_LAUNCHER.pattern}"
)
"""Programs of no server: never hidden, and to start one means nothing."""
_BEFORE = re.compile(
    r"\w+=.*|-.*|[\d.]+[smhd]?|(/.*/)?(env|sudo|exec|nohup|time|timeout|nice|setsid|stdbuf|busybox)"
)
"""What stands before a command's own program."""
_SYSTEM = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_PREPARES = {"install", "ci", "add", "sync", "build", "venv", "pip", "make", "clone", "pull"}
"""What a wrapper does before it starts the server."""
_FETCHES = re.compile(
    r"(npx|bunx|uvx|deno)|(npm|pnpm|yarn) (exec|x|dlx)|(pipx|tool|go|deno) run|bun x|go install"
)
"""The words before a package's name."""
_OF_PACKAGE = ("--package", "-p", "--from", "--with")
_OF_FOLDER = ("--directory", "--project", "--prefix", "--cwd", "-C")
_WITH_VALUE = re.compile(
    rf"-n|--(python|extra|group|env-file|(default-)?index)|{'|'.join(_OF_PACKAGE + _OF_FOLDER)}"
)
_MODULE = re.compile(r"(?:-(?!m)\S+ (?:[^-/.]\w* )?)*-m ?(\S+)")
_JS_PACKAGE = re.compile(r".*/node_modules/(@[^/]+/)?[^/.][^/]*")
_SCRIPT = re.compile(r"\.(py|pyz|[cm]?[jt]sx?|(ba)?sh|rb|pl|php|lua|R|jar|dll|go)$")
_SHELL = re.compile(r"(ba|da|z|k)?sh")
_NAMED = re.compile(r"(?:\$\{?\w+\}?)?((?:\.\.?/)+|/)?([\w@+-][\w@.+/-]*)")
"""A file that a text names: the way to it from the text's folder, and its name."""
_IMPORTED = re.compile(r"\b(?:import|from)\s+([\w.]+)")
_MODULE_ENDS = ("", ".py", "/__init__.py", ".js", ".mjs", ".cjs", ".ts", "/index.js")
_ENDS_OF_COMMANDS = re.compile(r"[;&|()\n]+|`")
_WORD = re.compile(r"[^\s;&|()<>`\"'$={}\[\],\\]+")
MOST_FILES, MOST_FILE_BYTES = 100, 1 << 16
"""Files of a server that are read, and their size."""


class ServerProgram(NamedTuple):
    """What a server's command line runs."""

    names: frozenset[str]
    """Its programs, packages and modules by name."""
    paths: frozenset[str]
    """Its files and folders."""


def foreign_programs(plan: Plan, condition: str) -> ServerProgram:
    """The programs of the servers of other conditions, without those of the condition's own."""
    others = (other for name, other in plan["conditions"].items() if name != condition)
    theirs = _programs(others)
    ours = _programs([plan["conditions"][condition]])
    return ServerProgram(theirs.names - ours.names, theirs.paths - ours.paths)


def naming_calls(transcript: Iterable[str], program: ServerProgram) -> list[str]:
    """The calls of the agent's own tools in which a word is a name of the program, or one of its paths, each on one
    line. Such a call may have run the program; it may also have searched for its name."""
    known = program.names | program.paths
    return [step.line for step in own_calls(transcript) if not known.isdisjoint(_words(step.given))]


def _words(arguments: str) -> Iterator[str]:
    """The words of a call's arguments; of one with a path or a version, its bare name too."""
    for word in _WORD.findall(arguments.replace("\\n", "\n")):
        yield word
        yield os.path.basename(word)
        yield _bare(word)


def _programs(conditions: Iterable[PlannedCondition]) -> ServerProgram:
    names = set[str]()
    paths = set[str]()
    for entry in server_entries(conditions):
        program = _of_entry(entry)
        names |= program.names
        paths |= program.paths
    return ServerProgram(frozenset(names), frozenset(paths))


def _of_entry(entry: Mapping[str, Any]) -> ServerProgram:
    """The program of one server of an MCP file."""
    roots = str(entry.get("env", {}).get("PYTHONPATH", ""))
    text = shlex.join([entry["command"], *map(str, entry.get("args", ()))])
    return _of_text(text, str(entry.get("cwd") or ""), tuple(roots.split(":")))


@cache  # each run asks twice
def _of_text(text: str, folder: str, roots: Sequence[str]) -> ServerProgram:
    found = _Search(roots)
    found.add_commands(text, folder)
    return ServerProgram(frozenset(found.names), frozenset(filter(_can_be_hidden, found.paths)))


class _Search:
    """Collects what a command line starts, and what the files name that it starts."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.names = set[str]()
        self.paths = set[str]()
        self._roots = roots
        self._read = set[str]()

    def add_commands(self, text: str, folder: str) -> None:
        """Adds what the commands of a shell text start in a folder; "" is the workspace."""
        for command in _commands(text):
            name = os.path.basename(command[0])
            if name == "cd" and not command[-1].startswith("$"):
                folder = os.path.join(folder, command[-1])
            elif _SHELL.fullmatch(name) and "-c" in command[:-1]:
                self.add_commands(command[command.index("-c") + 1], folder)
            elif not _is_of_system(command):
                self._add(command, folder)

    def _add(self, command: Sequence[str], folder: str) -> None:
        """Adds one command: its packages, its own program, a module, and files that it names."""
        name = os.path.basename(command[0])
        rest = command[1:]
        program = _file_of(command[0], folder)
        files = {os.path.join(folder, word) for word in command if _SCRIPT.search(word)}
        if _GENERAL.fullmatch(name):
            files |= set(filter(os.path.isabs, rest))
        elif program:
            files.add(program)
        if _LAUNCHER.fullmatch(name):
            self._add_packages(command, folder, program)
            if _WITH_RUN.fullmatch(name) and "run" in rest and "tool" not in rest:
                self.add_commands(shlex.join(_after_run(rest)), folder)
        elif not _GENERAL.fullmatch(name) and not re.match(r"\.|\$", command[0]):
            self._add_name(name)
        module = _MODULE.match(" ".join(rest)) if name.startswith(("python", "pypy")) else None
        if module:
            self._add_module(module[1], program)
        for file in sorted(files):
            self._add_file(file, program)

    def _add_name(self, name: str) -> None:
        if not _SCRIPT.search(name):  # a repository may well have a server.py
            self.names.add(name)

    def _add_packages(self, command: Sequence[str], folder: str, launcher: str) -> None:
        own = Path(launcher).parent.parent
        behind_links = Path(os.path.realpath(launcher)).parents
        beside = behind_links[3] if len(behind_links) > 3 else own
        for package in _packages(command):
            if package.startswith((".", "/")):
                self.paths.add(os.path.normpath(os.path.join(folder, package)))
                continue
            self._add_name(package)
            self._add_name(package.rpartition("/")[2])
            self.paths |= {str(place / "lib/node_modules" / package) for place in (own, beside)}
            if installed := shutil.which(package):
                self._add_file(installed, launcher)

    def _add_module(self, module: str, python: str) -> None:
        is_ours = module.startswith((f"{PACKAGE.name}.", f"{PACKAGE.name}_"))
        package = module if is_ours else module.partition(".")[0]  # all of it is the server's
        if package not in sys.stdlib_module_names:
            self.names.add(package)
            self.paths.update(_module_paths(package, python, self._roots))

    def _add_file(self, path: str, python: str) -> None:
        """Adds a file, what is behind a link, its package, the modules of a console script, and what it names."""
        self.paths |= {path, os.path.realpath(path)}
        for file in (path, os.path.realpath(path)):
            if package := _JS_PACKAGE.match(file):
                self.paths.add(package[0])
        if path in self._read or len(self._read) >= MOST_FILES or not os.path.isfile(path):
            return
        self._read.add(path)
        if re.search(r"-packages/|node_modules/", path):
            return
        text = _text(path)
        if os.path.dirname(path).endswith("bin") and "sys.exit(" in text[:2000]:
            for module in re.findall(r"(?m)^from (\w+)[\w.]* import", text[:2000]):
                if module != PACKAGE.name:
                    self._add_module(module, path)
            return
        if path.endswith("sh") or re.match(r"#!.*\b(ba|da|z|k)?sh\b", text):
            self._add_started(text, os.path.dirname(path))
        for beside in sorted(filter(_can_be_hidden, _beside(path, text))):
            self._add_file(beside, python)

    def _add_started(self, text: str, folder: str) -> None:
        """Adds what a shell script starts in the end: what it calls before is a tool of the script."""
        commands = [command for command in _commands(text) if not _is_of_system(command)]
        for command in commands[-1:]:
            self._add(command, folder)


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command in a shell text, without what stands before its program."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    words: list[str] = []
    with suppress(ValueError):  # an open quote: the rest is not read
        for token in lexer:
            if not _ENDS_OF_COMMANDS.fullmatch(token):
                words.append(token)
                continue
            yield from _own_words(words)
            words = []
    yield from _own_words(words)


def _own_words(words: Sequence[str]) -> Iterator[list[str]]:
    start = 0
    while start < len(words) and _BEFORE.fullmatch(words[start]):
        is_pair = re.fullmatch("-[IugosCda]", words[start])  # sudo -u NAME, env -C FOLDER
        start += 2 if is_pair else 1
    if words[start:]:
        yield [*words[start:]]


def _after_run(words: Sequence[str]) -> list[str]:
    """The command after `run` of a launcher such as `uv run --with x`."""
    rest = list(words[words.index("run") + 1 :])
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        rest = rest[2:] if _WITH_VALUE.fullmatch(rest[0]) else rest[1:]
    if rest and rest[0] == "-m":
        return ["python", *rest]
    return rest


def _is_of_system(command: Sequence[str]) -> bool:
    """True for the system's programs and for preparations."""
    name = os.path.basename(command[0])
    if not _PREPARES.isdisjoint((name, *command[1:4])):
        return True
    folder = os.path.dirname(shutil.which(command[0]) or "")
    return folder in _SYSTEM and not _GENERAL.fullmatch(name)


def _file_of(word: str, folder: str) -> str:
    """The path of a command's program; "" when it is not there, or in the workspace."""
    file = os.path.join(folder, word)
    if os.path.isabs(file) and os.path.isfile(file):
        return file
    return shutil.which(word) or ""


def _packages(command: Sequence[str]) -> Iterator[str]:
    """The packages that a launcher's command names, without versions, and their folders."""
    is_named = False
    for before, word in pairwise((os.path.basename(command[0]), *command[1:])):
        option, _, value = word.partition("=")
        if before in _OF_PACKAGE + _OF_FOLDER:
            yield _bare(word)
            continue
        if option == "--package" and value:
            yield _bare(value)
            continue
        is_fetched = _FETCHES.fullmatch(f"{before} {word}")
        is_named = is_named or bool(is_fetched or _FETCHES.fullmatch(before))
        if is_named and not is_fetched and not word.startswith("-"):
            yield _bare(word)
            return


def _bare(package: str) -> str:
    """A package's name without its version."""
    return re.split(r"(?<!^)@|[=<>\[]", re.sub("^(npm|jsr):/?", "", package))[0]


def _beside(file: str, text: str) -> Iterator[str]:
    """The files in a script's folder that its text names, and scripts elsewhere."""
    folder = os.path.dirname(file)
    stems = set[str]()
    for way, name in set(_NAMED.findall(text)):
        if way == "/" and _SCRIPT.search(name):
            yield f"/{name}"
        if way or "." in name or "/" in name:
            stems.add(os.path.join(way.lstrip("/"), name))
    if file.endswith(".py"):
        stems |= {name.partition(".")[0] for name in _IMPORTED.findall(text)}
    for stem in stems:
        path = os.path.normpath(os.path.join(folder, stem))
        for end in _MODULE_ENDS:
            if os.path.isfile(path + end):
                yield path + end.removesuffix("/__init__.py")


def _text(file: str) -> str:
    """The text of a small script; "" for other files."""
    with suppress(OSError, ValueError):
        if os.path.getsize(file) < MOST_FILE_BYTES:
            return Path(file).read_text(encoding="utf-8")
    return ""


def _module_paths(module: str, program: str, roots: Sequence[str]) -> Iterator[str]:
    """The folders or files of a module, for the Python of a program and for this one."""
    own = Path(program).parent.parent.glob("lib*/python*/*-packages") if program else ()
    for root in (*own, *map(Path, filter(None, (*roots, *sys.path)))):
        place = root.joinpath(*module.split("."))
        yield from filter(os.path.exists, (str(place), f"{place}.py"))


def _can_be_hidden(path: str) -> bool:
    is_general = os.path.isfile(path) and (
        _GENERAL.fullmatch(os.path.basename(path)) or os.path.dirname(path) in _SYSTEM
    )
    return (
        os.path.exists(path)
        and not is_general
        and path.count("/") > 1
        and not PACKAGE.is_relative_to(path)
    )


_CONNECTS = re.compile(
    r"(?ia)\b(curl|wget|nc|ncat|netcat|telnet|socat|xh|httpie|urllib3?|urlopen|requests|httpx|aiohttp|websockets?"
    r"|http\.client|httplib|net/http|socket|create_?connection|streamablehttp_client|sse_client"
    r"|(web_?)?fetch|browse\w*|navigate|lwp|faraday|axios|invoke-webrequest|mcp-remote)\b|/dev/(tcp|udp)/|web_?fetch"
)
"""Names of programs and libraries that open connections, and of tools that fetch URLs."""
_INTERPRETERS = re.compile(
    r"(?a)\b(python[\d.]*|node|deno|bun|npx|uvx|perl|ruby|php|ssh|go run|https?)\b"
)
"""Programs that may open a connection if an address is among their arguments."""
_LOCAL = (
    r"(?:localhost|127(?:\.\d+){1,3}|0\.0\.0\.0|\[?::1\]?|\[?::ffff:127[\d.]*\]?"
    r"|host\.docker\.internal|ip6-localhost)"
)
_COMMON_PORTS = (80, 443)
"""Port numbers that are too common to match without a host."""
_SEARCHES = re.compile(
    r"\s*(?:rg|grep|egrep|fgrep|ag|git\s+(?:grep|log|show|diff)|cat|sed|awk|find|head|tail|echo)\b"
)
_PARTS = re.compile(r"&&|\|\||[;\n]")


def foreign_hosts(plan: Plan, condition: str) -> list[Host]:
    """The addresses of servers that only other conditions have, from their MCP files."""
    own = set(_hosts(plan["conditions"][condition]))
    others = (
        host
        for name, other in plan["conditions"].items()
        if name != condition
        for host in _hosts(other)
    )
    return [host for host in dict.fromkeys(others) if host not in own]


def _hosts(condition: PlannedCondition) -> list[Host]:
    return hosts_in(
        json.dumps(filled(servers, os.environ)) for _, servers in mcp_servers([condition])
    )


def direct_calls(transcript: Iterable[str], hosts: Collection[Host]) -> list[str]:
    """The calls in a transcript to one of `hosts`, each shortened to one line."""
    patterns = [(_address(host), _port(host)) for host in hosts]

    def goes_out(call: str) -> bool:
        connects = _CONNECTS.search(call)
        may_connect = connects or _INTERPRETERS.search(call)
        return any(
            (may_connect and at.search(call)) or (connects and port and port.search(call))
            for at, port in patterns
        )

    steps = own_calls(transcript)
    return [
        step.line for step in steps if goes_out(f"{step.title} {_without_searches(step.given)}")
    ]


def _without_searches(arguments: str) -> str:
    """The arguments, without parts of a shell command that only search or print text."""
    with suppress(ValueError, AttributeError):
        arguments = "\n".join(
            value for value in json.loads(arguments).values() if isinstance(value, str)
        )
    return "\n".join(part for part in _PARTS.split(arguments) if not _SEARCHES.match(part))


def _address(host: Host) -> re.Pattern[str]:
    """A pattern for the host with its port: `name:port`, or the name alone if the port is implied or separate."""
    if not host.is_local:
        return re.compile(rf"(?ia)(?<![\w.-]){re.escape(host.name)}(?![\w-]|\.\w)")
    port = rf"(?::|\W{{1,4}}){host.port}(?!\d)"
    return re.compile(
        rf"(?ia)(?<![\w.-]){_LOCAL}(?:{port}"
        + (r"|(?![\w:.-]))" if host.port in _COMMON_PORTS else ")")
    )


def _port(host: Host) -> re.Pattern[str] | None:
    """A pattern for the port alone, for a server on this machine, which has too many names to list."""
    if not host.is_local or host.port in _COMMON_PORTS:
        return None
    return re.compile(rf"(?<![\d.]){host.port}(?![\d.]*\d)")
