"""Your server in five minutes: what is asked, written and refused (tests/pipeline/test_five_minutes.py starts it)."""

import json
import os
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import yaml

from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import ROOT
from lensbench.plan.reading import load_config
from lensbench_demo.setup import (
    AGENT_KINDS,
    Wishes,
    ask,
    config_text,
    cure,
    earlier,
    estimate,
    main,
    mcp_file,
    name_problem,
    smoke_settings,
    what_next,
    write,
)
from programs import refusal, run_module
from terminal import type_into

DATA = yaml.safe_load((Path(__file__).parent / "starting.yaml").read_text(encoding="utf-8"))

FLAGS = ("--name", "mine", "--mcp", "true", "--agent", "offline", "--repo", "")


@pytest.mark.parametrize(("arguments", "line"), DATA["wrong"])
def test_what_is_missing_or_wrong_is_one_line_with_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"error: {refusal(main, *arguments)}".startswith(line)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["config.mine.yaml", "mcp.mine.json", "bench/mine-smoke"])
def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / name
    there.parent.mkdir(exist_ok=True)
    there.write_text("mine")
    again = "`init --name mine` alone tries it again"
    assert (
        refusal(main, *FLAGS)
        == f"{name} already exists; choose another --name, or remove it; {again}"
    )
    assert there.read_text() == "mine"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [there]


def empty_repository(folder: Path) -> None:
    """A folder without code, about which no task can be generated."""
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("none")


