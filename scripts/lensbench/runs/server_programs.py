"""Finds the commands in a transcript that run the programs of servers that only other conditions have. In the sandbox
these are hidden; without one, or installed on the way, they show here. A search for a name is none.
A server's program is what its command line starts in the end, and the files beside it that its files name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import filled, mcp_servers
from lensbench.core.frozen_plan import Plan, PlannedCondition
from lensbench.core.system.places import PACKAGE
from lensbench.runs.timeline import own_calls

_WITH_RUN = r"uv|poetry|pdm|hatch|pixi|pipenv|rye|conda|mamba"
"""Launchers with `run` and a command after it."""
_LAUNCHER = re.compile(rf"npx|npm|pnpm|yarn|bunx|uvx|pipx|deno|go|{_WITH_RUN}")
"""Programs that run a package by its name."""
_SHARED = re.compile(
    r"(python|pypy)[\d.]*|node(js)?|bun|tsx|ts-node|(ba|da|z|k)?sh|env|ruby|perl|php|lua|Rscript|java|dotnet|cargo|\."
    rf"|(fast)?mcp|busybox|coreutils|docker|podman|true|false|cat|source|cp|ln|mv|install|alias|=|{_LAUNCHER.pattern}"
)
"""Programs of no server: never hidden, and to start one means nothing."""
_FETCHES = re.compile(
    r"(npx|bunx|uvx|deno)|(npm|pnpm|yarn) (exec|x|dlx)|(pipx|tool|go|deno) run|go install"
)
"""The words before a package's name."""
_SHELL = re.compile(r"(ba|da|z|k)?sh|su|script")
_BEFORE = re.compile(
    r"\w+=.*|-.*|[\d.]+[smhd]?|then|do|else|if|while|!|\{|(/.*/)?(env|sudo|exec|nohup|time|timeout|nice|xargs|command"
    r"|setsid|stdbuf|strace|parallel|busybox)"
)
_HANDS_ON = re.compile(r"alias|eval|trap|watch|unshare|chroot|flock|tmux")
_WITH_VALUE = re.compile(
    r"-[pnC]|--(directory|project|python|extra|group|package|env-file|with.*|(default-)?index)"
)
_ENDS = re.compile(r"&+|(?=[&<>]*[;|()\n])[;&|()<>\n]+")
_OF_SHELL = re.compile(r"cd|export|set|unset|ulimit|umask|trap|wait|exit|echo|test|\[|=|alias|:")
_PREPARES = {"install", "ci", "add", "sync", "build", "venv", "pip", "make", "clone", "pull"}
"""What a wrapper does before."""
_NAMING = (
    "--package",
    "-p",
    "--from",
    "--with",
    "--directory",
    "--project",
    "--prefix",
    "--cwd",
    "-C",
)
"""Options with a package or its folder."""
_MODULE = re.compile(r"(?:-(?!m)\S+ (?:[^-/.]\w* )?)*-m ?(\S+)")
_JS_PACKAGE = re.compile(r".*/node_modules/(@[^/]+/)?[^/.][^/]*")
_MISSING = re.compile(
    r"not found|No such file|No module named|Cannot find module|[Pp]ermission denied"
)
"""What is said of a program that is not there."""
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*)\n((?:.*\n)*?)\s*\2\b")
_LOOK_UP = re.compile(
    r"(?:\$\(|`)\s*(?:which|type -p|command -v|readlink -f|realpath)\s+([^\s()`]+)\s*[)`]"
)
"""What stands for the path of a program."""
_STARTS = (
    r"\b(?:\w*import\w*|require|run\w*|from|system|popen|call|check_\w+|exec\w*|spawn\w*)"
    r"\s*\(?\s*(?:\[(?:[^\[\]\n]*,)?)?\s*['\"]"
)
"""What code has before the name of a module or program that it runs."""
_READS = re.compile(r"capture|PIPE|check_output|stdout|\bexec(File)?Sync")
_IMPORTED = re.compile(
    r"(?:\b(?:import|from|require|import_module|__import__)\b[\s(]*['\"]?|,\s*)([\w@./-]+)"
)
_ROOT = re.compile(r"sys\.path[^'\"\n]{0,40}['\"]([^'\"\n]+)")
_FILE = re.compile(r"\.(py|pyz|[cm]?[jt]sx?|(ba)?sh|rb|pl|php|lua|R|jar|dll|go)$")
_NAMED = re.compile(r"(?:\$\{?\w+\}?)?((?:\.\.?/)+|/)?([\w@+-][\w@.+/-]*)")
_MODULE_ENDS = ("", ".py", "/__init__.py", ".js", ".mjs", ".cjs", ".ts", "/index.js")
_COMMAND_KEYS, _PLACE_KEYS = (
    ("command", "cmd", "script"),
    ("workdir", "cwd", "directory", "dir_path"),
)
MOST_FILES, MOST_BYTES = 100, 1 << 16
"""Files of a server that are read, and their size."""
MOST_READ = 1 << 13
"""Characters of a command that are read: an unclosed here-document takes quadratic time."""


