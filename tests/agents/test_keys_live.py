"""The variable that `lensbench init` names for a program's key is the one that the real program reads. `make agents`
installs them."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from live_agents import CLIS, KEY, Cli

from lensbench.agents import programs
from lensbench.agents.listener import REFUSED_STATUS


class Service(ThreadingHTTPServer):
    """A service that refuses everything and keeps the keys that it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Refusing)
        self.keys: set[str] = set()


class Refusing(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        for name in ("authorization", "x-api-key", "x-goog-api-key"):
            if name in self.headers:
                self.server.keys.add(self.headers[name].removeprefix("Bearer "))
        self.send_error(REFUSED_STATUS)

    def log_message(self, format: str, *arguments: object) -> None:
        """Standard error stays the program's."""


def command(cli: Cli, url: str) -> list[str]:
    """A question to the program; Codex takes the address as a setting."""
    if cli.kind == "codex":
        address = f'openai_base_url="{url}/v1"'
        return [*cli.argv, "exec", "--skip-git-repo-check", "-c", address, "hello"]
    if cli.kind == "opencode":
        return [*cli.argv, "run", "--model", programs()["opencode"].model, "hello"]
    return [*cli.argv, "-p", "hello"]


@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_a_program_sends_the_key_that_init_names(cli: Cli, tmp_path: Path) -> None:
    chosen = tmp_path / ".gemini" / "settings.json"  # as our adapter writes it
    chosen.parent.mkdir()
    chosen.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    service = Service()
    threading.Thread(target=service.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{service.server_address[1]}"
    opencode = {"provider": {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}}
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        programs()[cli.kind].key: KEY,
        "ANTHROPIC_BASE_URL": url,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "OPENCODE_CONFIG_CONTENT": json.dumps(opencode),
    }
    with subprocess.Popen(
        command(cli, url),
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as program:
        try:
            program.wait(60)
        except subprocess.TimeoutExpired:
            program.kill()
    service.shutdown()
    assert service.keys == {KEY}