def test_a_terminal_is_asked_for_what_no_flag_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-P", "-m", "lensbench_demo.setup", "--repo", "empty"]
    for program in ("codex", "qwen"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    empty_repository(tmp_path)
    exit_code, shown = type_into(command, tmp_path, "true\n\n\nopus\n")
    assert exit_code == 2
    for question in (
        "codex: agent codex; shows called, worked, tokens, version, end",
        "qwen --acp: agent acp; shows version, end",
        "the command that starts it, or its URL: ",
        "[mine]: ",
        "[claude-code]: ",
        "[sonnet]: ",
    ):
        assert question in shown
    assert "could not generate tasks about empty" in shown
    assert not list(tmp_path.glob("*.mine.*"))


def test_a_terminal_is_asked_again_when_an_answer_cannot_be_used(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "lensbench_demo.setup"]
    empty_repository(tmp_path)
    (tmp_path / "config.there.yaml").write_text("mine")
    typed = "\nmy-server 'half\nmy-server\ntrue\nmy server\nthere\nmine\nclaude\nclaude-code\n\nnowhere\nempty\n"
    exit_code, shown = type_into(command, tmp_path, typed)
    assert exit_code == 2
    for said in (
        "no server is named",
        "--mcp my-server 'half: No closing quotation",
        "at most 41, such as my-server",
        "no program 'my-server' is here",
        "config.there.yaml already exists; choose another --name",
        "did you mean 'claude-code'?",
        "could not generate tasks about empty",
        "--repo nowhere: there is no folder",
    ):
        assert said in shown
    assert shown.count("Name of the benchmark") == 3


def test_a_repository_without_questions_ends_with_the_command_that_tries_the_server(
    tmp_path: Path,
) -> None:
    empty_repository(tmp_path)
    flags = ["--mcp", "true ${workspace}", "--repo", "empty", "--name=few", "--count=3", "--yes"]
    ended = run_module("lensbench_demo.setup", *flags, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.endswith(" init --mcp 'true ${workspace}' --name=few --yes\n")


def test_a_task_set_that_cannot_be_used_leaves_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomic(Path("scenarios/mine.yaml"), "tasks: 7")
    assert "scenarios/mine.yaml" in refusal(main, *FLAGS)
    assert not list(tmp_path.glob("*.mine.*"))


def test_a_name_alone_tries_again_or_says_what_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wishes = Wishes("mine", "", "codex", "gpt-5", "")
    write_atomic(wishes.files["tasks"], "name: x")  # by hand, before the first `init`
    assert earlier("mine") is None
    write_atomic(wishes.files["mcp"], json.dumps({"mcpServers": {"mine": {"command": "true"}}}))
    with pytest.raises(
        UserError,
        match=r"but config.mine.yaml is not; restore it, or remove mcp.mine.json and name a server$",
    ):
        earlier("mine")
    for tools in ([], ["find"]):
        write_atomic(wishes.files["config"], config_text(wishes, "1", tools, 3))
        assert earlier("mine") == wishes._replace(task_set="scenarios/mine.yaml")
    write_atomic(wishes.files["config"], "run_id: 7")
    with pytest.raises(UserError, match=r"config.mine.yaml:1: run_id must be text, not 7"):
        earlier("mine")
    wishes.files["tasks"].unlink()
    with pytest.raises(
        UserError, match=r"generate --repo <your repository> .*scenarios/mine.yaml$"
    ):
        earlier("mine")


def test_a_name_alone_tries_the_tasks_that_its_config_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wishes = Wishes("mine", "true", "claude-code", "sonnet", "")
    write(wishes, 12)
    assert "scenarios/mine.yaml has the demo's tasks, about other projects" in "\n".join(
        what_next(wishes)
    )
    own = {**yaml.safe_load(wishes.files["tasks"].read_text()), "name": "own"}
    own["tasks"] = own["tasks"][:1]
    write_atomic(Path("own.yaml"), yaml.safe_dump(own))
    config = wishes.files["config"]
    write_atomic(config, config.read_text().replace("scenarios/mine.yaml", "own.yaml"))
    again = earlier("mine")
    assert again is not None
    said = "\n".join(what_next(again))
    assert said.startswith("Read the tasks in own.yaml") or "\nRead the tasks in own.yaml" in said
    assert "\n1 task, 2 runs" in said
    assert "other projects" not in said
    few = yaml.safe_load(Path(smoke_settings(again)["scenarios"]).read_text(encoding="utf-8"))
    assert few["name"] == "own"


def test_a_task_set_that_is_there_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wishes = Wishes("mine", "true", "claude-code", "sonnet", "../gone")
    write_atomic(wishes.files["tasks"], (ROOT / "scenarios" / "demo.yaml").read_text())
    before = wishes.files["tasks"].read_text()
    assert name_problem("mine") == ""
    write(wishes, 12)
    assert wishes.files["tasks"].read_text() == before


def test_without_a_terminal_fix_writes_what_a_server_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wishes = Wishes("mine", "true", "offline", "", "")
    write_atomic(wishes.files["config"], "run_id: mine\n")
    write_atomic(
        wishes.smoke / "preflight.json",
        json.dumps({"cures": [{"settings": {"sandbox_hosts": ["a.b:1"]}}]}),
    )
    with pytest.raises(
        UserError, match=r"to write what is missing .*:\n  .*init --name mine --fix$"
    ):
        cure(wishes, fix=False)
    cure(wishes, fix=True)
    assert wishes.files["config"].read_text() == 'sandbox_hosts: ["a.b:1"]\nrun_id: mine\n'
    with pytest.raises(
        UserError, match="the trial failed; fix "
    ):  # it lacks what it has: something else is wrong
        cure(wishes, fix=True)


def test_a_server_is_a_command_line_or_an_address() -> None:
    command = Wishes("mine", "my-server --root '${workspace}' --log 'a b'", "offline", "", "")
    entry = {"command": "my-server", "args": ["--root", "${workspace}", "--log", "a b"]}
    assert mcp_file(command) == {"mcpServers": {"mine": entry}}
    address = Wishes("mine", "http://localhost:4111/mcp", "offline", "", "")
    assert mcp_file(address) == {
        "mcpServers": {"mine": {"type": "http", "url": "http://localhost:4111/mcp"}}
    }


@pytest.mark.parametrize("agent", AGENT_KINDS)
@pytest.mark.parametrize("version", ["", "2.10"])
def test_any_agent_s_config_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, version: str
) -> None:
    monkeypatch.chdir(tmp_path)
    wishes = Wishes("mine", "true", agent, AGENT_KINDS[agent].model, "")
    key = AGENT_KINDS[agent].key
    if agent == "acp":
        wishes = wishes._replace(command="gemini --acp")
        key = "GEMINI_API_KEY"
    wishes.files["mcp"].write_text(json.dumps(mcp_file(wishes)))
    write_atomic(wishes.files["tasks"], (ROOT / "scenarios" / "demo.yaml").read_bytes())
    config = load_config(yaml.safe_load(config_text(wishes, version, ["find"], 29)))
    assert config.run_id == "mine"
    assert config.conditions["with"].tools == ("find",)
    assert (config.agent.kind, config.agent.model) == (agent, AGENT_KINDS[agent].model)
    if agent != "offline":
        assert (config.agent.version, config.agent.pass_env) == (version, (key,))
        assert config.agent.command == (("gemini", "--acp") if agent == "acp" else ())
        assert 29 in (config.budget.max_usd, config.budget.max_runs)


def test_words_make_a_ladder_which_is_tried_again_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomic(Path("my words.md"), "Use find.")
    wishes = Wishes("mine", "true", "codex", "gpt-5", "", words="my words.md")
    wishes.files["mcp"].write_text(json.dumps(mcp_file(wishes)))
    write_atomic(wishes.files["tasks"], (ROOT / "scenarios" / "demo.yaml").read_bytes())
    write_atomic(wishes.files["config"], config_text(wishes, "1", [], 3))
    config = load_config(yaml.safe_load(wishes.files["config"].read_text()))
    assert [*config.conditions] == ["without", "server", "words", "both"]
    assert config.conditions["both"].files == {"AGENTS.md": "my words.md"}
    assert earlier("mine") == wishes._replace(server="", task_set="scenarios/mine.yaml")


def test_a_file_with_servers_makes_an_ablation_which_is_tried_again_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    servers = {"lens": {"command": "true"}, "far": {"url": "http://a/mcp"}, "odd": {"args": []}}
    write_atomic(Path("mcp.json"), json.dumps({"mcpServers": servers}))
    unsaid = dict.fromkeys(
        ("source", "server", "mcp", "url", "words", "name", "model", "repo"), None
    )
    wishes = ask(Namespace(**unsaid, ablate=Path("mcp.json"), agent="codex", yes=True))
    assert "omitted: odd: " in capsys.readouterr().out
    assert [*mcp_file(wishes)["mcpServers"]] == ["lens", "far"]
    write(wishes, 12)
    config = load_config(yaml.safe_load(wishes.files["config"].read_text()))
    assert [*config.conditions] == ["all", "none", "without_far", "without_lens"]
    assert config.baseline == "all"
    assert wishes.conditions == len(config.conditions)
    again = earlier("mine")
    assert again
    assert again.conditions == 4


@pytest.mark.parametrize("name", ["on", "1e3", "007"])
def test_a_name_that_yaml_would_read_as_something_else_stays_a_name(name: str) -> None:
    text = config_text(Wishes(name, "true", "offline", "", ""), "", [], 1)
    assert yaml.safe_load(text)["run_id"] == name


def test_a_price_is_of_the_tasks_the_runs_and_those_at_once() -> None:
    assert estimate("claude-code", 12, 2) == (
        "12 tasks, 24 runs, 4 at a time: about 14 to 55 min and 0.96 to 29 US dollars"
    )
    assert estimate("claude-code", 1, 2) == (
        "1 task, 2 runs, 2 at a time: about 3 to 10 min and 0.08 to 2.4 US dollars"
    )
    assert estimate("offline", 10, 2) == (
        "10 tasks, 20 runs, 4 at a time: about 1 min and nothing to pay (no model is asked)"
    )
    assert "60 runs, 4 at a time: about 1 to 3 min and nothing" in estimate("offline", 15, 4)


def test_the_last_lines_price_the_set_and_the_one_that_gives_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wishes = Wishes("mine", "true", "claude-code", "sonnet", "")
    write(wishes, 12)
    said = "\n".join(what_next(wishes))
    assert "--configfile config.mine.yaml\n19 tasks, 38 runs, 4 at a time: about" in said
    assert "a gain of 10 points needs about 35 tasks:\n" in said
    assert (
        "\n35 tasks, 70 runs, 4 at a time: about 40 to 159 min and 2.8 to 83 US dollars.\n" in said
    )
    assert said.endswith("questions take less.")
    assert "a guess" not in "\n".join(what_next(wishes._replace(agent="offline")))
    assert (
        "lensbench size --sd 20 --effect 10" in said
    )  # the demo's tasks have several repositories
    tasks = yaml.safe_load(wishes.files["tasks"].read_text(encoding="utf-8"))
    tasks["tasks"] = [task for task in tasks["tasks"] if task["repository"] == "click"]
    write_atomic(wishes.files["tasks"], yaml.safe_dump(tasks, sort_keys=False))
    said = "\n".join(what_next(earlier("mine") or wishes))
    assert "lensbench generate --count 35 --output scenarios/mine.yaml" in said
