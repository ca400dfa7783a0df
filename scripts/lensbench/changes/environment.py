"""The dependencies of tests: installed once with network access, cached, read-only afterwards.

Commands are run by `/bin/sh -e` at the top of a copy of the pinned tree (`/repo`), and install into `/env`, which is
first on PATH (`/env/bin`, `/env/node_modules/.bin`). `/node_modules` is a link to `/env/node_modules`, so that Node
finds packages from any folder. Agents in all conditions and the judge see the same folder at the same path.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lensbench.agents.sandbox import ENVIRONMENT, ENVIRONMENT_PATH, WORKSPACE, Place, Sandbox
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_json
from lensbench.core.system.locks import locked
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.trees import copy_tree, remove_tree

RECIPE = 3
"""Increased when the same commands must give a new environment."""
INSTALL_LIMIT_S = 1800
LOCK_FILES = (
    "requirements*.txt",
    "requirements/*.txt",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Pipfile.lock",
    "poetry.lock",
    "uv.lock",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "go.sum",
    "Cargo.lock",
)
"""Files of the repository that determine what is installed."""
_PASSED = (
    "PIP_",
    "UV_",
    "npm_config_",
    "NPM_CONFIG_",
    "SSL_CERT_",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GOPROXY",
    "GOPRIVATE",
    "GOSUMDB",
    "GOINSECURE",
    "GONO",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "CARGO_HTTP_",
    "CARGO_NET_",
)
_OWN_SETTINGS = (".config/pip/pip.conf", ".pip/pip.conf", ".npmrc", ".config/go/env")
"""The user's configuration of package registries, below the home folder. Only these commands see it."""
_BUILT, _BUILT_KINDS, _NO_CODE = (
    "built",
    (".py", ".so", ".pyi", ".pyc"),
    ("build", "dist", ".git", "node_modules"),
)
"""The folder for files that an installation leaves in the repository, what is kept of them, and where they are not."""
_BYTECODE = "__pycache__"
_COMPILE = (
    f"! test -x {ENVIRONMENT}/bin/python || {ENVIRONMENT}/bin/python -m compileall -f -qq"
    " --invalidation-mode checked-hash . || :"
)
"""Compiles a Python project once, not in each run of its tests: that of 1,500 modules takes longer than most tests.
The hash of the source decides, so a changed file is compiled again."""


