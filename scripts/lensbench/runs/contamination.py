"""Finds what a run had of the servers that only other conditions have: commands that run their programs, and calls to
their addresses, in its transcript. In the sandbox these programs are hidden, and a network of its own reaches no such
address; without one, or installed on the way by `npx` or `uvx`, they show here. A search for a name or address is none.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lensbench.agents.reach import Host, hosts_in
from lensbench.agents.timeline import own_calls
from lensbench.core.conditions import filled, mcp_servers
from lensbench.core.frozen_plan import Plan, PlannedCondition
from lensbench.core.system.places import PACKAGE

_INTERPRETER = re.compile(
    r"(python|pypy)[\d.]*|node(js)?|deno|bun|(ba|da|z|k)?sh|env|ruby|perl|php|java|dotnet|go|busybox|coreutils"
    r"|docker|podman|true|false|cat|source|\.|cp|ln|mv|install|alias|="
)
"""Programs that belong to no server: they are never hidden, and starting them means nothing."""
_LAUNCHER = re.compile(r"npx|npm|pnpm|yarn|bunx|uvx|uv|pipx")
"""Programs that run a package by its name."""
_SHELL = re.compile(r"(ba|da|z|k)?sh|su|script")
_BEFORE = re.compile(
    r"\w+=.*|-.*|[\d.]+[smhd]?|then|do|else|if|while|!|\{|(/.*/)?(env|sudo|exec|nohup|time|timeout|nice|xargs|command"
    r"|setsid|stdbuf|strace|parallel|busybox)"
)
_HANDS_ON = re.compile(r"alias|eval|trap|watch|unshare|chroot|flock|tmux")
_WITH_VALUE = re.compile(r"-p|--(directory|project|python|extra|group|package|env-file|with.*|(default-)?index)")
_ENDS = re.compile(r"&+|(?=[&<>]*[;|()\n])[;&|()<>\n]+")
_OF_SHELL = re.compile(r"cd|export|set|unset|ulimit|umask|trap|wait|exit|echo|test|\[|=|alias|:")
_NAMING = ("--package", "-p", "--from", "--with", "--directory", "--project")
"""Options with a package or its folder."""
_MODULE = re.compile(r"(?:-(?!m)\S+ (?:[^-/.]\w* )?)*-m ?(\S+)")
_SYSTEM = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_JS_PACKAGE = re.compile(r".*/node_modules/(@[^/]+/)?[^/.][^/]*")
_MISSING = re.compile(r"not found|No such file|No module named|Cannot find module|[Pp]ermission denied")
"""What is said of a program that is not there, as in the sandbox."""
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*)\n((?:.*\n)*?)\s*\2\b")
_LOOK_UP = re.compile(r"(?:\$\(|`)\s*(?:which|type -p|command -v|readlink -f|realpath)\s+([^\s()`]+)\s*[)`]")
"""What stands for the path of a program."""
_STARTS = r"\b(?:\w*import\w*|require|run\w*|from|system|popen|call|check_\w+|exec\w*|spawn\w*)\s*\(?\s*\[?\s*['\"]"
"""What code has before the name of a module or program that it runs."""
_COMMAND_KEYS = ("command", "cmd", "script")
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
    return ServerProgram(*(theirs - ours for theirs, ours in zip(_programs(others), own, strict=True)))


def _programs(conditions: Iterable[PlannedCondition]) -> ServerProgram:
    programs = []
    for file, servers in mcp_servers(conditions):
        values = {**os.environ, "here": str(Path(file).resolve().parent), "python": sys.executable}
        for entry in (entry for entry in filled(servers, values).values() if "command" in entry):
            roots = str(entry.get("env", {}).get("PYTHONPATH", "")).split(":")
            words = simple_commands(shlex.join([entry["command"], *map(str, entry.get("args", ()))]))
            commands = [command for command in words if not _OF_SHELL.fullmatch(command[0])]
            is_one = len(commands) == 1
            programs += [_program(command, roots) for command in commands if is_one or not _is_general(command[0])]
    return ServerProgram(*(frozenset[str]().union(*(program[at] for program in programs)) for at in range(3)))


def _is_general(program: str) -> bool:
    """True for a program of the system, such as `tee`."""
    name, folder = os.path.basename(program), os.path.dirname(shutil.which(program) or "")
    return folder in _SYSTEM and not (_INTERPRETER.fullmatch(name) or _LAUNCHER.fullmatch(name))


def _program(command: Sequence[str], roots: Sequence[str]) -> ServerProgram:
    name, program = os.path.basename(command[0]), shutil.which(command[0]) or ""
    names, paths, modules = set[str](), set[str](), set[str]()
    if _LAUNCHER.fullmatch(name):
        names |= {package for package in _packages(command) if package.strip("./")}
        places = [Path(program).parent.parent, Path(os.path.realpath(program)).parent.parent.parent.parent]
        paths |= {str(place / "lib/node_modules" / package) for place in places for package in names}
        paths |= {at for package in names if (at := shutil.which(package))}
    elif not _INTERPRETER.fullmatch(name):
        names.add(name)
        paths.add(program)
    elif name.startswith(("python", "pypy")) and (found := _MODULE.match(" ".join(command[1:]))):
        is_ours = found[1].startswith((f"{PACKAGE.name}.", f"{PACKAGE.name}_"))
        modules.add(found[1] if is_ours else found[1].partition(".")[0])  # all of a package is the server's
    else:
        paths |= {path for path in command[1:] if os.path.isabs(path)}
    modules |= {module for path in paths if os.path.dirname(path).endswith("bin") for module in _module_of_script(path)}
    paths |= {os.path.realpath(path) for path in paths if os.path.exists(path)}
    paths |= {match[0] for path in paths if (match := _JS_PACKAGE.match(path))}
    paths |= {path for module in modules for path in _module_paths(module, program, roots)}
    return ServerProgram(frozenset(names), frozenset(filter(_can_be_hidden, paths)), frozenset(modules))


def _can_be_hidden(path: str) -> bool:
    is_shared = _INTERPRETER.fullmatch(os.path.basename(path)) or PACKAGE.is_relative_to(path)
    return os.path.exists(path) and not is_shared and path.count("/") > 1


def _packages(command: Sequence[str]) -> Iterator[str]:
    """The packages that a launcher's command names, without versions."""
    is_named = "uv" not in command[0] or "run" not in command or "tool" in command
    for before, word in pairwise(command):
        option, _, value = word.partition("=")
        name = value if option == "--package" else word
        if (option == "--package" and value) or before in _NAMING:
            yield _bare(name)
        elif is_named and not word.startswith("-") and word not in ("exec", "x", "dlx", "run", "tool"):
            is_named = False
            yield _bare(name)


