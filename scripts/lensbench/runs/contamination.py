"""Finds a run's calls to the addresses of servers that only other conditions have, in its transcript. In the sandbox a
network of its own reaches none; without one they show here. A search for an address is none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from lensbench.agents.reach import Host, hosts_in
from lensbench.core.conditions import filled, mcp_servers
from lensbench.core.frozen_plan import Plan, PlannedCondition
from lensbench.runs.timeline import own_calls

_CONNECTS = re.compile(
    r"(?ia)\b(curl|wget|nc|ncat|netcat|telnet|socat|xh|httpie|urllib3?|urlopen|requests|httpx|aiohttp|websockets?"
    r"|http\.client|httplib|net/http|socket|create_?connection|streamablehttp_client|sse_client"
    r"|(web_?)?fetch|browse\w*|navigate|lwp|faraday|axios|invoke-webrequest|mcp-remote)\b|/dev/(tcp|udp)/|web_?fetch"
)
"""Names of programs and libraries that open connections, and of tools that fetch URLs."""
_INTERPRETERS = re.compile(
    r"(?a)\b(python[\d.]*|node|deno|bun|npx|uvx|perl|ruby|php|ssh|go run|https?)\b"
)
"""Programs that may open a connection if an address is among their arguments."""
_LOCAL = (
    r"(?:localhost|127(?:\.\d+){1,3}|0\.0\.0\.0|\[?::1\]?|\[?::ffff:127[\d.]*\]?"
    r"|host\.docker\.internal|ip6-localhost)"
)
_COMMON_PORTS = (80, 443)
"""Port numbers that are too common to match without a host."""
_SEARCHES = re.compile(
    r"\s*(?:rg|grep|egrep|fgrep|ag|git\s+(?:grep|log|show|diff)|cat|sed|awk|find|head|tail|echo)\b"
)
_PARTS = re.compile(r"&&|\|\||[;\n]")


def foreign_hosts(plan: Plan, condition: str) -> list[Host]:
    """The addresses of servers that only other conditions have, from their MCP files."""
    own = set(_hosts(plan["conditions"][condition]))
    others = (
        host
        for name, other in plan["conditions"].items()
        if name != condition
        for host in _hosts(other)
    )
    return [host for host in dict.fromkeys(others) if host not in own]


def _hosts(condition: PlannedCondition) -> list[Host]:
    return hosts_in(
        json.dumps(filled(servers, os.environ)) for _, servers in mcp_servers([condition])
    )


def direct_calls(transcript: Iterable[str], hosts: Collection[Host]) -> list[str]:
    """The calls in a transcript to one of `hosts`, each shortened to one line."""
    patterns = [(_address(host), _port(host)) for host in hosts]

    def goes_out(call: str) -> bool:
        connects = _CONNECTS.search(call)
        may_connect = connects or _INTERPRETERS.search(call)
        return any(
            (may_connect and at.search(call)) or (connects and port and port.search(call))
            for at, port in patterns
        )

    steps = own_calls(transcript)
    return [
        step.line for step in steps if goes_out(f"{step.title} {_without_searches(step.given)}")
    ]


def _without_searches(arguments: str) -> str:
    """The arguments, without parts of a shell command that only search or print text."""
    with suppress(ValueError, AttributeError):
        arguments = "\n".join(
            value for value in json.loads(arguments).values() if isinstance(value, str)
        )
    return "\n".join(part for part in _PARTS.split(arguments) if not _SEARCHES.match(part))


def _address(host: Host) -> re.Pattern[str]:
    """A pattern for the host with its port: `name:port`, or the name alone if the port is implied or separate."""
    if not host.is_local:
        return re.compile(rf"(?ia)(?<![\w.-]){re.escape(host.name)}(?![\w-]|\.\w)")
    port = rf"(?::|\W{{1,4}}){host.port}(?!\d)"
    return re.compile(
        rf"(?ia)(?<![\w.-]){_LOCAL}(?:{port}"
        + (r"|(?![\w:.-]))" if host.port in _COMMON_PORTS else ")")
    )


def _port(host: Host) -> re.Pattern[str] | None:
    """A pattern for the port alone, for a server on this machine, which has too many names to list."""
    if not host.is_local or host.port in _COMMON_PORTS:
        return None
    return re.compile(rf"(?<![\d.]){host.port}(?![\d.]*\d)")
