"""The preflight in real Snakemake runs, and servers that must be told of each workspace."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services import free_port, listening
from small_benchmark import FAKES, RUNS, Project

PROGRAM = str(FAKES / "registry_daemon.py")


@dataclass(frozen=True)
class Daemon:
    """A running server over HTTP."""

    address: str
    log: Path

    def condition(self, mcp: Path, **commands: list[str]) -> dict[str, Any]:
        """The treatment that uses it."""
        mcp.write_text(
            json.dumps({"mcpServers": {"lens": {"type": "http", "url": f"{self.address}/mcp"}}}),
            "utf-8",
        )
        told = {"setup": self.command("tell"), "teardown": self.command("forget")}
        return {"mcp": mcp.name, **told, **commands}

    def command(self, word: str) -> list[str]:
        return [sys.executable, "-IS", PROGRAM, word, f"{self.address}/workspaces", "{workspace}"]

    def lines(self) -> list[list[str]]:
        return (
            [line.split() for line in self.log.read_text().splitlines()]
            if self.log.exists()
            else []
        )

    def folders(self, word: str) -> list[str]:
        """The workspaces that it was told of, forgot, was asked about, or refused to answer for."""
        return [folder for said, folder in self.lines() if said == word]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    port = free_port()
    log = tmp_path_factory.mktemp("daemon") / "log"
    with listening([sys.executable, "-I", PROGRAM, "serve", str(port), str(log)], port):
        yield Daemon(f"http://127.0.0.1:{port}", log)


@pytest.fixture
def daemon(served: Daemon) -> Daemon:
    """The daemon with an empty log."""
    served.log.unlink(missing_ok=True)
    return served


def offline(project: Project, treatment: dict[str, Any], **settings: Any) -> None:
    agent = {"kind": "offline", "command": [], "pass_env": []}
    conditions = {"without": {}, "with": treatment}
    project.configure(agent, conditions=conditions, **{"preflight": {}} | settings)


def test_a_daemon_over_http_is_told_of_every_workspace_and_forgets_it_again(
    project: Project, daemon: Daemon
) -> None:
    offline(project, daemon.condition(project.folder / "mcp.json"))
    said = project.start(*RUNS)
    assert re.search(r"lens_grep\(repoPath=<workspace>, query='.*'\) answered", said)
    assert project.reasons() == {}
    told = daemon.folders("told")
    assert len(set(told)) == 3  # the preflight, and the treatment's run of each of the two tasks
    assert (sorted(daemon.folders("forgot")), set(daemon.folders("asked"))) == (
        sorted(told),
        set(told),
    )
    assert daemon.folders("refused") == []
    calls = {call["name"] for call in project.record("anna-with")["outcome"]["calls"]}
    assert "mcp__lens__lens_grep" in calls
    assert project.record("anna-with")["attempt"]["teardown"] == ""

    project.start(*RUNS)
    assert len(daemon.folders("told")) == 3


def test_a_failed_setup_is_a_discard_without_an_agent_and_a_failed_teardown_is_none(
    project: Project, daemon: Daemon
) -> None:
    failing = [sys.executable, "-c", "import sys; print('cannot index'); sys.exit(4)"]
    stuck = [sys.executable, "-c", "import sys; sys.exit('still in use')"]
    mcp = project.folder / "mcp.json"
    treatments = {
        "with": daemon.condition(mcp, setup=failing),
        "other": daemon.condition(mcp, teardown=stuck),
    }
    project.configure(conditions={"without": {}, **treatments})
    project.write_tasks(["anna"])
    project.start(target="bench/r/validity.csv")
    assert (project.ledger(), project.reasons()) == (
        ["anna-with", "anna-without"],
        {"anna-with": "mcp_failed"},
    )
    details = {row["detail"] for row in project.table("validity") if row["reason"]}
    assert details == {"setup failed, exit code 4: cannot index"}
    assert len(daemon.folders("forgot")) == 1, "after a failed setup, the teardown runs"
    assert (
        project.record("anna-other")["attempt"]["teardown"]
        == "teardown failed, exit code 1: still in use"
    )
    assert "still in use" in (project.bench / "logs" / "anna-other.log").read_text()


def test_what_fails_in_the_preflight_stops_everything_with_a_message_and_no_traceback(
    project: Project,
) -> None:
    project.configure({"pass_env": ["FAKE_CONTROL", "FAKE_SECRET", "MISSING_KEY"]})
    project.write_tasks(["anna"])
    assert "MISSING_KEY" not in project.start("-n")
    said = project.start(fails=True)
    assert "FAILED   variables" in said
    assert "not set: MISSING_KEY" in said
    assert "the preflight failed, and nothing was started" in said
    assert "Traceback" not in said
    assert "CalledProcessError" not in said
    assert project.ledger() == []
    assert not (project.bench / "plan.json").exists()
    project.start(env={"MISSING_KEY": "here it is"}, target="bench/r/validity.csv")
    assert "here it is" not in (project.bench / "preflight.json").read_text()
    assert len(project.ledger()) == 2


@pytest.mark.parametrize("name", ["nosuch.yaml", "broken.yaml", "."])
def test_a_config_that_cannot_be_read_is_one_line(project: Project, name: str) -> None:
    (project.folder / "broken.yaml").write_text("a: [")
    said = project.start("--configfile", name, fails=True)
    assert said.splitlines()[1].startswith(f"error: {name}:")
    assert "Traceback" not in said


def test_a_start_that_makes_no_run_has_no_preflight(finished: Project) -> None:
    (finished.bench / "results.md").unlink()
    (finished.bench / "preflight.json").unlink()
    assert "preflight" not in finished.start()
    (finished.bench / "runs" / "anna-with.md").unlink()
    assert "preflight" not in finished.start(*RUNS)
    shutil.rmtree(finished.attempt("anna-with"))
    assert "preflight" in finished.start(*RUNS)


def test_a_program_that_shows_no_tools_has_adoption_columns_of_those_listed(
    project: Project, daemon: Daemon
) -> None:
    script = "print('`Cart` is in shop.py.\\n\\n## Report\\n\\n- **Tool calls**: 1\\n- **Tools used**: lens_grep\\n')"
    agent = {"kind": "command", "command": [sys.executable, "-c", script], "pass_env": []}
    agent["tee"] = False  # it asks no server
    conditions = {"without": {}, "with": daemon.condition(project.folder / "mcp.json")}
    project.configure(agent, conditions=conditions, preflight={})
    project.write_tasks(["anna"])
    project.start(target="bench/r/pairs.csv")
    assert {row["adopted_lens_grep"] for row in project.table("pairs")} == {"yes"}


def test_a_baseline_that_asks_the_daemon_by_its_address_is_contaminated(
    project: Project, daemon: Daemon
) -> None:
    treatment = daemon.condition(project.folder / "mcp.json")
    project.configure(conditions={"without": {}, "with": treatment}, discards={"max_rounds": 0})
    port = daemon.address.rpartition(":")[2]
    asks = f"{sys.executable} -c 'import urllib.request; urllib.request.urlopen(\"http://localhost:{port}/workspaces\")'"
    project.behave(anna_without=f"shell {asks}", anna_with=f"shell {asks}")
    project.start()
    assert project.reasons() == {"anna-without": "contaminated"}
    controls = {
        row["check"]: row
        for row in json.loads((project.bench / "results.json").read_text())["controls"]
    }
    found = {
        name: (row["runs"], row["of"])
        for name, row in controls.items()
        if "address" in name or "reached" in name
    }
    assert sorted(found.values()) == [
        (0, 3),
        (1, 1),
    ]  # a shared network, and the one baseline that counts was read
    assert all(name in (project.bench / "results.md").read_text() for name in found)


def test_runs_that_nobody_can_judge_are_refused_in_one_line_and_none_is_paid(
    project: Project,
) -> None:
    tasks = (project.folder / "tasks.yaml").read_text()
    (project.folder / "tasks.yaml").write_text(
        tasks.replace("  - all_of: An index\n    text", "  - text")
    )
    output = project.start(fails=True)
    (line,) = [line for line in output.splitlines() if "no judge can read them" in line]
    assert line.startswith("error: 2 of 4 criteria have no patterns")
    assert project.ledger() == []
