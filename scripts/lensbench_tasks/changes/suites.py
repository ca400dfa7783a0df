"""The test suite of a project: environment, command, and place of its report."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from lensbench.changes.task import JUNIT, NODE, PRINTED, PYTEST, REPORT_PLACE
from lensbench.core.errors import UserError
from lensbench_tasks.changes.kinds import is_program

_EXTRAS = ("test", "tests", "testing", "testutils")
_FOR_TESTS = re.compile(
    r"(requirements/|tests?/)?(tests?|testing)?[-_.]?(requirements)?([-_.]?(tests?|testing)([-_.]min)?)?\.txt"
)
_FOR_ALL = ("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements/dev.txt")
_BY_GIT = re.compile(r"setuptools[-_]scm|hatch-vcs|flit[-_]scm|versioningit|\bpbr\b|pdm\.version")
"""Builds that take the version from git's tags, which a pinned tree does not have."""
_PRETENDED = "SETUPTOOLS_SCM_PRETEND_VERSION={0} PBR_VERSION={0} PDM_BUILD_SCM_VERSION={0} "
_MARGIN = timedelta(days=7)
_BY_NODE = ("**/test/**/*.js", "**/test/**/*.mjs", "**/test/**/*.cjs")
"""The files that `node --test` runs by default, besides those with a test's name."""
_NODE_TEST = re.compile(r"\bnode((?: -[\w-]+(?:=\S+)?){0,20}?) --test\b")
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

    environments: tuple[tuple[str, ...], ...]
    """What installs the tests' dependencies: the first is tried first."""
    command: tuple[str, ...]
    report: str
    globs: tuple[str, ...] = ()
    """The files that the project's own command runs, besides those with a test's name."""
    labels: str = ""
    """The folder below which a test file is named as a module, as Django's runner wants."""

    def starts(self, path: str) -> bool:
        """True when the runner starts the test file at `path`; False for helpers and data."""
        return is_program(path) or any(_regex(glob).fullmatch(path) for glob in self.globs)

    def argument(self, path: str) -> str:
        """The word of the command for the test file at `path`."""
        return path.removeprefix(self.labels).removesuffix(".py").replace("/", ".") if self.labels else path


class Moment(NamedTuple):
    """The time and the version of a project's tree, as far as they are known."""

    version: str = "0"
    date: datetime | None = None


UNKNOWN_MOMENT = Moment()


def suite_of(tree: Path, environment: Sequence[str], command: str, moment: Moment = UNKNOWN_MOMENT) -> Suite:
    """The suite of the project in `tree`; the arguments override its own files.

    Raises UserError when the command cannot be derived from the project.
    """
    is_python = any((tree / name).is_file() for name in _CONFIGS)
    has_node = (tree / "package.json").is_file()
    if has_node and (not is_python or re.search(r"\b(vitest|borp)\b| --test\b", _scripts(tree))):
        found = _node(tree, command)
    elif is_python:
        found = _python(tree, moment)
    elif command:
        found = Suite(((),), (), "")
    else:
        raise UserError("the project has neither pyproject.toml, setup.py nor package.json; give --command")
    if command:
        words = tuple(shlex.split(command))
        report = JUNIT if REPORT_PLACE in command else NODE if "--test" in words else PYTEST
        found = found._replace(command=words, report=report)
    return found._replace(environments=(tuple(environment),)) if environment else found


def _python(tree: Path, moment: Moment) -> Suite:
    environments = tuple(_environments(tree, moment))
    if (tree / "tests" / "runtests.py").is_file():
        options = ("--verbosity", "2", "--settings=test_sqlite", "--parallel", "1")
        return Suite(environments, ("python", "tests/runtests.py", *options), PRINTED, labels="tests/")
    if (tree / "bin" / "test").is_file():
        return Suite(environments, ("python", "bin/test", "-C", "--verbose"), PRINTED)
    command = ("python", "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", *_own_plugins(tree))
    return Suite(environments, command, PYTEST)


def _own_plugins(tree: Path) -> Iterator[str]:
    """The plugins that the project's own options load; the other options are not used."""
    for name in ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"):
        text = (tree / name).read_text("utf-8", "replace") if (tree / name).is_file() else ""
        for options in re.findall(r"(?m)^addopts\s*=(.*\n(?:[ \t]+.*\n)*)", text):
            yield from (word for name in re.findall(r"-p[\"',\s]+(?!no:)([\w.]+)", options) for word in ("-p", name))


