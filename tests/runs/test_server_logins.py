"""A server with a login gets a token that a command prints before each start, and that nothing keeps."""

# ruff: noqa: F811 (`bench` is a fixture)

import base64
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import pytest
from test_runs import FAKES, bench, plan  # noqa: F401

from lensbench.core.records import RunId, from_json
from lensbench.core.store import entries, run_files
from lensbench.core.system.places import ROOT
from lensbench.plan.own_files import mcp_problem
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios
from lensbench.runs import server_logins
from lensbench.runs.preflight import preflight
from lensbench.runs.run import make_run, read_job
from lensbench.runs.server_logins import login_ended, said_by
from lensbench.runs.stopping import StopEverything
from programs import run_module
from services import free_port, listening

RUN = RunId("anna", "with")
TOKEN = "planted/t0ken+"
LOGIN = """\
count=$(cat "$1/count" 2>/dev/null || echo 0); count=$((count + 1)); echo $count > "$1/count"
echo "signed in as me" >&2
echo "planted/t0ken+$count"; echo "planted/t0ken+$count" >> "$1/valid"
"""


class Login:
    """The user's login: its command, the tokens that are valid, and how often it printed one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.valid = folder / "valid"
        (folder / "login.sh").write_text(LOGIN)
        self.valid.write_text("")
        self.command = ["sh", str(folder / "login.sh"), str(folder)]

    @property
    def count(self) -> int:
        return int((self.folder / "count").read_text())


@pytest.fixture
def login(tmp_path_factory: pytest.TempPathFactory) -> Login:
    return Login(tmp_path_factory.mktemp("login"))


def entry_of(kind: str, login: Login, port: int) -> dict[str, Any]:
    if kind == "http":
        url = f"http://127.0.0.1:{port}/mcp"
        headers = {"Authorization": "Bearer ${token}"}
        return {"url": url, "headers": headers, "token_command": login.command}
    return {
        "command": sys.executable,
        "args": [str(FAKES / "stdio_mcp_server.py"), "--tokens", str(login.valid)],
        "env": {"TOKEN": "${token}"},
        "token_command": login.command,
    }


def write_mcp(entry: dict[str, Any]) -> None:
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": entry}}), encoding="utf-8")


@pytest.fixture(params=["http", "stdio"])
def server(request: pytest.FixtureRequest, bench: Path, login: Login) -> Iterator[str]:
    """A server that wants a token, and its MCP file."""
    port = free_port()
    write_mcp(entry_of(request.param, login, port))
    assert mcp_problem(Path("mcp.json")) == ""
    command = [sys.executable, FAKES / "login_server.py", str(port), login.valid]
    with listening(command, port) if request.param == "http" else nullcontext():
        yield request.param


def make(folder: Path) -> str:
    """Makes the run in a process of its own, which ends whatever it started; what it printed."""
    options = ("--task", RUN.task, "--condition", RUN.condition)
    done = run_module("lensbench.runs.run", "--folder", folder, *options)
    assert done.returncode == 0, done.stderr
    return str(done.stdout + done.stderr)


def forms(text: str) -> set[bytes]:
    """A text as it may be written."""
    escaped = json.dumps(text)[1:-1].replace("/", "\\/")
    coded = base64.b64encode(text.encode())[:-4]
    return {text.encode(), escaped.encode(), text.encode().hex().encode(), coded}


def files_with(folder: Path, text: str) -> list[Path]:
    """The files below a folder in which a text stands, also compressed and encoded."""
    found = []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        found += [path] if any(form in content for form in forms(text)) else []
    return found


@pytest.mark.slow
def test_each_attempt_has_a_token_of_its_own_that_stands_in_no_file(
    server: str, bench: Path, login: Login
) -> None:
    echo = 'cat "$3"; env | base64; cat "$3" >&2; echo fine'
    printed = make(plan(bench, echo, retries=1))
    made = from_json(run_files(bench, RUN).record.read_text())
    assert (made.attempt.reason, made.attempt.detail, login.count) == ("", "", 1)
    shown = gzip.decompress(run_files(bench, RUN).transcript.read_bytes()).decode()
    assert "[redacted: fake.token]" in shown
    assert "token_command" not in shown
    assert TOKEN not in printed
    assert login.valid in files_with(login.folder, TOKEN)
    assert files_with(bench.parents[1], TOKEN) == []


@pytest.mark.slow
def test_a_token_that_ends_within_a_run_is_named_and_the_next_attempt_has_another(
    server: str, bench: Path, login: Login
) -> None:
    valid = shlex.quote(str(login.valid))
    flag = shlex.quote(str(login.folder / "ended"))
    ends_once = f"[ -e {flag} ] || : > {valid}; touch {flag}; echo fine"
    make(plan(bench, ends_once, retries=2))
    first, second = entries(bench, RUN)
    assert first.read_discard().reason == "login_ended"
    assert "401 Unauthorized" in from_json(first.record.read_text()).attempt.detail
    assert (second.counts, login.count) == (True, 2)
    assert run_files(bench, RUN).answer.read_bytes() == b"fine\n"
    assert files_with(bench.parents[1], TOKEN) == []


@pytest.mark.slow
def test_after_a_kill_the_next_start_leaves_no_token(
    bench: Path, login: Login, tmp_path: Path
) -> None:
    write_mcp(entry_of("stdio", login, 0))
    flag = shlex.quote(str(login.folder / "started"))
    folder = plan(bench, f"[ -e {flag} ] && echo fine || {{ touch {flag}; sleep 60; }}", retries=1)
    private = tmp_path / "private"
    private.mkdir()
    environment = {**os.environ, "TMPDIR": str(private)}
    options = ["--folder", str(folder), "--task", RUN.task, "--condition", RUN.condition]
    command = [sys.executable, "-P", "-m", "lensbench.runs.run", *options]
    with subprocess.Popen(command, env=environment) as process:
        while not (login.folder / "started").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    left = files_with(private, TOKEN)
    assert {path.relative_to(private).parts[1] for path in left} == {"session"}
    assert {
        (private / path.relative_to(private).parts[0]).stat().st_mode & 0o077 for path in left
    } == {0}
    assert files_with(folder, TOKEN) == []
    subprocess.run(command, env=environment, check=True)
    assert run_files(bench, RUN).answer.read_bytes() == b"fine\n"
    assert files_with(tmp_path, TOKEN) == []


AGENT = """
import json, os, subprocess, sys
entry = json.load(open(sys.argv[1]))["mcpServers"]["fake"]
server = subprocess.Popen([entry["command"], *entry["args"]], env={**os.environ, **entry["env"]},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ask(method, **params):
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    print(json.dumps(request), file=server.stdin, flush=True)
    return server.stdout.readline()

ask("initialize", protocolVersion="2025-06-18")
ask("tools/list")
valid = open(sys.argv[2]).read()
if not os.path.exists(sys.argv[3]):
    open(sys.argv[2], "w").close()
open(sys.argv[3], "w").close()
ask("tools/call", name="find", arguments={"query": "a"})
open(sys.argv[2], "w").write(valid)
print("fine")
"""


@pytest.mark.slow
def test_a_token_that_a_server_refuses_only_in_the_run_is_named(bench: Path, login: Login) -> None:
    write_mcp(entry_of("stdio", login, 0))
    agent = login.folder / "agent.py"
    ended = login.folder / "ended"
    agent.write_text(AGENT)
    words = map(shlex.quote, (sys.executable, str(agent)))
    places = map(shlex.quote, (str(login.valid), str(ended)))
    make(plan(bench, f'{" ".join(words)} "$3" {" ".join(places)}', retries=2, tee=True))
    first, second = entries(bench, RUN)
    assert first.read_discard().reason == "login_ended"
    assert first.read_discard().detail == "upstream: 401 Unauthorized, the token has expired"
    assert (second.counts, login.count) == (True, 2)
    assert files_with(bench.parents[1], TOKEN) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["sh", "-c", "echo no >&2; echo 'run my-login' >&2; exit 3"],
            "failed, exit code 3: run my-login",
        ),
        (
            ["sh", "-c", "echo t0p-secret-1; echo t0p-secret-1 >&2; exit 1"],
            "failed, exit code 1: [redacted: fake.token]",
        ),
        (
            ["sh", "-c", "echo key $MY_KEY >&2; exit 1"],
            "failed, exit code 1: key [redacted: MY_KEY]",
        ),
        (["true"], "printed nothing"),
        (
            ["echo", "short"],
            "printed no token; it must print one line of at least 6 ASCII characters",
        ),
        (
            ["printf", "one-line\ntwo-lines"],
            "printed no token; it must print one line of at least 6 ASCII characters",
        ),
        (["sleep", "60"], "was not done in 0.5 s"),
        (["./gone"], "cannot be started: ./gone: No such file or directory"),
    ],
)
def test_a_command_that_prints_no_token_stops_everything_before_the_agent_starts(
    bench: Path, command: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_logins, "LOGIN_LIMIT_S", 0.5)
    monkeypatch.setenv("MY_KEY", "k3y-of-mine")
    entry = {"url": "http://127.0.0.1:1/mcp", "headers": {"X": "${token}"}}
    write_mcp(entry | {"token_command": command})
    folder = plan(bench, "touch ../../../started; echo fine")
    with pytest.raises(StopEverything) as stop:
        make_run(read_job(folder, RUN, 0))
    assert str(stop.value) == f"server 'fake': its token_command {said}"
    assert not Path("started").exists()
    config = load_config(
        {
            "run_id": "r",
            "scenarios": "tasks.yaml",
            "repository": {"path": "repo"},
            "agent": {"kind": "command", "command": ["echo", "{prompt_file}"]},
            "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
            "sandbox": "none",
        }
    )
    tasks = read_scenarios(config.scenario_files, config.repository, config.imported)
    (failed,) = (
        check for check in preflight(config, tasks, folder).checks if check.outcome == "failed"
    )
    assert (failed.name, failed.detail) == (
        "with: login",
        f"server 'fake': its token_command {said}",
    )


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
def test_the_documented_client_of_an_oauth_service_prints_its_token(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "logins.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"(?s)```text\n(set -e\n.*?)```", page)
    (tmp_path / ".secrets").mkdir()
    (tmp_path / ".secrets" / "shop").write_text("s3&cret", encoding="utf-8")
    asked = dict[str, list[str]]()

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.update(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.send_response(200 if self.path == "/oauth2/token" else 401)
            self.end_headers()
            self.wfile.write(b'{"token_type": "Bearer", "access_token": "' + TOKEN.encode() + b'"}')

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Service) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{service.server_port}"
        script = script.replace("https://login.example.com", base)
        environment = {**os.environ, "HOME": str(tmp_path)}
        printed = [
            subprocess.run(["sh", "-c", text], env=environment, capture_output=True, text=True)
            for text in (script, script.replace("/oauth2/token", "/gone"))
        ]
        service.shutdown()
    assert (printed[0].returncode, printed[0].stdout) == (0, f"{TOKEN}\n")
    assert asked == {
        "grant_type": ["client_credentials"],
        "client_id": ["bench"],
        "client_secret": ["s3&cret"],
    }
    assert (printed[1].returncode, printed[1].stdout) == (22, "")
    assert "401" in printed[1].stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "detail",
    [
        "shop: https://x/mcp: 401 Unauthorized: the token in its headers is wrong",
        "shop: 403 Forbidden",
        "shop: find(query='a') failed: token expired",
        "shop: the access token has expired",
        "shop: invalid_token",
        "shop: needs-auth",
        "shop: Your session is no longer valid: expired credentials",
    ],
)
def test_what_says_that_a_login_ended(detail: str) -> None:
    assert login_ended(detail, ()) == detail
    log = "\n".join([json.dumps({"tool": "find", "query": detail}), "ready", detail])
    answer = {"server": "shop", "direction": "from_server", "error": detail}
    rows = [answer | {"error": ""}, answer | {"direction": "to_server"}, answer, "no row"]
    taps = "\n".join(map(json.dumps, rows))
    is_of_all = "403" not in detail  # else it may be about one thing that was asked for
    for said in (said_by(["shop"], log, ""), said_by(["shop"], "", taps)):
        assert login_ended("", said) == (detail if is_of_all else "")
    assert login_ended("", said_by(["other"], log.splitlines()[0], taps)) == ""


@pytest.mark.parametrize(
    "detail",
    [
        "shop: connection closed",
        "shop: 4010 files",
        "find(query='401') found nothing",
        "fake: tools unlike: token_count",
        "",
        "x: not ready in 15 s",
    ],
)
def test_another_failure_is_none_of_the_login(detail: str) -> None:
    assert login_ended(detail, ["started", "read 1401 files"]) == ""
