"""What an agent can see and touch: its workspace, a folder of its own, the programs it needs, and nothing else.

With bubblewrap an agent finds the repository at `/repo` and its own files at `/session`, in every condition. It cannot
see the pipeline, the criteria, other runs or the user's files, and nothing that it starts outlives it. docs/sandbox.md
says what is kept apart and what is not.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any, Final

from lensbench.agents.reach import Network, addresses_of, hosts_file, network_of
from lensbench.agents.sandbox_start import FILTER_FD, process_limits
from lensbench.agents.sandbox_view import mounts_of, programs_of
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import SandboxSettings
from lensbench.core.records import sha256
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import PACKAGE, ROOT
from lensbench.core.system.private_folders import private_folder

WORKSPACE, SESSION, ENVIRONMENT, INDEX, REACH = "/repo", "/session", "/env", "/index", "/reach"
"""Where the agent finds the repository; its home, prompt, MCP file, answer and server log; what tests need; the index
of its server; its ways out of a network of its own."""
DEFAULT_LIMITS: Final[Mapping[str, Any]] = {"memory_gb": 8, "processes": 512, "open_files": 4096, "disk_gb": 10}
"""The part of the config's `limits` that each run has."""

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys", "/nix", "/gnu", "/snap",
    "/etc/resolv.conf", "/etc/ssl/certs",
)  # fmt: skip
"""Read-only in the sandbox. The last two may be links to places outside the others."""
KERNEL = ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
"""Below /proc. They are the machine's own, not the sandbox's, and root may write to them without any capability."""
TRIAL_S = 20
_OWN_FOLDERS = (WORKSPACE, SESSION, ENVIRONMENT, INDEX, REACH)
_NOT_OF_IMAGES = frozenset(("proc", "dev", "sys", "tmp", "node_modules", *(place[1:] for place in _OWN_FOLDERS)))
"""Top folders that the sandbox has of its own."""


@dataclass(frozen=True)
class Sandbox:
    """How agents are kept apart. Made by `find_sandbox`, once per start of a run."""

    name: str = "none"
    """For the record: `bubblewrap 0.8.0`, or `none`."""
    reason: str = ""
    """Why there is none although one was looked for."""
    program: str = ""
    """The path of bubblewrap; empty without a sandbox."""
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """What agents may reach beside the model's endpoint and the declared servers."""
    shared_network: str = ""
    """Why agents have no network of their own; empty when they have."""
    limits: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_LIMITS)
    """As `limits` of the config has them."""
    same_path: bool = False
    """Agents find the workspace where it lies outside, because a daemon out there is told of it by that path."""
    can_share: bool = False
    """Many agents can work on one tree, each seeing its own changes."""


NO_SANDBOX = Sandbox()


