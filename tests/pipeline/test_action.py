"""action.yml: its steps, run one after the other as GitHub runs them, with a small service that plays the API."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.core.system.places import ROOT
from lensbench_archive.archive import make_archive
from lensbench_archive.claim import main as claim
from lensbench_archive.verdict import main as verdict
from programs import run_here
from services import Reply, Request, answering

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TOKEN = "token-of-the-workflow"


class Api:
    """The comments of a pull request."""

    def __init__(self, others: int = 0) -> None:
        self.comments = [{"id": number, "body": "x"} for number in range(others)]
        self.allowed = True

    def answer(self, request: Request) -> Reply:
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        if request.method != "GET" and not self.allowed:
            return Reply(403)
        if request.method == "POST":
            assert request.path == "/repos/o/r/issues/7/comments"
            self.comments.append({"id": 1000, **json.loads(request.body)})
        elif request.method == "PATCH":
            number = int(request.path.removeprefix("/repos/o/r/issues/comments/"))
            (own,) = (one for one in self.comments if one["id"] == number)
            own.update(json.loads(request.body))
        else:
            page = int(request.path.rpartition("page=")[2])
            return Reply(200, json.dumps(self.comments[100 * (page - 1) : 100 * page]).encode())
        return Reply(200, b"{}")


def filled(text: str, values: dict[str, str]) -> str:
    """The text with GitHub's expressions replaced."""
    return re.sub(r"\$\{\{ *(\S+?) *\}\}", lambda found: values[found[1]], text)


def act(project: Path, api: str, event: dict[str, Any], **inputs: str) -> dict[str, int]:
    """The exit code of each step by its name, up to the first that fails."""
    values = {f"inputs.{name}": entry["default"] for name, entry in ACTION["inputs"].items()}
    values |= {"inputs.token": TOKEN, **{f"inputs.{name}": text for name, text in inputs.items()}}
    (project / "event.json").write_text(json.dumps(event))
    codes: dict[str, int] = {}
    for step in ACTION["runs"]["steps"]:
        condition = re.fullmatch(r"(\S+) (==|!=) ''", step.get("if", "1 != ''"))
        assert condition
        is_empty = values.get(condition[1], "1") == ""
        if "run" not in step or is_empty != (condition[2] == "=="):
            continue
        output = project / "output.txt"
        output.write_text("")
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "scripts"),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(project / "step.md"),
            "GITHUB_EVENT_PATH": str(project / "event.json"),
            "GITHUB_API_URL": api,
            "GITHUB_REPOSITORY": "o/r",
            **{name: filled(text, values) for name, text in step.get("env", {}).items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=300
        )
        (project / f"{step['name']}.log").write_text(done.stdout + done.stderr)
        codes[step["name"]] = done.returncode
        for line in output.read_text().splitlines():
            name, _, text = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = text
        if done.returncode:
            break
    return codes


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two benchmarks of the same tasks: `base`, and `head` with a GO."""
    monkeypatch.chdir(tmp_path)
    for name, lift in (("base", 0.0), ("head", 0.3)):
        rng = random.Random(1)
        rows = ["task,condition,score"]
        for task in range(30):
            for condition, extra in (("without", 0.0), ("with", lift)):
                rows.append(f"t{task},{condition},{rng.uniform(0.2, 0.6) + extra:.3f}")
        Path(f"{name}.csv").write_text("\n".join(rows), encoding="utf-8")
        run_here(verdict, f"{name}.csv")
    return tmp_path


PULL_REQUEST = {"pull_request": {"number": 7}}


def test_a_pull_request_gets_one_comment_that_is_edited_afterwards(project: Path) -> None:
    api = Api(others=150)
    with answering(api.answer) as url:
        inputs = {"folder": "bench/head", "base": "bench/base"}
        codes = act(project, url, PULL_REQUEST, **inputs)
        assert codes == dict.fromkeys(("Folder", "Words", "Comment", "Verdict"), 0)
        body = api.comments[-1]["body"]
        assert len(api.comments) == 151
        assert "**GO: from without to with the agent's score changes by +" in body
        assert "**Against the base branch**" in body
        assert "30 tasks, 1 repository; with.\n" in body, (
            "nobody recorded an agent, a model or a day"
        )
        assert "badge.svg" not in body
        assert str(project) not in body
        assert "\n# " not in body, "a comment has no page's heading"
        assert body in (project / "step.md").read_text()
        assert act(project, url, PULL_REQUEST, folder="bench/base")["Comment"] == 0
    assert len(api.comments) == 151
    assert api.comments[-1]["body"] != body
    for path in project.rglob("*"):
        assert not path.is_file() or TOKEN not in path.read_text(errors="replace")


def test_the_job_fails_by_its_verdict_its_claim_and_its_history(project: Path) -> None:
    make_archive(Path("bench/head"), Path("bench/head.zip"))
    text = run_here(claim, "bench/head")
    assert run_here(claim, "bench/head.zip") == text
    assert Path("bench/badge.svg").read_bytes() == Path("bench/head/badge.svg").read_bytes()
    Path("README.md").write_text(text, encoding="utf-8")
    with answering(Api().answer) as url:
        inputs = {"folder": "bench/head", "claim": "README.md", "history": "bench/base"}
        codes = act(project, url, {}, **inputs)
        assert codes["Claim"] == codes["History"] == codes["Verdict"] == 0
        assert act(project, url, {}, folder="bench/head", fail_on="HARM GO")["Verdict"] == 1
        assert act(project, url, {}, **inputs, server_version="9")["Claim"] == 1
        Path("README.md").write_text(text.replace("30 tasks", "90 tasks"), encoding="utf-8")
        assert [*act(project, url, {}, **inputs).items()][-1] == ("Claim", 1)


def test_a_fork_without_a_token_that_may_comment_is_a_warning(project: Path) -> None:
    api = Api()
    api.allowed = False
    with answering(api.answer) as url:
        assert act(project, url, PULL_REQUEST, folder="bench/head")["Verdict"] == 0
    assert "::warning::" in (project / "Comment.log").read_text()
    assert api.comments == []


def test_every_action_of_others_is_pinned_to_a_commit() -> None:
    uses = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert uses
    for name in uses:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)