def _bare(package: str) -> str:
    return re.split(r"(?<!^)@|[=<>\[]", package)[0]


def _module_of_script(path: str) -> list[str]:
    """The package that a console script of Python imports."""
    with suppress(OSError, ValueError):
        head = Path(path).read_text(encoding="utf-8")[:2000] if os.path.getsize(path) < 1 << 16 else ""
        if "sys.exit(" in head and head.startswith("#!"):
            return [name for name in re.findall(r"(?m)^from (\w+)[\w.]* import", head) if name != PACKAGE.name]
    return []


def _module_paths(module: str, program: str, roots: Sequence[str]) -> Iterator[str]:
    """The folders or files of a module."""
    own = Path(program).parent.parent.glob("lib*/python*/*-packages") if program else ()
    for root in (*own, *map(Path, filter(None, (*roots, *sys.path)))):
        place = root.joinpath(*module.split("."))
        yield from (str(path) for path in (place, place.with_name(f"{place.name}.py")) if path.exists())


def program_calls(transcript: Iterable[str], program: ServerProgram) -> list[str]:
    """The calls in a transcript that run the programs by a shell command, each shortened to one line."""
    return [
        step.line
        for step in own_calls(transcript)
        if not (len(step.got) < 400 and _MISSING.search(step.got)) and _any_runs(_command(step.given), program)
    ]


