"""What tests need and the repository does not hold: installed once with network, cached, read-only afterwards.

Commands run by `/bin/sh -e` at the top of a copy of the pinned tree (`/repo`), and install into `/env`, which is first
on PATH (`/env/bin`, `/env/node_modules/.bin`). `/node_modules` leads to `/env/node_modules`, so that Node finds
packages from any folder. Agents in all conditions, and the judge, see the same folder at the same place.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lensbench.agents.sandbox import ENVIRONMENT, WORKSPACE, Place, Sandbox
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_json
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.trees import copy_tree, remove_tree

RECIPE = 1
"""Raised when the same commands are to give another environment."""
LIMIT_S = 1800
LOCK_FILES = (
    "requirements*.txt", "requirements/*.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile.lock", "poetry.lock",
    "uv.lock", "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "go.sum",
    "Cargo.lock",
)  # fmt: skip
"""Files of the repository that decide what is installed."""
_PASSED = (
    "PIP_", "UV_", "npm_config_", "NPM_CONFIG_", "SSL_CERT_", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY",
)  # fmt: skip
_OWN_SETTINGS = (".config/pip/pip.conf", ".pip/pip.conf", ".npmrc")
"""Of the user, below the home folder: they say which registries there are. Only these commands see them."""
_TAIL = 2000


@dataclass(frozen=True)
class Environment:
    """An installed environment; `folder` is None for tests that need none."""

    key: str = ""
    folder: Path | None = None

    @property
    def path(self) -> str:
        """PATH inside the sandbox."""
        return search_path(self.folder is not None)


NO_ENVIRONMENT = Environment()


def search_path(has_environment: bool) -> str:
    """PATH inside the sandbox, with the environment first."""
    own = [f"{ENVIRONMENT}/bin", f"{ENVIRONMENT}/node_modules/.bin"] if has_environment else []
    return os.pathsep.join([*own, os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])


def environment_key(commands: Sequence[str], tree: Path) -> str:
    """What an environment is cached by: its commands, the repository's lock files, and the kind of machine."""
    found = sorted({path for form in LOCK_FILES for path in tree.glob(form) if path.is_file()})
    locks = [[path.relative_to(tree).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()] for path in found]
    said = [RECIPE, list(commands), locks, sys.platform, platform.machine(), platform.python_version()]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def prepare_environment(commands: Sequence[str], tree: Path, cache: Path, sandbox: Sandbox) -> Environment:
    """The environment of these commands for the repository in `tree`, installed if it is not in `cache` yet.

    Raises UserError when a command fails, and when there is no sandbox to install it in.
    """
    if not commands:
        return NO_ENVIRONMENT
    if not sandbox.program:
        raise UserError(
            f"environment: needs bubblewrap, which is missing here ({sandbox.reason or 'sandbox: none'}); install it"
        )
    key = environment_key(commands, tree)
    home = cache / "environments"
    home.mkdir(parents=True, exist_ok=True)
    folder = home / key
    with open(home / f".{key}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "environment.json").exists():
            remove_tree(str(folder))
            said = _install(commands, tree, folder, sandbox)
            write_json(folder / "environment.json", {"commands": list(commands), "said": said})
    return Environment(key, (folder / "env").absolute())


def _install(commands: Sequence[str], tree: Path, folder: Path, sandbox: Sandbox) -> str:
    """Runs the commands; what is half installed is removed. Returns the end of what they printed."""
    try:
        (folder / "env").mkdir(parents=True)
        with private_folder() as private:
            os.mkdir(os.path.join(private, "tmp"))
            os.makedirs(os.path.join(private, "session", "home"))
            copy_tree(str(tree), os.path.join(private, "repo"))
            place = Place(sandbox, private, str((folder / "env").absolute()), may_install=True)
            for command in commands:
                said = _run(command, place, private)
        return said[-_TAIL:]
    except BaseException:
        remove_tree(str(folder))
        raise


def _run(command: str, place: Place, private: str) -> str:
    env = {name: value for name, value in os.environ.items() if name.startswith(_PASSED)}
    home = os.path.join(private, "session", "home")
    for name in _OWN_SETTINGS:
        source, target = Path.home() / name, Path(home, name)
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    env |= {"PATH": search_path(True), "HOME": place.inside(home), "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off", "CI": "1"}
    argv = place.wrap(["/bin/sh", "-ec", command], env, mcp_file="")
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=LIMIT_S
            )
            ended = f"ended with {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            ended = f"took longer than {LIMIT_S} s"
        output.seek(0)
        said = output.read().decode(errors="replace")
    if ended:
        lines = "\n".join(said.strip().splitlines()[-8:])
        raise UserError(
            f"environment: the command `{command}` {ended}; run it by hand in a copy of {WORKSPACE}\n{lines}"
        )
    return said
