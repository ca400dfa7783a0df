"""The test suite of a project: environment, command, and place of its report."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.changes.task import JUNIT, NODE, PYTEST, REPORT_PLACE, is_node
from lensbench.core.errors import UserError
from lensbench_tasks.changes.kinds import is_program

_EXTRAS = ("test", "tests", "testing", "dev")
_REQUIREMENTS = ("requirements-test.txt", "test-requirements.txt", "requirements-dev.txt", "tests/requirements.txt")
_BY_NODE = ("**/test/**/*.js", "**/test/**/*.mjs", "**/test/**/*.cjs")
"""The files that `node --test` runs by default, besides those with a test's name."""
_NODE_TEST = re.compile(r"\bnode((?: --?[\w-]+(?:=\S+)?)*?) --test\b")
_OTHER_RUNNERS = ("jest", "mocha", "ava", "tape", "tap", "jasmine", "karma", "uvu", "qunit")


def _globs(rest: str) -> tuple[str, ...]:
    """The files after `--test` in a script, up to its next command; Node's defaults when there are none."""
    words = re.split(r"&&|\|\||[;|&]", rest)[0].split()
    named = [word.strip("'\"") for word in words if not word.startswith("-")]
    return tuple(each if re.search(r"[*.]", each) else f"{each.rstrip('/')}/**" for each in named) or _BY_NODE


def _regex(glob: str) -> re.Pattern[str]:
    """The regular expression of a glob with `*`, `**`, `?` and `{a,b}`."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    pieces = re.split(r"(\*\*/|\*\*|[*?{},])", glob.removeprefix("./"))
    return re.compile("".join(parts.get(piece) or re.escape(piece) for piece in pieces))


class Suite(NamedTuple):
    """How tests are run; the test files are appended to the command."""

    environment: tuple[str, ...]
    command: tuple[str, ...]
    report: str
    globs: tuple[str, ...] = ()
    """The files that the project's own command runs, besides those with a test's name."""

    def starts(self, path: str) -> bool:
        """True when the runner starts the test file at `path`; False for helpers and data."""
        return is_program(path) or any(_regex(glob).fullmatch(path) for glob in self.globs)


def suite_of(tree: Path, environment: Sequence[str], command: str) -> Suite:
    """The suite of the project in `tree`; the arguments override its own files.

    Raises UserError when the command cannot be derived from the project.
    """
    if (tree / "package.json").is_file():
        found = _node(tree, command)
    elif any((tree / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        found = _python(tree)
    elif command:
        found = Suite((), (), "")
    else:
        raise UserError("the project has neither pyproject.toml, setup.py nor package.json; give --command")
    if command:
        words = tuple(shlex.split(command))
        report = JUNIT if REPORT_PLACE in command else NODE if is_node(words) else PYTEST
        found = found._replace(command=words, report=report)
    return found._replace(environment=tuple(environment)) if environment else found


def _python(tree: Path) -> Suite:
    install = " ".join(map(shlex.quote, ["-e", f".{_extras(tree)}", "pytest", *_group(tree)]))
    files = [f"-r {name}" for name in _REQUIREMENTS if (tree / name).is_file()]
    environment = ("python -m venv /env", " ".join(["/env/bin/pip install -q", install, *files]))
    return Suite(environment, ("python", "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"), PYTEST)


def _pyproject(tree: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _extras(tree: Path) -> str:
    known = _pyproject(tree).get("project", {}).get("optional-dependencies", {})
    chosen = next((name for name in _EXTRAS if name in known), "")
    return f"[{chosen}]" if chosen else ""


def _group(tree: Path) -> Iterator[str]:
    """The requirements of the dependency group for tests (PEP 735), without included groups."""
    groups = _pyproject(tree).get("dependency-groups", {})
    chosen = next((name for name in _EXTRAS if name in groups), "")
    yield from (each for each in groups.get(chosen, ()) if isinstance(each, str))


def _node(tree: Path, command: str) -> Suite:
    try:
        package = json.loads((tree / "package.json").read_bytes())
        scripts = " ; ".join(str(each) for each in package.get("scripts", {}).values())
    except (ValueError, AttributeError) as error:
        raise UserError(f"package.json cannot be read ({error}); give --command and --environment") from None
    environment = ("cp package.json /env/ && cd /env && npm install --ignore-scripts --no-audit --no-fund",)
    if command:
        return Suite(environment, (), JUNIT)
    if re.search(r"\bvitest\b", scripts):
        return Suite(environment, ("vitest", "run", "--reporter=junit", f"--outputFile={REPORT_PLACE}"), JUNIT)
    if (found := _NODE_TEST.search(scripts)) or re.search(r"\bborp\b", scripts):
        flags = found[1].split() if found else []
        return Suite(environment, ("node", *flags, "--test"), NODE, _globs(scripts[found.end() :]) if found else ())
    other = next((name for name in _OTHER_RUNNERS if re.search(rf"\b{name}\b", scripts)), "no known runner")
    raise UserError(
        f"package.json: tests are run by {other}; give --command with a JUnit reporter that writes to {REPORT_PLACE}"
    )
