"""The two small programs around a sandboxed process. They use only the standard library, since one runs in the sandbox,
and import little, since every start of an agent waits for both. Python would compile a script at each start: they are
imported.

    python -IS -c <import> outside '<settings>' bwrap ... python -IS -c <import> inside '<settings>' agent ...

`outside`, which a run forks, sets a system call filter and limits, and starts a watcher. `inside` does what only works
in the sandbox: it listens at allowed addresses, limits processes, drops its privileges, and becomes the agent.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself imports much
import gc
import os
import resource
import select
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # mypy takes it for true; at run time these would take longer than all the rest
    import socket
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn

    Settings = dict[str, Any]
    Env = Mapping[bytes, bytes] | Mapping[str, str]
    Listening = list[tuple[socket.socket, Callable[[], socket.socket]]]
    """A listening socket, and the function that opens the connection to forward to."""

KEYRING_CALLS = {
    0xC000003E: (248, 249, 250),  # x86_64, and x32 with one bit more
    0x40000003: (286, 287, 288),  # i386
    0x40000028: (309, 310, 311),  # arm
    **dict.fromkeys((0xC00000B7, 0xC00000F3), (217, 218, 219)),  # aarch64 and riscv64
}
"""Architecture -> the numbers of add_key, request_key and keyctl (linux/audit.h, the tables of system calls)."""
GB = 1_000_000_000
DISK_CHECK_S = 2.0
"""Seconds between disk checks; slow checks are done less often."""
FULL = "over_limit"
"""The file in the private folder that names the limit that ended the sandbox."""
OUT_OF_MEMORY = "out_of_memory"
"""The file there that names the limit for which the kernel ended a program in the sandbox."""
TAKEN = b"+"
"""The watcher's first byte, sent once it is connected."""
GROUP = "lensbench-"
"""The prefix of control group names, before the process id."""
CGROUPS = "/sys/fs/cgroup"


def keyring_filter() -> bytes:
    """A BPF program that disables kernel keyring calls (ENOSYS), because keyrings have no namespaces."""
    load = 0x20
    equal = 0x15
    also = 0x54
    end = 0x06
    allow = 0x7FFF0000
    deny = 0x00050000 | 38
    steps: list[tuple[int, int, int, int]] = []
    for architecture, calls in KEYRING_CALLS.items():
        steps += [
            (load, 0, 0, 4),
            (equal, 0, 7, architecture),
            (load, 0, 0, 0),
            (also, 0, 0, 0xBFFFFFFF),
        ]
        steps += [(equal, 3 - index, 0, call) for index, call in enumerate(calls)]
        steps += [(end, 0, 0, allow), (end, 0, 0, deny)]
    return b"".join(struct.pack("=HBBI", *step) for step in [*steps, (end, 0, 0, allow)])


def outside(settings: Settings, argv: list[str], env: Env) -> NoReturn:
    """Becomes bubblewrap, after starting a watcher that outlives it."""
    listening = [_listen(way) for way in settings["ways"]]
    groups = _make_groups(settings["limits"])
    parent = os.getpid()
    if os.fork() == 0:
        os.setsid()  # it must clean up after its process group was ended
        _silence(listening)
        _watch(parent, listening, groups, settings["folder"], settings["limits"])
        os._exit(0)
    for server, _ in listening:
        server.close()
    for group in groups:
        try:
            _write(f"{group}/cgroup.procs", str(parent))
        except OSError:
            continue
    limits = settings["limits"]
    _set_limit("CORE", 0)
    _set_limit("NOFILE", limits["open_files"])
    _set_limit("DATA", limits["memory_gb"] * GB)
    _set_limit("FSIZE", limits.get("file_gb", limits["disk_gb"]) * GB)
    memory = os.memfd_create("filter")
    os.write(memory, keyring_filter())
    os.lseek(memory, 0, os.SEEK_SET)
    os.set_inheritable(memory, True)
    os.execve(argv[0], [argv[0], "--seccomp", str(memory), *argv[1:]], env)