@dataclass(frozen=True)
class Environment:
    """An installed environment; `folder` is None for tests that need none."""

    key: str = ""
    folder: Path | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of programs; on PATH the environment is first."""
        variables = {}
        path = [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
        if self.folder:
            path.insert(0, ENVIRONMENT_PATH)
            variables["VIRTUAL_ENV"] = ENVIRONMENT
        rustup = os.environ.get("RUSTUP_HOME") or os.path.expanduser(
            "~/.rustup"
        )  # its shims look there
        if os.path.isdir(rustup):
            variables["RUSTUP_HOME"] = rustup
        return {**variables, "PATH": os.pathsep.join(path)}

    def variables_in(self, place: Place) -> dict[str, str]:
        """Those of a program in the sandbox, with its own home folder."""
        home = place.inside(os.path.join(place.private, "session", "home"))
        return {
            **self.variables,
            "HOME": home,
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "CI": "1",
        }

    def add_built(self, repo: Path) -> None:
        """Adds what the installation built in the repository, such as a file with the version, and `repo` lacks.
        Nothing is written through a link that a patch put in the place of a folder."""
        if not self.folder:
            return
        folder = self.folder.with_name(_BUILT)
        top = repo.resolve()
        for path in sorted(folder.rglob("*")):
            target = repo / path.relative_to(folder)
            if not target.parent.resolve().is_relative_to(top):
                continue
            if path.name == _BYTECODE and target.parent.is_dir():
                target.mkdir(exist_ok=True)
            elif path.is_file() and not os.path.lexists(target) and target.parent.is_dir():
                shutil.copy2(path, target)

    def written(self) -> dict[str, str]:
        """The entry of environments.json; `read_environment` reads it."""
        return {"folder": str(self.folder or ""), "key": self.key}

    def place(self, sandbox: Sandbox, private: str, may_install: bool = False) -> Place:
        """The sandbox with this environment; makes its folders in `private`."""
        Path(private, "tmp").mkdir()
        Path(private, "session", "home").mkdir(parents=True)
        return Place(sandbox, private, str(self.folder or ""), may_install)


NO_ENVIRONMENT = Environment()


def read_environment(entry: Mapping[str, str]) -> Environment:
    """Reads the result of `Environment.written`."""
    folder = entry["folder"]
    return Environment(entry["key"], Path(folder) if folder else None)


def environment_key(commands: Sequence[str], tree: Path) -> str:
    """The cache key: a hash of the commands, the repository's lock files and the kind of machine."""
    files = sorted({path for form in LOCK_FILES for path in tree.glob(form) if path.is_file()})
    locks = [
        [path.relative_to(tree).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in files
    ]
    parts = [
        RECIPE,
        list(commands),
        locks,
        sys.platform,
        platform.machine(),
        platform.python_version(),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def prepare_environment(
    commands: Sequence[str], tree: Path, cache: Path, sandbox: Sandbox
) -> Environment:
    """The environment of these commands for the repository in `tree`, installed unless it is in `cache`.

    Raises UserError when a command fails, and when there is no sandbox.
    """
    if not commands:
        return NO_ENVIRONMENT
    if not sandbox.program:
        raise UserError(f"environment: tests of changes {sandbox.lack}")
    key = environment_key(commands, tree)
    home = cache / "environments"
    home.mkdir(parents=True, exist_ok=True)
    folder = home / key
    with locked(home / f".{key}.lock"):
        if not (folder / "environment.json").exists():
            remove_tree(str(folder))
            _install(commands, tree, folder, sandbox)
            write_json(folder / "environment.json", {"commands": list(commands)})
    return Environment(key, (folder / "env").absolute())


def _install(commands: Sequence[str], tree: Path, folder: Path, sandbox: Sandbox) -> None:
    """Runs the commands; an incomplete environment is removed."""
    try:
        (folder / "env").mkdir(parents=True)
        with private_folder() as private:
            copy_tree(str(tree), os.path.join(private, "repo"))
            environment = Environment("", (folder / "env").absolute())
            place = environment.place(sandbox, private, may_install=True)
            for command in (*commands, _COMPILE):
                _run(command, environment, place)
            _keep_built(tree, Path(private, "repo"), folder / _BUILT)
    except BaseException:
        remove_tree(str(folder))
        raise


def _keep_built(tree: Path, repo: Path, folder: Path) -> None:
    for path in repo.rglob("*"):
        place = path.relative_to(repo)
        parent = place.parent.parent if place.suffix == ".pyc" else place.parent
        if (
            place.suffix in _BUILT_KINDS
            and path.is_file()
            and place.parts[0] not in _NO_CODE
            and (tree / parent).is_dir()
            and not (tree / place).exists()
        ):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / place)


def _run(command: str, environment: Environment, place: Place) -> None:
    env = {name: value for name, value in os.environ.items() if name.startswith(_PASSED)}
    for name in _OWN_SETTINGS:
        source = Path.home() / name
        target = Path(place.private, "session", "home", name)
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    env |= environment.variables_in(place) | {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_PROGRESS_BAR": "off",
    }
    argv = place.wrap(["/bin/sh", "-ec", command], env, mcp_file="")
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.run(
                argv,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_LIMIT_S,
            )
            end = f"ended with {process.returncode}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            end = f"took longer than {INSTALL_LIMIT_S} s"
        output.seek(0)
        text = output.read().decode(errors="replace")
    if end:
        raise UserError(
            f"environment: {_why(text) or end}; `{command}` {end}: run it in a copy of {WORKSPACE}"
        )


_SAID = re.compile(
    r"(?:ERROR: |error: |npm (?:ERR!|error) )\s*(?!A complete log|Ignored |code |subprocess-exited|Failed to build)"
)
_CAUSE = re.compile(r"\b\w*(?:Error|Exception|NotFound): .+")


def _why(output: str) -> str:
    """The last error of a build, else the first of pip or npm; else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    causes = [*[*filter(_SAID.match, lines)][:1], *filter(_CAUSE.match, lines)]
    return " ".join((causes or lines or [""])[-1].split())[:300]
