"""The documentation's own tools: what the site's build refuses, without Sphinx."""

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from links import problems
from navigation import LINK, home_page, section_pages
from pictures import PAGES, stamped
from reference import in_json, pages, protocol, schema_page
from schemas import config_schema, record_schema, scenarios_schema, schemas, write_schemas
from terms import link_pages, linked, terms

from lensbench.core.frozen_plan import VerdictName
from lensbench.core.rows import PairRow
from lensbench.core.system.places import PROTOCOL, ROOT
from lensbench.judging.judges import Verdict as Judged


def test_every_document_is_in_a_part_of_the_navigation() -> None:
    listed = {page for _, page in LINK.findall((ROOT / "docs" / "index.md").read_text())}
    docs = ROOT / "docs"
    there = {str(file.relative_to(docs).with_suffix("")) for file in docs.rglob("*.md")} - {"index"}
    there |= {f"../{file.stem}" for file in ROOT.glob("*.md")} | {"../examples/README"}
    assert there <= listed, "docs/index.md: add a link to each page"
    assert listed <= there


def test_each_heading_of_the_index_is_a_part_of_the_sidebar_that_folds() -> None:
    index = (
        "# A\n\nDoors.\n\n## How-to\n\n- [B](b.md)\n- [C](../C.md)\n\n## Other\n\n- [D](x/d.md)\n"
    )
    readme = (
        "# lensbench\n\nSee [gate](docs/gate.md), ![a](docs/a.png).\n\n## Your own server\n\nNo.\n"
    )
    pages = section_pages(index)
    assert pages["all-how-to"].startswith("# How-to\n\n- [B](b.md)\n- [C](../C.md)\n")
    assert pages["all-how-to"].endswith("```{toctree}\n:hidden:\n\nB <b>\nC </C>\n```\n")
    home = home_page(index, readme)
    assert "Doors." in home
    assert "See [gate](gate.md), ![a](a.png)." in home
    assert "How-to <all-how-to>\nOther <all-other>\n```" in home
    assert "- [B](b.md)" not in home
    assert "No." not in home


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="b.html#here">b</a>', ""),
        ('<a href="https://example.org/">out, by a click</a>', ""),
        ('<a href="c.html">c</a>', "links to c.html, which does not exist"),
        ('<a href="b.html#there">b</a>', "links to b.html#there, an anchor that does not exist"),
        (
            '<img src="https://example.org/a.png">',
            "loads https://example.org/a.png, which is not in the site",
        ),
        (
            '<script src="//cdn.example.org/a.js"></script>',
            "loads //cdn.example.org/a.js, which is not in the site",
        ),
        ("<style>@import '//example.org/a.css'</style>", "a style loads a file from another host"),
    ],
)
def test_a_link_that_leads_nowhere_or_loads_from_outside_is_found(
    tmp_path: Path, body: str, problem: str
) -> None:
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<p id="here">b</p>')
    assert problems(tmp_path) == ([f"a.html: {problem}"] if problem else [])


def test_a_key_of_a_schema_is_a_row() -> None:
    trials = {"type": "integer", "minimum": 1, "default": 1, "description": "How often."}
    gate = {"description": "The decision.", "properties": {"over": {"enum": ["tasks", "a|b"]}}}
    schema = {
        "properties": {"trials": trials, "gate": {"$ref": "#/$defs/Gate"}},
        "required": ["gate"],
        "$defs": {"Gate": gate},
    }
    page = schema_page("Config", "All keys.", schema)
    assert "| `trials` | integer ≥ 1 | `1` | How often. |" in page
    assert "| `gate` | [Gate](#gate) | (needed) | The decision. |" in page
    assert '| `over` | `"tasks"`, `"a\\|b"` |  |  |' in page


GLOSSARY = ROOT / "docs" / "glossary.md"


def test_a_config_key_has_a_heading_a_type_a_default_and_an_example() -> None:
    page = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    entries = {
        entry.partition("\n")[0]: entry
        for entry in re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    }
    assert len(entries) > 80
    for name, entry in entries.items():
        assert "*Type:* " in entry, name
        assert "DATE" in name or re.search(r"^```(yaml|text)\n", entry, re.MULTILINE), (
            f"tools/docs/examples.yaml: {name}"
        )


def test_every_key_of_a_file_has_a_meaning() -> None:
    for name in ("json", "record"):
        page = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert not re.findall(r"^\| .* \|  \|$", page, re.MULTILINE), name


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        ("str | None", "string or null"),
        ("Mapping[str, Sequence[float]]", "object of list of number"),
        ("NotRequired[GateVerdict]", "GateVerdict; may be missing"),
        ("Literal['a', 'b']", '`"a"`, `"b"`'),
        ("tuple[float, ...]", "list of number"),
        ("Measure[N]", "Measure"),
    ],
)
def test_types_are_named_in_the_words_of_json(annotation: str, shown: str) -> None:
    assert in_json(annotation) == shown


