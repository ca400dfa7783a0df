"""The ladder of a server and its words, for planted servers whose effect is known."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.plan.freeze import write_plan
from lensbench.repositories.prepare import main as fetch
from lensbench.results.page.page import read_inputs, render
from lensbench.runs.run import make_run, read_job
from lensbench.workflow.read_schedule import read_schedule
from lensbench_archive.rebuilding import rebuild

FAKES = Path(__file__).parents[1] / "fakes"
TASKS = [f"t{number}" for number in range(7)]
"""As many as a sign-flip test needs, Holm-corrected for three treatments."""
TOKENS = {"input": 1000, "output": 0, "cache_read": 0, "cache_write": 0}


def planted(words: str, *server: str) -> None:
    """A project with a ladder; `server`: the arguments of its server."""
    Path("repo").mkdir()
    Path("repo/a.py").write_text("x = 1\n", encoding="utf-8")
    Path("words.md").write_text(words, encoding="utf-8")
    entry = {
        "command": sys.executable,
        "args": ["-I", str(FAKES / "stdio_mcp_server.py"), "--lists", "1", *server],
    }
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"lens": entry}}), encoding="utf-8")
    criteria = [{"text": "file", "all_of": "src/cart.py"}, {"text": "line", "all_of": "cart.py:3"}]
    tasks = [
        {"id": name, "category": "Debug", "prompt": f"{name}: Where?", "criteria": criteria}
        for name in TASKS
    ]
    Path("tasks.yaml").write_text(json.dumps({"name": "set", "tasks": tasks}), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "server", "says", "called"),
    [
        ("Use find.", (), "The server helps only with its words.", "0 of 7|7 of 7"),
        (
            "The cart is in src/cart.py:3.",
            (),
            "The words help without the server, and it is not shown",
            "0 of 7|0 of 7",
        ),
        (
            "Be brief.",
            ("--describe", "always use it"),
            "The agent finds the server by itself",
            "7 of 7|7 of 7",
        ),
        ("Be brief.", (), "No condition is shown to help.", "0 of 7|0 of 7"),
    ],
)
def test_the_ladder_names_what_a_planted_server_needs(
    words: str,
    server: tuple[str, ...],
    says: str,
    called: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    planted(words, *server)
    command = [
        sys.executable,
        "-I",
        str(FAKES / "obedient_agent.py"),
        "{prompt_file}",
        "{workspace}",
        "{mcp_file}",
    ]
    given = {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "sandbox": "none",
        "ladder": {"mcp": "mcp.json", "words": "words.md"},
        "agent": {"kind": "command-events", "command": command, "retries": 1},
    }
    folder = Path("bench/r")
    write_plan(read_schedule(given, []).config, [], folder)
    assert not fetch(
        ["--plan", "bench/r/plan.json", "--cache", "cache", "--output", "bench/r/repositories.json"]
    )
    for task in TASKS:
        for condition in ("without", "server", "words", "both"):
            make_run(read_job(folder, RunId(task, condition), 0))
    assert rebuild(folder) == []
    results = json.loads(RunFolder(folder).results_json.read_text())
    assert results["ladder_says"][0].startswith(says)
    steps = {(step["condition"], step["against"]): step for step in results["ladder"]}
    assert list(steps) == [
        ("server", "without"),
        ("words", "without"),
        ("both", "server"),
        ("both", "words"),
    ]
    assert (
        f"{steps['server', 'without']['adoption']}|{steps['both', 'words']['adoption']}" == called
    )
    assert steps["words", "without"]["adoption"] == "—"
    sentences = {
        name: results["estimates"][name]["gate"]["sentence"] for name in results["treatments"]
    }
    assert "with its tools the" in sentences["server"]
    assert all("with what it brings the" in sentences[rung] for rung in ("words", "both"))
    assert says in RunFolder(folder).results.read_text()
    assert says in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("server", "words", "both", "says"),
    [
        ("uncalled", "0", "uncalled", "No condition is shown to help."),
        ("0", "0", "1", "The server helps only with its words."),
        ("0", "1", "1", "The words help without the server, and it is not shown that"),
        ("0", "0.5", "1", "The words help without the server, and with the server they do more."),
        ("1", "0", "1", "The agent finds the server by itself, without its words."),
        ("0", "0", "0", "No condition is shown to help."),
    ],
)
def test_rungs_tell_the_ladder(
    bench: Callable[..., Any], server: str, words: str, both: str, says: str
) -> None:
    files = {"files": {"AGENTS.md": "words.md"}}
    conditions = {
        name: {
            "mcp": "m.json" if has else None,
            "mcp_sha256": "c" * has,
            "servers": ["lens"] * has,
            **more,
        }
        for name, has, more in (
            ("without", 0, {}),
            ("server", 1, {}),
            ("words", 0, files),
            ("both", 1, files),
        )
    }
    servers = {name: ["lens"] if each["mcp"] else [] for name, each in conditions.items()}
    made = bench(tasks=TASKS, servers=servers, changes={"conditions": conditions})
    is_called = server != "uncalled"
    server, both = ("1" if rung == "uncalled" else rung for rung in (server, both))
    for task in TASKS:
        for condition, points in (
            ("without", "0"),
            ("server", server),
            ("words", words),
            ("both", both),
        ):
            more: dict[str, Any] = {} if is_called else {"seen": (), "tools": ()}
            if condition == "both":
                more |= {"duration_s": 20.0, "tokens": TOKENS | {"input": 1500}}
            made.run(task, condition, points=(points, points), **{"tokens": TOKENS, **more})
    found = made.build()
    assert [sentence.startswith(says) for sentence in found["ladder_says"]] == [True], found[
        "ladder_says"
    ]
    assert [step["score"] for step in found["ladder"]] == [
        f"{float(each):.0%}" for each in (server, words, both, both)
    ]
    shares = [float(each) for each in (server, words, both)]
    gains = [shares[0], shares[1], shares[2] - shares[0], shares[2] - shares[1]]
    assert [step["score_change"] for step in found["ladder"]] == [
        f"{100 * each:+.1f} points" if each else "0.0 points" for each in gains
    ]
    assert [(step["tokens_change"], step["time_change"]) for step in found["ladder"]] == [
        ("0%", "0%")
    ] * 2 + [("+50%", "2.0 times")] * 2
    file = made.page.split("## The ladder")[1].split("## ")[0]
    rows = [
        row.strip("|").split("|")[1:]
        for row in file.split("\n")
        if " against " in row and row[0] == "|"
    ][1:]
    html = (
        dict(render(made.folder, read_inputs(made.folder)))["report.html"]
        .split('id="ladder"')[1]
        .split("</table>")[0]
    )
    cells = [re.findall(r'<td class="n">([^<]*)</td>', row) for row in html.split("<tr>")[2:]]
    assert cells == [[cell.strip() for cell in row] for row in rows]


def test_a_ladder_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planted("Use find.")
    given = {"run_id": "r", "scenarios": "tasks.yaml", "repository": {"path": "repo"}}
    agent = {"kind": "claude-code", "model": "sonnet"}
    config = read_schedule(
        {**given, "agent": agent, "ladder": {"mcp": "mcp.json", "words": "words.md", "only": True}},
        [],
    ).config
    assert list(config.conditions) == ["without", "server", "words", "both", "only"]
    assert (
        config.conditions["only"].files
        == config.conditions["words"].files
        == {"CLAUDE.md": "words.md"}
    )
    assert config.conditions["only"].agent.tools == ("Read",)
    for file in ("mcp.json", "words.md"):
        Path(file.replace(".", ".mine.")).write_text(
            Path(file).read_text(encoding="utf-8"), encoding="utf-8"
        )
    named = read_schedule({**given, "agent": agent, "ladder": "mine"}, []).config
    assert named.conditions["both"].files == {"CLAUDE.md": "words.mine.md"}
    assert (named.conditions["both"].mcp, list(named.conditions)) == (
        "mcp.mine.json",
        list(config.conditions)[:4],
    )
    with pytest.raises(UserError, match=r"ladder\.words is missing"):
        read_schedule({**given, "ladder": {"mcp": "mcp.json"}}, [])
    with pytest.raises(UserError, match=r"ladder\.only is not possible for agent\.kind 'offline'"):
        read_schedule(
            {**given, "ladder": {"mcp": "mcp.json", "words": "words.md", "only": True}}, []
        )