class ServerProgram(NamedTuple):
    """What a server's command line runs."""

    names: frozenset[str]
    """Programs and packages by name."""
    paths: frozenset[str]
    modules: frozenset[str]


def foreign_programs(plan: Plan, condition: str) -> ServerProgram:
    """The programs of the servers of other conditions, without those of the condition's own."""
    others = (other for name, other in plan["conditions"].items() if name != condition)
    own = _programs([plan["conditions"][condition]])
    return ServerProgram(
        *(theirs - ours for theirs, ours in zip(_programs(others), own, strict=True))
    )


def _programs(conditions: Iterable[PlannedCondition]) -> ServerProgram:
    programs = list[ServerProgram]()
    for file, servers in mcp_servers(conditions):
        values = {**os.environ, "here": str(Path(file).resolve().parent), "python": sys.executable}
        for entry in (entry for entry in filled(servers, values).values() if "command" in entry):
            roots = str(entry.get("env", {}).get("PYTHONPATH", ""))
            text = shlex.join([entry["command"], *map(str, entry.get("args", ()))])
            programs += _of_server(text, str(entry.get("cwd") or ""), tuple(roots.split(":")))
    return ServerProgram(
        *(frozenset[str]().union(*(program[at] for program in programs)) for at in range(3))
    )


@cache  # each run asks twice
def _of_server(text: str, folder: str, roots: Sequence[str]) -> tuple[ServerProgram, ...]:
    return tuple(_started(text, folder, roots, set()))


def _started(
    text: str, folder: str, roots: Sequence[str], read: set[str]
) -> Iterator[ServerProgram]:
    """What a shell text in `folder` starts, and what its files start. Names in a wrapper, one of the files in `read`,
    count only after `exec` or at the end: others are its tools."""
    commands = [*simple_commands(text)]
    of_all = [command for command in commands if not _OF_SHELL.fullmatch(command[0])]
    own = [command for command in of_all if not _is_general(command)] or of_all
    for command in commands:
        if command[0] == "cd" and not command[-1].startswith("$"):
            folder = os.path.join(folder, command[-1])
        if command in own:
            program = _program(command, folder, roots)
            is_tool = (
                bool(read)
                and command != own[-1]
                and not re.search(rf"\bexec .*{re.escape(command[0])}", text)
            )
            yield program._replace(names=frozenset()) if is_tool else program
            for file in sorted(filter(os.path.isfile, program.paths)):
                yield from _from_file(
                    file, bool(_SHELL.fullmatch(os.path.basename(command[0]))), roots, read
                )


def _from_file(
    file: str, is_shell: bool, roots: Sequence[str], read: set[str]
) -> Iterator[ServerProgram]:
    """What a script names: files beside it, and programs that it only starts."""
    if file in read or len(read) >= MOST_FILES or re.search(r"-packages/|node_modules/", file):
        return
    read.add(file)
    text = _text(file)
    if is_shell or re.match(r"#!.*\b(ba|da|z|k)?sh\b", text):
        yield from _started(text, os.path.dirname(file), roots, read)
    elif not _READS.search(text):
        names = filter(shutil.which, re.findall(_STARTS + r"([\w.+-]+)['\"]", text))
        yield from (_program([name], "", roots) for name in names if not _is_general([name]))
    beside = frozenset(filter(_can_be_hidden, _beside(file, text)))
    yield ServerProgram(frozenset(), beside, frozenset())
    for path in sorted(filter(os.path.isfile, beside)):
        yield from _from_file(path, path.endswith("sh"), roots, read)


def _text(file: str) -> str:
    """The text of a small script; "" for other files."""
    with suppress(OSError, ValueError):
        return Path(file).read_text(encoding="utf-8") if os.path.getsize(file) < MOST_BYTES else ""
    return ""


