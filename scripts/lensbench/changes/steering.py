"""Files that determine how tests run rather than what the program does: changes to them are not applied.

Skipped in an agent's patch: files that the hidden tests replace, files in the same test folder, and configuration of a
test runner or an interpreter. The pinned tree's files are used instead. A task that needs a different file includes it
in its hidden files; the same rule applies to its reference.
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
"""Lower case."""
_FORMS = re.compile(
    r"(jest|vitest|vite|babel|ava|karma|mocha|playwright|tsup|rollup|webpack|nyc|c8)([.-][\w.-]*)?\.(config|conf|setup"
    r"|workspace|preset|projects)?\.?(js|cjs|mjs|ts|cts|mts|json|ya?ml)"
    r"|\.(mocharc|babelrc|nycrc|c8rc|taprc|eslintrc)(\.\w+)?|tsconfig([.-][\w.-]*)?\.json|.*\.(pth|egg-link|egg)"
)
_FOLDERS = frozenset(("node_modules", "__mocks__", "__snapshots__", ".cargo", ".venv", ".github", ".git"))
_MODULES = frozenset(("pytest", "_pytest", "pluggy", "unittest", "iniconfig", "_pytest_runner", "doctest", "py"))
"""Modules of the test runner: files of these names at the top of the repository would replace them."""
_TEST_FOLDERS = frozenset(("test", "tests", "__tests__", "spec", "specs", "testing_tests"))


def steering(paths: Iterable[str], hidden: Iterable[str]) -> list[str]:
    """The skipped ones among the changed `paths`; `hidden` are the task's hidden files."""
    hidden = set(hidden)
    roots = {root for path in hidden if (root := _test_root(path))}
    return [path for path in paths if path in hidden or _steers(path) or any(_below(path, root) for root in roots)]


def _steers(path: str) -> bool:
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if not parts:
        return False
    name = parts[-1]
    at_top = parts[0].removesuffix(".py") in _MODULES
    installs = any(part.endswith((".dist-info", ".egg-info")) for part in parts)  # plugins by their entry points
    return name in _NAMES or bool(_FORMS.fullmatch(name)) or not _FOLDERS.isdisjoint(parts) or at_top or installs


def _test_root(path: str) -> str:
    """The outermost folder of a hidden file with the name of a test folder; "" when there is none."""
    parts = PurePosixPath(path).parts[:-1]
    for number, part in enumerate(parts, 1):
        if part.lower() in _TEST_FOLDERS:
            return "/".join(parts[:number])
    return ""


def _below(path: str, root: str) -> bool:
    """True also for a link in the place of the folder or one of its parents."""
    return path == root or path.startswith(f"{root}/") or root.startswith(f"{path}/")
