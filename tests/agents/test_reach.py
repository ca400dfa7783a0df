"""What an agent with a network of its own reaches, what keeps it there, and what one run may use of the machine."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_sandbox import AUTO, FOUND, bubblewrap, make_place, project

from lensbench.agents.reach import Host, addresses_of, hosts_file, hosts_in, network_of, read_host
from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.agents.sandbox_start import FULL, keyring_filter
from lensbench.agents.start import AgentReply, assign, start_agent
from lensbench.core.system.processes import adopt_orphans
from lensbench.core.system.redaction import Redactor
from lensbench.plan.config import Agent
from services import Reply, answering

__all__ = ["project"]

OWN = {**AUTO, "network": "auto"}
HAS_OWN = bool(FOUND.program) and not find_sandbox(OWN).shared_network
own_network = pytest.mark.skipif(not HAS_OWN, reason="this machine allows no separate network")

# --- which hosts


def test_hosts_are_read_from_urls_with_their_ports_once_each() -> None:
    texts = [
        '{"url": "http://localhost:4111/mcp"}',
        "wss://me:pw@Api.example.org/x, https://[::1]:8443 http://a.b",
    ]
    expected = [("localhost", 4111), ("api.example.org", 443), ("::1", 8443), ("a.b", 80)]
    assert hosts_in([*texts, texts[0], "https://x:99999/"]) == [Host(*host) for host in expected]


@pytest.mark.parametrize(
    ("written", "host"),
    [("pypi.org", ("pypi.org", 443)), ("A:80", ("a", 80)), ("[::1]:5", ("::1", 5))],
)
def test_a_host_of_the_config_has_port_443_unless_it_names_another(
    written: str, host: tuple[str, int]
) -> None:
    assert read_host(written) == Host(*host)


def test_a_network_has_the_model_the_declared_servers_and_what_the_config_names() -> None:
    environment = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9000", "PATH": "/usr/bin"}
    network = network_of(
        ['{"url": "http://localhost:4111/mcp"}'], environment, ("api.x.org:443",), ("pypi.org",)
    )
    assert [*map(str, network.hosts)] == [
        "api.x.org:443",
        "pypi.org:443",
        "localhost:4111",
        "127.0.0.1:9000",
    ]
    assert network.name == "own"


@pytest.mark.parametrize(
    ("environment", "agents", "declared", "why"),
    [
        ({}, None, "", "the hosts that this agent needs are unknown"),
        ({"HTTPS_PROXY": "http://proxy:1"}, ("a:443",), "", "HTTPS_PROXY is passed on"),
        ({}, ("a:443",), "http://10.1.2.3:80/mcp", "10.1.2.3 is a numeric address"),
    ],
)
def test_if_the_network_cannot_be_isolated_it_is_shared_with_a_reason(
    environment: dict[str, str], agents: tuple[str, ...] | None, declared: str, why: str
) -> None:
    network = network_of([declared], environment, agents, ())
    assert network.hosts == ()
    assert network.name.startswith(f"shared: {why}")


def test_each_name_is_listened_for_at_an_address_of_its_own() -> None:
    found = addresses_of(
        [Host("localhost", 1), Host("a", 443), Host("a", 80), Host("b", 443), Host("::1", 2)]
    )
    assert list(found.values()) == [
        ("127.0.0.1", "::1"),
        ("127.0.1.1",),
        ("127.0.1.1",),
        ("127.0.1.2",),
        ("::1",),
    ]
    assert hosts_file(found).splitlines()[2:] == ["127.0.1.1 a", "127.0.1.2 b"]


# --- inside


@pytest.fixture
def daemon() -> Iterator[int]:
    """The port of a service on loopback that answers with the length of what it was sent, and with much."""
    with answering(lambda asked: Reply(200, str(len(asked.body)).encode().ljust(300_000))) as url:
        yield int(url.rpartition(":")[2])


@pytest.fixture
def place(project: Path, tmp_path: Path) -> Place:
    return make_place(tmp_path / "lb-1", find_sandbox(OWN))


def inside(place: Place, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    values = {"PATH": os.environ["PATH"]}
    argv = place.wrap(
        [sys.executable, "-IS", "-c", code, *arguments], values, "/session/mcp.json", agents=()
    )
    return subprocess.run(
        argv, env=values, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


POST = """
import http.client, sys
for name in sys.argv[2:]:
    for size in (10, 2_000_000):
        connection = http.client.HTTPConnection(name, int(sys.argv[1]), timeout=20)
        connection.request("POST", "/", b"x" * size)
        print(name, int(connection.getresponse().read()), flush=True)
