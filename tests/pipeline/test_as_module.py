"""The workflow as a module of another one (docs/installing.md)."""

import json
import sys
from pathlib import Path

import pytest
import yaml

import warm_snakemake
from small_benchmark import CHECKOUT, FAKES, Project

FOREIGN = (Path(__file__).parent / "foreign.smk").read_text(encoding="utf-8")


@pytest.fixture
def foreign(project: Project) -> Project:
    """A project whose workflow is somebody else's and has ours as a module."""
    project.configure(preflight={"servers": True})
    config = yaml.safe_load((project.folder / "config.yaml").read_text())
    (project.folder / "config.yaml").unlink()
    (project.folder / "foreign.yaml").write_text(yaml.safe_dump({"benchmark": config}))
    (project.folder / "Snakefile").write_text(FOREIGN)
    return project


def start(project: Project, *arguments: str) -> tuple[int | None, str]:
    variables = {"FAKE_CONTROL": str(project.control), "FAKE_SECRET": "none"}
    return warm_snakemake.run(["--cores", "2", *arguments], project.folder, **variables)


def test_another_workflow_includes_ours_and_builds_on_it(foreign: Project) -> None:
    offers = [
        str(FAKES / "stdio_mcp_server.py"),
        "--lists",
        "1",
        "--call-it",
        "search",
    ]  # as the fake agent shows
    entry = {"command": sys.executable, "args": offers}
    (foreign.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"fake": entry}}))
    code, said = start(foreign, "--printshellcmds")
    assert code == 0, said
    assert '"with": "INCONCLUSIVE"' in (foreign.folder / "verdict.txt").read_text()
    assert "freezing the experiment in bench/r" in said
    assert foreign.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]
    start(
        foreign
    )  # without our profile, Snakemake makes the tables again, whose inputs were the missing answers
    assert "Nothing to be done" in start(foreign)[1]
    assert len(foreign.ledger()) == 4


def test_the_other_workflow_keeps_its_target_and_ends_at_a_failed_preflight_or_a_mistake(
    foreign: Project,
) -> None:
    _, said = start(foreign, "-n")
    assert "lensbench_results" in said
    assert "rule verdict:" in said
    assert "lensbench_page" not in said
    code, said = start(foreign)
    assert code == 2
    assert "the preflight failed" in said
    assert not foreign.ledger()
    code, said = start(foreign, "--config", "benchmark={trials: none}")
    assert code == 2
    assert "trials must be a whole number, not 'none'" in said
    assert "Traceback" not in said


def test_what_the_docs_show_is_what_is_tested() -> None:
    shown = (CHECKOUT / "docs" / "snakemake.md").read_text()
    assert FOREIGN.replace('\n\nconfigfile: "foreign.yaml"\n', "") in shown
