"""The hosts that an agent in its own network may reach: the model's endpoint, declared servers, and named hosts."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

URL = re.compile(
    r"\b(https?|wss?)://(?:[^/@\s\"']*@)?(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?"
)
SECURE = ("https", "wss")
LOOPBACK = ("127.0.0.1", "::1")


class Host(NamedTuple):
    """A port of a machine, by name or by number."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"

    @property
    def number(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        try:
            return ipaddress.ip_address(self.name)
        except ValueError:
            return None

    @property
    def is_local(self) -> bool:
        return self.name == "localhost" or bool(self.number and self.number.is_loopback)


def hosts_in(texts: Iterable[str]) -> list[Host]:
    """The hosts of all http and websocket URLs in the texts, in order, each once."""
    matches = (match for text in texts for match in URL.finditer(text))
    hosts = (
        Host(name.strip("[]").lower(), int(port or (443 if scheme in SECURE else 80)))
        for scheme, name, port in (match.groups() for match in matches)
    )
    return list(dict.fromkeys(host for host in hosts if 0 < host.port < 65536))


def read_host(address: str) -> Host:
    """`name`, `name:port` or `[number]:port`; the default port is 443."""
    name, _, port = (
        address.rpartition(":") if re.search(r":\d+$", address) else (address, "", "443")
    )
    return Host(name.strip("[]").lower(), int(port))


class Network(NamedTuple):
    """The network of one start: its own with access to `hosts`, or the machine's for the reason in `shared`."""

    hosts: tuple[Host, ...] = ()
    shared: str = ""

    @property
    def name(self) -> str:
        return f"shared: {self.shared}" if self.shared else "own"


def network_of(
    texts: Iterable[str],
    environment: Mapping[str, str],
    agents: Iterable[str] | None,
    further: Iterable[str],
) -> Network:
    """The network for an agent: `texts`: its MCP file; `agents`: its model's hosts; `further`: the config's."""
    proxies = sorted(
        name
        for name in environment
        if name.lower().endswith("_proxy") and name.lower() != "no_proxy"
    )
    if proxies:
        return Network(shared=f"{proxies[0]} is passed on, and a proxy can reach everything")
    if agents is None and not further:
        return Network(
            shared="the hosts that this agent needs are unknown; name them in sandbox_hosts"
        )
    targets = [read_host(host) for host in (*(agents or ()), *further)]
    hosts = dict.fromkeys((*targets, *hosts_in([*texts, *environment.values()])))
    numbers = [host.name for host in hosts if host.number and not host.is_local]
    if numbers:
        return Network(shared=f"{numbers[0]} is a numeric address; use a host name")
    return Network(tuple(hosts))


def addresses_of(hosts: Iterable[Host]) -> dict[Host, tuple[str, ...]]:
    """The addresses inside the sandbox for each host: loopback itself, and a separate address for each other name."""
    names: dict[str, str] = {}
    addresses: dict[Host, tuple[str, ...]] = {}
    for host in hosts:
        if host.is_local:
            addresses[host] = LOOPBACK if host.name == "localhost" else (host.name,)
        else:
            number = len(names)
            names.setdefault(host.name, f"127.0.{1 + number // 250}.{1 + number % 250}")
            addresses[host] = (names[host.name],)
    return addresses


def hosts_file(addresses: Mapping[Host, tuple[str, ...]]) -> str:
    """/etc/hosts of the network."""
    names = {host.name: at[0] for host, at in addresses.items() if not host.is_local}
    lines = [
        "127.0.0.1 localhost",
        "::1 localhost ip6-localhost",
        *(f"{at} {name}" for name, at in names.items()),
    ]
    return "\n".join(lines) + "\n"
