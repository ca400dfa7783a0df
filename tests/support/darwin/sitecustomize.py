"""Makes each Python that has this folder on its path find what macOS has, and nothing that only Linux has.

A library that asks for the platform at its import gets Linux's answer first, as its Darwin half is not installed here.
"""

import ctypes
import os
import signal
import sys
import sysconfig
from types import ModuleType
from typing import Any

import psutil  # before the platform changes: it loads its half for Linux, which may read /proc

sysconfig.get_config_vars()

LINUX_ONLY = {
    os: "pidfd_open memfd_create sched_getaffinity sched_setaffinity unshare setns eventfd copy_file_range "
    "splice getxattr setxattr listxattr getrandom O_PATH O_TMPFILE O_DIRECT posix_fadvise",
    signal: "pidfd_send_signal",
}


class Library(ctypes.CDLL):
    """A C library without the calls of Linux."""

    def __getattr__(self, name: str) -> Any:
        if name in ("prctl", "capset", "unshare", "setns"):
            raise AttributeError(f"dlsym: symbol not found: {name}")
        return super().__getattr__(name)


def without_proc(event: str, given: tuple[Any, ...]) -> None:
    """Hides /proc from everybody but psutil, which asks the system in another way on macOS."""
    if event not in ("open", "os.listdir", "os.scandir"):
        return
    path = os.fsdecode(given[0]) if isinstance(given[0], str | bytes) else ""
    caller = sys._getframe().f_back
    if path.startswith("/proc/") and not (caller and "psutil" in caller.f_code.co_filename):
        raise FileNotFoundError(2, "No such file or directory", path)


for module, names in LINUX_ONLY.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
proxies = ModuleType("_scproxy")
vars(proxies).update(_get_proxy_settings=dict, _get_proxies=dict)
sys.modules["_scproxy"] = proxies
ctypes.CDLL = Library  # type: ignore[misc]
sys.addaudithook(without_proc)
sys.platform = "darwin"
__all__ = ["psutil"]
