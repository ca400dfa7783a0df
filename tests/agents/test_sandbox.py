"""What an agent in the sandbox sees, what it cannot touch, and how it ends."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lensbench.agents.sandbox import NO_SANDBOX, SYSTEM, Place, Sandbox, become, find_sandbox
from lensbench.agents.sandbox_view import mounts_of
from lensbench.agents.start import assign, start_agent
from lensbench.core.errors import UserError
from lensbench.core.system.places import PACKAGE
from lensbench.core.system.processes import run_process
from lensbench.core.system.redaction import Redactor
from lensbench.plan.config import Agent
from small_benchmark import living, wait_for

AUTO = {"mode": "auto", "visible": [], "hidden": []}
FOUND = find_sandbox(AUTO)
bubblewrap = pytest.mark.skipif(
    not FOUND.program, reason=f"no sandbox on this machine: {FOUND.reason}"
)


def test_where_bubblewrap_works_a_sandbox_is_found() -> None:
    """Or else every test of it would be skipped when the sandbox is what is broken."""
    if (
        shutil.which("bwrap")
        and subprocess.run(["bwrap", "--dev-bind", "/", "/", "true"], check=False).returncode == 0
    ):
        assert FOUND.program, FOUND.reason


def make_place(folder: Path, sandbox: Sandbox) -> Place:
    for name in ("repo", "session", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "session" / "mcp.json").write_text('{"mcpServers": {}}')
    (folder / "repo" / "a.py").write_text("x = 1\n")
    return Place(sandbox, str(folder))


def start(place: Place, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    values = {"PATH": os.environ["PATH"], **env}
    command = place.wrap(argv, values, place.inside(f"{place.private}/session/mcp.json"))
    return subprocess.run(
        command, env=values, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with criteria in it."""
    folder = tmp_path / "project"
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "set.yaml").write_text("criteria")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def place(project: Path, tmp_path: Path) -> Place:
    return make_place(tmp_path / "lb-1", find_sandbox(AUTO))


@pytest.fixture
def outside_tmp() -> Iterator[Path]:
    """A folder that is not below /tmp's private folders of pytest, so that every user can reach it."""
    folder = Path(tempfile.mkdtemp(prefix="sandbox-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_paths_stay_as_they_are_without_a_sandbox_and_are_the_same_in_every_run_with_one(
    tmp_path: Path,
) -> None:
    place = make_place(tmp_path, NO_SANDBOX)
    assert (
        place.inside(f"{tmp_path}/repo/a.py")
        == place.outside(f"{tmp_path}/repo/a.py")
        == f"{tmp_path}/repo/a.py"
    )
    assert place.wrap(["no-such-agent", "x"], {}, "/nowhere") == ("no-such-agent", "x")
    assert find_sandbox(None) == find_sandbox({**AUTO, "mode": "none"}) == NO_SANDBOX
    assert NO_SANDBOX.lack == "need a sandbox: write sandbox: auto"
    one, other = (
        Place(Sandbox("bubblewrap", "", "bwrap"), str(tmp_path / name)) for name in ("lb-1", "lb-2")
    )
    for place in (one, other):
        assert place.inside(f"{place.private}/repo") == "/repo"
        assert place.inside(f"{place.private}/session/home/x") == "/session/home/x"
        assert place.outside("/repo/a b.py") == f"{place.private}/repo/a b.py"
        assert place.outside("/repository") == "/repository"
        assert place.inside(f"{place.private}/stderr") == f"{place.private}/stderr"


def test_elsewhere_bubblewrap_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "is for Linux" in find_sandbox(AUTO).reason


def test_a_machine_without_bubblewrap_is_a_reason_in_auto_and_an_error_when_it_was_demanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_sandbox(AUTO) == Sandbox(reason="there is no bwrap on PATH")
    broken = tmp_path / "bwrap"
    broken.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    broken.chmod(0o755)
    assert find_sandbox(AUTO) == Sandbox(reason="bwrap: No permissions to create new namespace")
    with pytest.raises(UserError, match=r"No permissions to create.*install it.*sandbox: none"):
        find_sandbox({**AUTO, "mode": "bubblewrap"})


def test_a_trial_that_found_no_network_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program = tmp_path / "bwrap"
    refuses = tmp_path / "refuses"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--unshare-net*) [ -e {refuses} ] && exit 1;; esac\necho bubblewrap 0.8.0\n'
    )
    program.chmod(0o755)
    refuses.touch()
    own = {**AUTO, "network": "own"}
    assert find_sandbox(own).shared_network
    refuses.unlink()
    assert not find_sandbox(own).shared_network


