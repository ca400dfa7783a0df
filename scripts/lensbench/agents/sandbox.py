"""The sandbox: limits an agent to its workspace (`/repo`), its own files (`/session`), and the programs it needs, in
every condition alike. docs/sandbox.md describes what is isolated and what is not, docs/decisions/bubblewrap.md
why it is this one."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from lensbench.agents.reach import Network, addresses_of, hosts_file, network_of
from lensbench.agents.sandbox_start import begin
from lensbench.agents.sandbox_view import mounts_of, programs_of, releases
from lensbench.agents.tee import behind
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import SandboxSettings
from lensbench.core.system.places import PACKAGE, ROOT
from lensbench.core.system.private_folders import private_folder

WORKSPACE, SESSION, ENVIRONMENT, REACH = "/repo", "/session", "/env", "/reach"
"""Paths in the sandbox: the repository; home, prompt, MCP file, answer and server log; the tests' environment; the
sockets to allowed hosts."""
ENVIRONMENT_PATH = os.pathsep.join((f"{ENVIRONMENT}/bin", f"{ENVIRONMENT}/node_modules/.bin"))
DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "memory_gb": 8,
    "processes": 512,
    "open_files": 4096,
    "disk_gb": 10,
}
"""The keys of the config's `limits` that apply to each run."""

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/sys",
    "/nix",
    "/gnu",
    "/snap",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
)
"""Read-only in the sandbox. The last two may be links to elsewhere."""
AGENTS_SYSTEM_SETTINGS = ("/etc/claude-code", "/etc/codex", "/etc/gemini-cli", "/etc/opencode")
"""Settings of the machine's administrator, which could remove a tool in one condition: hidden."""
KERNEL = ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
"""Paths of the machine in /proc, which root may write without capabilities."""
TRIAL_S = 20


@dataclass(frozen=True)
class Sandbox:
    """How agents are isolated."""

    name: str = "none"
    """For the record: `bubblewrap 0.8.0`, or `none`."""
    reason: str = ""
    """Why there is none although one was requested."""
    program: str = ""
    """The path of bubblewrap; empty without a sandbox."""
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Hosts that agents may reach besides the model's endpoint and the declared servers."""
    shared_network: str = ""
    """Why agents share the machine's network; empty when they have their own."""
    limits: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_LIMITS, hash=False)
    """The `limits` of the config."""
    same_path: bool = False
    """The workspace has the same path inside and outside, because a daemon outside is given that path."""

    @property
    def lack(self) -> str:
        """What tests of changes need here, with the remedy, as `need ...: <remedy>`; "" with a sandbox."""
        if self.program:
            return ""
        if not self.reason:
            return "need a sandbox: write sandbox: auto"
        if self.reason == _ELSEWHERE:
            return f"need a sandbox: {self.reason}"
        if self.reason == _MISSING:
            return "need bubblewrap: apt-get install bubblewrap"
        return f"need namespaces, and bubblewrap is here and may not create them ({self.reason}): see docs/sandbox.md"


_MISSING = "there is no bwrap on PATH"
_ELSEWHERE = "bubblewrap is for Linux; the image has it (docs/installing.md)"
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
"""The files by which docker and podman say that this is a container."""
NO_SANDBOX = Sandbox()


