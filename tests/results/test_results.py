import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benches import Shape, make_bench
from lensbench.core.records import Call
from lensbench.core.system.places import ROOT
from lensbench.results.markdown import LONGEST_CELL, cell, sentence
from lensbench.results.results_file import RESULTS_SCHEMA

Make = Callable[..., Any]
NASTY = "a|b\nc\r\n# d\n| e | <script>alert(1)</script> `f` **g** [h](i) \\ ~~j~~ &amp; \x1b[31m \u202e $x$ _k_"


def rows(page: str, title: str) -> list[list[str]]:
    """The rows of the table below a heading, without its head."""
    return table(page, title)[2:]


def column(page: str, title: str, name: str) -> list[str]:
    """The cells below a name in the head of the table below a heading."""
    place = table(page, title)[0].index(name)
    return [row[place] for row in rows(page, title)]


def table(page: str, title: str) -> list[list[str]]:
    part = re.split(r"\n#{2,3} ", page.partition(f"# {title}\n")[2])[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[item.strip() for item in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def headings(page: str) -> list[str]:
    """All but the title."""
    return re.findall(r"^##+ (.*)$", page, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("a\nb\r\n\tc", "a b c"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("`x`", "\\`x\\`"),
        ("[a](b)", "\\[a\\](b)"),
        ("a\\|b", "a\\\\\\|b"),
        ("**x**", "\\*\\*x\\*\\*"),
        ("mcp__lens__lens_grep", "mcp__lens__lens_grep"),
        ("_x_ __y__", "\\_x\\_ \\_\\_y\\_\\_"),
        ("a_ _b", "a\\_ \\_b"),
        ("# x", "\\# x"),
        ("- x", "\\- x"),
        ("1. x", "1\\. x"),
        ("2.1.1 (x)", "2.1.1 (x)"),
        ("\x1b[0m\u202ex", "x"),
        ("$a$", "\\$a\\$"),
        (None, "—"),
        ("", "—"),
        (" \n", "—"),
        (0, "0"),
        ("x" * 301, "x" * 300 + "…"),
        ("ü—“”", "ü—“”"),
    ],
)
def test_any_text_is_one_harmless_cell(text: Any, shown: str) -> None:
    assert cell(text) == shown


@given(st.text() | st.text("|\\\n`<>&*_[]#-1. ", max_size=30))
def test_no_text_leaves_its_cell(text: str) -> None:
    shown = cell(text)
    assert shown.isprintable()
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`*\[\]~$]", re.sub(r"\\[^\w\s]", "", shown))
    assert not set("<>") & set(shown)
    assert len(shown) <= 6 * LONGEST_CELL + 10


def test_nothing_that_an_agent_or_a_user_writes_breaks_the_page(bench: Make) -> None:
    made = bench(
        changes={
            "warnings": [NASTY],
            "accepted_changes": [NASTY],
            "model_mapping": NASTY,
            "agent": {"kind": NASTY},
            "repositories": {NASTY: {"path": NASTY}},
            "max_rounds": 0,
        }
    )
    made.run(
        "a",
        "with",
        tools=(f"mcp__lens__{NASTY}",),
        files=(NASTY,),
        evidence=NASTY,
        models=(NASTY,),
        agent_version=NASTY,
        tools_offered=(f"mcp__lens__{NASTY}",),
    )
    made.run("b", "with", reason="mcp_failed", detail=NASTY)
    made.run("a", "without", models=(NASTY,), agent_version=NASTY)
    made.build()
    page = made.page
    assert "<script" not in page
    assert all(character.isprintable() or character == "\n" for character in page)
    assert headings(page) == [SECTIONS[0], "Warnings", *SECTIONS[1:]]
    blocks = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert len(blocks) == 13
    for block in blocks:
        assert (
            len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in block.splitlines()}) == 1
        ), block


SECTIONS = [
    "What it rests on",
    "lens against without a server",
    "How sure",
    "By category",
    "By repository",
    "Pairs",
    "Adoption",
    "Judges",
    "How runs ended",
    "Discards",
    "What was checked",
    "Scope",
    "Raw results",
]


def test_the_page_has_every_section_also_without_any_run(bench: Make) -> None:
    made = bench()
    data = made.build()
    assert headings(made.page) == SECTIONS
    assert data["headlines"] == ["lens against without a server: no complete pair yet (2 planned)."]
    assert data["counts"] == {"scored": 0, "unjudged": 0, "discarded": 0, "missing": 4}
    assert column(made.page, "Raw results", "Condition")[0] == "lens"
    assert column(made.page, "Raw results", "Status")[0] == "missing"
    for name in ("Tool calls", "Files read"):
        assert column(made.page, "Raw results", name)[0] == "— / —"
    for name in ("Tools used?", "Score", "Complete", "Duration"):
        assert column(made.page, "Raw results", name)[0] == "—"
    assert "Runs started | not recorded" in made.page
    assert "makes the 4 runs that are now discarded or missing" in made.page
    assert "No run was discarded.\n" in made.page
    assert " 0%" not in made.page


def test_the_headline_compares_like_with_like(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c"))
    made.run("a", "with", points=("1", "0"))
    made.run("a", "without", points=("1", "1"))
    made.run("b", "with", points=("1", "1"))
    made.build()
    wanted = "\nlens 50%, without a server 100% on average over 1 of 3 pairs (pairs: 0 better, 0 equal, 1 worse).\n"
    assert wanted in made.page


GREP, GRAPH = "mcp__lens__lens_grep", "mcp__lens__lens_graph"


def test_the_protocols_columns_say_which_tools_were_used_and_how_many_calls_they_saved(
    bench: Make,
) -> None:
    made = bench(changes={"notes": ["the description of `lens_grep` says *when* to use it"]})
    offered = ("Read", GREP, GRAPH)
    made.run("a", "with", tools_offered=offered, seen=(Call("Read", 2), Call(GREP, 1)))
    made.run("a", "without", seen=(Call("Read", 7),))
    made.run("b", "with", tools_offered=offered, points=("1", "0"), seen=(Call("Read", 3),))
    made.run("b", "without")
    made.build()
    assert (
        "## Changes this run\n\n- the description of `lens_grep` says \\*when\\* to use it\n"
        in made.page
    )
    assert "| MCP servers of lens | lens: lens_graph, lens_grep |" in made.page
    assert column(made.page, "Raw results", "Tools used?") == ["Yes", "—", "No", "—"]
    assert rows(made.page, "By category")[0][-2:] == ["+2", "0/2"]
    assert (
        "| complete (score of 80% or more) | 2/2 (100%) | 1/2 (50%) | -50.0 points |" in made.page
    )
    assert "| Task | lens_grep |\n|---|--:|\n| a | 1 |\n| b | 0 |\n" in made.page


def test_each_treatment_has_its_section_and_headline(bench: Make) -> None:
    made = bench(servers={"without": [], "with": ["lens"], "other": ["x"]}, trials=2)
    for condition in made.servers:
        made.run("a", condition)
    made.build()
    assert "\n## lens against without a server\n" in made.page
    assert "\n## x against without a server\n" in made.page
    assert (
        made.page.count(" on average over 1 of 4 pairs (pairs: 0 better, 1 equal, 0 worse).\n") == 2
    )
    assert rows(made.page, "Raw results")[0][:2] == ["a", "1"]


def test_discards_are_counted_by_reason_and_condition_with_what_to_look_at(bench: Make) -> None:
    made = bench(tasks=tuple("abcde"))
    for task in "abcd":
        made.run(task, "with", reason="mcp_failed", detail="lens: absent")
    made.build()
    assert "find the cause" not in made.page
    made.run("e", "without", reason="timed_out")
    made.build()
    wanted = "**5 rounds were discarded, which is more than 4: find the cause before you trust a number above.**"
    assert wanted in made.page
    assert [row[:3] for row in rows(made.page, "Discards")] == [
        ["mcp_failed", "4", "0"],
        ["timed_out", "0", "1"],
    ]
    assert "agent.mcp_start_s" in made.page


def test_a_run_that_was_given_up_is_named(bench: Make) -> None:
    made = bench(tasks=("a",), changes={"max_rounds": 0})
    made.run("a", "with", reason="mcp_failed", detail="lens: absent")
    made.run("a", "without")
    made.build()
    wanted = "- a, lens, trial 1 was given up: mcp_failed (lens: absent). Raise `discards.max_rounds` to try again."
    assert wanted in made.page
    assert "The next start" not in made.page


def test_what_a_reader_must_know_is_a_warning(bench: Make) -> None:
    made = bench(
        tasks=("a",),
        changes={
            "imported": True,
            "accepted_changes": ["seed: was 1"],
            "warnings": ["six criteria"],
        },
    )
    made.run("a", "with", points=("1", None))
    made.build()
    warnings = made.page.partition("## Warnings")[2].partition("## Raw")[0]
    for words in (
        "made elsewhere",
        "Accepted change in the middle of this run: seed: was 1",
        "1 of 2 criteria of runs that count has no verdict",
        "six criteria",
    ):
        assert words in warnings


@pytest.mark.parametrize(("kind", "said"), [("offline", True), ("command", False)])
def test_the_page_says_when_no_language_model_answered(bench: Make, kind: str, said: bool) -> None:
    made = bench(tasks=("a",), changes={"agent": {"kind": kind}})
    made.run("a", "with")
    made.run("a", "without")
    made.build()
    assert "INCONCLUSIVE" not in made.page or not said
    assert ("a search program answered, not a language model" in made.page) is said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Next: `lensbench init --agent claude-code`.",
            "Next: `lensbench init --agent claude-code`.",
        ),
        ("(`lensbench compare`), x | <b>", "(`lensbench compare`), x \\| &lt;b&gt;"),
        ("`a|b` and `c", "\\`a\\|b\\` and \\`c"),
        ("", ""),
    ],
)
def test_commands_in_sentences_are_code_and_nothing_else_is(text: str, shown: str) -> None:
    assert sentence(text) == shown


def test_runs_that_end_with_a_remark_stand_beside_their_endings_and_are_told_where_arms_differ(
    bench: Make,
) -> None:
    made = bench()
    for task in ("a", "b"):
        made.run(task, "with", longer_report=task == "a")
        made.run(task, "without", longer_report=False)
    data = made.build()
    assert data["longer_reports"]["with"] == {"runs": 1, "of": 2}
    assert [row[-1] for row in rows(made.page, "How runs ended")] == ["1 of 2", "0 of 2"]
    told = "so that a remark was scored: lens 1 of 2, without a server 0 of 2."
    assert told in data["unequal_reports"]
    assert told in made.page


def test_results_json_is_as_its_schema_says_and_every_key_has_a_meaning(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "schemas" / "results.schema.json").read_text(encoding="utf-8"))
    for part in (schema, *schema["$defs"].values()):
        for name, key in part.get("properties", {}).items():
            assert key["description"], name
    shapes = (
        Shape(12, treatments=("with", "more"), trials=2, discarded=0.1, missing=0.1, unjudged=0.1),
        Shape(3, agent="offline", judges=("mechanical",)),
    )
    for number, shape in enumerate(shapes):
        folder = make_bench(tmp_path / str(number), shape)
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        jsonschema.validate(results, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**results, "schema": RESULTS_SCHEMA + 1}, schema)
        del results["verdicts_on"]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(results, schema)


def test_the_newest_schema_of_results_json_has_a_line_in_the_docs() -> None:
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([0-9]+) \|", page, re.MULTILINE)
    assert [*map(int, lines)] == [*range(1, RESULTS_SCHEMA + 1)]