@bubblewrap
def test_inside_are_the_workspace_the_session_programs_and_nothing_of_the_project(
    place: Place, project: Path
) -> None:
    (project / "home").mkdir()
    listed = start(
        place,
        "sh",
        "-c",
        "pwd; ls /; ls /repo /session; touch /repo/b.py /session/s /tmp/t /var/tmp/v",
    )
    assert listed.returncode == 0, listed.stderr
    assert place.sandbox.name.startswith("bubblewrap ")
    assert listed.stdout.startswith("/repo\n")
    assert {"repo", "session", "usr", "tmp"} <= set(listed.stdout.split())
    assert {"home", "boot", "srv", "mnt", "media", "run"}.isdisjoint(listed.stdout.split())
    assert {path.name for path in Path(place.private).rglob("*")} >= {"b.py", "s", "t", "v"}
    for hidden in (
        project,
        Path(place.private).parent,
        Path.home(),
        Path(__file__).parents[2] / "scenarios",
    ):
        look = start(
            place,
            "sh",
            "-c",
            'find "$0" -type f ! -path "*/lib/*" ! -path "*/bin/*" 2>/dev/null',
            str(hidden),
        )
        shown = [
            line
            for line in look.stdout.split()
            if not line.startswith((sys.prefix, sys.base_prefix))
            and "/scripts/lensbench/" not in line
        ]
        assert shown == [], hidden


CHECK = """
import os
for path in ("/", "/usr", "/etc", "/etc/passwd", "/sys/kernel", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"):
    if os.path.exists(path) and os.access(path, os.W_OK): print("writable", path)
for mount in open("/proc/self/mounts").read().splitlines():
    _, folder, _, options, *_ = mount.split()
    if not options.startswith("ro"): print("mount", folder)
print(next(line for line in open("/proc/self/status") if line.startswith("CapEff")).split()[1])
"""


@bubblewrap
def test_the_rest_is_read_only_and_root_has_no_power_over_it(place: Place) -> None:
    seen = start(place, sys.executable, "-I", "-c", CHECK).stdout.split("\n")
    mounts = {line.split()[1] for line in seen if line.startswith("mount")}
    assert [line for line in seen if line.startswith("writable")] == []
    assert {at for at in mounts if not at.startswith("/dev")} == {
        "/proc",
        "/repo",
        "/session",
        "/tmp",
        "/var/tmp",
    }
    assert int(seen[-2], 16) == 0
    undone = start(
        place, "sh", "-c", "mount -o remount,rw /usr && echo undone; umount /repo && echo undone"
    )
    assert "undone" not in undone.stdout


@bubblewrap
def test_only_the_given_environment_and_own_processes_are_seen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINE_KEY", "planted-key")
    look = 'env; for file in /proc/[0-9]*/environ; do tr "\\0" "\\n" < "$file"; done; ls -d /proc/[0-9]* | wc -l'
    seen = start(place, "sh", "-c", look, GIVEN="yes").stdout
    assert "GIVEN=yes" in seen
    assert "planted-key" not in seen
    assert {line.split("=")[0] for line in seen.splitlines() if "=" in line} <= {
        "PATH",
        "GIVEN",
        "PWD",
        "OLDPWD",
        "_",
    }
    assert int(seen.split()[-1]) < 10


@bubblewrap
def test_exit_codes_are_the_agents_own_and_a_signal_is_128_and_its_number(place: Place) -> None:
    assert start(place, "sh", "-c", "exit 7").returncode == 7
    assert start(place, "sh", "-c", "kill -9 $$").returncode == 128 + 9


