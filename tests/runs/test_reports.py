"""The report parser: every form that people's agents write gives the same report, and nothing gives a wrong one."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lensbench.runs.reports import Report, parse_report, process_spans
from lensbench.runs.self_report import MAX_COUNT, normalise_path

TOOLS = ("Read", "Grep")
FILES = ("src/a.py", "web apps/b.py")
FULL = Report(True, 5, TOOLS, 2, FILES)
BULLETS = (
    "- **Tool calls**: 5\n- **Tools used**: Read, Grep\n- **Files read**: 2\n"
    "- **Files used**: src/a.py, web apps/b.py\n- **Key findings**:\n  - It is in a.py\n  - It is long\n"
)


def form(told: Any) -> Any:
    """What stands in reports.yaml."""
    if isinstance(told, str):
        return told.replace("BULLETS", BULLETS)
    return tuple(map(form, told)) if isinstance(told, list) else told


FORMS = {
    name: [form(row) for row in rows]
    for name, rows in yaml.safe_load(
        (Path(__file__).parent / "reports.yaml").read_text(encoding="utf-8")
    ).items()
}


def test_calls_of_the_server_are_a_separate_field_and_are_removed() -> None:
    for name in (
        "LENS calls",
        "MCP calls made",
        "lens_tool_call count",
        "LENS MCP-Tool Calls total",
    ):
        answer = f"The answer.\n\n## Report\n- **Tool calls**: 5\n- **{name}**: 3\n- **Key findings**: none\n"
        assert (parse_report(answer).tool_calls, parse_report(answer).server_calls) == (5, 3)
        (span,) = process_spans(answer, "@")
        assert name in answer[slice(*span)]
    assert parse_report("## Report\n- Tool calls: 5\n- API calls: 3\n").server_calls is None


@pytest.mark.parametrize("heading", FORMS["headings"])
def test_a_heading_in_any_form_begins_the_report(heading: str) -> None:
    assert parse_report(f"The answer.\n\n{heading}\n{BULLETS}") == FULL


@pytest.mark.parametrize("form", FORMS["fields"])
def test_a_field_in_any_form_is_read(form: str) -> None:
    start, end = form.split("NAME")
    bullets = re.sub(r"- \*\*([TFK][^*]*)\*\*:", lambda name: f"{start}{name[1]}{end}", BULLETS)
    assert parse_report(f"## Report\n{bullets}") == FULL


@pytest.mark.parametrize("answer", FORMS["shapes"])
def test_a_report_in_any_place_and_shape_is_read(answer: str) -> None:
    assert parse_report(answer) == FULL


@pytest.mark.parametrize(
    ("value", "count"),
    [
        *FORMS["counts"],
        (str(MAX_COUNT), MAX_COUNT),
        (str(MAX_COUNT + 1), None),
        ("9" * 5000, None),
    ],
)
def test_a_count_is_its_leading_whole_number_or_missing(value: str, count: int | None) -> None:
    report = parse_report(
        f"## Report\n- **Tool calls**: {value}\n- **Files read**: {value}\n- **Tools used**: Read\n"
    )
    assert (report.tool_calls, report.files_read, report.tools_used) == (count, count, ("Read",))


@pytest.mark.parametrize(("value", "tools"), FORMS["tools"])
def test_tools_are_bare_names_in_their_order(value: str, tools: tuple[str, ...] | None) -> None:
    report = parse_report(f"## Report\n- **Tools used**:{value}\n- **Tool calls**: 3\n")
    assert (report.tools_used, report.tool_calls) == (tools, 3)


@pytest.mark.parametrize(("value", "files"), FORMS["files"])
def test_files_are_split_on_commas_and_lines_only(
    value: str, files: tuple[str, ...] | None
) -> None:
    report = parse_report(
        f"## Report\n- **Files used**:{value}\n- **Confidence**: high\n- **Tool calls**: 3\n"
    )
    assert (report.files_used, report.tool_calls) == (files, 3)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No section.",
        "Tool calls: 5",
        "## Reporting\n- Tool calls: 5",
        "The report: Tool calls: 5",
        "## Bug report handling\nIt is in a.py.\n",
        "- report:\n- Tool calls: 5",
        "Words.\n## Report\n",
    ],
)
def test_everything_is_missing_in_an_empty_report_and_where_there_is_none(answer: str) -> None:
    assert parse_report(answer) == Report(present=answer.endswith("## Report\n"))


@pytest.mark.parametrize("name", ["Tools used", "Files used"])
@pytest.mark.parametrize(
    "value",
    [
        "none",
        "None.",
        "`none`",
        "*None*",
        "(none)",
        "[none]",
        "[]",
        "none used",
        "None (no repository)",
        "Nothing.",
        "nil",
        "No files",
        "no tools were used",
        "None; it was known",
        "\n  - none",
        "\n  - `None` needed",
    ],
)
def test_none_in_any_spelling_is_no_name(name: str, value: str) -> None:
    report = parse_report(f"## Report\n- **{name}**: {value}\n- **Tool calls**: 0\n")
    assert (report.tools_used if name == "Tools used" else report.files_used) == ()


def test_findings_do_not_take_the_place_of_fields() -> None:
    report = parse_report(
        "## Report\n- Tool calls: 5\n- Key findings:\n  - Tools used by click: many\n  - Tool calls: 9 are made\n"
    )
    assert (report.tool_calls, report.tools_used) == (5, None)


def cut(answer: str) -> str:
    """The answer with an @ for each piece that tells of the work."""
    for start, end in reversed(process_spans(answer, "@")):
        answer = f"{answer[:start]}@{answer[end:]}"
    return answer


@pytest.mark.parametrize(("answer", "rest"), FORMS["cut"])
def test_what_the_report_tells_of_the_work_is_found_and_its_findings_are_not(
    answer: str, rest: str
) -> None:
    assert cut(answer) == rest


NAMES = st.from_regex(
    r"[A-Z][A-Za-z]{1,8}|mcp__[a-z]{1,5}__[a-z_]{1,8}[a-z]", fullmatch=True
).filter(lambda name: name.lower() not in {"na", "none", "null", "unknown", "tbd", "etc"})
PATHS = st.sampled_from(["src/a.py", "src/b.py", "lib/c.ts", "d/e.py"])
FINDING = "Cart is in `cart.py`"
REPORTS = st.builds(
    Report,
    st.just(True),
    st.none() | st.integers(0, MAX_COUNT),
    st.none() | st.lists(NAMES, unique=True, max_size=6).map(tuple),
    st.none() | st.integers(0, MAX_COUNT),
    st.none() | st.lists(PATHS, unique=True, max_size=6).map(tuple),
)


@st.composite
def rendered(draw: st.DrawFn) -> tuple[Report, str]:
    """A report, and a text that says it in one of the forms."""
    report = draw(REPORTS)
    start, end = draw(
        st.sampled_from(
            [("- **", "**: "), ("**", ":** "), ("", ": "), ("* ", " — "), ("1. ", ": ")]
        )
    )
    quote = draw(st.sampled_from(["", "`", "**"]))

    def line(name: str, values: object) -> str:
        if values is None:
            return ""
        if not isinstance(values, tuple):
            return f"{start}{name}{end}{values}\n"
        quoted = [f"{quote}{value}{quote}" for value in values]
        if quoted and draw(st.booleans()):
            return f"{start}{name}{end}\n" + "".join(f"  - {value}\n" for value in quoted)
        return f"{start}{name}{end}{', '.join(quoted) or 'none'}\n"

    fields = [
        line("Tool calls", report.tool_calls),
        line("Tools used", report.tools_used),
        line("Files read", report.files_read),
        line("Files used", report.files_used),
    ]
    heading = draw(
        st.sampled_from(["## Report", "### Report", "## **Report**", "## report:", "Report:"])
    )
    body = "".join([*draw(st.permutations(fields)), f"- **Key findings**:\n  - {FINDING}\n"])
    before, after = draw(
        st.sampled_from([("", ""), ("# Answer\n\nWords.\n\n", ""), ("", "\n## Answer\nWords.\n")])
    )
    return report, f"{before}{heading}\n{body}{after}"


@pytest.mark.slow
@given(rendered())
def test_a_rendered_report_reads_back(case: tuple[Report, str]) -> None:
    report, text = case
    assert parse_report(text) == report


@pytest.mark.slow
@given(rendered())
def test_a_cut_report_gives_no_value_but_keeps_its_findings(case: tuple[Report, str]) -> None:
    text = case[1]
    assert parse_report(cut(text)) in (Report(), Report(present=True))
    assert FINDING in cut(text)


PIECES = st.sampled_from(
    [
        "## Report\n",
        "### Report\n",
        "- **Tool calls**: ",
        "Tools used:",
        "Files used",
        "Key findings:\n",
        "|",
        "---\n",
        "```\n",
        "\n",
        "- ",
        "  ",
        "5",
        "-",
        "(",
        ")",
        "`",
        "**",
        ",",
        "none",
        "[a](",
        "<br>",
        "\0",
        "\ud800",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_no_text_raises_and_counts_are_never_negative(text: str) -> None:
    report = parse_report(text)
    assert report.present or report == Report()
    assert all(
        count is None or 0 <= count <= MAX_COUNT for count in (report.tool_calls, report.files_read)
    )


@given(st.lists(PIECES | st.just("@") | st.text(max_size=5), max_size=40).map("".join))
def test_a_report_is_cut_only_once(text: str) -> None:
    assert process_spans(cut(text), "@") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["## Report\n", "- a, ", "(", " ", "---\n", "| a |\n", "`", "[a](", "Tool calls: ", "a - "],
)
def test_a_megabyte_of_anything_is_read(piece: str) -> None:
    report = parse_report(
        "## Report\n- **Tool calls**: 5\n- **Files used**: " + piece * (1_000_000 // len(piece))
    )
    assert report.present


@pytest.mark.parametrize(
    "path",
    [
        "src/a b.py",
        "./src/a b.py",
        "/src/a b.py",
        "/w/repo/src/a b.py",
        "w/repo/src/a b.py",
        "`src/a b.py`",
        "**src/a b.py**",
        "'src/a b.py'",
        '"src/a b.py"',
        "src/a b.py:12",
        "src/a b.py:12-40",
        "src/a b.py#L12-L40",
        "src/a b.py(12)",
        "src/a b.py (new)",
        "`src/a b.py`,",
        "src\\a b.py",
        "C:\\w\\repo\\src\\a b.py",
        "src//a b.py",
        "src/x/../a b.py",
        "`./src/a b.py:12` (the parser),",
        "file:///w/repo/src/a b.py",
        " src/a b.py ",
        "`/w/repo/src/a b.py`:12",
        "“src/a b.py”",
    ],
)
def test_a_cited_file_is_the_same_in_every_spelling(path: str) -> None:
    assert normalise_path(path, "/w/repo") == "src/a b.py"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", ""),
        ("/w/repo", ""),
        ("/w/repository/a.py", "w/repository/a.py"),
        ("../a.py", "../a.py"),
        (".github/x.yml", ".github/x.yml"),
        ("__init__.py", "__init__.py"),
        (".", ""),
        ("./", ""),
    ],
)
def test_what_only_looks_like_the_workspace_is_kept(path: str, expected: str) -> None:
    assert normalise_path(path, "/w/repo") == expected


@given(
    st.text(alphabet="ab/.\\`*'\" :12(),#L-~", max_size=20) | st.text(max_size=10),
    st.sampled_from(["", "/a", "/a/b"]),
)
def test_normalising_a_path_twice_changes_nothing(path: str, workspace: str) -> None:
    once = normalise_path(path, workspace)
    assert normalise_path(once, workspace) == once


TOOL_NAMES = st.sampled_from(["Read", "Grep", "Bash", "mcp__lens__lens_grep", "mcp__a__b_c"])
PATHS = st.sampled_from(["src/a.py", "src/b.py", "lib/c.ts", "d/e.py"])
# a slash makes one path of two, and `$lib` or `~x` may be the name of a folder
NO_NAMES = st.characters(exclude_categories=["Cs", "L", "N", "M"], exclude_characters=".:_-@+/\\$~")
MARKS = st.text(NO_NAMES, min_size=1, max_size=3)


@given(st.lists(TOOL_NAMES, min_size=2, max_size=4, unique=True), MARKS)
def test_tools_between_any_marks_are_read_one_by_one_or_missing(
    names: list[str], mark: str
) -> None:
    tools = parse_report(
        f"## Report\n- Tool calls: 3\n- Tools used: {mark.join(names)}\n"
    ).tools_used
    assert tools is None or set(tools) <= set(names)


@given(st.lists(PATHS, min_size=2, max_size=4, unique=True), MARKS)
def test_files_between_any_marks_are_read_one_by_one_or_missing(
    names: list[str], mark: str
) -> None:
    files = parse_report(
        f"## Report\n- Tool calls: 3\n- Files used: {mark.join(names)}\n"
    ).files_used
    assert files is None or set(files) <= set(names)
