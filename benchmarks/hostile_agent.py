"""What a hostile agent can reach, by setting of the sandbox: a program in the place of an agent tries it.

    python benchmarks/hostile_agent.py

Prints a Markdown table. A fork bomb, memory and disk are tried only where a limit is expected to hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lensbench.agents.sandbox import NO_SANDBOX, Place, Sandbox, find_sandbox

SMALL = {"memory_gb": 0.4, "processes": 64, "open_files": 256, "disk_gb": 0.05}
ASKED = {"mode": "auto", "visible": [], "hidden": [], "limits": SMALL}
BOUNDLESS = {"memory", "processes", "disk"}
"""Not tried without a sandbox, since they would affect this machine."""

REACHES = r"""
import ctypes, json, os, platform, socket, sys, time
told = json.loads(sys.argv[2])
def file(path): return open(path).read()
def abstract():
    s = socket.socket(socket.AF_UNIX); s.connect("\0" + told["abstract"])
def loopback(): socket.create_connection(("127.0.0.1", told["port"]), 5)
def keyring():
    call = {"x86_64": 250, "aarch64": 219}[platform.machine()]
    if ctypes.CDLL(None).syscall(call, 0, -4, 0) < 0: raise OSError
def signal(): os.kill(told["pid"], 0)
def memory():
    held = bytearray(b"x") * 900_000_000
def processes():
    made = 0
    for _ in range(200):
        if os.fork() == 0: time.sleep(20); os._exit(0)
def disk():
    for number in range(20):
        open(f"/tmp/{number}", "wb").write(bytes(10_000_000))
    time.sleep(8)
def write(): open(told["home"] + "/lensbench-hostile", "w")
tries = {"home": lambda: file(told["secret"]), "other_run": lambda: file(told["other"]), "write_home": write,
         "abstract": abstract, "loopback": loopback, "keyring": keyring, "signal": signal, "memory": memory,
         "processes": processes, "disk": disk}
try:
    tries[sys.argv[1]]()
except (OSError, MemoryError):
    os._exit(1)
os._exit(0)
"""
NAMES = {
    "home": "read a file of HOME",
    "write_home": "write into HOME",
    "other_run": "read another run's folder",
    "signal": "see and signal processes of the user",
    "keyring": "ask the kernel for the user's keyring",
    "abstract": "connect to an abstract socket",
    "loopback": "connect to a daemon on loopback",
    "memory": "take 0.9 GB where 0.4 are allowed",
    "processes": "start 200 processes where 64 are allowed",
    "disk": "write 0.2 GB where 0.05 are allowed",
}


def reached(sandbox: Sandbox, reach: str, told: dict[str, Any]) -> bool:
    """Whether the program succeeded, in a new private folder."""
    with tempfile.TemporaryDirectory(prefix="lb-") as private:
        for name in ("repo", "session", "tmp"):
            Path(private, name).mkdir()
        Path(private, "session", "mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
        place = Place(sandbox, private)
        env = {"PATH": os.environ["PATH"]}
        argv = [sys.executable, "-IS", "-c", REACHES, reach, json.dumps(told)]
        wrapped = place.wrap(argv, env, place.inside(f"{private}/session/mcp.json"), agents=())
        return (
            subprocess.run(
                wrapped, env=env, capture_output=True, timeout=120, check=False
            ).returncode
            == 0
        )


def main() -> None:
    """Tries everything in every setting."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    settings = {
        "sandbox: none": NO_SANDBOX,
        "bubblewrap, sandbox_network: shared": find_sandbox({**ASKED, "network": "shared"}),
        "bubblewrap, a network of its own": find_sandbox({**ASKED, "network": "auto"}),
    }
    with ExitStack() as stack:
        home = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=".hostile-", dir=Path.home()))
        )
        other = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lb-")))
        (home / "secret").write_text("x", encoding="utf-8")
        (other / "answer.md").write_text("x", encoding="utf-8")
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        named = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"hostile-{os.getpid()}"
        named.bind("\0" + name)
        named.listen()
        threading.Thread(
            target=lambda: [listening.accept() for _ in range(99)], daemon=True
        ).start()
        told = {
            "secret": str(home / "secret"),
            "other": str(other / "answer.md"),
            "home": str(home),
            "port": listening.getsockname()[1],
            "abstract": name,
            "pid": os.getpid(),
        }
        print(f"| tried ({platform.system()} {platform.machine()}) | {' | '.join(settings)} |")
        print("|---" * (len(settings) + 1) + "|")
        for reach, words in NAMES.items():
            cells = [
                "not tried"
                if reach in BOUNDLESS and not sandbox.program
                else "reached"
                if reached(sandbox, reach, told)
                else "-"
                for sandbox in settings.values()
            ]
            print(f"| {words} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