@bubblewrap
def test_an_agent_has_no_open_file_but_its_streams(place: Place, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"]}
    argv = place.wrap(["ls", "/proc/self/fd"], env, "/session/mcp.json")
    with open(os.devnull, "w", encoding="utf-8") as left:
        os.set_inheritable(left.fileno(), True)
        lines, _ = run_process(
            argv, env, str(tmp_path), 60, left.fileno(), list, become=partial(become, argv, env)
        )
    assert lines == ["0\n", "1\n", "2\n", "3\n"], "3 is what ls opens"


@bubblewrap
@pytest.mark.parametrize("ending", ["timeout", "exit"])
def test_nothing_of_an_agent_survives_it(place: Place, tmp_path: Path, ending: str) -> None:
    mark = f"survivor-{tmp_path.name}-{ending}"
    stubborn = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
    )
    agent = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-IS', '-c', {stubborn!r}, {mark!r}], start_new_session=True)\n"
        f"print('started', flush=True)\n{'time.sleep(300)' if ending == 'timeout' else ''}\n"
    )
    env = {"PATH": os.environ["PATH"]}
    argv = place.wrap([sys.executable, "-IS", "-c", agent], env, "/session/mcp.json")
    with open(os.devnull, "w", encoding="utf-8") as log:
        limit_s = 1.0 if ending == "timeout" else 60.0
        lines, ended = run_process(
            argv, env, str(tmp_path), limit_s, log.fileno(), list, become=partial(become, argv, env)
        )
    assert lines == ["started\n"]
    assert (ended.timed_out, ended.exit_code) == (
        (True, None) if ending == "timeout" else (False, 0)
    )
    assert is_gone(mark)


def is_gone(mark: str) -> bool:
    """True as soon as no process has `mark` in its arguments: the kernel may need a moment."""
    return wait_for(lambda: not [*living(mark)], 20)


