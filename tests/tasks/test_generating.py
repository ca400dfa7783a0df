"""A set is written about a repository: pinned, proven, reported, and read again without complaint."""

import json
from pathlib import Path

import pytest
import yaml

from lensbench.core.errors import UserError
from lensbench.core.tasks import Folder, Git
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.files import render_set, set_value, with_more
from lensbench_tasks.generate import generate, main
from lensbench_tasks.pin import pin
from lensbench_tasks.proofs import main as prove
from lensbench_tasks.review_page import render_review
from lensbench_tasks.settings import config_of, names_of
from programs import refusal, run_here, run_module
from stock import git, with_history, write_stock


@pytest.fixture
def stock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return with_history(tmp_path / "stock")


def test_a_set_is_written_pinned_and_proven_and_grows_to_a_larger_count(stock: Path) -> None:
    output = ("--output", "sets/stock.yaml")
    done = run_module("lensbench_tasks.generate", "--repo", "stock", "--count", 2, *output)
    assert "sets/stock.yaml: 2 of 2 tasks" in done.stdout, done.stderr
    assert "A verdict needs about 35: lensbench generate --count 35" in done.stdout
    before = read_scenarios(["sets/stock.yaml"]).tasks
    assert {task.repository for task in before} == {
        Git(git="stock", revision=git(stock, "rev-parse", "HEAD"))
    }
    assert all(criterion.proofs for task in before for criterion in task.criteria)
    assert "all proofs are correct" in run_here(prove, "sets/stock.yaml")
    review = Path("sets/stock.review.html").read_text(encoding="utf-8")
    assert "2 of 2 tasks that were wanted" in review
    assert all(f"<h2>{task.id}, {task.category.value}</h2>" in review for task in before)
    lines = Path("sets/stock.yaml").read_text(encoding="utf-8").splitlines()
    edited = "\n".join(["# mine", *(line for line in lines if not line.startswith("#"))])
    Path("sets/stock.yaml").write_text(edited, encoding="utf-8")
    said = run_here(main, "--count", 40, *output)
    after = read_scenarios(["sets/stock.yaml"]).tasks
    assert (after[:2], len(after) > 2) == (before, True)
    assert f"sets/stock.yaml: {len(after)} of 40 tasks ({len(after) - 2} new)" in said
    assert f"{len(after)} structural questions found; a verdict needs about 35:" in said
    assert "--kind change --repo stock --output sets/stock-changes.yaml" in said
    assert Path("sets/stock.yaml").read_text(encoding="utf-8").startswith(edited)
    again = run_here(main, "--count", 40, *output)
    assert f"sets/stock.yaml: nothing new; it has {len(after)} tasks" in again
    assert read_scenarios(["sets/stock.yaml"]).tasks == after
    assert "tasks; to add some, write a --count above that" in refusal(main, "--count", 2, *output)
    assert "sets/stock.yaml exists: omit --repo" in refusal(main, "--repo", "stock", *output)
    assert "sets/stock.yaml exists" in refusal(main, "--kind", "change", "--repo", "stock", *output)


def test_the_same_seed_gives_the_same_bytes(stock: Path) -> None:
    source = pin("stock").source
    seeds = (config_of(None).model_copy(update={"seed": seed}) for seed in (3, 3, 4))
    first, again, other = (generate("stock", source, 3, config, Path("kept")) for config in seeds)
    assert render_set(first) == render_set(again) != render_set(other)
    assert (render_review(first), len(first.tasks)) == (
        render_review(again),
        len(set_value(first)["tasks"]),
    )
    assert first.tasks


def test_what_is_not_committed_is_taken_as_it_is_and_said(stock: Path) -> None:
    (stock / "stock" / "amber.py").write_text("x = 1\n")
    assert pin("stock") == (
        Folder(path="stock"),
        "it has uncommitted changes, and was used as it is",
    )
    run_here(main, "--repo", "stock", "--count", 3, "--output", "stock.yaml")
    assert "stock: it has uncommitted changes" in Path("stock.review.html").read_text(
        encoding="utf-8"
    )


def test_folders_without_git_and_parts_are_taken_as_they_are_and_a_url_is_pinned(
    stock: Path, tmp_path: Path
) -> None:
    write_stock(tmp_path / "plain")
    assert pin("plain").warning == "it is not a git repository with a commit, and was used as it is"
    assert (
        pin("stock/stock").warning == "it is a subfolder of a git repository, and was used as it is"
    )
    url = stock.as_uri()
    assert pin(url) == (Git(git=url, revision=git(stock, "rev-parse", "HEAD")), "")


@pytest.mark.parametrize(
    ("repo", "words"),
    [
        ("nowhere", "there is no folder"),
        ("", "write a git URL or the path of a folder"),
        ("--upload-pack=x", "write a git URL or the path of a folder"),
        ("--upload-pack=x:y", "strange hostname"),
        ("https://user:word@example.org/x.git", "contains a password"),
        ("file:///nowhere/at/all", "git cannot reach file:///nowhere/at/all"),
    ],
)
def test_no_repository_is_one_line(
    repo: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=words):
        pin(repo)


def test_a_bad_name_or_a_repository_without_facts_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = "--output sets/My_Set-2.0.yaml: its name is the prefix of the tasks' ids; use a-z, 0-9 and '-', then .yaml"
    assert refusal(main, "--repo", ".", "--output", "sets/My_Set-2.0.yaml") == wanted
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").write_text("Nothing.\n")
    said = refusal(main, "--repo", "empty", "--output", "empty.yaml")
    assert said.startswith("empty has no question: no calls or imports")
    assert not Path("empty.yaml").exists()


def test_a_config_says_who_writes_and_which_names_no_question_mentions(stock: Path) -> None:
    Path("lens.json").write_text('{"mcpServers": {"lens": {"command": "lens"}}}', encoding="utf-8")
    conditions = "{without: {}, with: {mcp: lens.json, tools: [lens_grep]}}"
    agent = "{kind: claude-code, model: m, pass_env: [NO_SUCH_KEY]}"
    Path("config.yaml").write_text(
        f"{{run_id: r, scenarios: later.yaml, conditions: {conditions}, agent: {agent}}}",
        encoding="utf-8",
    )
    assert names_of(config_of(Path("config.yaml"))) == {"lens", "lens_grep"}
    output = ("--repo", "stock", "--output", "later.yaml")
    assert "NO_SUCH_KEY is not set" in refusal(main, *output, "--configfile", "config.yaml")


def test_new_tasks_name_their_own_repository_and_a_set_whose_last_key_is_not_tasks_is_left_alone(
    stock: Path,
) -> None:
    made = generate("stock", pin("stock").source, 3, config_of(None), Path("kept"))
    with pytest.raises(UserError, match="make `tasks` its last key"):
        with_more("tasks:\n- id: a\nname: last\n", made)
    named = {"other": {"path": "x"}, "own": made.source.model_dump(mode="json")}
    longer = with_more(f"repositories: {json.dumps(named)}\ntasks:\n- id: a\n", made)
    assert {task.get("repository") for task in yaml.safe_load(longer)["tasks"][1:]} == {"own"}