"""


@pytest.mark.slow
@own_network
def test_a_declared_server_is_reached_at_its_own_address_and_nothing_else_is(
    place: Place, daemon: int
) -> None:
    Path(place.private, "session", "mcp.json").write_text(
        json.dumps(
            {"mcpServers": {"lens": {"type": "http", "url": f"http://localhost:{daemon}/mcp"}}}
        ),
        encoding="utf-8",
    )
    said = inside(place, POST, str(daemon), "127.0.0.1", "localhost")
    assert said.stdout.splitlines() == [
        f"{name} {size}" for name in ("127.0.0.1", "localhost") for size in (10, 2_000_000)
    ], said.stderr
    Path(place.private, "session", "mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    refused = inside(place, POST, str(daemon), "127.0.0.1")
    assert (refused.stdout, "ConnectionRefusedError" in refused.stderr) == ("", True)


@pytest.mark.slow
@own_network
def test_a_name_with_a_low_port_leads_to_its_listener(place: Place) -> None:
    settings = {**OWN, "hosts": ["service.invalid:443"]}
    named = make_place(Path(place.private).parent / "lb-2", find_sandbox(settings))
    look = """
import os, socket
print(socket.gethostbyname("service.invalid"))
try:
    connection = socket.create_connection(("service.invalid", 443), 20)
    print(connection.recv(10))
except OSError as error:
    print(type(error).__name__)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb"))])
"""
    said = inside(named, look)
    nothing = "0" * 16
    assert said.stdout.splitlines() == ["127.0.1.1", "ConnectionResetError", str([nothing] * 4)], (
        said.stderr
    )


@own_network
def test_a_server_that_is_gone_resets_the_connection(place: Place, daemon: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    Path(place.private, "session", "mcp.json").write_text(
        json.dumps({"mcpServers": {"lens": {"url": f"http://127.0.0.1:{port}/mcp"}}}),
        encoding="utf-8",
    )
    said = inside(place, POST, str(port), "127.0.0.1")
    assert "ConnectionResetError" in said.stderr


@own_network
def test_abstract_sockets_of_the_machine_are_not_reached(place: Place) -> None:
    name = f"lensbench-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect('\\0' + sys.argv[1]); print('reached')"
        said = inside(place, code, name)
    assert (said.stdout, "ConnectionRefusedError" in said.stderr) == ("", True)


@own_network
def test_without_network_namespaces_the_sandbox_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(
        '#!/bin/sh\ncase " $* " in *" --unshare-net "*) echo "loopback: Failed RTM_NEWADDR" >&2; exit 1;; esac\n'
        f'exec {FOUND.program} "$@"\n'
    )
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = find_sandbox(OWN)
    assert (found.program, found.shared_network) == (
        str(refusing),
        "this machine allows no separate network",
    )
    assert found.name.startswith("bubblewrap ")


KEYRING = """
import ctypes, os, platform, sys
add, request, keyctl = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    result = libc.syscall(*arguments)
    return (result < 0 and os.strerror(ctypes.get_errno())) or "done"