def inside(settings: Settings, argv: list[str], env: Env) -> NoReturn:
    """Becomes the agent, after starting a process that forwards its connections."""
    listening = [listener for way in settings["ways"] for listener in _listen_inside(way)]
    if listening:  # else bubblewrap left no privileges
        _give_up_privileges()
    if listening and os.fork() == 0:
        _silence(listening)
        _serve(listening)
        while True:
            time.sleep(3600)
    for server, _ in listening:
        server.close()
    _set_limit(
        "NPROC", settings["limits"]["processes"]
    )  # of this user in this sandbox; no limit for root
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def _given_environment() -> dict[bytes, bytes]:
    """The environment as passed to this process, without the variable that Python adds (PEP 538)."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (pair.partition(b"=") for pair in file.read().split(b"\0") if pair)
        return {name: value for name, _, value in pairs}


def _write(file: str, text: str) -> None:
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)


def _silence(listening: Listening) -> None:
    """Leaves this process only its sockets: no output, no lock."""
    gc.freeze()  # a freed file of the parent closes a later one
    null = os.open(os.devnull, os.O_RDWR)
    kept = [server.fileno() for server, _ in listening]
    for number in map(int, os.listdir("/proc/self/fd")):
        if number < 3:
            os.dup2(null, number)
        elif number not in kept:
            os.closerange(number, number + 1)  # the list is closed


def _give_up_privileges() -> None:
    """Drops all capabilities, for this process and its children; low ports must be bound before."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    libc.capset(struct.pack("=II", 0x20080522, 0), bytes(24))


def _set_limit(name: str, value: float) -> None:
    """Limits this process and its children, within the limit that this process has."""
    kind = getattr(resource, f"RLIMIT_{name}")
    hard = resource.getrlimit(kind)[1]
    limit = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
    resource.setrlimit(kind, (limit, limit))


# --- control groups


def _make_groups(limits: Settings) -> list[str]:
    """Creates control groups with the limits, as far as this user may."""
    memory = str(int(limits["memory_gb"] * GB))
    processes = str(limits["processes"])
    values = {"memory.max": memory, "memory.swap.max": "0", "pids.max": processes}
    values_of = {
        "memory": {"memory.limit_in_bytes": memory},
        "pids": {"pids.max": processes},
        "": values,
    }
    groups: dict[str, str] = {}
    for kind, group in _groups_of(os.getpid()):
        if kind not in groups and _make_group(group, values_of[kind]):
            groups[kind] = group
    return list(groups.values())


def _groups_of(process: int) -> list[tuple[str, str]]:
    """Possible paths of the control groups of the sandbox with this process id, each with what it limits: "" for both
    in a unified hierarchy (the first that can be created is used), else `memory` and `pids`."""
    name = f"{GROUP}{process}"
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.strip().split(":", 2) for line in file]
    except OSError:
        return []
    if os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        own = os.path.join(
            CGROUPS, next((path for _, kinds, path in lines if not kinds), "/").strip("/")
        )
        parents = dict.fromkeys((own.rstrip("/"), os.path.dirname(own.rstrip("/")), CGROUPS))
        return [("", f"{parent}/{name}") for parent in parents]
    of_kind = {kind: path.strip("/") for _, kinds, path in lines for kind in kinds.split(",")}
    return [
        (kind, os.path.join(CGROUPS, kind, of_kind.get(kind, ""), name))
        for kind in ("memory", "pids")
    ]


def _make_group(group: str, values: dict[str, str]) -> bool:
    parent = os.path.dirname(group)
    if not f"{parent}/".startswith(f"{CGROUPS}/"):
        return False
    try:
        for old in os.listdir(parent):  # left by killed starts; groups in use cannot be removed
            if old.startswith(GROUP) and not os.path.exists(f"/proc/{old.removeprefix(GROUP)}"):
                _remove(f"{parent}/{old}")
        os.mkdir(group)
        for file, value in values.items():
            if file != "memory.swap.max" or os.path.exists(f"{group}/{file}"):
                _write(f"{group}/{file}", value)
        return True
    except OSError:
        _remove(group)
        return False


def _remove(group: str) -> bool:
    try:
        os.rmdir(group)
    except OSError:
        return not os.path.exists(group)
    return True


# --- connections


def _listen(way: Settings) -> tuple[socket.socket, Callable[[], socket.socket]]:
    """The watcher's end of a connection out of the sandbox."""
    import socket

    server = socket.socket(socket.AF_UNIX)
    server.bind(way["outside"])
    server.listen(128)
    return server, lambda: socket.create_connection((way["name"], way["port"]))


