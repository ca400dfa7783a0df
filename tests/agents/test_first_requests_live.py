"""`lensbench check --requests` on the real programs: what the treatment adds to their first requests. `make agents`
installs them."""

import json
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_agents import CLIS, SERVER, Cli

from lensbench.core.request_differences import differences
from lensbench.core.run_folder import RunFolder
from lensbench.runs.requests_file import RequestFindings
from lensbench_tasks.requests import check_requests
from services import free_port, listening
from stock import write

FINDER = Path(__file__).parents[1] / "demo" / "search_server.py"

ADDED = {
    "claude-code": {"mcp__lens__crash", "mcp__lens__find"},
    "codex": {
        "mcp__lens",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
    },
    "gemini": {"mcp_lens_crash", "mcp_lens_find"},
    "opencode": {"lens_crash", "lens_find"},
}
"""The tools of the server as the program offers them, and those with which Codex reads a server's resources."""
MODELS = {
    "claude-code": "sonnet",
    "codex": "gpt-5",
    "gemini": "gemini-2.5-pro",
    "opencode": "anthropic/claude-sonnet-4-5",
}

each_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[cli.needed, pytest.mark.xdist_group(f"requests_{cli.program}")])
        for kind, cli in CLIS.items()
    ],
)
"""The tests of a program share what is sent once."""


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(key, raising=False)


def write_project(folder: Path, cli: Cli, **more: Any) -> Path:
    """A config with a small server, one task and no key, with other keys; returns its path."""
    task = {
        "id": "shop-tgt-01",
        "category": "Targeted",
        "prompt": "Where is the cart?",
        "criteria": [
            {"text": "names the file", "all_of": "cart.py"},
            {"text": "names the class", "all_of": "Cart"},
        ],
    }
    config = {
        "run_id": "live",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "agent": {"kind": cli.kind, "command": list(cli.argv), "model": MODELS[cli.kind]},
        **more,
    }
    write(
        folder,
        {
            "repo/cart.py": "class Cart:\n    limit = 10\n",
            "mcp.json": json.dumps({"mcpServers": {"lens": SERVER}}),
            "tasks.yaml": yaml.safe_dump({"tasks": [task]}),
            "config.yaml": yaml.safe_dump(config, sort_keys=False),
        },
    )
    return folder / "config.yaml"


def offered(body: dict[str, Any]) -> dict[str, Any]:
    """The tools of a request, by name."""
    tools = body["tools"]
    if "functionDeclarations" in tools[0]:
        tools = tools[0]["functionDeclarations"]
    return {tool.get("name") or tool["type"]: tool for tool in tools}


@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_the_treatment_adds_its_tools_and_nothing_else_changes(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    check_requests(write_project(tmp_path, cli))
    folder = tmp_path / "bench" / "live"
    requests = RunFolder(folder).requests
    without, treated = (
        json.loads((requests / f"{name}.json").read_text()) for name in ("without", "with")
    )
    extra = offered(treated).keys() - offered(without).keys()
    assert extra == ADDED[cli.kind]
    for name in offered(without):
        assert offered(treated)[name] == offered(without)[name]
    findings = RequestFindings.read(folder)
    addition = findings.additions["with"]
    sizes = [(requests / f"{name}.json").stat().st_size for name in ("without", "with")]
    assert addition.bytes == sizes[1] - sizes[0]
    assert addition.changed == 0
    printed = capsys.readouterr().out
    assert f"adds {addition.bytes:,} bytes" in printed
    for name in ("without a server", "lens"):
        assert f"{name}: " in printed
    assert findings.agent.startswith(f"{cli.kind} ")
    assert (requests / "with.diff").read_text().startswith("--- without.json\n+++ with.json\n")
    for part in differences(without, treated):
        assert part.is_added
        assert part.place.startswith("tools[") or "Prefer find." in part.text, part


WORDS = {"Finds code.": "Finds what nobody finds.", "Prefer find.": "Ask find first."}
"""The server's description of a tool, and its instructions -> other words."""


@cache
def variants(kind: str, base: Path) -> Path:
    """A run folder with the first requests: with a whole server, a part of it by two forms, and other words of it."""
    folder = base / kind
    described, instructions = WORDS.values()
    own = {"instructions": instructions, "tools": {"find": described}}
    write(folder, {"words.yaml": yaml.safe_dump({"lens": own})})
    conditions = {
        "all": {"mcp": "mcp.json"},
        "only": {"mcp": "mcp.json", "tools": {"only": ["find"]}},
        "rest": {"mcp": "mcp.json", "tools": {"without": ["mcp__lens__crash"]}},
        "told": {"mcp": "mcp.json", "describe": "words.yaml"},
    }
    config = write_project(folder, CLIS[kind], conditions=conditions, baseline="all")
    with chdir(folder):
        check_requests(config)
    return folder / "bench" / "live"


def sent(run: Path, condition: str) -> str:
    return (RunFolder(run).requests / f"{condition}.json").read_text()


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("requests")


@pytest.mark.parametrize("part", ["only", "rest"])
@each_kind
def test_a_part_of_a_server_lacks_the_other_tools_and_nothing_else(
    kind: str, part: str, base: Path
) -> None:
    run = variants(kind, base)
    text = sent(run, "all")
    lean = sent(run, part)
    found = list(differences(json.loads(text), json.loads(lean)))
    assert [difference.is_added for difference in found] == [False]
    assert "Ends the server in the middle of the call." in text
    assert "Finds code." in text
    assert lean.count("Finds code.") == text.count("Finds code.")
    assert "crash" not in lean
    assert RequestFindings.read(run).additions[part].bytes < 0


@each_kind
def test_other_words_of_a_server_are_all_that_differs(kind: str, base: Path) -> None:
    run = variants(kind, base)
    now = sent(run, "all")
    assert "Finds code." in now
    for before, after in WORDS.items():
        now = now.replace(before, after)
    assert json.loads(sent(run, "told")) == json.loads(now)


@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_other_words_of_a_server_with_a_url_are_all_that_differs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = {"tools": {"find_code": "Finds what nobody finds."}}
    write(tmp_path, {"words.yaml": yaml.safe_dump({"finder": own})})
    conditions = {
        "now": {"mcp": "far.json"},
        "told": {"mcp": "far.json", "describe": "words.yaml"},
    }
    write_project(tmp_path, cli, conditions=conditions, baseline="now")
    port = free_port()
    far = {"finder": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}
    write(tmp_path, {"far.json": json.dumps({"mcpServers": far})})
    arguments = [str(tmp_path / "repo"), str(tmp_path / "calls.log"), str(port)]
    check = [sys.executable, "-P", "-m", "lensbench", "check", "--requests"]
    with listening([sys.executable, "-P", str(FINDER), *arguments], port):
        subprocess.run(check, check=True)  # a process of its own, which ends its children
    requests = RunFolder(tmp_path / "bench" / "live").requests
    now, told = ((requests / f"{name}.json").read_text() for name in conditions)
    old = "Ranked search; separate terms with `|`."
    assert old in now
    assert json.loads(told) == json.loads(now.replace(old, "Finds what nobody finds."))