def _any_runs(command: str, program: ServerProgram) -> bool:
    place = ""
    for words in simple_commands(command):
        if _runs(words, program, place):
            return True
        place = os.path.join(place, *words[1:2]) if words[0] == "cd" else place
    return False


def _command(arguments: str) -> str:
    """The shell command among a call's arguments; "" when there is none."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    if isinstance(value, dict):
        value = next((value[key] for key in _COMMAND_KEYS if key in value), "")
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


def simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each command in a shell command; of the command in `sh -c` too."""
    text = re.sub(r"(?m)^[ \t]*#.*|\\\n", " ", text[:MOST_READ])  # a comment may have a quote
    text = re.sub(r"`([^`]*)`", r"$(\1)", _LOOK_UP.sub(r"/\1", text)).replace("$'", "'")
    text = _HERE_DOCUMENT.sub(lambda match: f" -c {shlex.quote(match[4])}{match[3]}", text)  # may be code
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
        words = words[2 if re.fullmatch("-[IugosCda]", words[0]) else 1 :]  # xargs -I {}, sudo -u, env -C
    scripts = [at for at, word in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", word)]
    if words and scripts and _SHELL.fullmatch(os.path.basename(words[0])):
        yield from simple_commands(words[scripts[0] + 1])
    elif words:
        yield from _launched(words)
        yield from (
            words[at + 1 :] for at, word in enumerate(words[:99]) if word in ("-exec", "-execdir") and words[at + 1 :]
        )


def _launched(words: list[str]) -> Iterator[list[str]]:
    """The command that a launcher runs, and what `uv run` starts."""
    name, rest = os.path.basename(words[0]), words[1:]
    words = ["bunx", *rest[1:]] if (name, *rest[:1]) == ("bun", "x") else words
    yield words
    if name == "uv" and "run" in rest and "tool" not in rest:
        while rest and re.match("run$|-(?!m)", rest[0]):
            rest = rest[2 if _WITH_VALUE.fullmatch(rest[0]) else 1 :]
        yield from _unwrapped(["python", *rest] if re.match(r"-m|.*\.py$", " ".join(rest[:1])) else rest)


def _runs(words: Sequence[str], program: ServerProgram, place: str) -> bool:
    """True when a command in the folder `place` runs the program."""
    name, rest = os.path.basename(words[0]), words[1:]
    file = words[0] if "/" in words[0] else shutil.which(words[0]) or words[0]
    named = " ".join(words).split() if _HANDS_ON.fullmatch(name) else words[:1]
    if not program.names.isdisjoint(named) or _is_of(file, program, place):
        return True
    if _LAUNCHER.fullmatch(name):
        return not program.names.isdisjoint(_packages(words)) and "install" not in rest
    if name == "cat" or not _INTERPRETER.fullmatch(name):
        return False
    if any(_is_of(word, program, place) for word in rest):
        return True
    for option, value in (*pairwise(rest), *((word[:2], word[2:]) for word in rest)):
        if re.fullmatch(r"-\w*m", option) and any(f"{value}.".startswith(f"{module}.") for module in program.modules):
            return True
        if re.fullmatch(r"-\w*[cep]|--eval", option) and _is_code(value, program):
            return True
    return False


def _is_of(word: str, program: ServerProgram, place: str) -> bool:
    """True when a word is the path of one of the program's files, or a link or copy of it."""
    file = os.path.normpath(os.path.join(place, word))
    is_outside = word.startswith(("/", "~", "$")) and "/repo/" not in word
    is_named = is_outside and os.path.basename(word) in program.names
    _, is_installed, own = word.rpartition("node_modules/.bin/")
    is_named |= bool(is_installed) and any(f"/{name}".endswith(f"/{own}") for name in program.names)
    if is_named or any(f"{file}/".startswith(f"{path}/") for path in program.paths):
        return True
    files = program.paths if is_outside and os.path.isfile(word) else ()
    alike = (path for path in files if os.path.isfile(path) and os.path.getsize(path) == os.path.getsize(word))
    return any(Path(path).read_bytes() == Path(word).read_bytes() for path in alike)


def _is_code(text: str, program: ServerProgram) -> bool:
    """True when code imports the program's modules, or starts it."""
    modules, every = (
        "|".join(map(re.escape, sorted(names))) or r"\b\B" for names in (program.modules, frozenset().union(*program))
    )
    listing = rf"\b(?:import|from)\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*(?:{modules})\b"
    return bool(re.search(rf"{listing}|{_STARTS}(?:{every})(?![\w-])", text))


_CONNECTS = re.compile(
    r"(?i)\b(curl|wget|nc|ncat|netcat|telnet|socat|xh|httpie|urllib3?|urlopen|requests|httpx|aiohttp|websockets?"
    r"|http\.client|httplib|net/http|socket|create_?connection|streamablehttp_client|sse_client"
    r"|(web_?)?fetch|browse\w*|navigate|lwp|faraday|axios|invoke-webrequest|mcp-remote)\b|/dev/(tcp|udp)/|web_?fetch"
)
"""Names of programs and libraries that open connections, and of tools that fetch URLs."""
_INTERPRETERS = re.compile(r"\b(python[\d.]*|node|deno|bun|npx|uvx|perl|ruby|php|ssh|go run|https?)\b")
"""Programs that may open a connection if an address is among their arguments."""
_LOCAL = (
    r"(?:localhost|127(?:\.\d+){1,3}|0\.0\.0\.0|\[?::1\]?|\[?::ffff:127[\d.]*\]?|host\.docker\.internal|ip6-localhost)"
)
_COMMON_PORTS = (80, 443)
"""Port numbers that are too common to match without a host."""
_SEARCHES = re.compile(r"\s*(?:rg|grep|egrep|fgrep|ag|git\s+(?:grep|log|show|diff)|cat|sed|awk|find|head|tail|echo)\b")
_PARTS = re.compile(r"&&|\|\||[;\n]")


def foreign_hosts(plan: Plan, condition: str) -> list[Host]:
    """The addresses of servers that only other conditions have, from their MCP files."""
    own = set(_hosts(plan["conditions"][condition]))
    others = (host for name, other in plan["conditions"].items() if name != condition for host in _hosts(other))
    return [host for host in dict.fromkeys(others) if host not in own]


def _hosts(condition: PlannedCondition) -> list[Host]:
    return hosts_in(json.dumps(filled(servers, os.environ)) for _, servers in mcp_servers([condition]))


def direct_calls(transcript: Iterable[str], hosts: Collection[Host]) -> list[str]:
    """The calls in a transcript to one of `hosts`, each shortened to one line."""
    patterns = [(_address(host), _port(host)) for host in hosts]

    def goes_out(call: str) -> bool:
        connects = _CONNECTS.search(call)
        may_connect = connects or _INTERPRETERS.search(call)
        return any(
            (may_connect and at.search(call)) or (connects and port and port.search(call)) for at, port in patterns
        )

    steps = own_calls(transcript)
    return [step.line for step in steps if goes_out(f"{step.title} {_without_searches(step.given)}")]


def _without_searches(arguments: str) -> str:
    """The arguments, without parts of a shell command that only search or print text."""
    with suppress(ValueError, AttributeError):
        arguments = "\n".join(value for value in json.loads(arguments).values() if isinstance(value, str))
    return "\n".join(part for part in _PARTS.split(arguments) if not _SEARCHES.match(part))


def _address(host: Host) -> re.Pattern[str]:
    """A pattern for the host with its port: `name:port`, or the name alone if the port is implied or separate."""
    if not host.is_local:
        return re.compile(rf"(?i)(?<![\w.-]){re.escape(host.name)}(?![\w-]|\.\w)")
    port = rf"(?::|\W{{1,4}}){host.port}(?!\d)"
    return re.compile(rf"(?i)(?<![\w.-]){_LOCAL}(?:{port}" + (r"|(?![\w:.-]))" if host.port in _COMMON_PORTS else ")"))


def _port(host: Host) -> re.Pattern[str] | None:
    """A pattern for the port alone, for a server on this machine, which has too many names to list."""
    if not host.is_local or host.port in _COMMON_PORTS:
        return None
    return re.compile(rf"(?<![\d.]){host.port}(?![\d.]*\d)")