@bubblewrap
def test_the_kernel_ends_the_agent_when_its_starter_is_killed(place: Place, tmp_path: Path) -> None:
    mark = f"orphan-{tmp_path.name}"
    env = {"PATH": os.environ["PATH"]}
    argv = place.wrap(["sh", "-c", f"echo up; sleep 300; : {mark}"], env, "/session/mcp.json")
    starter = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(300)"
    process = subprocess.Popen(
        [sys.executable, "-c", starter, *argv], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.kill()
    process.wait()
    assert is_gone(mark)


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@bubblewrap
def test_an_agent_in_a_hidden_folder_is_found_with_its_links_its_packages_and_its_interpreter(
    place: Place, project: Path, tmp_path: Path
) -> None:
    tool = tmp_path / "tools" / "lib" / "node_modules"
    look = '"$(dirname "$(readlink -f "$0")")/..'
    write_program(tool / "agent" / "cli.sh", f'#!/usr/bin/env interpreter\ncat {look}/dep/x"')
    (tool / "dep").mkdir()
    (tool / "dep" / "x").write_text("found it")
    runtime = tmp_path / "runtime"
    write_program(
        runtime / "bin" / "interpreter-1", f'#!/bin/sh\n. {look}/lib/setup"\nexec sh "$1"\n'
    )
    (runtime / "lib").mkdir()
    (runtime / "lib" / "setup").write_text("true")
    (runtime / "bin" / "interpreter").symlink_to("interpreter-1")
    (project / "bin").mkdir()
    (tmp_path / "current").symlink_to(tmp_path / "tools")
    (project / "bin" / "agent").symlink_to(
        tmp_path / "current" / "lib" / "node_modules" / "agent" / "cli.sh"
    )
    path = f"{project}/bin:{runtime}/bin:{os.environ['PATH']}"
    said = start(place, "agent", PATH=path)
    assert (said.stdout, said.stderr) == ("found it", "")


@bubblewrap
@pytest.mark.parametrize("way", ["prefix", "program", "visible", "deep"])
def test_the_answers_in_an_installed_lensbench_are_hidden_whichever_copy_runs(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    home = tmp_path / "a" / "b"
    packages = home / "env" / "lib" / "python3.99" / "site-packages"
    for name in (
        "lensbench_workflow/scenarios/set.yaml",
        "lensbench_workflow/docs/page.md",
        "other/module.py",
    ):
        write_program(packages / name, "canary")
    program = write_program(
        home / "env" / "bin" / "agent", f"#!/bin/sh\nexec grep -rl canary {packages}\n"
    )
    if way == "prefix":
        monkeypatch.setattr(sys, "prefix", str(home / "env"))
    shown = {"visible": [str(home / "env")], "deep": [str(tmp_path)]}.get(way, [])
    place = make_place(tmp_path / "lb-2", find_sandbox({**AUTO, "visible": shown}))
    assert start(place, str(program)).stdout.split() == [f"{packages}/other/module.py"]


@bubblewrap
def test_other_releases_of_the_packages_under_test_are_hidden(
    project: Path, tmp_path: Path
) -> None:
    packages = tmp_path / "env" / "lib" / "python3.99" / "site-packages"
    about = "Metadata-Version: 2.1\nName: python-dotenv\n"
    info = {"RECORD": "dotenv/main.py,,\n../../../bin/dotenv,,\n", "METADATA": about}
    for name in (
        "dotenv/main.py",
        "dotenv_other/main.py",
        *(f"python_dotenv-9.dist-info/{file}" for file in info),
    ):
        write_program(packages / name, info.get(name.rpartition("/")[2], "the fix"))
    settings = {**AUTO, "visible": [str(tmp_path / "env")], "packages": ["Python.Dotenv"]}
    place = make_place(tmp_path / "lb-2", find_sandbox(settings))
    assert start(place, "grep", "-rl", "the fix", str(packages)).stdout.split() == [
        f"{packages}/dotenv_other/main.py"
    ]


@bubblewrap
def test_settings_of_the_machines_administrator_reach_no_agent(
    project: Path, tmp_path: Path
) -> None:
    managed = {f"/etc/{name}" for name in ("claude-code", "codex", "gemini-cli", "opencode")}
    assert managed <= set(find_sandbox(AUTO).hidden)
    (tmp_path / "etc" / "claude-code").mkdir(parents=True)
    hides = mounts_of(
        [f"{tmp_path}/etc"], [f"{tmp_path}/etc/claude-code", f"{tmp_path}/etc/codex"], ""
    )
    etc = f"{tmp_path}/etc"
    there = f"{tmp_path}/etc/claude-code"  # what is not there is not hidden
    assert hides == ["--ro-bind", etc, etc, "--tmpfs", there, "--remount-ro", there]


def venv(folder: Path) -> str:
    """A program in an installation with a link beside it, as in a virtual environment."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib64").symlink_to("lib")
    shutil.copy("/bin/true", folder / "bin" / "go")
    return f"{folder}/bin/go"


@bubblewrap
@pytest.mark.parametrize("is_in_order", [True, False], ids=["in order", "at the same time"])
def test_programs_below_tmp_that_need_links_share_one_place(
    place: Place, outside_tmp: Path, is_in_order: bool
) -> None:
    """Such as the servers of an MCP file, which are all wrapped before the first one starts."""
    env = {"PATH": os.environ["PATH"]}
    programs = [venv(outside_tmp / "one"), venv(outside_tmp / "two")] * 3
    commands = [place.wrap([program], env, "/session/mcp.json") for program in programs]
    starts = [subprocess.Popen(argv, env=env, stderr=subprocess.PIPE) for argv in commands[:1]]
    if is_in_order:
        starts[0].wait()
    starts += [subprocess.Popen(argv, env=env, stderr=subprocess.PIPE) for argv in commands[1:]]
    assert [start.communicate()[1] for start in starts] == [b""] * len(commands)


@bubblewrap
def test_a_link_for_a_program_follows_none_that_an_agent_left_in_tmp(
    place: Place, outside_tmp: Path, tmp_path: Path
) -> None:
    (tmp_path / "of the user").mkdir()
    Path(place.private, "tmp", outside_tmp.name).symlink_to(tmp_path / "of the user")
    start(place, venv(outside_tmp / "one"))
    assert list((tmp_path / "of the user").iterdir()) == []


@pytest.mark.parametrize(
    ("environment", "before", "after"),
    [
        ("/outside", "/env/bin:/env/node_modules/.bin:", "/env"),
        ("", "", ""),
    ],
)
def test_an_agent_has_the_tests_environment_first_on_the_users_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str, before: str, after: str
) -> None:
    monkeypatch.setenv("PATH", mine := f"{os.environ['PATH']}:/my/own")
    place = Place(NO_SANDBOX, str(tmp_path), environment=environment)
    (tmp_path / "repo").mkdir()
    agent = Agent(kind="command", command=("sh", "-c", "echo $PATH,$VIRTUAL_ENV"))
    run = assign(place, "", {}, agent.model_dump(mode="json"), 1, servers=(), denied_servers=())
    said = start_agent(run, place, 60, Redactor((), {}))
    assert said.answer.strip() == f"{before}{mine},{after}"


def test_an_agent_that_may_reach_a_host_gets_a_hosts_file_with_it(tmp_path: Path) -> None:
    place = make_place(tmp_path, Sandbox("bubblewrap", "", "bwrap"))
    argv = place.wrap(["sh"], {"PATH": os.defpath}, "/session/mcp.json", agents=["127.0.0.1:9"])
    at = argv.index(os.path.realpath("/etc/hosts"))
    assert argv[at - 2] == "--ro-bind"
    assert "127.0.0.1" in Path(argv[at - 1]).read_text(encoding="utf-8")


@bubblewrap
def test_a_servers_program_is_shown_in_the_condition_that_has_it_and_only_there(
    place: Place, tmp_path: Path
) -> None:
    server = write_program(tmp_path / "server" / "dist" / "main.js", "x")
    (server.parents[1] / "package.json").write_text("{}")
    read = ("sh", "-c", f"cat {server} {server.parents[1]}/package.json")
    assert start(place, *read).stdout == ""
    mcp = Path(place.private, "session", "mcp.json")
    servers = {"s": {"command": "cat", "args": [str(server)]}, "h": {"url": "http://x"}}
    mcp.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    assert start(place, *read).stdout == "x{}"


@bubblewrap
def test_the_deeper_path_wins_and_where_both_are_named_it_is_hidden(
    project: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    for name in ("open/x", "open/secret/key", "open/secret/public/x", "open/set.yaml"):
        write_program(shared / name, name)
    settings = {
        "mode": "auto",
        "visible": [
            str(shared / "open"),
            str(shared / "open/secret/public"),
            str(project),
            str(shared / "not-there"),
        ],
        "hidden": [
            str(shared / "open" / "secret"),
            str(shared / "open" / "set.yaml"),
            str(shared / "gone"),
        ],
    }
    place = make_place(tmp_path / "lb-2", find_sandbox(settings))
    found = start(place, "find", str(shared), "-name", "*x").stdout.split()
    assert sorted(found) == [f"{shared}/open/secret/public/x", f"{shared}/open/x"]
    assert start(place, "ls", f"{shared}/open/secret").stdout.split() == ["public"]
    assert start(place, "sh", "-c", f"cat {shared}/open/set.yaml").stdout == ""
    assert start(place, "ls", str(project)).returncode == 2
    assert start(place, "touch", f"{shared}/open/new").returncode == 1
    assert start(place, "touch", f"{shared}/open/secret/new").returncode == 1


@bubblewrap
def test_programs_of_other_conditions_are_hidden_where_none_that_is_started_lies(
    project: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    seek, agent = (
        write_program(tools / "bin" / name, '#!/bin/sh\n"$@"\necho ran\n')
        for name in ("seek", "agent")
    )
    place = make_place(tmp_path / "lb-2", find_sandbox({**AUTO, "visible": [str(tools)]}))
    assert start(place, str(agent), str(seek)).stdout == "ran\nran\n"
    hiding = replace(place, foreign=frozenset([str(seek)]))
    found = start(hiding, "sh", "-c", f"{seek}; {agent}")
    assert (found.stdout, "Permission denied" in found.stderr) == ("ran\n", True)
    assert start(replace(place, foreign=frozenset([str(tools)])), str(agent)).stdout == "ran\n"


@bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program as somebody else")
def test_it_works_for_a_user_without_privileges(
    outside_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")  # one that everybody may start
    place = make_place(
        outside_tmp / "lb-3", Sandbox("bubblewrap", "", FOUND.program, (*SYSTEM, str(PACKAGE)), ())
    )
    for path in (outside_tmp / "lb-3", *(outside_tmp / "lb-3").rglob("*")):
        os.chown(path, 65534, 65534)
    env = {"PATH": os.defpath}
    argv = place.wrap(["sh", "-c", "touch /repo/b; id -u; touch /usr/b"], env, "/session/mcp.json")
    nobody: Any = {"user": 65534, "group": 65534, "extra_groups": []}
    said = subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, **nobody)
    assert (said.stdout, said.returncode) == ("65534\n", 1), said.stderr
    made = (outside_tmp / "lb-3" / "repo" / "b").stat()
    assert made.st_uid == 65534
    assert stat.S_ISREG(made.st_mode)


@bubblewrap
@pytest.mark.parametrize("command", [["no-such-agent"], ["./in-the-repository"]])
def test_an_agent_that_is_not_there_cannot_be_started(place: Place, command: Sequence[str]) -> None:
    with pytest.raises(FileNotFoundError):
        place.wrap(command, {"PATH": os.defpath}, "/session/mcp.json")
