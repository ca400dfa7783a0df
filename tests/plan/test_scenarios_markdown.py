from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.system.yaml_places import DocumentError
from lensbench.core.tasks import Category, Criterion, Folder, Git, Regex, Task
from lensbench.plan.task_files import ScenarioFile
from lensbench.plan.task_markdown import parse, render

PLAIN = """\
#### rlm-exp-01
- **Category**: Exploratory
- **Prompt**:
  `How does it start?`
- **Judge Criteria**:
  1. names main.py
  2. names line 5
"""
TASK = {
    "id": "rlm-exp-01",
    "category": "Exploratory",
    "prompt": "How does it start?",
    "criteria": [{"text": "names main.py"}, {"text": "names line 5"}],
}


def tasks(text: str) -> list[dict[str, Any]]:
    return [entry.value for entry in parse(text)]


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "Sure! Here are the scenarios:\n\n- Category: all of them\n\n# Scenarios\n\n## Exploratory\n\n"
        + PLAIN,
        PLAIN + "\n---\n",
        PLAIN + "\n***\n",
        PLAIN + "\n## Summary\n\n- **Category**: all\n1. done\n",
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\n\n"),
        PLAIN.replace("`", ""),
        PLAIN.replace("**", ""),
        PLAIN.replace("- **", "**"),
        PLAIN.replace("- **", "* **"),
        PLAIN.replace(":\n  `", ": `"),
        PLAIN.replace("**:", ":**"),
        PLAIN.replace("Judge Criteria", "judge criteria"),
        PLAIN.replace("Judge Criteria", "Criteria"),
        PLAIN.replace("  `How does it start?`", "  ```\n  How does it start?\n  ```"),
        PLAIN.replace("  `How does it start?`", "  ~~~text\n  How does it start?\n  ~~~~"),
        PLAIN.replace("  `How does it start?`", "    ```\n    How does it start?\n    ```"),
        PLAIN.replace(
            "**Prompt**:\n  `How does it start?`",
            "**Prompt**: ```\nHow does it start?\n```\nNote: chatter",
        ),
        PLAIN.replace("1. ", "1) ").replace("2. ", "2) "),
        PLAIN.replace("1. ", "- ").replace("2. ", "- "),
        PLAIN.replace("  1", "1").replace("  2", "2"),
        PLAIN.replace("names main.py", "names\n     main.py"),
        PLAIN.replace("names main.py", "names\n     - main.py").replace(
            "names - main.py", "names main.py"
        ),
        PLAIN.replace("#### rlm-exp-01", "#### `rlm-exp-01`"),
        PLAIN.replace("#### rlm-exp-01", "#### **rlm-exp-01** ####"),
        PLAIN.replace("#### rlm-exp-01", "#### rlm-exp-01: How it starts"),
        PLAIN.replace("#### rlm-exp-01", "#### rlm-exp-01 — How it starts"),
        PLAIN.replace("Exploratory", "exploratory"),
        PLAIN.replace("Exploratory", "`Exploratory`"),
        PLAIN + "- **Difficulty**: hard\n- **Notes**:\n  1. not a criterion\n",
        "\ufeff".strip("\ufeff") + PLAIN,
    ],
)
def test_the_forms_that_people_write_mean_the_same(text: str) -> None:
    read = tasks(text)
    read[0]["criteria"][0]["text"] = read[0]["criteria"][0]["text"].replace(
        "names - main", "names main"
    )
    assert read == [TASK]
    assert "\n  1. names main.py\n" in render(
        ScenarioFile.model_validate({"tasks": read}).tasks, ""
    )


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("`Why does `f` fail in `g`?`", "Why does `f` fail in `g`?"),
        ("Why does `f` fail?", "Why does `f` fail?"),
        ("`a\n  b`", "a\nb"),
        (
            "```\n  #### not-a-task\n\n    - **Category**: x\n  ---\n  ```",
            "#### not-a-task\n\n  - **Category**: x\n---",
        ),
        ("````\n  ```\n  code\n  ```\n  ````", "```\ncode\n```"),
    ],
)
def test_of_a_prompt_only_the_outer_marks_are_taken_off(prompt: str, read: str) -> None:
    assert tasks(PLAIN.replace("`How does it start?`", prompt))[0]["prompt"] == read


def test_tasks_know_the_line_of_their_heading_and_end_at_the_next() -> None:
    assert [entry.line for entry in parse(f"# Set\n\n{PLAIN}\n---\n{PLAIN}")] == [3, 12]
    (task,) = tasks(
        f"{PLAIN}\n#### A heading of many words\n- **Category**: Debug\n- **Prompt**: other\n"
    )
    assert task == TASK


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (PLAIN.replace("  `How", "  ```\n  How"), 4, "fence that is not closed"),
        (PLAIN + "     - facts: {x}\n", 8, "JSON that does not parse"),
        (PLAIN + '     - facts: {"all_of": "\\ud800"}\n', 8, "JSON that does not parse"),
        (PLAIN + "- **Repository**: click\n", 8, "JSON that does not parse"),
        (PLAIN + f"- **Repository**: `{'[' * 100_000}`\n", 8, "JSON that does not parse"),
    ],
)
def test_what_would_be_misread_is_an_error_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        parse(text)
    assert caught.value.line == line


characters = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from(
    "\t\n\r`#|-*~:1. {}<>\\\"'"
)
texts = st.one_of(
    st.text(characters, min_size=1, max_size=30),
    st.lists(
        st.sampled_from(
            [
                "`",
                "```",
                "~~~",
                "#### a",
                "## b",
                "- **Prompt**: c",
                "Category: Debug",
                "---",
                "  1. x",
                "- facts: {}",
                "",
                "a | b",
                "`x` and `y`",
                "  deep",
                "ü—“”",
                "\u2028",
                "<b>",
                "- **Judge Criteria**:",
                "x",
            ]
        ),
        min_size=1,
        max_size=5,
    ).map("\n".join),
).filter(str.strip)
pattern = texts | st.builds(Regex, regex=st.sampled_from(["a+", r"\bx\b", "\n", '"`|\\\\']))
patterns = st.lists(pattern, max_size=2)
criteria = st.builds(
    lambda text, all_of, must_not, partial: Criterion.model_validate(
        {"text": text}
        | ({"all_of": all_of, "must_not": must_not, "partial": partial} if all_of else {})
    ),
    texts,
    patterns,
    patterns,
    st.dictionaries(texts, st.lists(pattern, min_size=1, max_size=2), max_size=1),
)
generated = st.builds(
    Task,
    id=st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True),
    category=st.sampled_from(Category),
    repository=st.none()
    | st.builds(Folder, path=texts)
    | st.just(Git(git="../r`'|", revision="main")),
    prompt=texts,
    criteria=st.lists(criteria, min_size=2, max_size=3),
)


@given(st.lists(generated, min_size=1, max_size=3))
def test_a_rendered_set_reads_back_to_the_same_tasks(written: list[Task]) -> None:
    page = render(written, "Scenarios of r")
    value = {"tasks": tasks(page.encode().decode("utf-8-sig"))}
    assert list(ScenarioFile.model_validate(value).tasks) == written
    assert render(ScenarioFile.model_validate(value).tasks, "Scenarios of r") == page
