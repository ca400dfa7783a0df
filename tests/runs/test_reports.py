"""The report parser: every form that people's agents write gives the same report, and nothing gives a wrong one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.runs.reports import Report, parse_report, process_spans
from lensbench.runs.self_report import MAX_COUNT, normalise_path

TOOLS = ("Read", "Grep")
FILES = ("src/a.py", "web apps/b.py")
FILES_AT = ("src/a.py:1-3", "web apps/b.py")
FULL = Report(True, 5, TOOLS, 2, FILES)
BULLETS = (
    "- **Tool calls**: 5\n- **Tools used**: Read, Grep\n- **Files read**: 2\n"
    "- **Files used**: src/a.py, web apps/b.py\n- **Key findings**:\n  - It is in a.py\n  - It is long\n"
)


def test_calls_of_the_server_are_a_separate_field_and_are_removed() -> None:
    for name in ("LENS calls", "MCP calls", "lens tool calls", "LENS MCP Tool Calls"):
        answer = f"The answer.\n\n## Report\n- **Tool calls**: 5\n- **{name}**: 3\n- **Key findings**: none\n"
        assert (parse_report(answer).tool_calls, parse_report(answer).server_calls) == (5, 3)
        (span,) = process_spans(answer, "@")
        assert name in answer[slice(*span)]
    assert parse_report("## Report\n- Tool calls: 5\n- API calls: 3\n").server_calls is None


def plain(form: str) -> str:
    """The five fields with another beginning and end of each name."""
    return (
        BULLETS.replace("- **T", "@T")
        .replace("- **F", "@F")
        .replace("- **K", "@K")
        .replace("**:", "$")
        .replace("@", form.split("NAME")[0])
        .replace("$", form.split("NAME")[1])
    )


@pytest.mark.parametrize("heading", [
    "## Report", "# Report", "### Report", "###### Report", "## **Report**", "## Report:", "## REPORT", "## report ##", "  ## Report", "**Report**",
    "**Report:**", "Report:", "Report\n------", "Report\n======", "## 4. Report", "## 📊 Report", "## Final Report", "## Self-Report",
    "## Report (self)", "## `Report`", "## Report\n\n---", "## Report\r",
])  # fmt: skip
def test_a_heading_in_any_form_begins_the_report(heading: str) -> None:
    assert parse_report(f"The answer.\n\n{heading}\n{BULLETS}") == FULL


@pytest.mark.parametrize("form", [
    "- **NAME**: ", "**NAME:** ", "**NAME**: ", "NAME: ", "* NAME — ", "* NAME - ", "- NAME \u2013 ", "+ NAME: ", "• NAME: ", "1. **NAME**: ",
    "2) NAME: ", "- *NAME*: ", "- `NAME`: ", "- [x] **NAME**: ", "  - **NAME**: ", "> - **NAME**: ", "- __NAME__: ", "- **NAME** (as counted): ",
    "- **NAME** - ", "NAME = ", "- NAME : ", "- ***NAME***: ", "NAME\uff1a ",
])  # fmt: skip
def test_a_field_in_any_form_is_read(form: str) -> None:
    assert parse_report(f"## Report\n{plain(form)}") == FULL


@pytest.mark.parametrize("answer", [
    f"## Report\n{BULLETS}", f"## Report\n\n{BULLETS}\n---\n\n# The answer\n- Tool calls: 9\n",
    f"Words.\n## Report\n{BULLETS}\n## Appendix\nmore", f"# Report\n{BULLETS}\n# Appendix\n- more",
    f"```markdown\n## Report\n{BULLETS}```\nAnd that is all.\n", f"~~~\nReport:\n{BULLETS}~~~\n## Answer",
    f"Words.\n```py\nx\n```\n## Report\n{BULLETS}", f"> ## Report\n> {BULLETS}".replace("\n", "\n> "),
    f"## Report\n{BULLETS}".replace("\n", "\r\n"), f"## Report\n- Tool calls: 9\n\n## Answer\n\n## Report\n{BULLETS}",
    f"## Report\n{BULLETS}\n## Report\nSee above.\n",
    f"## Report\n{BULLETS.upper().replace('READ, GREP', 'Read, Grep')}".replace(
        "SRC/A.PY, WEB APPS/B.PY", ", ".join(FILES)
    )
    ,
    "## Report\n- **Key findings**:\n  1. It is in a.py\n  2. It is long\n- **Tool calls**: 5\n"
    "- **Tools used**: Read, Grep\n- **Files read**: 2\n- **Files used**: src/a.py, web apps/b.py\n",
    "## Report\n| Field | Value |\n|---|---|\n| Tool calls | 5 |\n"
    "| **Tools used** | Read, Grep |\n| Files read | 2 |\n"
    "| Files used | `src/a.py`<br>`web apps/b.py` |\n\n**Key findings**\n- It is in a.py\n- It is long\n",
    "## Report\n| Tool calls | Tools used | Files read | Files used |\n|--|--|--|--|\n"
    "| 5 | Read, Grep | 2 | src/a.py, web apps/b.py |\n\n"
    "### Key findings\n\n- It is in\n  a.py\n\n- It is long\n",
    "## Report\n### Tool calls\n5\n### Tools used\n- Read\n- Grep\n### Files read\n2\n"
    "### Files used\n- `src/a.py`\n- `web apps/b.py`\n"
    "### Key findings\n#### Place\n- It is in a.py\n#### Size\n- It is long\n",
    "## Report\n- tool_calls: 5\n- tools_used: Read, Grep\n- files_read: 2\n- files_used: src/a.py, web apps/b.py\n"
    "- findings:\n  - It is in a.py\n    - It is long\n",
    '## Report\n```json\n{\n  "tool_calls": 5,\n  "tools_used": ["Read", "Grep"],\n  "files_read": 2,\n  "files_used": [\n'
    '    "src/a.py",\n    "web apps/b.py"\n  ]\n}\n```\nKey findings:\n- It is in a.py\n- It is long\n',
    "## Report\n- Total tool calls: 5\n- Tools: Read, Grep\n- Number of files read: 2\n"
    "- Files used:\n  * `src/a.py`,\n  * `web apps/b.py`,\n"
    "- Findings:\n* It is in a.py\n* It is long\n",
])  # fmt: skip
def test_a_report_in_any_place_and_shape_is_read(answer: str) -> None:
    assert parse_report(answer) == FULL


@pytest.mark.parametrize(("value", "count"), [
    ("5", 5), ("0", 0), ("**5**", 5), ("`5`", 5), ("~12", 12), ("12+", 12), ("5 calls", 5), ("8 (3 Grep, 5 Read)", 8), ("4 (Grep x2, Read x2)", 4),
    ("0 (context already provided)", 0), ("about 7", 7), ("1,234", 1234), ("007", 7), ("5.", 5), ("Total: 6", 6), ("≈ 9", 9),
    (str(MAX_COUNT), MAX_COUNT), ("", None), ("five", None), ("-3", None), ("\u22123", None), ("3.5", None), ("5-7", None), ("5 \u2013 7", None),
    ("5 to 7", None), ("N/A", None), ("-", None), ("many", None), ("5k", None), ("10%", None), ("Grep x2, Read x3", None), (str(MAX_COUNT + 1), None),
    ("9" * 5000, None), ("1,2", None), ("1e3", None), ("²", None), ("٣", None), ("1/2", None), ("<number>", None), ("see below", None),
])  # fmt: skip
def test_a_count_is_its_leading_whole_number_or_missing(value: str, count: int | None) -> None:
    report = parse_report(f"## Report\n- **Tool calls**: {value}\n- **Files read**: {value}\n- **Tools used**: Read\n")
    assert (report.tool_calls, report.files_read, report.tools_used) == (count, count, ("Read",))


@pytest.mark.parametrize(("value", "tools"), [
    (" Read, Grep", TOOLS), (" `Read`, **Grep**", TOOLS), (" Read (x4), Grep (2x)", TOOLS), (" Read \u00d73, Grep\u00d72", TOOLS),
    (" Read x4, 2x Grep", TOOLS), (" Read and Grep", TOOLS), (" Read, and Grep.", TOOLS), (" Read; Grep", TOOLS),
    (" Read (files, folders), Grep, Read", TOOLS), (" Read: 4, Grep: 2", TOOLS), (" Read - to look, Grep — to find", TOOLS),
    ("\n  - Read\n  - Grep", TOOLS), ("\n- `Read` (x2)\n- `Grep`", TOOLS), ("\n\n  1. Read\n  2. Grep", TOOLS),
    (" mcp__lens__lens_grep, Read (2)", ("mcp__lens__lens_grep", "Read")), (" mcp__a__x2", ("mcp__a__x2",)),
    (" ToolSearch, `mcp__lens__lens_graph` (x3)", ("ToolSearch", "mcp__lens__lens_graph")), (" [Read, Grep]", TOOLS),
    (" `[Read, Grep]`  # both", TOOLS), (" [Read,\n    Grep]", TOOLS), (" [\n    Read,\n    Grep,\n  ]", TOOLS), (" >-\n    Read,\n    Grep", TOOLS),
    ("\n  - name: Read\n    count: 2\n  - name: Grep\n    count: 1", TOOLS), (" none", ()), (" None.", ()), (" None (answered from context)", ()),
    (" (none)", ()), (" **none**", ()), (" N/A", None), (" -", None), ("", None), (" —", None), (" ~", None), (" 3", None), (" (Read, Grep)", TOOLS),
    (' {"Read", "Grep"} (both)', TOOLS), (" (Read, Grep", None),
])  # fmt: skip
def test_tools_are_bare_names_in_their_order(value: str, tools: tuple[str, ...] | None) -> None:
    report = parse_report(f"## Report\n- **Tools used**:{value}\n- **Tool calls**: 3\n")
    assert (report.tools_used, report.tool_calls) == (tools, 3)


@pytest.mark.parametrize(("value", "files"), [
    (" src/a.py, web apps/b.py", FILES), (" `src/a.py`, `web apps/b.py`", FILES), ("\n  - `src/a.py`,\n  - `web apps/b.py`,", FILES),
    ("\n- src/a.py - the parser, mostly\n- web apps/b.py — the page", FILES), ("\n- `src/a.py`: it, and more\n- `web apps/b.py`", FILES),
    (" src/a.py (lines 1, 2), web apps/b.py (all)", FILES), (" src/a.py,\n  web apps/b.py", FILES), ("\nsrc/a.py\nweb apps/b.py", FILES),
    (" [a](src/a.py), **web apps/b.py**", FILES), (" app/(auth)/page.tsx", ("app/(auth)/page.tsx",)), (" /w/src/a.py:12", ("/w/src/a.py:12",)),
    (" none", ()), (" none.py", ("none.py",)),
    (" nothing.py, no files/a.py", ("nothing.py", "no files/a.py")), (" src/a.py, web apps/b.py, etc", FILES), (" [src/a.py, web apps/b.py]", FILES),
    (' ["src/a.py", "web apps/b.py"]', FILES), (" [\n    src/a.py,\n    web apps/b.py\n]", FILES),
    (" [app/[id]/a.tsx, b.tsx]", ("app/[id]/a.tsx", "b.tsx")), (" |\n    src/a.py\n    web apps/b.py", FILES),
    ("\n  - path: src/a.py\n  - path: web apps/b.py", FILES),
    (" app/[id].tsx, [slug]/a.py", ("app/[id].tsx", "[slug]/a.py")), (" n/a", None), ("", None), (" (src/a.py, web apps/b.py)", FILES),
    (" {src/a.py:1-3, web apps/b.py (lines 1, 2)}", FILES_AT), (" ('src/a.py', 'web apps/b.py',)", FILES),
    (" [src/a.py, web apps/b.py] (2 files)", FILES), (" ()", ()), (" src/a.py and web apps/b.py", FILES),
    (" Terms and Conditions.md", ("Terms and Conditions.md",)), (" src/{a,b}.py", None), (" (src/a.py, web apps/b.py", None),
])  # fmt: skip
def test_files_are_split_on_commas_and_lines_only(value: str, files: tuple[str, ...] | None) -> None:
    report = parse_report(f"## Report\n- **Files used**:{value}\n- **Confidence**: high\n- **Tool calls**: 3\n")
    assert (report.files_used, report.tool_calls) == (files, 3)


@pytest.mark.parametrize("answer", [
    "", "No section.", "Tool calls: 5", "## Reporting\n- Tool calls: 5", "The report: Tool calls: 5",
    "## Bug report handling\nIt is in a.py.\n", "- report:\n- Tool calls: 5",
])  # fmt: skip
def test_no_report_is_absent_and_everything_in_it_is_missing(answer: str) -> None:
    assert parse_report(answer) == Report()


def test_an_empty_report_is_present_and_everything_in_it_is_missing() -> None:
    assert parse_report("Words.\n## Report\n") == Report(present=True)


@pytest.mark.parametrize("name", ["Tools used", "Files used"])
@pytest.mark.parametrize(
    "value",
    ["none", "None.", "`none`", "*None*", "(none)", "[none]", "[]", "none used", "None (no repository)", "Nothing.", "nil", "No files", "no tools were used", "None; it was known", "\n  - none", "\n  - `None` needed"],
)  # fmt: skip
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


@pytest.mark.parametrize(("answer", "rest"), [
    (f"Words.\n\n## Report\n\n{BULLETS}", "Words.\n\n@\n  - It is in a.py\n  - It is long\n"),
    (f"## Report\n{BULLETS}\n## Appendix\nmore", "@\n  - It is in a.py\n  - It is long\n\n## Appendix\nmore"),
    (f"```markdown\n## Report\n{BULLETS}```\n", "```markdown\n@\n  - It is in a.py\n  - It is long\n```\n"),
    (f"> ## Report\n> {BULLETS}".replace("\n", "\n> "), "@\n>   - It is in a.py\n>   - It is long\n> "),
    (f"## Report\n{BULLETS}".replace("\n", "\r\n"), "@\r\n  - It is in a.py\r\n  - It is long\r\n"),
    ("**Report:**\nTools used:\n- Read\n- Grep\n\nFiles used:\n  - a.py,\n  - b.py\n\nIt is long.", "@\n\nIt is long."),
    ("## Report\n### Tool calls\n\n5\n\n### Key findings\n- a\n", "@\n- a\n"),
    ("## Report\n- Key findings: a\n- b\n- Tool calls: 5\n- Tools used: Read", "@ a\n- b\n@"),
    ("## Report\nIt is long.\n- Tool calls: 5\n- Read: always\n", "@\nIt is long.\n@\n- Read: always\n"),
    ("## Report\n| Tool calls | 5 |\n| Key findings | a<br>b |\n", "@ a<br>b |\n"),
    ("## Report\n| Tool calls | Files read |\n|--|--|\n| 5 | 2 |\n\n**Key findings**\n- a\n", "@\n- a\n"),
    ("## Report\n- Tool calls: 5\n\n## Answer\nIt.\n\n## Report\n- Files read: 2\n", "@\n\n## Answer\nIt.\n\n@\n"),
    ("## Test report\n- Tool calls: 5\n- Files read: 2\nIt is long.\n", "@\nIt is long.\n"),
    ("## Test report\n- Tool calls: 5\n", "## Test report\n- Tool calls: 5\n"),
    ("## Report\n- Key findings:\n  - a\n", "## Report\n- Key findings:\n  - a\n"),
    ("## Report\n@\n- Tool calls: 5\n", "## Report\n@\n- Tool calls: 5\n"),
    ("Tool calls: 5\nFiles read: 2\n", "Tool calls: 5\nFiles read: 2\n"), ("", ""),
])  # fmt: skip
def test_what_the_report_tells_of_the_work_is_found_and_its_findings_are_not(answer: str, rest: str) -> None:
    assert cut(answer) == rest


NAMES = st.from_regex(r"[A-Z][A-Za-z]{1,8}|mcp__[a-z]{1,5}__[a-z_]{1,8}[a-z]", fullmatch=True).filter(
    lambda name: name.lower() not in {"na", "none", "null", "unknown", "tbd", "etc"}
)
PATHS = st.from_regex(r"/?([a-z_]{1,6}( [a-z]{1,4})?/){0,3}[a-z_]{1,8}\.(py|ts|md)", fullmatch=True)
FINDING = "Cart is in `cart.py`"
REPORTS = st.builds(
    Report, st.just(True), st.none() | st.integers(0, MAX_COUNT),
    st.none() | st.lists(NAMES, unique=True, max_size=6).map(tuple), st.none() | st.integers(0, MAX_COUNT),
    st.none() | st.lists(PATHS, unique=True, max_size=6).map(tuple),
)  # fmt: skip


@st.composite
def rendered(draw: st.DrawFn) -> tuple[Report, str]:
    """A report, and a text that says it in one of the forms."""
    report = draw(REPORTS)
    start, end = draw(st.sampled_from([("- **", "**: "), ("**", ":** "), ("", ": "), ("* ", " — "), ("1. ", ": ")]))
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
        line("Tool calls", report.tool_calls), line("Tools used", report.tools_used),
        line("Files read", report.files_read), line("Files used", report.files_used),
    ]  # fmt: skip
    heading = draw(st.sampled_from(["## Report", "### Report", "## **Report**", "## report:", "Report:"]))
    body = "".join([*draw(st.permutations(fields)), f"- **Key findings**:\n  - {FINDING}\n"])
    before, after = draw(st.sampled_from([("", ""), ("# Answer\n\nWords.\n\n", ""), ("", "\n## Answer\nWords.\n")]))
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


PIECES = st.sampled_from([
    "## Report\n", "### Report\n", "- **Tool calls**: ", "Tools used:", "Files used", "Key findings:\n", "|", "---\n", "```\n", "\n", "- ", "  ", "5",
    "-", "(", ")", "`", "**", ",", "none", "[a](", "<br>", "\0", "\ud800",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_no_text_raises_and_counts_are_never_negative(text: str) -> None:
    report = parse_report(text)
    assert report.present or report == Report()
    assert all(count is None or 0 <= count <= MAX_COUNT for count in (report.tool_calls, report.files_read))


@given(st.lists(PIECES | st.just("@") | st.text(max_size=5), max_size=40).map("".join))
def test_a_report_is_cut_only_once(text: str) -> None:
    assert process_spans(cut(text), "@") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["## Report\n", "- a, ", "(", " ", "---\n", "| a |\n", "`", "[a](", "Tool calls: ", "a - "]
)
def test_two_megabytes_of_anything_are_read(piece: str) -> None:
    report = parse_report("## Report\n- **Tool calls**: 5\n- **Files used**: " + piece * (2_000_000 // len(piece)))
    assert report.present


@pytest.mark.parametrize("path", [
    "src/a b.py", "./src/a b.py", "/src/a b.py", "/w/repo/src/a b.py", "w/repo/src/a b.py", "`src/a b.py`", "**src/a b.py**", "'src/a b.py'",
    '"src/a b.py"', "src/a b.py:12", "src/a b.py:12-40", "src/a b.py#L12-L40", "src/a b.py(12)", "src/a b.py (new)", "`src/a b.py`,", "src\\a b.py",
    "C:\\w\\repo\\src\\a b.py", "src//a b.py", "src/x/../a b.py", "`./src/a b.py:12` (the parser),", "file:///w/repo/src/a b.py", " src/a b.py ",
    "`/w/repo/src/a b.py`:12", "“src/a b.py”",
])  # fmt: skip
def test_a_cited_file_is_the_same_in_every_spelling(path: str) -> None:
    assert normalise_path(path, "/w/repo") == "src/a b.py"


@pytest.mark.parametrize(("path", "expected"), [
    ("", ""), ("/w/repo", ""), ("/w/repository/a.py", "w/repository/a.py"), ("../a.py", "../a.py"),
    (".github/x.yml", ".github/x.yml"), ("__init__.py", "__init__.py"),
])  # fmt: skip
def test_what_only_looks_like_the_workspace_is_kept(path: str, expected: str) -> None:
    assert normalise_path(path, "/w/repo") == expected


@given(
    st.text(alphabet="ab/.\\`*'\" :12(),#L-~", max_size=20) | st.text(max_size=10), st.sampled_from(["", "/a", "/a/b"])
)
def test_normalising_a_path_twice_changes_nothing(path: str, workspace: str) -> None:
    once = normalise_path(path, workspace)
    assert normalise_path(once, workspace) == once
