import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from lensbench.core.errors import UserError
from lensbench.plan import freeze as planning
from lensbench.plan.config import Agent, Config
from lensbench.plan.frozen import Plan, read_plan
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios

ROWS = yaml.safe_load(Path(__file__).with_name("changed_settings.yaml").read_text(encoding="utf-8"))


Given = dict[str, Any]


def planned(given: Given) -> Plan:
    config = load_config(given)
    return planning.make_plan(config, read_scenarios(config.scenario_files, config.repository), [])


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new), encoding="utf-8")


def make_change(tests: dict[str, Any], **task: Any) -> None:
    """Makes the task one of changing code."""
    one = yaml.safe_load(Path("set.yaml").read_text(encoding="utf-8"))
    tests = {"command": ["python", "-m", "pytest"], **tests}
    one["tasks"][0] |= {"kind": "change", "tests": tests, "criteria": [], **task}
    Path("set.yaml").write_text(yaml.safe_dump(one), encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "forbids", "asks"), [("question", True, False), ("change", False, True)]
)
def test_a_frozen_prompt_is_the_task_and_the_suffix_of_its_kind_and_nothing_of_the_condition(
    project: Path, given: Given, kind: str, forbids: bool, asks: bool
) -> None:
    if kind == "change":
        make_change({"fail_to_pass": ["test_it.py::test_it"]})
    planning.write_plan(load_config(given), [], Path("bench/r"))
    (frozen,) = Path("bench/r/prompts").iterdir()
    prompt = frozen.read_text(encoding="utf-8")
    assert prompt.startswith("Where is it?\n\n")
    assert "lens" not in prompt.lower()
    assert "names the file" not in prompt
    # As an agent reads it: a ban of changes anywhere in it holds, and so does a request for one.
    assert (
        bool(re.search(r"(do not|don't|never|without) (chang|edit|modif|writ)", prompt.lower()))
        == forbids
    )
    assert ("make the change in the files of the current folder" in prompt) == asks
    assert ("give the full answer as text" in prompt) != asks
    assert "\n## Report\n" in prompt
    (task,) = read_scenarios(["set.yaml"]).tasks
    stock = [
        planning.prompt_of(task, Agent(model="m", profile="stock", report=report))
        for report in (False, True)
    ]
    assert (stock[0], "\n## Report\n" in stock[1], "How to work" in stock[1]) == (
        "Where is it?",
        True,
        False,
    )


def test_what_holds_answers_is_hidden_where_the_task_set_only_names_it(
    project: Path, given: Given
) -> None:
    Path("hidden").mkdir()
    for name in ("it.py", "it.diff"):
        Path("hidden", name).write_text("x\n", encoding="utf-8")
    files = {
        "it.py": {"file": "hidden/it.py"},
        "is.py": {"source": {"path": "later"}},
        "as_text.py": "x = 1\n",
    }
    Path("later").mkdir()
    make_change(
        {"fail_to_pass": ["it.py::test_it"], "files": files}, reference={"file": "hidden/it.diff"}
    )
    hidden = planned(given)["sandbox"]["hidden"]
    assert {"set.yaml", "hidden/it.py", "hidden/it.diff", "later", "repo"} <= set(hidden)


@pytest.mark.parametrize(("changes", "said"), ROWS)
def test_only_a_setting_that_makes_runs_differ_is_named(
    project: Path, given: Given, changes: Given, said: list[str]
) -> None:
    before = planned(given)
    after = planned(given | changes)
    assert (
        planning.changes(before, after),
        before["settings_sha256"] == after["settings_sha256"],
    ) == (said, not said)


def test_answers_that_no_model_may_read_stay_so_unless_the_user_accepts_it(
    project: Path, given: Given
) -> None:
    private = planned(given | {"judging": {"private": True}})
    assert private["judging"]["private"]
    assert planning.changes(planned(given), private) == []
    assert planning.changes(private, private) == []
    (change,) = planning.changes(private, planned(given))
    assert change.startswith("judging.private: was True, is False")


OF_OTHER_TARGETS = {"archive", "fail_on", "only"}
OF_THE_MACHINE = {"limits.requests_per_minute", "limits.clients"}


def test_every_key_of_the_config_reaches_the_plan_stage_except_those_of_other_targets_and_the_machine() -> (
    None
):
    base = Config.model_validate({"run_id": "r", "scenarios": "s", "conditions": {}})
    reached: dict[str, bool] = {}
    for key in Config.model_fields:
        section = getattr(base, key)
        names = type(section).model_fields if isinstance(section, BaseModel) else [""]
        for name in names:
            value = (
                "changed"
                if key != "limits"
                else {"x": 1}
                if "limits." + name in OF_THE_MACHINE
                else 17
            )
            changed = section.model_copy(update={name: value}) if name else value
            config = base.model_copy(update={key: changed})
            with warnings.catch_warnings(action="ignore"):
                reached[f"{key}.{name}".strip(".")] = planning.settings_text(
                    config
                ) != planning.settings_text(base)
    kept_out = {key for key, reaches in reached.items() if not reaches}
    assert {key for key in kept_out if key.split(".")[0] not in OF_OTHER_TARGETS} == OF_THE_MACHINE
    assert {key.split(".")[0] for key in kept_out} == OF_OTHER_TARGETS | {"limits"}