key = b"lensbench-test-" + sys.argv[1].encode()
print(call(add, b"user", key, b"secret", 6, -4), call(request, b"user", key, None, 0), call(keyctl, 0, -4, 0))
"""


@bubblewrap
def test_the_kernels_keyrings_do_not_exist_inside(place: Place) -> None:
    outside = subprocess.run(
        [sys.executable, "-IS", "-c", KEYRING, str(os.getpid())], capture_output=True, text=True
    )
    assert inside(place, KEYRING, str(os.getpid())).stdout.strip() == " ".join(
        ["Function not implemented"] * 3
    )
    if "done" not in outside.stdout:
        pytest.skip("keyrings are shut off outside, too")


def test_the_filter_is_a_program_that_the_kernel_takes() -> None:
    assert len(keyring_filter()) % 8 == 0
    assert len(keyring_filter()) // 8 == 5 * 9 + 1


# --- limits


def limited(place: Place, **limits: float) -> Place:
    return make_place(
        Path(place.private).parent / "lb-limited", find_sandbox({**OWN, "limits": limits})
    )


@pytest.mark.slow
@bubblewrap
def test_memory_beyond_the_limit_is_not_given(place: Place) -> None:
    code = "import sys; print(len(bytearray(b'x') * int(sys.argv[1])))"
    small = limited(place, memory_gb=0.3)
    assert inside(small, code, "20000000").stdout == "20000000\n"
    assert inside(place, code, "600000000").stdout == "600000000\n"
    assert inside(small, code, "600000000").stdout == ""


@pytest.mark.slow
@bubblewrap
@pytest.mark.skipif(
    os.geteuid() == 0 and not os.access("/sys/fs/cgroup", os.W_OK), reason="needs a control group"
)
def test_a_fork_bomb_ends_at_the_limit_of_processes(place: Place) -> None:
    code = """
import os, time
made = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(30)
        made += 1
except OSError:
    print("stopped", made < 64, flush=True)
os._exit(0)
"""
    assert inside(limited(place, processes=64), code).stdout == "stopped True\n"


@pytest.mark.slow
@bubblewrap
@pytest.mark.skipif(not os.access("/sys/fs/cgroup", os.W_OK), reason="needs a control group")
def test_a_program_that_the_kernel_ends_for_its_memory_leaves_the_name_of_the_limit(
    place: Place,
) -> None:
    """Shared memory is no data of a process, so only a control group limits it."""
    code = "import mmap; space = mmap.mmap(-1, 300_000_000); [space.write(bytes(1_000_000)) for _ in range(300)]"
    small = limited(place, memory_gb=0.2)
    said = start_agent_in(small, code)
    assert said.ended.exit_code not in (0, None)
    assert said.over_limit == "more than 0.2 GB of memory (limits.memory_gb)"
    assert not list(Path("/sys/fs/cgroup").rglob(f"lensbench-{os.getpid()}"))


def start_agent_in(place: Place, code: str) -> AgentReply:
    """What becomes of an agent that is a Python program."""
    agent = Agent(kind="command", command=(sys.executable, "-c", code))
    shutil.rmtree(f"{place.private}/session")
    os.rmdir(f"{place.private}/tmp")
    run = assign(place, "", {}, agent.settings, 1, servers=(), denied_servers=())
    adopt_orphans()
    return start_agent(run, place, 60, Redactor((), {}))


@pytest.mark.slow
@bubblewrap
def test_a_run_that_fills_the_disk_is_ended_and_says_so(place: Place, tmp_path: Path) -> None:
    full = limited(place, disk_gb=0.02)
    assert inside(full, "open('/tmp/x', 'wb').write(bytes(40_000_000))").returncode != 0
    (tmp_path / "large").write_bytes(bytes(40_000_000))
    code = """
import os, sys, time
os.symlink(sys.argv[1], "/tmp/link")  # what it leads to is not the run's
time.sleep(3)
print("linked", flush=True)
for number in range(8):
    with open(f"/tmp/{number}", "wb") as file:
        file.write(bytes(4_000_000))
time.sleep(60)
"""
    said = inside(full, code, f"{tmp_path}/large")
    assert (said.stdout, said.returncode != 0) == ("linked\n", True)
    assert "limits.disk_gb" in Path(full.private, FULL).read_text(encoding="utf-8")


@bubblewrap
def test_no_control_group_is_left(place: Place) -> None:
    """Of this run: others may be at work beside it, or were killed."""
    said = inside(place, "print(open('/proc/self/cgroup').read())")
    assert said.returncode == 0
    made = set(re.findall(r"lensbench-\d+", said.stdout))
    until = time.monotonic() + 10
    while left := [group for name in made for group in Path("/sys/fs/cgroup").rglob(name)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)