@dataclass(frozen=True)
class Place:
    """The private folder of an attempt, with `repo`, `session` and `tmp`: as we see it (outside), as the agent does."""

    sandbox: Sandbox
    private: str
    environment: str = ""
    """The folder with what a task's tests need; shown at `/env`, and to Node at `/node_modules`."""
    may_install: bool = False
    """The environment is being made: it can be written to."""
    image: str = ""
    """The folder with the files of a container image, seen in place of this machine's programs."""
    index: str = ""
    """The folder with the embedded server's index of the repository; shown read-only at `/index`."""
    tree: str = ""
    """The tree that the agent finds in its workspace, which is empty outside; "" where the workspace is a copy."""

    @property
    def changes(self) -> str:
        """The folder with what the agent changed in `tree`."""
        return os.path.join(self.private, "changes")

    @property
    def _layer(self) -> tuple[str, ...]:
        """What `sandbox_start` needs to show `tree`."""
        if not self.tree:
            return ()
        work = os.path.join(self.private, "work")
        return self.tree, _made(self.changes), _made(work), _made(os.path.join(self.private, "repo"))

    @property
    def _folders(self) -> dict[str, str]:
        """Outside -> inside."""
        repo = os.path.join(self.private, "repo")
        is_moved = not self.sandbox.same_path or self.environment  # tests are built for one path
        folders = {repo: WORKSPACE if is_moved else repo, os.path.join(self.private, "session"): SESSION}
        folders |= {self.index: INDEX} if self.index else {}
        return folders if self.sandbox.program else {folder: folder for folder in folders}

    def outside(self, path: str) -> str:
        """Where a path that the agent knows lies for us; without a sandbox the path itself."""
        return _moved(path, {inside: outside for outside, inside in self._folders.items()})

    def inside(self, path: str) -> str:
        """What the agent calls a path of ours; without a sandbox the path itself."""
        return _moved(path, self._folders)

    def network(self, env: Mapping[str, str], mcp_file: str, agents: Iterable[str] | None) -> Network:
        """What is reached from inside by a program with this environment and MCP file (an inside path); `agents` are
        the hosts of the agent's model, None when nobody knows them."""
        if not self.sandbox.program:
            return Network(shared="there is no sandbox")
        if self.sandbox.shared_network or not mcp_file:
            return Network(shared=self.sandbox.shared_network or "it is no agent")
        declared = Template(Path(self.outside(mcp_file)).read_text()).safe_substitute(env)
        return network_of([declared], env, agents, self.sandbox.hosts)

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        mcp_file: str,
        options: Sequence[str] = (),
        agents: Iterable[str] | None = None,
    ) -> tuple[str, ...]:
        """The arguments that start `argv` in the sandbox; without one `argv` itself.

        The programs of `argv` and of the servers in `mcp_file` (an inside path, or "") are shown to the agent; the
        hosts in that file, and those of `agents`, are reached (`network`). `options` are further ones of bubblewrap.
        Raises FileNotFoundError when the agent's own program is not there.
        """
        if not self.sandbox.program:
            return tuple(argv)
        path = env.get("PATH", os.defpath)
        if not (self.image or shutil.which(argv[0], path=path) or argv[0].startswith(f"{ENVIRONMENT}/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        servers = json.loads(Path(self.outside(mcp_file)).read_text())["mcpServers"].values() if mcp_file else ()
        commands = [argv, *([entry["command"], *entry.get("args", ())] for entry in servers if "command" in entry)]
        needed = (part for command in commands for part in programs_of(command, path))
        binds = {outside: "--ro-bind" if outside == self.index else "--bind" for outside in self._folders}
        mounts = [part for outside, inside in self._folders.items() for part in (binds[outside], outside, inside)]
        mounts += [
            *self._environment(),
            *options,
            "--remount-ro",
            "/",
            "--chdir",
            self.inside(os.path.join(self.private, "repo")),
        ]
        if self.image:
            return _start_image(self.sandbox, self.private, self.image, argv, mounts)
        network = self.network(env, mcp_file, agents)
        return _start(self.sandbox, self.private, needed, network, argv, mounts, self._layer)

    def environment_variables(self, path: str) -> dict[str, str]:
        """What tells programs of the environment; `path` is PATH without it."""
        if not self.environment:
            return {}
        own = os.pathsep.join((f"{ENVIRONMENT}/bin", f"{ENVIRONMENT}/node_modules/.bin"))
        return {"PATH": f"{own}{os.pathsep}{path}", "VIRTUAL_ENV": ENVIRONMENT}

    def _environment(self) -> tuple[str, ...]:
        if not self.environment:
            return ()
        bind = "--bind" if self.may_install else "--ro-bind"
        return (bind, self.environment, ENVIRONMENT, "--symlink", f"{ENVIRONMENT}/node_modules", "/node_modules")


def _moved(path: str, folders: Mapping[str, str]) -> str:
    for folder, other in folders.items():
        if path == folder or path.startswith(folder + "/"):
            return other + path[len(folder) :]
    return path


def find_sandbox(settings: SandboxSettings | None, tried: Path | None = None, tree: str = "") -> Sandbox:
    """The sandbox that the plan's `sandbox` section asks for (`mode`, `visible`, `hidden`), after one short trial, and
    another one where agents are to share `tree`.

    A trial that found everything is not repeated where the folder `tried` tells of it: with the same settings and
    program, since this machine was started. A plan without that section has no sandbox. Raises UserError when
    bubblewrap is demanded and does not work here.
    """
    if not settings or settings["mode"] == "none":
        return NO_SANDBOX
    found = _bubblewrap(settings, tried, tree)
    if found.reason and settings["mode"] == "bubblewrap":
        raise UserError(
            f"sandbox: bubblewrap does not work here ({found.reason}); install it (package bubblewrap) and allow it to"
            " make namespaces (docs/sandbox.md), or write sandbox: none; agents can then read and change your files"
        )
    return found


def _bubblewrap(settings: SandboxSettings, tried: Path | None, tree: str) -> Sandbox:
    program = shutil.which("bwrap")
    if not program:
        return Sandbox(reason="there is no bwrap on PATH")
    shown = (*SYSTEM, program, sys.prefix, sys.base_prefix, str(PACKAGE), *map(os.path.expanduser, settings["visible"]))
    homes = (os.path.expanduser("~"), "/root", "/home")
    checkout = (str(ROOT),) if (ROOT / "Snakefile").exists() else ()
    secret = (os.getcwd(), tempfile.gettempdir(), *checkout, *homes, *settings["hidden"])
    shared = "sandbox_network is shared" if settings.get("network", "shared") == "shared" else ""
    limits = {**DEFAULT_LIMITS, **settings.get("limits", {})}
    hosts, same_path = tuple(settings.get("hosts", ())), settings.get("same_path", False)
    sandbox = Sandbox("", "", program, shown, secret, hosts, shared, limits, same_path)
    note = tried / sha256(f"{sandbox} {_this_machine(program, tree)}".encode()) if tried else None
    if note and note.exists():
        name, can_share = json.loads(note.read_text())
        return replace(sandbox, name=name, can_share=can_share)
    said = _try(sandbox)
    has_all = not said.returncode
    if not has_all and not shared:
        open_to_all = replace(sandbox, shared_network="this machine allows no network of one's own")
        again = _try(open_to_all)
        sandbox, said = (open_to_all, again) if not again.returncode else (sandbox, said)
    if said.returncode:
        return Sandbox(reason=" ".join(said.stderr.split()) or f"{program} ended with {said.returncode}")
    name, can_share = said.stdout.strip(), bool(tree) and not _try(sandbox, tree).returncode
    if note and has_all:
        write_atomic(note, json.dumps([name, can_share]))
    return replace(sandbox, name=name, can_share=can_share)


def _this_machine(program: str, tree: str) -> str:
    """What a trial of bubblewrap rests on beside the settings."""
    status = os.stat(program)
    disks = [os.stat(tempfile.gettempdir()).st_dev, os.stat(tree).st_dev] if tree else []
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        boot = str(time.time())  # nothing to know this machine by: no trial is like another
    return f"{boot} {os.uname()} {os.geteuid()} {status.st_ino} {status.st_mtime_ns} {disks}"


def _try(sandbox: Sandbox, tree: str = "") -> subprocess.CompletedProcess[str]:
    """bubblewrap, asked for its version in the sandbox that agents get."""
    try:
        with private_folder() as private:
            os.mkdir(os.path.join(private, "tmp"))
            place = Place(sandbox, private, tree=tree)
            network, mounts = Network(shared=sandbox.shared_network), ["--remount-ro", "/"]
            if tree:
                mounts = ["--bind", os.path.join(private, "repo"), WORKSPACE, *mounts]
            trial = _start(sandbox, private, (), network, (sandbox.program, "--version"), mounts, place._layer)
            return subprocess.run(
                trial, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TRIAL_S
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess([], 1, "", f"{sandbox.program}: {error}")


def _start(
    sandbox: Sandbox,
    private: str,
    needed: Iterable[str],
    network: Network,
    argv: Sequence[str],
    mounts: Sequence[str],
    layer: Sequence[str] = (),
) -> tuple[str, ...]:
    """The programs around `argv` (`sandbox_start`), one in the other."""
    ways, options = [], [] if network.shared else ["--unshare-net"]
    addresses = addresses_of(network.hosts)
    if addresses:
        folder = os.path.join(private, "reach")
        sockets = tempfile.mkdtemp(prefix="", dir=_made(folder))
        for number, (host, at) in enumerate(addresses.items()):
            ends = {"outside": f"{sockets}/{number}", "inside": f"{REACH}/{number}"}
            ways.append({**host._asdict(), "addresses": at, **ends})
        Path(sockets, "hosts").write_text(hosts_file(addresses))
        options += ["--ro-bind", sockets, REACH]
        options += ["--ro-bind", f"{sockets}/hosts", os.path.realpath("/etc/hosts")]
        options += ["--cap-add", "CAP_NET_BIND_SERVICE"] if any(host.port < 1024 for host in addresses) else []
    step, told = _step(), repr(_told(sandbox, private, ways, layer))
    return (
        *(*step, "outside", told),
        *_options(sandbox, (*needed, *programs_of(step, os.defpath)), os.path.join(private, "tmp")),
        *("--seccomp", str(FILTER_FD), *options, *mounts, "--"),
        *((not ways and _prlimit(sandbox.limits)) or (*step, "inside", told)),
        *argv,
    )


def _prlimit(limits: Mapping[str, Any]) -> tuple[str, ...]:
    """The program of the system that sets limits and becomes what follows; () where there is none."""
    program = shutil.which("prlimit", path=os.defpath)
    options = (f"--{name.lower()}={value}:{value}" for name, value in process_limits(limits).items())
    return (program, *options) if program else ()


def _told(
    sandbox: Sandbox, private: str, ways: Sequence[Mapping[str, Any]] = (), layer: Sequence[str] = ()
) -> dict[str, Any]:
    return {"ways": list(ways), "limits": dict(sandbox.limits), "folder": private, "layer": list(layer)}


def _step() -> tuple[str, ...]:
    return (sys.executable, "-IS", str(Path(__file__).with_name("sandbox_start.py")))


def _start_image(
    sandbox: Sandbox, private: str, root: str, argv: Sequence[str], mounts: Sequence[str]
) -> tuple[str, ...]:
    """As `_start`, with the files of an image and without ways out. Our program inside is left out: it would need this
    machine's Python there."""
    step, told = _step(), repr(_told(sandbox, private))
    view = []
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        if entry.name not in _NOT_OF_IMAGES:
            kind, source = ("--symlink", os.readlink(entry)) if entry.is_symlink() else ("--ro-bind", entry.path)
            view += [kind, source, f"/{entry.name}"]
    tmp = os.path.join(private, "tmp")
    view += ["--bind", tmp, "/var/tmp"] if os.path.isdir(os.path.join(root, "var", "tmp")) else []
    if os.path.isfile(os.path.join(root, "etc", "resolv.conf")):
        view += ["--ro-bind", os.path.realpath("/etc/resolv.conf"), "/etc/resolv.conf"]
    return (
        *(*step, "outside", told),
        *(*_kernel(sandbox.program), "--bind", tmp, "/tmp", *view),
        *("--seccomp", str(FILTER_FD), *mounts, "--"),
        *argv,
    )


def _made(folder: str) -> str:
    os.makedirs(folder, exist_ok=True)
    return folder


def _options(sandbox: Sandbox, needed: Iterable[str], tmp: str) -> list[str]:
    """How bubblewrap is started, but for the private folders. Without capabilities root cannot undo a mount."""
    binds = ["--bind", tmp, "/tmp", "--bind", tmp, "/var/tmp"]
    return [*_kernel(sandbox.program), *binds, *mounts_of((*sandbox.shown, *needed), sandbox.hidden)]


def _kernel(program: str) -> list[str]:
    options = [program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for name in KERNEL:
        options += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    return options