def _beside(file: str, text: str) -> Iterator[str]:
    """The files in a script's folder that its text names, and scripts elsewhere."""
    folder, named = os.path.dirname(file), set(_NAMED.findall(text))
    yield from (f"/{name}" for way, name in named if way == "/" and _FILE.search(name))
    stems = {
        os.path.join(way.lstrip("/"), name)
        for way, name in named
        if way or "." in name or "/" in name
    }
    stems |= (
        {name.partition(".")[0] for name in _IMPORTED.findall(text)}
        if file.endswith(".py")
        else set()
    )
    for path in (os.path.normpath(os.path.join(folder, stem)) for stem in stems):
        ends = (end for end in _MODULE_ENDS if os.path.isfile(path + end))
        yield from (path + end.removesuffix("/__init__.py") for end in ends)


def _is_general(command: Sequence[str]) -> bool:
    """True for the system's programs and preparations."""
    name, folder = os.path.basename(command[0]), os.path.dirname(shutil.which(command[0]) or "")
    is_other = not _PREPARES.isdisjoint((name, *command[1:4]))
    return is_other or (
        folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin") and not _SHARED.fullmatch(name)
    )


def _program(command: Sequence[str], folder: str, roots: Sequence[str]) -> ServerProgram:
    """What a command in `folder` runs; "" is the workspace, whose files get names such as `./x`."""
    name, program = os.path.basename(command[0]), os.path.join(folder, command[0])
    program = program if folder and os.path.isfile(program) else shutil.which(command[0]) or ""
    names, paths, modules = set[str](), set[str](), set[str]()
    files = {path for word in command[1:] if _FILE.search(path := os.path.join(folder, word))}
    if _LAUNCHER.fullmatch(name):
        paths = {*_packages(command)} or {folder if command[1:] else ""}
        names = {path for path in paths if path and not path.startswith((".", "/"))}
        names |= {path.rpartition("/")[2] for path in names if name == "go"}
        names = set() if any(map(os.path.isabs, files)) else names
        places = [
            Path(program).parent.parent,
            Path(os.path.realpath(program)).parent.parent.parent.parent,
        ]
        paths |= {
            str(place / "lib/node_modules" / package) for place in places for package in names
        }
        paths |= {at for package in names if (at := shutil.which(package))}
    elif command[0].startswith("./") and not os.path.isabs(program):
        files.add(command[0])
    elif not _SHARED.fullmatch(name) and not any(map(os.path.isabs, files)):
        names, paths = {name}, {program}
    elif name.startswith(("python", "pypy")) and (found := _MODULE.match(" ".join(command[1:]))):
        is_ours = found[1].startswith((f"{PACKAGE.name}.", f"{PACKAGE.name}_"))
        modules = {
            found[1] if is_ours else found[1].partition(".")[0]
        }  # all of a package is the server's
        modules -= sys.stdlib_module_names
    names |= {f"./{os.path.normpath(path)}" for path in files if not os.path.isabs(path)}
    paths |= {
        path
        for path in (*files, *(command[1:] if _SHARED.fullmatch(name) else ()))
        if os.path.isabs(path)
    }
    modules |= {
        module
        for path in paths
        if os.path.dirname(path).endswith("bin")
        for module in _module_of_script(path)
    }
    paths |= {os.path.realpath(path) for path in paths if os.path.exists(path)}
    paths |= {match[0] for path in paths if (match := _JS_PACKAGE.match(path))}
    paths |= {path for module in modules for path in _module_paths(module, program, roots)}
    return ServerProgram(
        frozenset(names), frozenset(filter(_can_be_hidden, paths)), frozenset(modules)
    )


def _can_be_hidden(path: str) -> bool:
    is_shared = os.path.isfile(path) and _SHARED.fullmatch(os.path.basename(path))
    return (
        os.path.exists(path)
        and not is_shared
        and path.count("/") > 1
        and not PACKAGE.is_relative_to(path)
    )


def _packages(command: Sequence[str]) -> Iterator[str]:
    """The packages that a launcher's command names, without versions, and their folders."""
    is_named = False
    for before, word in pairwise((os.path.basename(command[0]), *command[1:])):
        option, _, value = word.partition("=")
        is_fetched = _FETCHES.fullmatch(f"{before} {word}")
        is_named = is_named or bool(is_fetched or _FETCHES.fullmatch(before))
        if (option == "--package" and value) or before in _NAMING:
            yield _bare(value if option == "--package" else word)
        elif is_named and not is_fetched and not word.startswith("-"):
            yield _bare(word)
            return


