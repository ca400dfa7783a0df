"""The two small programs around a sandboxed process; the standard library only, since one of them runs in the sandbox,
and little of that at first, since every start of an agent waits for both.

    python -IS sandbox_start.py outside '<settings>' bwrap ... python -IS sandbox_start.py inside '<settings>' agent ...

`outside` hands bubblewrap a filter of system calls, limits memory and processes by a control group where it may make
one, passes connections on to the addresses that are allowed, ends the sandbox when it has filled its share of the
disk, and may lay the workspace over a tree that runs share. `inside` listens at those addresses in the sandbox's own
network, sets the limits of a process, gives up its privileges, and becomes the agent.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # mypy takes it for true; at run time these would take longer than all the rest
    import socket
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    _Start = Callable[..., None]
    Listening = list[tuple[socket.socket, Callable[[], socket.socket]]]
    """A socket that takes connections, and what opens the connection to which they are passed on."""

FILTER_FD = 3
"""Where bubblewrap finds the filter."""
KEYRING_CALLS = {
    0xC000003E: (248, 249, 250),  # x86_64, and x32 with one bit more
    0x40000003: (286, 287, 288),  # i386
    0xC00000B7: (217, 218, 219),  # aarch64
    0x40000028: (309, 310, 311),  # arm
    0xC00000F3: (217, 218, 219),  # riscv64
}
"""Architecture -> the numbers of add_key, request_key and keyctl (linux/audit.h, the tables of system calls)."""
NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
"""Flags of unshare(2)."""
FOLLOW_OUTSIDE = 0x4000 | 0x80000
"""Flags of mount(2), MS_REC and MS_SLAVE: no mount of ours is seen outside."""
GB = 1_000_000_000
LOOK_S = 2.0
"""Between two looks at the disk; a look that takes long is made less often."""
FULL = "over_limit"
"""In the private folder: the file that says which limit ended the sandbox."""
TAKEN = b"+"
"""The watcher's first byte: it is connected."""
GROUP = "lensbench-"
"""What a control group is called, before the process that made it."""
CGROUPS = "/sys/fs/cgroup"


def keyring_filter() -> bytes:
    """A BPF program by which the calls of kernel keyrings do not exist (ENOSYS): they know no namespaces."""
    load, equal, also, end = 0x20, 0x15, 0x54, 0x06
    allow, deny = 0x7FFF0000, 0x00050000 | 38
    steps: list[tuple[int, int, int, int]] = []
    for architecture, calls in KEYRING_CALLS.items():
        steps += [(load, 0, 0, 4), (equal, 0, 7, architecture), (load, 0, 0, 0), (also, 0, 0, 0xBFFFFFFF)]
        steps += [(equal, 3 - index, 0, call) for index, call in enumerate(calls)]
        steps += [(end, 0, 0, allow), (end, 0, 0, deny)]
    return b"".join(struct.pack("=HBBI", *step) for step in [*steps, (end, 0, 0, allow)])


def outside(settings: dict[str, Any], argv: list[str]) -> NoReturn:
    """Becomes bubblewrap, with a watcher beside it that ends after it."""
    listening = [_listen(way) for way in settings["ways"]]
    groups = _make_groups(settings["limits"])
    parent = os.getpid()
    if os.fork() == 0:
        os.setsid()  # it has to tidy up after its group was ended
        _silence()
        _watch(parent, listening, groups, settings["folder"], settings["limits"]["disk_gb"] * GB)
        os._exit(0)
    for server, _ in listening:
        server.close()
    for group in groups:
        try:
            _write(f"{group}/cgroup.procs", str(parent))
        except OSError:
            continue
    if settings["layer"]:
        _lay_over(*settings["layer"])
    memory = os.memfd_create("filter")
    os.write(memory, keyring_filter())
    os.lseek(memory, 0, os.SEEK_SET)
    if memory == FILTER_FD:
        os.set_inheritable(memory, True)
    else:
        os.dup2(memory, FILTER_FD)
        os.close(memory)
    os.execve(argv[0], argv, _given_environment())


