"""Files that determine how tests run rather than what the program does: changes to them are not applied.

The pinned tree's files are used instead (docs/changes.md lists them). A task that needs a different file includes it in
its hidden files; the same rule applies to its reference.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath

from lensbench.core.project_files import is_test_folder

_NAMES = frozenset(
    (
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        ".coveragerc",
        "pyvenv.cfg",
        "noxfile.py",
        "package.json",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        ".swcrc",
        "deno.json",
        "bunfig.toml",
        ".env",
        "makefile",
        "gnumakefile",
        "justfile",
        "go.mod",
        "go.sum",
        "go.work",
        "cargo.toml",
        "cargo.lock",
        "build.rs",
        "rust-toolchain",
        "rust-toolchain.toml",
        ".gitattributes",
    )
)
"""Lower case."""
_FORMS = re.compile(
    r"(jest|vitest|vite|babel|ava|karma|mocha|playwright|tsup|rollup|webpack|nyc|c8)([.-][\w.-]*)?\.(config|conf|setup"
    r"|workspace|preset|projects)?\.?(js|cjs|mjs|ts|cts|mts|json|ya?ml)"
    r"|\.(mocharc|babelrc|nycrc|c8rc|taprc|eslintrc)(\.\w+)?|tsconfig([.-][\w.-]*)?\.json|.*\.(pth|egg-link|egg)"
)
_FOLDERS = frozenset(
    ("node_modules", "__mocks__", "__snapshots__", ".cargo", ".venv", ".github", ".git")
)
_RUNNERS = {"pytest", "_pytest", "pluggy", "iniconfig", "_pytest_runner", "py"}


def steering(
    paths: Iterable[str],
    files: Iterable[str],
    command: Sequence[str],
    environment: Path | None,
    tree: Path,
) -> tuple[str, ...]:
    """The skipped ones among the changed `paths` of `tree`; `files` are the task's hidden files."""
    files = set(files)
    modules = _installed_modules(environment, tree)
    roots = {root for path in files if (root := _test_root(path))}
    script = {
        PurePosixPath(word).as_posix() for word in [word for word in command if word[:1] != "-"][:2]
    }
    return tuple(
        path
        for path in paths
        if path in files | script
        or _steers(path, modules)
        or path.endswith("_test.go")  # they are compiled into the hidden tests' package
        or any(_below(path, root) for root in roots)
    )


def _installed_modules(environment: Path | None, tree: Path) -> set[str]:
    """The names of modules of Python and of the environment, without those of `tree`: new files of these names at the
    top of the repository or in src/ would replace them."""
    packages = environment.glob("lib/python3*/site-packages/*") if environment else ()
    names = {
        *sys.stdlib_module_names,
        *_RUNNERS,
        *(path.name.partition(".")[0] for path in packages),
    }
    return names - {path.name.partition(".")[0] for path in (*tree.iterdir(), *tree.glob("src/*"))}


def _steers(path: str, modules: Collection[str]) -> bool:
    parts = [part.lower() for part in PurePosixPath(path).parts]
    name = parts[-1]
    top = PurePosixPath(path.removeprefix("src/")).parts[0].partition(".")[0]
    replaces = name.endswith((".py", ".so")) and top in modules
    installs = any(
        part.endswith((".dist-info", ".egg-info")) for part in parts
    )  # plugins by their entry points
    return (
        name in _NAMES
        or bool(_FORMS.fullmatch(name))
        or not _FOLDERS.isdisjoint(parts)
        or replaces
        or installs
    )


def _test_root(path: str) -> str:
    """The outermost folder of a hidden file with the name of a test folder; "" when there is none."""
    parts = PurePosixPath(path).parts[:-1]
    for number, part in enumerate(parts, 1):
        if is_test_folder(part):
            return "/".join(parts[:number])
    return ""


def _below(path: str, root: str) -> bool:
    """True also for a link in the place of the folder or one of its parents."""
    return path == root or path.startswith(f"{root}/") or root.startswith(f"{path}/")
