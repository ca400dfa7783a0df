"""Change tasks through the whole pipeline: a program that makes the right change, one that makes none."""

import gzip
import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from calculator import FIXED, make_tree, needs_sandbox, patch_of, task_value

import warm_snakemake
from lensbench.core.system.places import ROOT
from lensbench_demo import control_agent as agent
from lensbench_demo.controls import SERVER
from lensbench_tasks.check import main as check
from programs import refusal, run_module
from small_benchmark import RUNS

pytestmark = [pytest.mark.slow, needs_sandbox]

AGENT = """\
import json, pathlib, sys
servers = json.loads(pathlib.Path(sys.argv[1]).read_text())["mcpServers"]
source = pathlib.Path("calculator.py")
if servers:
    source.write_text(source.read_text().replace("one - other", "one + other"))
    pathlib.Path("new.bin").write_bytes(bytes(range(256)))
print("Done.")
"""


ARGUMENTS = ("--snakefile", str(ROOT / "Snakefile"), "--configfile", "config.yaml", "--cores")


def snakemake(project: Path, *options: str) -> str:
    code, output = warm_snakemake.run([*options, *ARGUMENTS, "2"], project)
    assert code == 0, output
    return output


def read(project: Path, name: str) -> Any:
    return yaml.safe_load((project / name).read_text())


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    """A project whose agent makes the right change when it has a server."""
    tree = make_tree(tmp_path / "project" / "repo")
    value = task_value(patch_of(tree, {"calculator.py": FIXED}, tmp_path))
    project = tree.parent
    (project / "agent.py").write_text(AGENT)
    (project / "tasks.yaml").write_text(yaml.safe_dump({"name": "changes", "tasks": [value]}))
    server = {"command": "true", "args": []}
    (project / "mcp.json").write_text(json.dumps({"mcpServers": {"helper": server}}))
    agent = {
        "kind": "command",
        "command": [sys.executable, str(project / "agent.py"), "{mcp_file}"],
        "retries": 1,
        "tee": False,  # it asks no server
    }
    (project / "config.yaml").write_text(
        yaml.safe_dump(
            {
                "run_id": "changes",
                "scenarios": "tasks.yaml",
                "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
                "agent": agent,
                "preflight": {"servers": False},
                "sandbox_visible": [str(project / "agent.py")],
            }
        )
    )
    return project


@pytest.mark.job
def test_the_right_change_scores_all_and_no_change_nothing_and_tests_that_were_killed_run_again_alone(
    changing: Path,
) -> None:
    bench = changing / "bench" / "changes"
    begun = warm_snakemake.start([*ARGUMENTS, "1"], changing, os.environ, "killed")
    while begun.poll() is None and len(list((bench / "logs" / "tests").glob("*.log"))) < 2:
        time.sleep(0.01)  # the second of the two test runs has begun
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    kept = sorted((bench / "judging" / "tests").glob("*.json"))
    assert kept
    assert len(list((bench / "tests").glob("*.json"))) == 1
    before = [(path, path.stat().st_mtime_ns) for path in kept]
    assert not (bench / "results.json").exists()
    snakemake(changing)
    assert json.loads((bench / "spent.json").read_text())["runs"] == 2, "no agent is asked again"
    assert [(path, path.stat().st_mtime_ns) for path in kept] == before, (
        "what was tested is not tested again"
    )
    assert not [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(changing) in " ".join(process.info["cmdline"] or ())
    ]
    results = json.loads((bench / "results.json").read_text())
    assert {run["condition"]: run["score"] for run in results["runs"]} == {
        "without": 0.0,
        "with": 1.0,
    }
    patch = (bench / "attempts/mend-add-with/1/patch.diff").read_text()
    assert "+    return one + other" in patch
    assert "GIT binary patch" in patch
    assert (bench / "attempts/mend-add-without/1/patch.diff").read_text() == ""
    assert {at: of["resolved"] for at, of in results["changes"]["conditions"].items()} == {
        "without": 0,
        "with": 1,
    }
    assert results["changes"]["treatments"]["with"]["treatment_only"] == 1
    assert "McNemar's exact p" in (bench / "results.md").read_text()
    page = (bench / "report.html").read_text() + "".join(
        p.read_text() for p in (bench / "answers").rglob("*.html")
    )
    assert '<span class="added">+    return one + other</span>' in page
    assert "tests/test_calculator.py::test_add: passed" in page
    (heads,) = re.findall(r"(?s)<th[^>]*>Condition</th>\s*<th[^>]*>Resolved</th>.*?</tr>", page)
    assert "Runs whose results do not count" in heads


CHEAT = {
    "untrusted": "import pytest\npytest.Function.runtest = lambda self: None\n",
    "timed_out": "import time\ntime.sleep(9)\n",
    "left_out": "",
}


def test_what_a_change_does_to_its_tests_is_counted(changing: Path) -> None:
    cheat = f"next(text for kind, text in {CHEAT!r}.items() if kind in question)"
    script = "import sys\nquestion = open(sys.argv[2]).read()\n" + AGENT.replace(
        'one + other")', f'one + other") + {cheat}'
    )
    script += "if servers and 'left_out' in question: pathlib.Path('conftest.py').write_text('')\n"
    (changing / "agent.py").write_text(script)
    config, tasks = read(changing, "config.yaml"), read(changing, "tasks.yaml")
    config["agent"]["command"].append("{prompt_file}")
    (changing / "config.yaml").write_text(yaml.safe_dump(config))
    (task,) = tasks["tasks"]
    task["tests"]["timeout_s"] = 6
    tasks["tasks"] = [
        {**task, "id": kind.replace("_", "-"), "prompt": f"{task['prompt']} {kind}"}
        for kind in CHEAT
    ]
    (changing / "tasks.yaml").write_text(json.dumps(tasks))
    snakemake(changing)
    results = json.loads((changing / "bench" / "changes" / "results.json").read_text())
    found = results["changes"]["conditions"]["with"]
    assert {name: found[name] for name in (*CHEAT, "resolved")} == dict.fromkeys(
        (*CHEAT, "resolved"), 1
    )
    tested = {
        one.stem: json.loads(one.read_text())
        for one in (changing / "bench/changes/tests").glob("*-with.json")
    }
    assert {stem: (test["trouble"], test["left_out"]) for stem, test in tested.items()} == {
        "untrusted-with": ("wrong assertions hold", []),
        "timed-out-with": ("timed out", []),
        "left-out-with": (None, ["conftest.py"]),
    }