def _lay_over(tree: str, changes: str, work: str, place: str) -> None:
    """Shows `tree` at `place` to this process and what it starts; what they write goes to `changes`. Raises OSError.

    Whoever is not root needs a user namespace for a mount, and keeps their own name in it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(NEW_MOUNTS | (NEW_USER if user else 0)):
        raise OSError(ctypes.get_errno(), "no namespace")
    if user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    ends = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in (tree, changes, work)]  # names may have colons
    options = "lowerdir=/proc/self/fd/{},upperdir=/proc/self/fd/{},workdir=/proc/self/fd/{},userxattr".format(*ends)
    if libc.mount(b"none", b"/", None, FOLLOW_OUTSIDE, None) or libc.mount(
        b"overlay", os.fsencode(place), b"overlay", 0, options.encode()
    ):
        raise OSError(ctypes.get_errno(), "no overlay")


def inside(settings: dict[str, Any], argv: list[str]) -> NoReturn:
    """Becomes the agent, with a process beside it that passes its connections on."""
    listening = [made for way in settings["ways"] for made in _listen_inside(way)]
    if listening and os.fork() == 0:
        _give_up_privileges()
        _silence()
        _serve(listening)
        while True:
            time.sleep(3600)
    for server, _ in listening:
        server.close()
    _set_limits(settings["limits"])
    _give_up_privileges()
    try:
        os.execvpe(argv[0], argv, _given_environment())
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def _given_environment() -> dict[bytes, bytes]:
    """As it was handed to us: Python adds a variable to its own (PEP 538)."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (pair.partition(b"=") for pair in file.read().split(b"\0") if pair)
        return {name: value for name, _, value in pairs}


def _write(file: str, text: str) -> None:
    with open(file, "w") as opened:
        opened.write(text)


def _silence() -> None:
    """Holds nobody's output open."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def _give_up_privileges() -> None:
    """Low ports are bound; after this the process has no capability, nor can a program that it starts get one."""
    libc = ctypes.CDLL(None)
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    libc.capset(struct.pack("=II", 0x20080522, 0), bytes(24))


def _set_limits(limits: dict[str, Any]) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_NPROC: limits["processes"],  # of this user in this sandbox; no limit for root
        resource.RLIMIT_DATA: int(limits["memory_gb"] * GB),
        resource.RLIMIT_FSIZE: int(limits["disk_gb"] * GB),
    }
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))


# --- control groups


def _make_groups(limits: dict[str, Any]) -> list[str]:
    """New control groups with the limits; fewer, or none, where this user may make none."""
    name = f"{GROUP}{os.getpid()}"
    memory, processes = str(int(limits["memory_gb"] * GB)), str(limits["processes"])
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.strip().split(":", 2) for line in file]
    except OSError:
        return []
    if os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        own = os.path.join(CGROUPS, next((path for _, kinds, path in lines if not kinds), "/").strip("/"))
        wanted = {"memory.max": memory, "memory.swap.max": "0", "pids.max": processes}
        parents = dict.fromkeys((own.rstrip("/"), os.path.dirname(own.rstrip("/")), CGROUPS))
        found = (_make_group(f"{parent}/{name}", wanted) for parent in parents)
        return next(([group] for group in found if group), [])
    of_kind = {kind: path.strip("/") for _, kinds, path in lines for kind in kinds.split(",")}
    wanted_of = {"memory": {"memory.limit_in_bytes": memory}, "pids": {"pids.max": processes}}
    made = (
        _make_group(os.path.join(CGROUPS, kind, of_kind.get(kind, ""), name), wanted_of[kind]) for kind in wanted_of
    )
    return [group for group in made if group]


def _make_group(group: str, wanted: dict[str, str]) -> str:
    parent = os.path.dirname(group)
    if not f"{parent}/".startswith(f"{CGROUPS}/"):
        return ""
    try:
        for old in os.listdir(parent):  # of starts that were killed; one that is in use cannot be removed
            if old.startswith(GROUP) and not os.path.exists(f"/proc/{old.removeprefix(GROUP)}"):
                _remove(f"{parent}/{old}")
        os.mkdir(group)
        for file, value in wanted.items():
            if file != "memory.swap.max" or os.path.exists(f"{group}/{file}"):
                _write(f"{group}/{file}", value)
        return group
    except OSError:
        _remove(group)
        return ""


def _remove(group: str) -> None:
    try:
        os.rmdir(group)
    except OSError:
        return


# --- connections


def _listen(way: dict[str, Any]) -> tuple[socket.socket, Callable[[], socket.socket]]:
    """The watcher's end of a way out of the sandbox."""
    import socket

    server = socket.socket(socket.AF_UNIX)
    server.bind(way["outside"])
    server.listen(128)
    return server, lambda: socket.create_connection((way["name"], way["port"]))