def _bare(package: str) -> str:
    return re.split(r"(?<!^)@|[=<>\[]", re.sub("^(npm|jsr):/?", "", package))[0]


def _module_of_script(path: str) -> list[str]:
    """The package that a console script of Python imports."""
    head = _text(path)[:2000]
    names = (
        re.findall(r"(?m)^from (\w+)[\w.]* import", head)
        if "sys.exit(" in head and head.startswith("#!")
        else []
    )
    return [name for name in names if name != PACKAGE.name]


def _module_paths(module: str, program: str, roots: Sequence[str]) -> Iterator[str]:
    """The folders or files of a module."""
    own = Path(program).parent.parent.glob("lib*/python*/*-packages") if program else ()
    for root in (*own, *map(Path, filter(None, (*roots, *sys.path)))):
        place = root.joinpath(*module.split("."))
        yield from filter(os.path.exists, (str(place), f"{place}.py"))


def program_calls(
    transcript: Iterable[str], program: ServerProgram, tree: Path | None = None
) -> list[str]:
    """The calls in a transcript that run the programs by a shell command, each on one line. Modules with a name that
    the repository `tree` has are its own."""
    return [
        step.line
        for step in own_calls(transcript)
        if not (len(step.got) < 400 and _MISSING.search(step.got))
        and _any_runs(*_command(step.given), program, tree)
    ]


def _any_runs(command: str, place: str, program: ServerProgram, tree: Path | None) -> bool:
    seeing = _Seeing(program, tree, place, [])
    for words in simple_commands(command):
        if seeing.runs(words):
            return True
        if words[0] == "cd":
            seeing = seeing._replace(place=os.path.join(seeing.place, *words[1:2]))
        if words[0] == "=":
            seeing.roots.extend(":".join(words[1:]).split(":"))
    return False


def _command(arguments: str) -> tuple[str, str]:
    """The shell command among a call's arguments, "" when there is none, and its folder."""
    value, place = arguments, ""
    with suppress(ValueError):
        value = json.loads(arguments)
    if isinstance(value, dict):
        place = next((str(value[key]) for key in _PLACE_KEYS if value.get(key)), "")
        value = next((value[key] for key in _COMMAND_KEYS if key in value), "")
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value), place


def simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each command in a shell command; of the command in `sh -c` too."""
    text = re.sub(r"(?m)^[ \t]*#.*|\\\n", " ", text[:MOST_READ])  # a comment may have a quote
    text = re.sub(r"`([^`]*)`", r"$(\1)", _LOOK_UP.sub(r"/\1", text)).replace("$'", "'")
    text = _HERE_DOCUMENT.sub(
        lambda match: f" -c {shlex.quote(match[4])}{match[3]}", text
    )  # may be code
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    words: list[str] = []
    with suppress(ValueError):  # an open quote: the rest is not read
        for token in lexer:
            if _ENDS.fullmatch(token):
                yield from _unwrapped(words)
                words = []
            elif not set(token) <= set("<>&"):
                words.append(token)
                for inner in re.findall(r"\$\(([^()]*)\)", token):
                    yield from simple_commands(inner)
    yield from _unwrapped(words)


def _unwrapped(words: list[str]) -> Iterator[list[str]]:
    if words[:2] in (["command", "-v"], ["command", "-V"]):
        return
    if values := [word.partition("=")[2] for word in words if re.match(r"\w+=", word)]:
        yield ["alias" if words[0] == "alias" else "=", *values]
    while words and _BEFORE.fullmatch(words[0]):
        words = words[
            2 if re.fullmatch("-[IugosCda]", words[0]) else 1 :
        ]  # xargs -I {}, sudo -u, env -C
    scripts = [at for at, word in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", word)]
    if words and scripts and _SHELL.fullmatch(os.path.basename(words[0])):
        yield from simple_commands(words[scripts[0] + 1])
    elif words:
        yield from _launched(words)
        yield from (
            words[at + 1 :]
            for at, word in enumerate(words[:99])
            if word in ("-exec", "-execdir") and words[at + 1 :]
        )


def _launched(words: list[str]) -> Iterator[list[str]]:
    """The command that a launcher runs, and what `uv run` and its like start."""
    name, rest = os.path.basename(words[0]), words[1:]
    words = ["bunx", *rest[1:]] if (name, *rest[:1]) == ("bun", "x") else words
    yield words
    if re.fullmatch(_WITH_RUN, name) and "run" in rest and "tool" not in rest:
        while rest and re.match("run$|-(?!m)", rest[0]):
            rest = rest[2 if _WITH_VALUE.fullmatch(rest[0]) else 1 :]
        yield from _unwrapped(
            ["python", *rest] if re.match(r"-m|.*\.py$", " ".join(rest[:1])) else rest
        )


class _Seeing(NamedTuple):
    """Sees whether a command runs the program."""

    program: ServerProgram
    tree: Path | None
    place: str
    roots: list[str]
    """Folders in which its modules lie."""

    def runs(self, words: Sequence[str]) -> bool:
        name, rest, names = os.path.basename(words[0]), words[1:], self.program.names
        file = words[0] if "/" in words[0] else shutil.which(words[0]) or words[0]
        named = (
            " ".join(words).split() if _HANDS_ON.fullmatch(name) else words[: "/" not in words[0]]
        )
        if not names.isdisjoint(named) or self._is_of(file):
            return True
        is_launcher = _LAUNCHER.fullmatch(name)
        if is_launcher and "install" not in rest and not names.isdisjoint(_packages(words)):
            return True
        if name == "cat" or not _SHARED.fullmatch(name):
            return False
        files = [*rest, "."] if is_launcher and rest else rest
        if any(self._is_of(word + end) for word in files for end in ("", ".js")):
            return True
        for option, value in (*pairwise(rest), *((word[:2], word[2:]) for word in rest)):
            if re.fullmatch(r"-\w*m", option) and self._imports(value, ""):
                return True
            if re.fullmatch(r"-\w*[cep]|--eval|eval", option) and self._is_code(value):
                return True
        return False

    def _is_of(self, word: str) -> bool:
        """True when a word is the path of one of the program's files, or a link or copy of it."""
        names, paths, place = self.program.names, self.program.paths, self.place
        word = os.path.expanduser(word.replace("$HOME", "~"))
        file = os.path.normpath(os.path.join(place, word))
        is_outside = file.startswith(("/", "../", "~", "$")) and "/repo/" not in file
        known = {*names, *map(os.path.basename, paths)} if file.startswith("../") else names
        is_named = is_outside and os.path.basename(file) in known
        _, is_installed, own = word.rpartition("node_modules/.bin/")
        is_named |= bool(is_installed) and any(f"/{name}".endswith(f"/{own}") for name in names)
        if (
            is_named
            or f"./{file}" in names
            or any(f"{file}/".startswith(f"{path}/") for path in paths)
        ):
            return True
        files = paths if is_outside and os.path.isfile(word) else ()
        alike = (
            path
            for path in files
            if os.path.isfile(path) and os.path.getsize(path) == os.path.getsize(word)
        )
        return any(Path(path).read_bytes() == Path(word).read_bytes() for path in alike)

    def _is_code(self, text: str) -> bool:
        """True when code imports the program's modules, or starts it."""
        every = "|".join(map(re.escape, sorted(frozenset().union(*self.program)))) or r"\b\B"
        if re.search(rf"{_STARTS}(?:{every})(?![\w.-])", text):
            return True
        return any(self._imports(name, text) for name in {*_IMPORTED.findall(text)})

    def _imports(self, module: str, text: str) -> bool:
        """True when a module in code, or after `-m`, is one of the program's."""
        ways = (self.place, *self.roots, *_ROOT.findall(text))
        path = module if "/" in module else module.replace(".", "/")
        if any(self._is_of(os.path.join(way, path + end)) for way in ways for end in _MODULE_ENDS):
            return True
        if self.tree and module.partition(".")[0] in _stems(self.tree):
            return False
        stems = {
            Path(path).stem for path in self.program.paths if self.tree
        } - sys.stdlib_module_names
        return module in stems or any(
            f"{module}.".startswith(f"{own}.") for own in self.program.modules
        )


@cache
def _stems(tree: Path) -> frozenset[str]:
    """The names in a repository, without endings."""
    return frozenset(
        Path(name).stem for _, folders, files in os.walk(tree) for name in (*folders, *files)
    )
