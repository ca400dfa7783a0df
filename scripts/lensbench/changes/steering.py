"""Files that decide how tests run, and not what the program does: a change of them earns nothing.

Of an agent's patch these are left out: what the hidden tests replace, what lies in the same test folder, and what
configures a test runner or an interpreter. The pinned tree's files stand there instead. A task that needs another one
brings it among its hidden files; its reference is judged by the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_NAMES = frozenset((
    "conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml",
    "tox.ini", "setup.cfg", "pyproject.toml", ".coveragerc", "pyvenv.cfg", "noxfile.py",
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", ".npmrc", ".yarnrc",
    ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".swcrc", "deno.json", "bunfig.toml", ".env",
    "makefile", "gnumakefile", "justfile", "go.mod", "go.sum", "go.work", "cargo.toml", "cargo.lock", "build.rs",
    ".gitattributes",
))  # fmt: skip
"""In lower case; wherever they lie."""
_FORMS = re.compile(
    r"(jest|vitest|vite|babel|ava|karma|mocha|playwright|tsup|rollup|webpack|nyc|c8)([.-][\w-]+)*\.(config|conf|setup"
    r"|workspace|preset|projects)?\.?(js|cjs|mjs|ts|cts|mts|json|ya?ml)"
    r"|\.(mocharc|babelrc|nycrc|c8rc|taprc|eslintrc)(\.\w+)?|tsconfig([.-][\w-]+)*\.json|.*\.pth|.*\.egg-link"
)
_FOLDERS = frozenset(("node_modules", "__mocks__", "__snapshots__", ".cargo", ".venv", ".github", ".git"))
_MODULES = frozenset(("pytest", "_pytest", "pluggy", "unittest", "iniconfig", "_pytest_runner", "doctest", "py"))
"""Modules of the test runner: at the top of the repository they would stand in its place."""
_TEST_FOLDERS = frozenset(("test", "tests", "__tests__", "spec", "specs", "testing_tests"))


def steering(paths: Iterable[str], hidden: Iterable[str]) -> list[str]:
    """Those of the changed `paths` that are left out when `hidden` are the task's hidden files."""
    hidden = set(hidden)
    roots = {root for path in hidden if (root := _test_root(path))}
    return [path for path in paths if path in hidden or _steers(path) or any(_below(path, root) for root in roots)]


def _steers(path: str) -> bool:
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if not parts:
        return False
    name = parts[-1]
    at_top = parts[0].removesuffix(".py") in _MODULES
    return name in _NAMES or bool(_FORMS.fullmatch(name)) or not _FOLDERS.isdisjoint(parts) or at_top


def _test_root(path: str) -> str:
    """The outermost folder of a hidden file that is called as folders of tests are; "" when there is none."""
    parts = PurePosixPath(path).parts[:-1]
    for number, part in enumerate(parts, 1):
        if part.lower() in _TEST_FOLDERS:
            return "/".join(parts[:number])
    return ""


def _below(path: str, root: str) -> bool:
    """A link in place of the folder, or of one above it, counts too."""
    return path == root or path.startswith(f"{root}/") or root.startswith(f"{path}/")