def _environments(tree: Path, moment: Moment) -> Iterator[tuple[str, ...]]:
    """With the packages of a week after the tree's date; with the newest; with no more than the tests' extras."""
    configs = [(tree / name).read_text("utf-8", "replace") for name in _CONFIGS if (tree / name).is_file()]
    known = {name for text in configs for name in (*_EXTRAS, "dev") if re.search(rf"\b{name}\b[\"']?\s*[:=]", text)}
    extras = ",".join(sorted(known - {"dev"} or known))
    project = shlex.quote(f".[{extras}]" if extras else ".")
    files = [path.relative_to(tree).as_posix() for path in sorted((*tree.glob("*.txt"), *tree.glob("*/*.txt")))]
    files = [path for path in files if _FOR_TESTS.fullmatch(path) and re.search("test", path)]
    files = files or [path for path in _FOR_ALL if (tree / path).is_file()][:1]
    own = " ".join(map(shlex.quote, ["pytest", *_tox(tree), *_group(tree)]))
    listed = " ".join([own, *(f"-r {path}" for path in files)])
    version = next((_PRETENDED.format(shlex.quote(moment.version)) for text in configs if _BY_GIT.search(text)), "")
    venv, pip = "python -m venv /env", f"{version}/env/bin/pip install -q"
    if moment.date:
        until = (moment.date + _MARGIN).strftime("%Y-%m-%dT%H:%M:%SZ")
        index = "PIP_INDEX_URL=$(/env/bin/pip config get global.index-url || echo https://pypi.org/simple)"
        dated = f"{version}PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= {index} PYTHONPATH=/tmp/pip /env/bin/python -m pip"
        yield (
            venv, "/env/bin/pip install -q --target /tmp/pip 'pip>=26'",
            f"{dated} install -q --uploaded-prior-to {until} {project} {listed}",  # folders know no time of upload
            f"{pip} --no-deps -e .",
        )  # fmt: skip
    yield venv, f"{pip} -e {project} {listed}"
    yield venv, f"{pip} -e {project} pytest"


_CONFIGS = ("pyproject.toml", "setup.cfg", "setup.py")


def _tox(tree: Path) -> Iterator[str]:
    """The requirements of tox's own environment, without those for some factors only."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(tree / "tox.ini", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return
    for line in parser.get("testenv", "deps", fallback="").splitlines():
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*(\[[\w,]+\])?\s*([<>=!~]=?[^#;{:]*)?", line.strip()):
            yield line.strip().replace(" ", "")


def _group(tree: Path) -> Iterator[str]:
    """The requirements of the dependency group for tests (PEP 735), with the groups that it includes."""
    try:
        groups = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8")).get("dependency-groups", {})
    except (OSError, ValueError):
        return
    names = [name for name in (*_EXTRAS, "dev") if name in groups][:1]
    for name in names:  # grows while it is walked
        for each in groups.get(name, ()):
            if isinstance(each, str):
                yield each
            elif isinstance(each, dict) and (included := str(each.get("include-group"))) not in names:
                names.append(included)


def _scripts(tree: Path) -> str:
    try:
        package = json.loads((tree / "package.json").read_bytes())
        return " ; ".join(str(each) for each in package.get("scripts", {}).values())
    except (ValueError, AttributeError) as error:
        raise UserError(f"package.json cannot be read ({error}); give --command and --environment") from None


def _node(tree: Path, command: str) -> Suite:
    scripts = _scripts(tree)
    environment = ("cp package.json /env/ && cd /env && npm install --ignore-scripts --no-audit --no-fund",)
    if command:
        return Suite((environment,), (), JUNIT)
    if re.search(r"\bvitest\b", scripts):
        return Suite((environment,), ("vitest", "run", "--reporter=junit", f"--outputFile={REPORT_PLACE}"), JUNIT)
    if (found := _NODE_TEST.search(scripts)) or re.search(r"\bborp\b", scripts):
        flags = found[1].split() if found else []
        return Suite((environment,), ("node", *flags, "--test"), NODE, _globs(scripts[found.end() :]) if found else ())
    other = next((name for name in _OTHER_RUNNERS if re.search(rf"\b{name}\b", scripts)), "no known runner")
    raise UserError(
        f"package.json: tests are run by {other}; give --command with a JUnit reporter that writes to {REPORT_PLACE}"
    )