def _listen_inside(way: Settings) -> Iterator[tuple[socket.socket, Callable[[], socket.socket]]]:
    """The sandbox's ends of a connection out."""
    import socket

    for address in way["addresses"]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            server = socket.create_server((address, way["port"]), family=family, backlog=128)
        except OSError:  # there may be no IPv6
            continue
        yield server, lambda: _connect(way["inside"])


def _connect(path: str) -> socket.socket:
    """A connection to the watcher after it has connected to the address. Raises OSError when it could not."""
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    if connection.recv(1) != TAKEN:
        connection.close()
        raise ConnectionRefusedError
    return connection


def _serve(listening: Listening) -> None:
    """Forwards every connection, in threads that end with the process."""
    for server, connect in listening:
        _in_thread(_accept, server, connect)


def _in_thread(work: Callable[..., object], *arguments: object) -> None:
    import threading

    threading.Thread(target=work, args=arguments, daemon=True).start()


def _accept(server: socket.socket, connect: Callable[[], socket.socket]) -> None:
    while True:
        _in_thread(_pass_on, server.accept()[0], connect)


def _pass_on(client: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Forwards in both directions; a connection that is not accepted is reset, not closed like an empty answer."""
    import socket

    with client:
        try:
            other = connect()
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        with other:
            if client.family == socket.AF_UNIX:
                client.sendall(TAKEN)
            _in_thread(_copy, client, other)
            _copy(other, client)


def _copy(source: socket.socket, target: socket.socket) -> None:
    from contextlib import suppress

    with suppress(OSError):
        while block := source.recv(1 << 16):
            target.sendall(block)
    with suppress(OSError):
        target.shutdown(1)  # SHUT_WR


# --- the watcher


def _watch(
    sandbox: int, listening: Listening, groups: list[str], folder: str, limits: Settings
) -> None:
    """Forwards connections and checks the disk until bubblewrap has ended; then notes a memory kill, and removes the
    control groups."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    _serve(listening)
    try:
        process = os.pidfd_open(sandbox)
        poller = select.poll()
        poller.register(process, select.POLLIN)
        disk = limits["disk_gb"] * GB
        _watch_disk(process, folder, disk, lambda pause_s: bool(poller.poll(pause_s * 1000)))
    except (OSError, SystemExit):
        pass
    if any(map(_has_memory_kill, groups)):
        _write(
            f"{folder}/{OUT_OF_MEMORY}",
            f"more than {limits['memory_gb']:g} GB of memory (limits.memory_gb)",
        )
    for group in groups:
        for _ in range(500):
            if _remove(group):
                break
            time.sleep(0.02)


def _has_memory_kill(group: str) -> bool:
    """True when the kernel ended a program of the control group because of its limit of memory."""
    for name in ("memory.events", "memory.oom_control"):  # of version 2 and 1
        try:
            with open(f"{group}/{name}", encoding="utf-8") as file:
                counts = dict(line.split() for line in file)
        except OSError:
            continue
        return counts.get("oom_kill", "0") != "0"
    return False


def _watch_disk(sandbox: int, folder: str, disk: float, has_ended: Callable[[float], bool]) -> None:
    """Ends the process of the descriptor `sandbox` when `folder` has grown by more than `disk` bytes."""
    limit = _size(folder) + disk
    pause_s = DISK_CHECK_S
    while not has_ended(pause_s):
        began = time.monotonic()
        if _size(folder) > limit:
            _write(f"{folder}/{FULL}", f"more than {disk / GB:g} GB of disk (limits.disk_gb)")
            signal.pidfd_send_signal(sandbox, signal.SIGKILL)
        pause_s = max(DISK_CHECK_S, 20 * (time.monotonic() - began))


def _size(folder: str) -> int:
    """The disk usage of `folder` in bytes, of visible files."""
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


def begin(step: Sequence[str], env: Env | None = None) -> NoReturn:
    """Becomes the next program, by the arguments of a step."""
    place, text, *argv = step
    settings: Settings = eval(text, {"__builtins__": {}})  # json would be half of all imports
    (outside if place == "outside" else inside)(
        settings, argv, _given_environment() if env is None else env
    )