@dataclass(frozen=True)
class Place:
    """The private folder of an attempt, with `repo`, `session` and `tmp`, by paths outside and inside the sandbox."""

    sandbox: Sandbox
    private: str
    environment: str = ""
    """The folder with the tests' environment; mounted at `/env`, and for Node at `/node_modules`."""
    may_install: bool = False
    """True while the environment is being built, so that it is writable."""
    foreign: frozenset[str] = frozenset()
    """Programs of other conditions, hidden unless what is started here lies in them."""

    @property
    def _folders(self) -> dict[str, str]:
        """Outside path -> inside path."""
        repo = os.path.join(self.private, "repo")
        is_moved = (
            not self.sandbox.same_path or self.environment
        )  # environments are built for a fixed path
        folders = {
            repo: WORKSPACE if is_moved else repo,
            os.path.join(self.private, "session"): SESSION,
        }
        return folders if self.sandbox.program else {folder: folder for folder in folders}

    def outside(self, path: str) -> str:
        """The outside path for an inside path; without a sandbox the path itself."""
        return _moved(path, {inside: outside for outside, inside in self._folders.items()})

    def inside(self, path: str) -> str:
        """The inside path for an outside path; without a sandbox the path itself."""
        return _moved(path, self._folders)

    def network(
        self, env: Mapping[str, str], mcp_file: str, agents: Iterable[str] | None
    ) -> Network:
        """The network of a program with this environment and MCP file; `agents`: the model's hosts, if known."""
        if not self.sandbox.program:
            return Network(shared="there is no sandbox")
        if self.sandbox.shared_network or not mcp_file:
            return Network(shared=self.sandbox.shared_network or "it is not an agent")
        content = Path(self.outside(mcp_file)).read_text(encoding="utf-8")
        return network_of([content], env, agents, self.sandbox.hosts)

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        mcp_file: str,
        options: Sequence[str] = (),
        agents: Iterable[str] | None = None,
    ) -> tuple[str, ...]:
        """The arguments that start `argv` in the sandbox; without one `argv`. `mcp_file`: an inside path, or "".
        Raises FileNotFoundError when its program is missing."""
        if not self.sandbox.program:
            return tuple(argv)
        path = env.get("PATH", os.defpath)
        if not (shutil.which(argv[0], path=path) or argv[0].startswith(f"{ENVIRONMENT}/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        content = (
            Path(self.outside(mcp_file)).read_text(encoding="utf-8")
            if mcp_file
            else '{"mcpServers": {}}'
        )
        servers = json.loads(content)["mcpServers"].values()
        commands = [
            argv,
            *(
                behind([entry["command"], *entry.get("args", ())])
                for entry in servers
                if "command" in entry
            ),
        ]
        programs = [part for command in commands for part in programs_of(command, path)]
        foreign = (
            path
            for path in self.foreign
            if not any(f"{part}/".startswith(f"{path}/") for part in programs)
        )
        sandbox = replace(self.sandbox, hidden=(*self.sandbox.hidden, *foreign))
        mounts = [
            part
            for outside, inside in self._folders.items()
            for part in ("--bind", outside, inside)
        ]
        mounts += [
            *self._environment(),
            *options,
            "--remount-ro",
            "/",
            "--chdir",
            self.inside(f"{self.private}/repo"),
        ]
        return _start(
            sandbox, self.private, programs, self.network(env, mcp_file, agents), argv, mounts
        )

    def environment_variables(self, path: str) -> dict[str, str]:
        """The environment variables for the tests' environment; `path` is PATH without it."""
        if not self.environment:
            return {}
        return {"PATH": f"{ENVIRONMENT_PATH}{os.pathsep}{path}", "VIRTUAL_ENV": ENVIRONMENT}

    def _environment(self) -> tuple[str, ...]:
        if not self.environment:
            return ()
        bind = "--bind" if self.may_install else "--ro-bind"
        return (
            bind,
            self.environment,
            ENVIRONMENT,
            "--symlink",
            f"{ENVIRONMENT}/node_modules",
            "/node_modules",
        )


def _moved(path: str, folders: Mapping[str, str]) -> str:
    for folder, other in folders.items():
        if path == folder or path.startswith(folder + "/"):
            return other + path[len(folder) :]
    return path


def in_container() -> bool:
    """True in a container of docker or podman."""
    return any(map(os.path.exists, CONTAINER_MARKS))


def find_sandbox(settings: SandboxSettings | None) -> Sandbox:
    """The sandbox for the plan's `sandbox` section, if it has one and the trial succeeds here."""
    if not settings or settings["mode"] == "none":
        return NO_SANDBOX
    sandbox = _bubblewrap(settings)
    if sandbox.reason and settings["mode"] == "bubblewrap":
        raise UserError(
            f"sandbox: bubblewrap does not work here ({sandbox.reason}); install it (package bubblewrap) and allow it"
            " to make namespaces (docs/sandbox.md), or write sandbox: none; agents can then read and change your files"
        )
    return sandbox


def _bubblewrap(settings: SandboxSettings) -> Sandbox:
    if sys.platform != "linux":
        return Sandbox(reason=_ELSEWHERE)
    program = shutil.which("bwrap")
    if not program:
        return Sandbox(reason=_MISSING)
    ours = map(
        str, PACKAGE.parent.glob(f"{PACKAGE.name}*")
    )  # and the packages beside it, where it is not installed
    visible = map(os.path.expanduser, settings["visible"])
    paths = (*SYSTEM, program, sys.prefix, sys.base_prefix, *sorted(ours), *visible)
    homes = (os.path.expanduser("~"), "/root", "/home")
    checkout = (str(ROOT),) if (ROOT / "Snakefile").exists() else ()
    secret = (
        os.getcwd(),
        tempfile.gettempdir(),
        *checkout,
        *homes,
        *AGENTS_SYSTEM_SETTINGS,
        *settings["hidden"],
    )
    secret += tuple(releases(settings.get("packages", ()), paths))
    sharing = "sandbox_network is shared" if settings.get("network", "shared") == "shared" else ""
    limits = {**DEFAULT_LIMITS, **settings.get("limits", {})}
    hosts = tuple(settings.get("hosts", ()))
    same_path = settings.get("same_path", False)
    sandbox = Sandbox("", "", program, paths, secret, hosts, sharing, limits, same_path)
    try:
        return replace(sandbox, name=_try(sandbox))
    except OSError as error:
        if not sharing:
            open_to_all = replace(sandbox, shared_network="this machine allows no separate network")
            with suppress(OSError):
                return replace(open_to_all, name=_try(open_to_all))
        return Sandbox(reason=str(error))


@cache  # once for all runs that are forked from one process
def _try(sandbox: Sandbox) -> str:
    """The version of bubblewrap, which says it in the sandbox that agents get. Raises OSError when it does not."""
    with private_folder() as private:
        os.mkdir(os.path.join(private, "tmp"))
        network = Network(shared=sandbox.shared_network)
        version = (sandbox.program, "--version")
        argv = _start(sandbox, private, (), network, version, ["--remount-ro", "/"])
        try:
            process = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=TRIAL_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OSError(f"{sandbox.program}: {error}") from None
    if process.returncode:
        raise OSError(
            " ".join(process.stderr.split()) or f"{sandbox.program} ended with {process.returncode}"
        )
    return process.stdout.strip()


def _start(
    sandbox: Sandbox,
    private: str,
    paths: Iterable[str],
    network: Network,
    argv: Sequence[str],
    mounts: Sequence[str],
) -> tuple[str, ...]:
    """`argv` wrapped in the nested programs of `sandbox_start`."""
    ways = []
    options = [] if network.shared else ["--unshare-net"]
    addresses = addresses_of(network.hosts)
    if addresses:
        folder = os.path.join(private, "reach")
        os.makedirs(folder, exist_ok=True)
        sockets = tempfile.mkdtemp(prefix="", dir=folder)
        for number, (host, at) in enumerate(addresses.items()):
            ends = {"outside": f"{sockets}/{number}", "inside": f"{REACH}/{number}"}
            ways.append({**host._asdict(), "addresses": at, **ends})
        Path(sockets, "hosts").write_text(hosts_file(addresses), encoding="utf-8")
        options += ["--ro-bind", sockets, REACH]
        options += ["--ro-bind", f"{sockets}/hosts", os.path.realpath("/etc/hosts")]
        if any(host.port < 1024 for host in addresses):
            options += ["--cap-add", "CAP_NET_BIND_SERVICE"]
    tmp = os.path.join(private, "tmp")
    visible = (*sandbox.shown, *paths, *programs_of((sys.executable,), os.defpath))
    kernel = []
    for name in KERNEL:
        kernel += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    return (
        *_step("outside", sandbox, private, ways),
        sandbox.program,
        "--die-with-parent",
        "--unshare-pid",
        "--unshare-ipc",
        "--cap-drop",  # keeps root from undoing the mounts
        "ALL",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *kernel,
        "--bind",
        tmp,
        "/tmp",
        "--bind",
        tmp,
        "/var/tmp",
        *mounts_of(visible, sandbox.hidden, tmp),
        *options,
        *mounts,
        "--",
        *_step("inside", sandbox, private, ways),
        *argv,
    )


_BEGIN = f"import sys; sys.path += [{os.path.dirname(__file__)!r}]; import sandbox_start as s; s.begin(sys.argv[1:])"


def _step(
    place: str, sandbox: Sandbox, private: str, ways: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    settings = {"ways": ways, "limits": dict(sandbox.limits), "folder": private}
    return (sys.executable, "-IS", "-c", _BEGIN, place, repr(settings))


def become(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Makes a forked child the sandbox's first program; returns if it cannot, or there is none."""
    if _BEGIN in argv[3:4]:
        with suppress(OSError):
            for file in os.scandir("/proc/self/fd"):  # some may be a shell's
                os.set_inheritable(int(file.name), int(file.name) < 3)
            begin(argv[4:], env)
