from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from lensbench.core.errors import UserError
from lensbench.core.tasks import Folder
from lensbench.plan.task_files import read_scenarios

DATA = yaml.safe_load((Path(__file__).parent / "set_mistakes.yaml").read_text(encoding="utf-8"))

GOOD = """\
repositories:
  mine: {path: repo}
tasks:
  - id: one
    category: Debug
    repository: mine
    prompt: Where is it?
    criteria:
      - text: names the file
        all_of: a.py
      - text: names the line
"""


def refused(text: str, name: str = "set.yaml") -> str:
    Path(name).write_bytes(text.encode())
    with pytest.raises(UserError) as caught:
        read_scenarios([name])
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        *DATA["changed"],
        (
            "      - text: names the line\n",
            "      - text: x\n" * 5,
            "set.yaml:4: task 'one' has 6 criteria; the protocol",
        ),
        (GOOD, "", "set.yaml:1: must be a task set, a mapping with the key 'tasks'"),
        (GOOD, "[1]", "set.yaml:1: must be a task"),
        (GOOD, "conditions: {}\n", "set.yaml:1: must be a task set"),
        (GOOD, "tasks: []", "set.yaml:1: has no task"),
        (GOOD, "tasks: 5", "set.yaml:1: tasks must be a list"),
        (GOOD, "tasks: [5]", "set.yaml:1: tasks.0 must be a mapping"),
        (
            GOOD,
            "task: []",
            "set.yaml:1: task is not a key that lensbench knows; did you mean 'tasks'?",
        ),
        (GOOD, "[" * 3000, "set.yaml:1: is nested deeper"),
        (
            "    prompt",
            "    kind: change\n    reference: {file: gone.diff}\n    prompt",
            "gone.diff: cannot be read: No such file",
        ),
        (
            "    prompt",
            "    kind: change\n    reference: {base64: x}\n    prompt",
            "set.yaml:8: task 'one': reference is not base64",
        ),
    ],
)
def test_every_mistake_is_named_with_its_line(
    project: Path, old: str, new: str, message: str
) -> None:
    assert message in refused(GOOD.replace(old, new, 1))


def test_a_good_set_is_read_and_takes_the_repository_of_the_config(project: Path) -> None:
    Path("set.yaml").write_text(GOOD, encoding="utf-8")
    (task,) = read_scenarios(["set.yaml"]).tasks
    assert (task.id, task.repository, len(task.criteria)) == ("one", Folder(path="repo"), 2)
    Path("set.yaml").write_text(GOOD.replace("    repository: mine\n", ""), encoding="utf-8")
    assert read_scenarios(["set.yaml"], Folder(path="repo")).tasks[0].repository == Folder(
        path="repo"
    )


def test_mistakes_of_all_files_and_an_id_used_twice_are_reported_at_once(project: Path) -> None:
    Path("a.yaml").write_text(GOOD.replace("category: Debug", "category: Bug"), encoding="utf-8")
    message = refused(GOOD.replace("id: one", "id: ONE"), "b.yaml")
    with pytest.raises(UserError) as caught:
        read_scenarios(["a.yaml", "gone.yaml", "b.yaml"])
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "a.yaml",
        "gone.yaml",
        "b.yaml",
    ]
    assert message in str(caught.value)
    Path("a.yaml").write_text(GOOD, encoding="utf-8")
    Path("b.yaml").write_text(f"# a comment\n{GOOD}", encoding="utf-8")
    with pytest.raises(UserError, match=r"b\.yaml:5: task 'one' already exists \(a\.yaml:4\)"):
        read_scenarios(["a.yaml", "b.yaml"])


def test_what_others_wrote_may_break_the_counts_with_a_warning(project: Path) -> None:
    text = GOOD.replace("    repository: mine\n", "").replace(
        "      - text: names the line\n", "      - text: x\n" * 5
    )
    Path("set.yaml").write_text(text, encoding="utf-8")
    imported = read_scenarios(["set.yaml"], imported=True)
    assert imported.warnings == (
        "set.yaml:4: task 'one' has 6 criteria; the protocol wants 2 to 5.",
    )
    assert len(imported.tasks[0].criteria) == 6


def test_a_local_repository_is_looked_for_but_a_remote_one_is_not(project: Path) -> None:
    for address in ("https://example.invalid/r.git", "git@example.invalid:r"):
        source = f"repository: {{git: '{address}', revision: x}}"
        Path("set.yaml").write_text(GOOD.replace("repository: mine", source), encoding="utf-8")
        assert read_scenarios(["set.yaml"]).tasks


def test_a_set_that_is_not_text_is_refused(project: Path) -> None:
    for name in ("set.yaml", "set.md"):
        Path(name).write_bytes(b"#### a\n\xff\n")
        with pytest.raises(UserError, match=rf"{name}:2: is not UTF-8"):
            read_scenarios([name])


KEYS = [
    "tasks",
    "id",
    "category",
    "prompt",
    "criteria",
    "text",
    "all_of",
    "regex",
    "repository",
    "path",
    "repositories",
    "partial",
]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
VALUES = st.recursive(
    PLAIN | st.sampled_from(["Debug", "one", "("]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
TASK = st.fixed_dictionaries({"id": VALUES, "criteria": VALUES, "repository": VALUES})


@example({"tasks": [{"id": "a", "criteria": ["\x85"]}]})
@given(VALUES | st.fixed_dictionaries({"tasks": st.lists(VALUES | TASK, max_size=2)}))
def test_any_yaml_is_a_set_or_a_user_error_with_a_line(value: object) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "s.yaml")
        path.write_text(yaml.safe_dump(value), encoding="utf-8")
        try:
            assert read_scenarios([str(path)]).tasks
        except UserError as error:
            assert all(line.startswith(f"{path}:") for line in str(error).splitlines())  # noqa: PT017


@given(
    st.text('#-*` 1.\n:\t{}"~', max_size=40).map(
        lambda noise: (
            f"#### a\n- **Category**: Debug\n- **Prompt**:\n{noise}\n- **Judge Criteria**:\n{noise}\n  1. x\n"
        )
    )
)
def test_any_markdown_is_a_set_or_a_user_error_with_a_line(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "s.md")
        path.write_text(text, encoding="utf-8")
        try:
            assert read_scenarios([str(path)], imported=True).tasks
        except UserError as error:
            assert all(line.startswith(f"{path}:") for line in str(error).splitlines())  # noqa: PT017


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "set.yaml",
            'tasks:\n- id: a\n  category: Debug\n  prompt: "why\\0?"\n  criteria: []\n',
            4,
        ),
        ("set.md", "#### a\n\n- **Category**: Debug\n- **Prompt**: why\0?\n", 1),
    ],
)
def test_a_prompt_that_no_program_can_get_is_refused_early(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=f"{name}:{line}.*NUL"):
        read_scenarios([str(tmp_path / name)], imported=True)
