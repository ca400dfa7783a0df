"""Blinding: what gives a condition away is taken out, what the answer states stays, and the way back is exact."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.records import RunId
from lensbench.core.tasks import Category, Criterion, Regex, Task
from lensbench.judging.blinding import (
    MARK,
    Hidden,
    blind,
    hidden_names,
    opaque_id,
    order,
    without_report,
)
from lensbench.judging.shown_answers import ShownAnswer
from lensbench.judging.verdicts import judge_mechanically

DATA = yaml.safe_load((Path(__file__).parent / "blinding.yaml").read_text(encoding="utf-8"))

TOOLS = (
    "mcp__lens__lens_grep",
    "mcp__lens__lens_graph",
    "mcp__lens__lens_graph_neighbors",
    "mcp__lens__search",
)
HIDDEN = Hidden(TOOLS, ("lens",), ("with", "without"))
PLAN = {"conditions": {"without": {"servers": []}, "with": {"servers": ["lens"]}}}
REPORT = (
    "## Report\n\n- **Tool calls**: 5\n- **Tools used**: Glob, mcp__lens__lens_grep\n- **Files read**: 2\n"
    "- **Files used**: src/a.py, src/b.py\n- **Key findings**:\n  - It is in `src/a.py`\n  - It is long\n"
)


def text_of(answer: str) -> str:
    return blind(answer, HIDDEN).text


def task(prompt: str, *criteria: str) -> Task:
    return Task(
        id="t",
        category=Category.DEBUG,
        prompt=prompt,
        criteria=tuple(Criterion(text=one) for one in criteria),
    )


@pytest.mark.parametrize(("answer", "seen"), DATA["marked"])
def test_what_tells_of_the_work_becomes_a_mark(answer: str, seen: str) -> None:
    assert text_of(answer) == seen.replace("@", MARK)


@pytest.mark.parametrize("answer", DATA["same"])
def test_an_answer_with_nothing_to_hide_is_the_same(answer: str) -> None:
    blinded = blind(answer, HIDDEN)
    assert (blinded.text, blinded.removed) == (answer, ())


def test_names_of_servers_and_their_tools_are_hidden_in_code_too_until_its_fence_is_closed() -> (
    None
):
    assert text_of('```json\n{"lens": "lens_grep", "with": "Read"}\n```') == (
        f'```json\n{{"{MARK}": "{MARK}", "with": "Read"}}\n```'
    )
    assert text_of("````\nusing Grep\n```\nusing Grep\n````\nusing Grep\n") == (
        f"````\nusing Grep\n```\nusing Grep\n````\n{MARK}\n"
    )


def test_of_the_report_the_findings_stay_wherever_they_stand_and_what_has_another_name() -> None:
    assert (
        text_of(f"It is there.\n\n{REPORT}")
        == f"It is there.\n\n{MARK}\n  - It is in `src/a.py`\n  - It is long\n"
    )
    answer = "# Report\n- Key findings: It is long\n- Tool calls: 5\n- Tools used: Read\n\nMore is in `b.py`.\n"
    assert text_of(answer) == f"{MARK} It is long\n{MARK}\n\nMore is in `b.py`.\n"
    answer = "## Report\n- **Files used**: a.py\n- **Conclusion**: it is long\n"
    assert text_of(answer) == f"{MARK}\n- **Conclusion**: it is long\n"


@pytest.mark.parametrize(
    "name",
    [
        "mcp__lens__lens_grep",
        "lens_grep",
        "LENS_GRAPH",
        "lens",
        "Lens",
        r"lens\_grep",
        "lens-graph",
        "mcp__other__find",
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "`{}`",
        "**{}**",
        "*{}*",
        "_{}_",
        "__{}__",
        "({})",
        "[{}](x)",
        "- {}\n",
        "> {}",
        "| {} |",
        '"{}"',
        "{}: a",
        "```\n{}\n```",
        "~~{}~~",
        "<code>{}</code>",
        "### {}",
        "{}'s",
        "{}/x",
        "{}.",
        "{}()",
        "使用{}工具",
        "ツール{}で",
        "도구{}로",
        "ใช้{}ค้น",
        "\uff08{}\uff09",
    ],
)
def test_a_hidden_name_is_nowhere_left(name: str, form: str) -> None:
    seen = text_of(f"See {form.format(name)} there and {form.format(name)}")
    assert not re.search(r"lens|mcp|graph", seen, re.IGNORECASE)
    assert MARK in seen


def test_names_and_durations_of_the_task_and_names_in_patterns_are_content() -> None:
    asked = task("Why has the request to Lens took 30 seconds?", "the cause is `Grep`, not MCP")
    hidden = hidden_names(PLAN, TOOLS, asked)
    answer = "lens took 30 seconds using Grep and MCP tools"
    assert {"lens", "grep", "mcp", "30 seconds"} <= hidden.allowed
    assert blind(answer, hidden).text == answer
    assert blind("It took 9 s with lens_grep and Read tools", hidden).text == f"It {MARK} {MARK}"
    fact = Criterion(
        text="names the file of the commands", any_of=("git/cmd.py", Regex(regex=r"lens_grep\("))
    )
    plan = {"conditions": {"without": {"servers": []}, "with": {"servers": ["git", "lens"]}}}
    hidden = hidden_names(
        plan, TOOLS, Task(id="t", category=Category.DEBUG, prompt="Where?", criteria=(fact, fact))
    )
    assert blind("It is in git/cmd.py, see lens_grep() and lens_graph.", hidden).text == (
        f"It is in git/cmd.py, see lens_grep() and {MARK}."
    )


def test_patterns_read_the_answer_with_its_names_and_without_the_report() -> None:
    original = f"It is in git/cmd.py.\n\n{REPORT}"
    named = without_report(original)
    shown = ShownAnswer("x", RunId("t", "with", 1), named.text, named, True)
    facts = tuple(Criterion(text=name, any_of=(name,)) for name in ("git/cmd.py", "src/b.py"))
    asked = Task(id="t", category=Category.DEBUG, prompt="Where?", criteria=facts)
    rows = list(judge_mechanically([shown], {"t": asked}))
    assert [judgement.verdict for *_, judgement in rows] == ["Met", "Missed"]
    assert "git/cmd.py" in rows[0][2].evidence
    assert named.text[rows[0][2].position :].startswith(rows[0][2].evidence)


def test_names_to_hide_come_from_plan_and_tools_even_if_the_task_uses_them() -> None:
    hidden = hidden_names(
        PLAN, [*reversed(TOOLS), "Read", "mcp__other__x"], task("Where?", "there", "here")
    )
    assert hidden == Hidden(
        (*TOOLS[1:3], TOOLS[0], TOOLS[3], "mcp__other__x"), ("lens", "other"), ("with", "without")
    )
    assert blind("I found it using Grep, via lens_grep.", Hidden((), (), ("only",))).text == (
        f"I found it {MARK}, via lens_grep."
    )
    hidden = hidden_names(
        PLAN, TOOLS, task("Where is the file read and who can edit it?", "there", "here")
    )
    assert hidden.allowed == frozenset()
    assert blind("I used Read", hidden).text == f"I {MARK}"


def test_the_way_back_ends_at_what_was_removed() -> None:
    blinded = blind("Now lens_grep shows x", HIDDEN)
    assert (blinded.text, blinded.span(0, 4)) == (f"Now {MARK} shows x", (0, 4))
    assert blinded.span(len(blinded.text) - 7, len(blinded.text)) == (14, 21)
    for start, end in [
        (0, 5),
        (4, 5),
        (4, 7),
        (6, 9),
        (0, len(blinded.text)),
        (3, 3),
        (5, 2),
        (-1, 3),
        (9, 99),
    ]:
        assert blinded.span(start, end) is None


PIECES = st.sampled_from(
    [
        "## Report\n",
        "**Report**\n",
        "Report:",
        "## Bug report",
        "- **Tool calls**: ",
        "- Tools used: ",
        "Files used:",
        "- **Key findings**:",
        "\n",
        "\n",
        "- ",
        "  ",
        "5",
        "```\n",
        "~~~",
        "> ",
        "|",
        "---\n",
        "`",
        "**",
        "_",
        ", ",
        " and ",
        "lens",
        "LENS",
        "lens_grep",
        "mcp__lens__lens_graph",
        "Read",
        "Grep",
        "tool",
        " MCP",
        " server",
        "using ",
        "via ",
        "with ",
        "the ",
        " condition",
        "condition: ",
        "took ",
        "3.2 s",
        " in ",
        "about ",
        "I ",
        ".",
        ":",
        "(",
        "[",
        MARK,
        "\\",
        "Time taken:",
        "12 ",
        "LensGrep",
        "import graph",
        "graph",
        " shows",
        "importers",
        "=3",
        "hub score",
        " trait",
        "\r",
        "\x85",
        "\ud800",
    ]
)
ANSWERS = st.lists(PIECES | st.text(max_size=3), max_size=40).map("".join)


@given(ANSWERS)
def test_blinding_twice_is_blinding_once(answer: str) -> None:
    once = text_of(answer)
    assert text_of(once) == once


@given(ANSWERS, st.integers(0, 60), st.integers(1, 9))
def test_every_piece_leads_back_to_the_same_characters(
    answer: str, start: int, length: int
) -> None:
    blinded = blind(answer, HIDDEN)
    found = blinded.span(start, start + length)
    if found:
        assert answer[slice(*found)] == blinded.text[start : start + length]
    else:
        assert MARK in blinded.text or start + length > len(answer)


@given(ANSWERS)
def test_text_is_only_taken_out(answer: str) -> None:
    blinded = blind(answer, HIDDEN)
    rest = answer
    for start, end in reversed(blinded.removed):
        rest = rest[:start] + MARK + rest[end:]
    assert rest == blinded.text


@given(ANSWERS)
def test_no_whole_name_is_left(answer: str) -> None:
    assert not re.search(r"(?ia)(?<![\w\\])(mcp__lens|lens_grep|lens)(?![\w\\])", text_of(answer))


@pytest.mark.parametrize(
    "piece",
    ["lens, ", "Read, ", "`", "**lens", "_", "\\_", "1", "mcp__", "## Report\n- Tools: a\n"],
)
def test_large_answers_of_anything_are_blinded(piece: str) -> None:
    answer = piece * (100_000 // len(piece))
    blinded = blind(answer, HIDDEN)
    assert (blinded.original, text_of(blinded.text)) == (answer, blinded.text)


def test_an_opaque_id_is_ten_hex_digits_of_seed_run_and_answer() -> None:
    names = {
        opaque_id(seed, RunId(name, condition, trial), answer)
        for seed in (1, 2)
        for name in ("a", "b")
        for condition in ("with", "without")
        for trial in (1, 2)
        for answer in ("", "x", "\ud800")
    }
    assert len(names) == 48
    assert all(re.fullmatch("[0-9a-f]{10}", name) for name in names)
    assert opaque_id(1, RunId("a", "with"), "x") == opaque_id(1, RunId("a", "with"), "x")


@given(
    st.sets(st.text("0123456789abcdef", min_size=10, max_size=10), max_size=20), st.integers(0, 9)
)
def test_the_order_depends_on_the_seed_only(ids: set[str], seed: int) -> None:
    ordered = order(ids, seed)
    assert (ordered, sorted(ordered)) == (order(sorted(ids, reverse=True), seed), sorted(ids))
    assert [name for name in ordered if name < "8"] == order(
        [name for name in ids if name < "8"], seed
    )


def test_another_seed_gives_another_order() -> None:
    ids = [f"{number:010x}" for number in range(20)]
    assert len({tuple(order(ids, seed)) for seed in range(5)} | {tuple(ids)}) == 6