CANARY = "c4n4ry"
FIND = "find / -type d ( -path /proc -o -path /sys -o -path /dev -o -path /repo ) -prune -o -type f -newerct @{} -exec grep -lF {} {{}} +"


@pytest.mark.parametrize("way", ["looks around", "canary"])
def test_no_criterion_reference_or_hidden_test_is_in_the_sandbox_unless_it_is_shown(
    changing: Path, way: str
) -> None:
    config, tasks = read(changing, "config.yaml"), read(changing, "tasks.yaml")
    criteria = [{"text": f"waits {CANARY} {n}", "all_of": f"{CANARY} {n}"} for n in "ab"]
    change = tasks["tasks"][0]
    apart = ("kind", "reference", "tests")
    question = {key: value for key, value in change.items() if key not in apart} | {
        "id": "ask",
        "criteria": criteria,
    }
    tasks["tasks"].append(question)
    change["reference"] = change["reference"].replace("one + other", f"one + other  # {CANARY}")
    change["tests"]["files"]["tests/test_calculator.py"] += f"# {CANARY}\n"
    (changing / "tasks.yaml").write_text(json.dumps(tasks))
    copy = shutil.copy(
        changing / "tasks.yaml", changing.parent / "copy.yaml"
    )  # the set itself is always hidden
    (changing / "mcp.json").write_text(json.dumps({"mcpServers": {"control": SERVER}}))
    looking = changing / "agent.py"  # it finds the copy at once
    looking.write_text(
        Path(agent.__file__).read_text("utf-8").replace("LOOK_LINES = 20,", "LOOK_LINES = 5,")
    )
    command = [sys.executable, "-I", str(looking), "", "{prompt_file}", "{mcp_file}"]
    config["agent"] = {"kind": "command-events", "command": command, "retries": 1}
    if way == "canary":
        argv = FIND.format(int(time.time()) - 60, CANARY).split()
        config["agent"] = {"kind": "command", "command": argv, "retries": 1, "tee": False}
    config["sandbox_visible"] += [str(copy)]
    (changing / "config.yaml").write_text(yaml.safe_dump(config))
    snakemake(changing, *(RUNS if way == "canary" else ()))
    bench = changing / "bench" / "changes"
    if way == "canary":
        said = [
            gzip.decompress(path.read_bytes()).decode() for path in bench.glob("attempts/*/*/*.gz")
        ]
        assert [line.strip() for line in said] == [str(copy)] * 4
    else:
        runs = json.loads((bench / "results.json").read_text())["runs"]
        assert [run["score"] for run in runs if run["task"] == "ask"] == [1.0] * 2


def test_a_set_is_proven_before_it_is_used(changing: Path) -> None:
    own = "from calculator import double\n\ndef test_own():\n    assert double(1) == 2\n"
    (changing / "repo" / "tests" / "test_own.py").write_text(own)
    done = run_module("lensbench", "check", "tasks.yaml", cwd=changing)
    said = "mend-add: proven: 2 failing and 1 passing tests, 2 in the project's suite"
    assert said in done.stdout
    assert "no patterns" not in done.stdout
    progress = r"(?m)^\d+/\d+ \| proving .* s\n"  # on a busy machine
    assert (done.returncode, re.sub(progress, "", done.stderr)) == (0, "")
    assert "proven: 2 failing" in (changing / "tasks.check.html").read_text()


@pytest.mark.parametrize(
    ("bwrap", "said"),
    [
        ("", "2 of 2 need bubblewrap: apt-get install bubblewrap"),
        (
            "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
            "is here and may not create them",
        ),
    ],
)
def test_a_reason_of_all_is_said_once(
    changing: Path, monkeypatch: pytest.MonkeyPatch, bwrap: str, said: str
) -> None:
    value = read(changing, "tasks.yaml")
    value["tasks"].append({**value["tasks"][0], "id": "again"})
    (changing / "tasks.yaml").write_text(json.dumps(value))
    programs = changing / "bin"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "")
    if bwrap:
        (programs / "bwrap").write_text(f"#!/bin/sh\n{bwrap}\n")
        (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.chdir(changing)
    assert said in refusal(check, "tasks.yaml")


def test_a_set_whose_reference_fixes_nothing_is_refused(
    changing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = read(changing, "tasks.yaml")
    value["tasks"][0]["reference"] = (
        '--- a/calculator.py\n+++ b/calculator.py\n@@ -1,2 +1,2 @@\n-"""Sums."""\n+"""Sum."""\n \n'
    )
    by_grep = {
        "command": ["grep", "-q", "one + other", "calculator.py"],
        "report": "exit",
        "fail_to_pass": ["exit"],
    }
    value["tasks"][0]["tests"] |= by_grep
    (changing / "tasks.yaml").write_text(yaml.safe_dump(value))
    monkeypatch.chdir(changing)
    assert refusal(check, "tasks.yaml") == "not proven: mend-add"
    assert "exit does not pass with the reference" in (changing / "tasks.check.html").read_text()