def _listen_inside(way: dict[str, Any]) -> Iterator[tuple[socket.socket, Callable[[], socket.socket]]]:
    """The sandbox's ends of it."""
    import socket

    for address in way["addresses"]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            server = socket.create_server((address, way["port"]), family=family, backlog=128)
        except OSError:  # there may be no IPv6
            continue
        yield server, lambda: _connect(way["inside"])


def _connect(path: str) -> socket.socket:
    """A connection to the watcher, once that has one to the address. Raises OSError when it has none."""
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    if connection.recv(1) != TAKEN:
        connection.close()
        raise ConnectionRefusedError
    return connection


def _serve(listening: Listening) -> None:
    """Passes every connection on, in threads that end with the process."""
    if not listening:
        return
    import threading

    def start(work: Callable[..., object], *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    for server, connect in listening:
        start(_accept, server, connect, start)


def _accept(server: socket.socket, connect: Callable[[], socket.socket], start: _Start) -> None:
    while True:
        start(_pass_on, server.accept()[0], connect, start)


def _pass_on(taken: socket.socket, connect: Callable[[], socket.socket], start: _Start) -> None:
    """Passes on in both directions; a connection that nobody takes is reset, so that it is no empty answer."""
    import socket

    with taken:
        try:
            other = connect()
        except OSError:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        with other:
            if taken.family == socket.AF_UNIX:
                taken.sendall(TAKEN)
            start(_copy, taken, other)
            _copy(other, taken)


def _copy(source: socket.socket, target: socket.socket) -> None:
    import socket
    from contextlib import suppress

    with suppress(OSError):
        while block := source.recv(1 << 16):
            target.sendall(block)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


# --- the watcher


def _watch(sandbox: int, listening: Listening, groups: list[str], folder: str, disk: float) -> None:
    """Passes connections on, and looks at the disk, until bubblewrap has ended; then removes the control groups."""
    import select
    import signal

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    _serve(listening)
    try:
        ended = select.poll()
        ended.register(os.pidfd_open(sandbox), select.POLLIN)
        limit, pause_s = _size(folder) + disk, LOOK_S
        while not ended.poll(pause_s * 1000):
            began = time.monotonic()
            if _size(folder) > limit:
                _write(f"{folder}/{FULL}", f"more than {disk / GB:g} GB of disk (limits.disk_gb)")
                os.kill(sandbox, signal.SIGKILL)
            pause_s = max(LOOK_S, 20 * (time.monotonic() - began))
    except (OSError, SystemExit):
        pass
    for group in groups:
        for _ in range(500):
            _remove(group)
            if not os.path.exists(group):
                break
            time.sleep(0.02)


def _size(folder: str) -> int:
    """The bytes on disk below `folder`, in files that can be seen."""
    return sum(_blocks(folder)) * 512


def _blocks(folder: str) -> Iterator[int]:
    folders = [folder]
    for current in folders:  # grows while it is walked
        try:
            entries = list(os.scandir(current))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                yield entry.stat(follow_symlinks=False).st_blocks
            except OSError:
                continue


if __name__ == "__main__":
    _, place, told, *rest = sys.argv
    given = eval(told, {"__builtins__": {}})  # a literal of ours; json would be half of what this program imports
    {"outside": outside, "inside": inside}[place](given, rest)
