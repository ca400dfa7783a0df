"""What reaches an agent, and what of it reaches the disk."""

import gzip
import json
import sys
from typing import Any

from small_benchmark import FAKES, Project

SECRET = 'sk-"quoted"\\and/ünusual-0123456789'


def test_the_conditions_differ_in_servers_only_and_no_secret_or_file_of_the_agent_is_kept(
    project: Project,
) -> None:
    project.configure({"tee": False})  # which would stand before the server's command
    project.behave(others="spy")
    project.start(env={"FAKE_SECRET": SECRET, "NOT_PASSED": "1"}, target="bench/r/validity.csv")
    seen: dict[str, dict[str, Any]] = {}
    for condition in ("with", "without"):
        spied = {}
        transcript = gzip.decompress(
            (project.attempt(f"anna-{condition}") / "transcript.jsonl.gz").read_bytes()
        )
        for event in map(json.loads, transcript.decode().splitlines()):
            spied |= event if event["type"] == "spy" else {}
        assert set(spied["env"]) - {"LC_CTYPE"} == {
            "PATH",
            "HOME",
            "TMPDIR",
            "LANG",
            "FAKE_CONTROL",
            "FAKE_SECRET",
        }
        assert spied["env"]["FAKE_SECRET"] == "[redacted: FAKE_SECRET]"
        assert (spied["stdin"], spied["home"]) == ("", ["tmp"])
        assert "with" not in spied["cwd"]
        assert "anna" not in spied["cwd"]
        private = spied["cwd"].removesuffix("/repo")
        seen[condition] = json.loads(json.dumps(spied).replace(private, "PRIVATE"))
    servers = {
        condition: json.loads(spied.pop("mcp"))["mcpServers"] for condition, spied in seen.items()
    }
    assert servers == {"with": {"fake": {"command": "true"}}, "without": {}}
    assert seen["with"] == seen["without"]
    assert seen["with"]["prompt"] == (project.bench / "prompts" / "anna.md").read_text()

    with_ = project.record("anna-with")
    without = project.record("anna-without")
    assert with_["prompt_sha256"] == without["prompt_sha256"]
    assert with_["tree_before"] == with_["tree_after"] == without["tree_before"]
    assert "[redacted: FAKE_SECRET]" in (project.bench / "runs" / "anna-with.md").read_text()
    assert "on stderr" in (project.bench / "logs" / "anna-with.log").read_text()
    forms = {SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1]}
    for path in project.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            assert not any(form.encode() in content for form in forms), path
            assert path.name != "left.txt"


def test_a_server_that_does_not_start_is_a_discard_and_never_a_baseline(project: Project) -> None:
    fake = [sys.executable, "-P", str(FAKES / "stdio_mcp_server.py")]
    broken = {
        "exits": ["false"],
        "mute": ["sleep", "600"],
        "late": [*fake, "--start-s", "20"],
        "misspelt": ["no-such-program"],
        "works": fake,
    }
    conditions: dict[str, Any] = {"without": {}}
    for name, (command, *arguments) in broken.items():
        entry = {"command": command, "args": arguments}
        (project.folder / f"{name}.json").write_text(json.dumps({"mcpServers": {"fake": entry}}))
        conditions[name] = {"mcp": f"{name}.json"}
    agent = {"kind": "offline", "command": [], "mcp_start_s": 4, "retries": 1, "pass_env": []}
    project.configure(agent, conditions=conditions)
    project.write_tasks(["anna"])
    project.start(cores=3, target="bench/r/validity.csv")
    assert project.reasons() == dict.fromkeys(
        ["anna-exits", "anna-mute", "anna-late", "anna-misspelt"], "mcp_failed"
    )
    assert project.record("anna-works")["outcome"]["servers"] == {"fake": "connected"}
    assert project.record("anna-without")["outcome"]["servers"] in ({}, None)
    assert project.processes() == []