ORDINARY = {
    "change",
    "removed",
    "cost",
    "difference",
    "duration",
    "finished",
    "holds",
    "published",
    "reason",
    "refused",
    "tests",
    "repository",
    "runs",
    "status",
    "tasks",
    "time",
    "unknown",
    "value",
    "what",
}
"""Words at the head of a table of results.md that need no explanation."""


def test_the_glossary_has_the_words_of_results() -> None:
    terms = re.findall(r"^## (.+)$", GLOSSARY.read_text(), re.MULTILINE)
    known = {term.lower() for term in terms}
    assert terms == sorted(terms, key=str.lower)
    page = (ROOT / "templates" / "results.md.j2").read_text()
    for part in re.findall(r'include "(.+?)"', page):
        page += (ROOT / "templates" / part).read_text()
    text = re.sub(r"\{[{%#].*?[}%#]\}", "", page)
    heads = {
        head.strip()
        for row in re.findall(r"^\|(.+)\|\n\|-", text, re.MULTILINE)
        for head in row.split("|")
    }
    words = {*heads, *PairRow.__annotations__, *get_args(VerdictName), *Judged}
    assert {word.lower() for word in words if re.fullmatch(r"[A-Za-z-]+", word)} <= known | ORDINARY


def test_a_word_of_the_glossary_has_two_sentences_and_an_example() -> None:
    for entry in re.split(r"^## ", GLOSSARY.read_text(), flags=re.MULTILINE)[1:]:
        term, *said = entry.split("\n\n")
        meaning, example = (" ".join(part.split()) for part in said if part.strip())
        assert len(re.findall(r"[.)](?= \[?[A-Z`]|$)", meaning)) >= 2, term
        assert example.startswith("*Example:* "), term


def test_each_word_is_linked_at_its_first_use_and_nowhere_else() -> None:
    page = (
        "# A pair\n\nSee [a pair\nhere](x.md) and `pair`.\n\n```text\npair\n```\n\n"
        "Pairs count; a pair is NO-GO, then GO. Offline agents pair.py.\n"
    )
    words = ["offline agent", "NO-GO", "pair", "GO"]
    assert linked(page, words, "glossary.md") == page.replace(
        "Pairs count", "[Pairs](glossary.md#pair) count"
    ).replace(
        "is NO-GO, then GO.", "is [NO-GO](glossary.md#no-go), then [GO](glossary.md#go)."
    ).replace("Offline agents", "[Offline agents](glossary.md#offline-agent)")


def test_every_page_links_the_words_that_it_uses(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    words = terms(GLOSSARY.read_text())
    assert len(words) > 40
    link_pages(tmp_path / "docs")
    for file in (tmp_path / "docs").glob("*.md"):
        if file.name not in ("glossary.md", "index.md"):
            text = file.read_text()
            for word in words:
                anchor = word.lower().replace(" ", "-")
                assert text.count(f"](glossary.md#{anchor})") <= 1, (file.name, word)
    assert "[delta](glossary.md#delta)" in (tmp_path / "docs" / "reading.md").read_text()


def test_the_tests_that_security_names_are_there() -> None:
    named = re.findall(r"`((?:\w+/)?test_\w+)`", (ROOT / "SECURITY.md").read_text())
    assert named
    assert not [name for name in named if not list((ROOT / "tests").rglob(f"{name}.py"))]


@pytest.mark.parametrize("name", [f"{name}{suffix}" for name in PAGES for suffix in ("", "-dark")])
def test_a_picture_is_of_this_version(name: str) -> None:
    """`python tools/docs/pictures.py` takes it."""
    assert stamped(b"") in (ROOT / "docs" / "pictures" / f"{name}.png").read_bytes()


@pytest.mark.slow
def test_the_reference_is_what_the_code_gives() -> None:
    """`python tools/docs/reference.py` writes it."""
    there = {file.stem: file.read_text() for file in (ROOT / "docs" / "reference").glob("*.md")}
    assert PROTOCOL.read_text() == protocol()
    assert there == {name: f"{text.rstrip()}\n" for name, text in pages().items()}


def test_the_committed_schemas_are_those_of_the_models(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    for name in schemas():
        assert (tmp_path / name).read_bytes() == (ROOT / "schemas" / name).read_bytes(), (
            "tools/docs/schemas.py"
        )


def test_schemas_describe_every_key_and_the_bounds_of_tasks_and_patterns() -> None:
    for schema in (config_schema(), scenarios_schema()):
        for model in (schema, *schema["$defs"].values()):
            for name, key in model.get("properties", {}).items():
                assert "$ref" in key or key.get("description"), name
    task = scenarios_schema()["$defs"]["Task"]["properties"]
    assert task["repository"]["anyOf"][0]["type"] == "string"
    assert (task["criteria"]["minItems"], task["criteria"]["maxItems"]) == (2, 5)
    pattern = scenarios_schema()["$defs"]["Criterion"]["properties"]["all_of"]
    assert {"type": "array"}.items() <= pattern["anyOf"][-1].items()
    assert len(pattern["anyOf"]) > 1
    assert "answer" not in record_schema()["$defs"]["Outcome"]["properties"]
    assert json.dumps(record_schema())