def test_what_a_run_may_use_of_the_machine_is_planned_by_the_stage(
    project: Path, given: Given
) -> None:
    limits = {"memory_gb": 1.5, "processes": 99, "disk_gb": 2.5}
    text = planning.settings_text(
        load_config(given | {"limits": {**limits, "clients": {"lens": 5}}})
    )
    assert planned(json.loads(text))["sandbox"]["limits"] == limits
    planning.write_plan(load_config(json.loads(text)), [], Path("bench/r"))
    assert read_plan(Path("bench/r"))["sandbox"]["limits"] == limits


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("set.yaml", "names the line", "names another line", []),
        ("set.yaml", "all_of: a.py", "all_of: b.py", []),
        ("set.yaml", "Where is it?", "Where was it?", ["task 'one': its prompt"]),
        ("set.yaml", "path: repo", "path: .", ["task 'one': repository was"]),
        ("set.yaml", "id: one", "id: two", ["task 'one' was removed"]),
        ("lens.json", '"lens"}', '"other"}', ["conditions.with.mcp_sha256: was"]),
    ],
)
def test_an_edited_file_is_a_change_only_when_runs_depend_on_it(
    project: Path, given: Given, path: str, old: str, new: str, said: list[str]
) -> None:
    before = planned(given)
    edit(path, old, new)
    found = planning.changes(before, planned(given))
    assert [change.startswith(words) for change, words in zip(found, said, strict=True)] == [
        True
    ] * len(said)


def test_a_change_stops_and_says_what_to_do_until_it_is_accepted(
    project: Path, given: Given
) -> None:
    with pytest.raises(
        UserError, match=r"(?s)bench/r has valid runs.*- seed.*run_id=.*accept_changes=true"
    ):
        planning.accept_or_refuse(["seed"], [], load_config(given), Path("bench/r"))
    config = load_config(given | {"accept_changes": True})
    assert planning.accept_or_refuse(["seed"], ["old", "seed"], config, Path("bench/r")) == [
        "old",
        "seed",
    ]
    assert planning.accept_or_refuse([], ["old"], load_config(given), Path("bench/r")) == ["old"]


def test_the_frozen_files_read_back_and_have_the_same_bytes_each_time(
    project: Path, given: Given
) -> None:
    config = load_config(given)
    folder = Path("bench/r")
    planning.write_plan(config, [], folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    before = [path.read_bytes() for path in files]
    planning.write_plan(config, [], folder)
    assert [path.read_bytes() for path in files] == before
    assert Config.model_validate(yaml.safe_load((folder / "config.yaml").read_text())) == config
    assert (
        read_scenarios([str(folder / "scenarios.md")]).tasks == read_scenarios(["set.yaml"]).tasks
    )
    assert read_plan(folder) == planned(given)


def test_a_markdown_set_is_kept_as_it_was_written(project: Path, given: Given) -> None:
    text = "Sure!\n#### one\n- **Category**: Debug\n- **Prompt**: `x`\n- **Judge Criteria**:\n  1. a\n  2. b\n"
    Path("set.md").write_text(text, encoding="utf-8")
    config = load_config(given | {"scenarios": "set.md", "repository": {"path": "repo"}})
    planning.write_plan(config, [], Path("bench/r"))
    assert Path("bench/r/scenarios.md").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("content", [None, "", "{", "\udcff"])
def test_a_plan_that_is_not_there_is_a_clear_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "plan.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(UserError, match=r"plan\.json: cannot be read .*start the benchmark"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("start", "kinds", "said"),
    [
        ("/login fails", {"claude-code", "gemini"}, "begins with '/'"),
        ("@app.route is", {"claude-code", "gemini"}, "begins with '@'"),
        ("x" * 150_000, {"claude-code", "codex", "gemini", "opencode"}, "has 1500.. bytes"),
        ("The path /login and @app", set(), ""),
    ],
)
def test_a_prompt_that_the_kind_would_change_is_refused(
    project: Path, start: str, kinds: set[str], said: str
) -> None:
    edit("set.yaml", "Where is it?", f"'{start} Where is it?'")
    for kind in ("claude-code", "codex", "gemini", "opencode", "offline", "command"):
        if kind in kinds:
            with pytest.raises(UserError, match=f"set.yaml:[0-9]+: task 'one': its prompt {said}"):
                read_scenarios(["set.yaml"], kind=kind)
        else:
            assert len(read_scenarios(["set.yaml"], kind=kind).tasks) == 1
